#include "beads/exchange/intake.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/draft.h"
#include "beads/exchange/export_line.h"
#include "beads/exchange/upstream.h"
#include "beads/model/limits.h"
#include "beads/model/note.h"

void import_find(struct import_findings *f, struct str id, const char *code, const char *fmt, ...)
{
	struct import_finding *one = arena_new(f->mem, struct import_finding);
	va_list ap;

	va_start(ap, fmt);
	*one = (struct import_finding){ .file = f->file,
					.line = f->line,
					.id = arena_copy(f->mem, id),
					.code = code,
					.message = arena_vfmt(f->mem, fmt, ap) };
	va_end(ap);
	if (!f->tail)
		f->tail = &f->first;
	*f->tail = one;
	f->tail = &one->next;
	f->count++;
}

struct str import_renamed(struct arena *mem, const struct import_rename *r, struct str id)
{
	if (!r->new.p)
		return id;
	if (id.n > r->old.n + 1 && str_starts(id, r->old) && id.p[r->old.n] == '-')
		id = str_skip(id, r->old.n + 1);
	return arena_fmt(mem, STR_FMT "-" STR_FMT, STR_ARG(r->new), STR_ARG(id));
}

/* --- values --- */

/* One record while it is read. */
struct intake_record {
	struct intake *in;
	const struct value *v;
	struct str *part; /* the text of each member */
};

static void intake_keep(struct intake_record *r, const struct value *member)
{
	struct str *text = arena_new(r->in->mem, struct str);

	*text = r->part[member - r->v->item];
	*map_put(&r->in->keys, member->key) = text;
}

/* Keeps the text of a member that has no meaning in this record. */
static void intake_keep_given(struct intake_record *r, const char *key)
{
	const struct value *member = value_find(r->v, key);

	if (member && member->type != VALUE_NULL)
		intake_keep(r, member);
}

static void intake_odd(struct intake_record *r, const struct value *member, const char *code,
		       const char *want)
{
	intake_keep(r, member);
	import_find(r->in->findings, r->in->bead.id, code,
		    "\"" STR_FMT "\" is not %s; it is kept as it is", STR_ARG(member->key), want);
}

/* A string, absent if it is missing, null or empty. Anything else is kept as text. */
static struct str intake_text(struct intake_record *r, const char *key, size_t most)
{
	const struct value *member = value_find(r->v, key);

	if (!member || member->type == VALUE_NULL)
		return STR_NONE;
	if (member->type == VALUE_STRING && member->text.n <= most)
		return member->text.n ? member->text : STR_NONE;
	intake_odd(r, member, "bad_value",
		   member->type == VALUE_STRING ? "short enough" : "a text");
	return STR_NONE;
}

/* An author, absent if there is none. */
static struct str intake_name(const struct value *v, const char *key)
{
	struct str name = value_str(v, key);

	return name.n && name.n <= LIMIT_NAME ? name : STR_NONE;
}

/* The same, of the record itself: a name that cannot be used is kept as text. */
static struct str intake_own_name(struct intake_record *r, const char *key)
{
	const struct value *member = value_find(r->v, key);
	struct str name = intake_name(r->v, key);

	if (!name.p && member && member->type != VALUE_NULL &&
	    !(member->type == VALUE_STRING && !member->text.n))
		intake_odd(r, member, "bad_value", "a name");
	return name;
}

static bool intake_moment(struct str text, int64_t *ms)
{
	return text.n && moment_parse(text, ms) && *ms >= 0 && *ms <= MOMENT_LAST;
}

/*
 * The moment of a member; 0 if there is none. A stamp in the future would win over every later
 * change, so such a moment is kept only as text.
 */
static int64_t intake_time(struct intake_record *r, const char *key)
{
	const struct value *member = value_find(r->v, key);
	int64_t ms;

	if (!member || member->type == VALUE_NULL ||
	    (member->type == VALUE_STRING && !member->text.n))
		return 0;
	if (!intake_moment(value_text(member), &ms)) {
		intake_odd(r, member, "bad_time", "a time");
		return 0;
	}
	if (ms > r->in->now_ms + STAMP_FOLLOWED_MS) {
		intake_odd(r, member, "future_time", "a time in the past");
		return 0;
	}
	if (!str_eq(member->text, upstream_time(r->in->mem, ms)))
		intake_keep(r, member);
	return ms;
}

/* --- members of a bead --- */

static void intake_put_title(struct intake_record *r)
{
	struct intake *in = r->in;
	struct str title = intake_text(r, "title", LIMIT_TITLE);

	if (!title.p) {
		import_find(in->findings, in->bead.id, "no_title",
			    "the record has no title; the id is its title");
		title = in->bead.id;
	}
	bead_put_text(in->mem, &in->bead, MEMBER_TITLE, title);
}

static void intake_put_texts(struct intake_record *r)
{
	static const struct {
		const char *key;
		enum member member;
	} texts[] = {
		{ "description", MEMBER_DESCRIPTION },
		{ "design", MEMBER_DESIGN },
		{ "acceptance_criteria", MEMBER_ACCEPTANCE_CRITERIA },
		{ "external_ref", MEMBER_EXTERNAL_REF },
		{ "source_repo", MEMBER_SOURCE_REPO },
	};
	struct intake *in = r->in;
	struct str assignee = intake_text(r, "assignee", LIMIT_NAME);

	intake_put_title(r);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		bead_put_text(in->mem, &in->bead, texts[i].member,
			      intake_text(r, texts[i].key, LIMIT_TEXT));
	bead_put_text(in->mem, &in->bead, MEMBER_ASSIGNEE, assignee);
}

static void intake_put_priority(struct intake_record *r)
{
	const struct value *member = value_find(r->v, "priority");
	int64_t n = 0;

	if (member && member->type != VALUE_NULL && (!value_number(member, &n) || n < 0 || n > 4)) {
		n = n < 0 ? 0 : n > 4 ? 4 : n;
		intake_odd(r, member, "bad_priority", "a number from 0 to 4");
	}
	bead_put_int(r->in->mem, &r->in->bead, MEMBER_PRIORITY, n);
}

/* Sets an extension, possibly to null. */
static void intake_extend(struct intake *in, enum member m, struct str canonical)
{
	bead_put(in->mem, &in->bead, m, canonical);
	bead_put_mark(in->mem, &in->bead, member_reg(m), in->bead.mark[REG_TITLE]);
}

static void intake_put_word(struct intake_record *r, const char *key, enum member m,
			    enum member original, const struct names *names,
			    int (*nearest)(struct str, bool *))
{
	struct intake *in = r->in;
	struct str word = intake_text(r, key, LIMIT_NAME);
	bool exact = true;
	int value = word.p ? nearest(word, &exact) : nearest(STR("open"), &exact);

	bead_put_text(in->mem, &in->bead, m, str_of(names_word(names, value)));
	if (!word.p || exact)
		return;
	bead_put_text(in->mem, &in->bead, original, word);
	bead_put_mark(in->mem, &in->bead, member_reg(original), in->bead.mark[REG_TITLE]);
}

static void intake_put_closing(struct intake_record *r, bool gone)
{
	struct intake *in = r->in;
	static const char *const closing[] = { "closed_at", "close_reason", "closed_by",
					       "closed_on_branch" };
	bool closed = bead_status(&in->bead) == BEAD_CLOSED;
	int64_t ms = intake_time(r, "closed_at");

	if (!closed && !gone && ms)
		import_find(in->findings, in->bead.id, "closed_at_on_open",
			    "the record has a closed_at but is not closed; it is kept as it is");
	if (!closed) {
		for (size_t i = 0; i < sizeof closing / sizeof *closing; i++)
			intake_keep_given(r, closing[i]);
		return;
	}
	if (!ms)
		import_find(in->findings, in->bead.id, "no_closed_at",
			    "the record is closed without a closed_at");
	else
		bead_put_stamp(in->mem, &in->bead, MEMBER_CLOSED_AT, (struct stamp){ ms, 0 });
	bead_put_text(in->mem, &in->bead, MEMBER_CLOSED_REASON,
		      intake_text(r, "close_reason", LIMIT_TEXT));
	bead_put_text(in->mem, &in->bead, MEMBER_CLOSED_BY,
		      intake_text(r, "closed_by", LIMIT_NAME));
	bead_put_text(in->mem, &in->bead, MEMBER_CLOSED_ON_BRANCH,
		      intake_text(r, "closed_on_branch", LIMIT_TEXT));
}

static void intake_put_labels(struct intake_record *r)
{
	const struct value *list = value_find(r->v, "labels");
	struct intake *in = r->in;
	struct str *label;
	size_t count = 0;
	bool odd = false, sorted = true;

	if (!list || list->type == VALUE_NULL)
		return;
	if (list->type != VALUE_ARRAY || list->count > LIMIT_LABELS) {
		intake_odd(r, list, "bad_labels", "a list of at most 1000 words");
		return;
	}
	label = arena_array(in->mem, list->count + 1, sizeof *label);
	VALUE_EACH(one, list) {
		struct str word = value_text(one);

		if (one->type != VALUE_STRING || !word.n || word.n > LIMIT_NAME) {
			odd = true;
			continue;
		}
		sorted = sorted && (!count || str_cmp(label[count - 1], word) < 0);
		label[count++] = word;
	}
	if (odd)
		intake_odd(r, list, "bad_labels", "a list of words");
	else if (!sorted)
		intake_keep(r, list);
	bead_put(in->mem, &in->bead, MEMBER_LABELS, labels_encode(in->mem, label, count));
}

/* --- comments --- */

static struct str intake_note_id(struct arena *mem, const struct note *n)
{
	struct json j = json_new(mem);

	json_array(&j);
	json_str(&j, n->author);
	json_int(&j, n->at.ms);
	json_str(&j, n->content);
	json_end(&j);
	return str_head(sha256_hex(mem, json_text(&j)), 16);
}

/* A comment that this program exported keeps its id. */
static bool intake_note_own(struct intake_record *r, const struct value *v, struct str text,
			    struct note *n)
{
	struct str id = value_str(v, "id");

	if ((id.n != 12 && id.n != 16) || memchr(id.p, '-', id.n))
		return false;
	n->id = id;
	return str_eq(text, export_comment(r->in->mem, r->in->bead.id, n));
}

static bool intake_note(struct intake_record *r, const struct value *v, struct note *out)
{
	struct str at = value_str(v, "created_at");
	int64_t ms = 0;

	*out = (struct note){ .author = intake_name(v, "author"), .content = value_str(v, "text") };
	if (!out->content.p || out->content.n > LIMIT_TEXT)
		return false;
	if (!intake_moment(at, &ms) || ms > r->in->now_ms + STAMP_FOLLOWED_MS)
		ms = r->in->bead.created.at.ms;
	if (!out->author.p)
		out->author = STR("unknown");
	out->at = (struct stamp){ ms, 0 };
	return true;
}

static void intake_put_comments(struct intake_record *r)
{
	const struct value *list = value_find(r->v, "comments");
	struct intake *in = r->in;
	struct bead *b = &in->bead;
	struct str *part;

	if (!list || list->type == VALUE_NULL)
		return;
	if (list->type != VALUE_ARRAY || list->count > LIMIT_NOTES) {
		intake_odd(r, list, "bad_comments", "a list of at most 20000 comments");
		return;
	}
	part = upstream_parts(in->mem, r->part[list - r->v->item], list);
	b->note = arena_array(in->mem, list->count + 1, sizeof *b->note);
	in->odd = arena_array(in->mem, list->count + 1, sizeof *in->odd);
	for (size_t i = 0; i < list->count; i++) {
		struct note *n = &b->note[b->notes];
		struct str *text = arena_new(in->mem, struct str);
		void **at;

		if (!intake_note(r, &list->item[i], n)) {
			import_find(in->findings, b->id, "bad_comments",
				    "a comment has no text; it is kept as it is");
			in->odd[in->odd_count++] = part[i];
			continue;
		}
		if (intake_note_own(r, &list->item[i], part[i], n)) {
			b->notes++;
			continue;
		}
		n->id = intake_note_id(in->mem, n);
		*text = part[i];
		at = map_put(&in->comments, n->id);
		if (*at) {
			import_find(in->findings, b->id, "duplicate_comment",
				    "two comments have the same author, time and text");
			continue;
		}
		*at = text;
		b->notes++;
	}
	b->notes = notes_normalize(in->mem, b->note, b->notes);
}

/* --- dependencies --- */

static bool intake_edge(struct intake_record *r, const struct value *v, struct str text,
			struct edge *out)
{
	struct intake *in = r->in;
	struct str to = value_str(v, "depends_on_id"), from = value_str(v, "issue_id"),
		   word = value_str(v, "type");
	struct mark made = { .by = intake_name(v, "created_by") };
	bool exact;
	int kind = upstream_kind(word.n ? word : STR("blocks"), &exact);

	if (!intake_moment(value_str(v, "created_at"), &made.at.ms) ||
	    made.at.ms > in->now_ms + STAMP_FOLLOWED_MS)
		made.at.ms = in->bead.created.at.ms;
	if (!made.by.p) /* a longer name would be in each of thousands of dependencies */
		made.by = in->bead.created.by.n <= NAME_MOST ? in->bead.created.by : STR("unknown");
	from = from.n ? import_renamed(in->mem, in->rename, from) : in->bead.id;
	to = import_renamed(in->mem, in->rename, to);
	*out = (struct edge){ .from = from,
			      .to = to,
			      .kind = str_of(names_word(&edge_kinds, kind)),
			      .created = made,
			      .life = made };
	if (!bead_id_valid(from) || !bead_id_valid(to))
		return false;
	out->more = upstream_edge_more(in->mem, out, exact ? STR_NONE : word, text);
	return true;
}

static void intake_put_edges(struct intake_record *r)
{
	const struct value *list = value_find(r->v, "dependencies");
	struct intake *in = r->in;
	struct str *part;

	if (!list || list->type == VALUE_NULL)
		return;
	if (list->type != VALUE_ARRAY || list->count > LIMIT_MEMBERS) {
		intake_odd(r, list, "bad_dependencies", "a list of dependencies");
		return;
	}
	part = upstream_parts(in->mem, r->part[list - r->v->item], list);
	in->edge = arena_array(in->mem, list->count + 1, sizeof *in->edge);
	in->edge_text = arena_array(in->mem, list->count + 1, sizeof *in->edge_text);
	in->kept = arena_array(in->mem, list->count + 1, sizeof *in->kept);
	for (size_t i = 0; i < list->count; i++) {
		in->edge_text[in->edges] = part[i];
		if (intake_edge(r, &list->item[i], part[i], &in->edge[in->edges])) {
			in->edges++;
			continue;
		}
		in->kept[in->kept_count++] = part[i];
		import_find(in->findings, in->bead.id, "bad_dependency",
			    "a dependency does not name two issues; it is kept as it is");
	}
}

void intake_keep_edge(struct intake *in, size_t edge)
{
	in->kept[in->kept_count++] = in->edge_text[edge];
}

/* --- other members --- */

/* Members of our own lines: a record's member of the same name is kept as text. */
static const struct names own_members =
	NAMES_OF("_at", "_by", "_v", "content_hash", "request", "rank", "project", UPSTREAM_KEPT);

static bool intake_own(struct str key)
{
	return names_has(&own_members, key) || member_find(key) >= 0;
}

/* A record may have thousands of members, so they are sorted once, by intake_end(). */
static void intake_add_extra(struct intake *in, struct str key, struct str value, struct mark mark)
{
	struct bead *b = &in->bead;

	b->extra = arena_room(in->mem, b->extra, b->extras, sizeof *b->extra);
	b->extra[b->extras++] = (struct extra){ key, value, mark };
}

static void intake_put_other(struct intake_record *r, const struct value *member)
{
	struct intake *in = r->in;
	struct str text = r->part[member - r->v->item],
		   plain = json_canonical_text(in->mem, member);
	int m = upstream_extension(member->key);

	if (m < 0 && (intake_own(member->key) || member->key.n > LIMIT_NAME || !member->key.n ||
		      value_depth(member) > LIMIT_DEPTH || in->bead.extras >= LIMIT_OWN_MEMBERS)) {
		intake_keep(r, member);
		return;
	}
	if (m >= 0)
		intake_extend(in, (enum member)m, member->type == VALUE_NULL ? STR_NONE : plain);
	else
		intake_add_extra(in, member->key, plain, in->bead.mark[REG_TITLE]);
	if (!str_eq(text, plain))
		intake_keep(r, member);
}

static void intake_put_others(struct intake_record *r)
{
	const struct value *notes = value_find(r->v, "notes");
	struct str branch = intake_text(r, "created_on_branch", LIMIT_TEXT);
	struct intake *in = r->in;
	struct bead made = { 0 };

	VALUE_EACH(one, r->v)
		if (!upstream_key_known(one->key))
			intake_put_other(r, one);
	if (branch.p) {
		bead_put_text(in->mem, &made, MEMBER_TITLE, branch);
		intake_add_extra(in, STR("created_on_branch"), made.member[MEMBER_TITLE],
				 in->bead.created);
	}
	if (!notes || notes->type == VALUE_NULL)
		return;
	if (notes->type == VALUE_STRING)
		intake_extend(in, MEMBER_NOTES_TEXT, json_canonical_text(in->mem, notes));
	else
		intake_odd(r, notes, "bad_value", "a text");
}

static void intake_put_deletion(struct intake_record *r)
{
	struct intake *in = r->in;
	struct bead *b = &in->bead, made = { 0 };
	struct str by = intake_own_name(r, "deleted_by");
	int64_t ms = intake_time(r, "deleted_at");
	struct mark top = bead_top(b);
	const struct value *at = value_find(r->v, "deleted_at");

	b->deleted = (struct mark){ { ms, 0 }, by.p ? by : b->created.by };
	if (mark_cmp(b->deleted, top) <= 0) { /* it was deleted after its last change */
		b->deleted.at = (struct stamp){ top.at.ms, top.at.n + 1 };
		if (at && ms != top.at.ms)
			intake_keep(r, at);
	}
	bead_put_text(in->mem, &made, MEMBER_TITLE, intake_text(r, "delete_reason", LIMIT_TEXT));
	b->reason = made.member[MEMBER_TITLE];
}

/* --- the record --- */

/* The marks of the record: when it was made and last changed, and by whom. */
static void intake_put_marks(struct intake_record *r)
{
	struct intake *in = r->in;
	struct str made_by = intake_own_name(r, "created_by"),
		   changed_by = intake_own_name(r, "updated_by");
	struct mark changed = { .at.ms = intake_time(r, "updated_at") };

	in->bead.created.at.ms = intake_time(r, "created_at");
	if (!value_find(r->v, "created_at"))
		import_find(in->findings, in->bead.id, "no_created_at",
			    "the record has no created_at");
	if (!in->bead.created.at.ms)
		in->bead.created.at.ms = changed.at.ms;
	in->bead.created.by = made_by.p ? made_by : STR("unknown");
	changed.by = changed_by.p ? changed_by : in->bead.created.by;
	if (changed.at.ms < in->bead.created.at.ms)
		changed.at.ms = in->bead.created.at.ms;
	bead_mark_all(&in->bead, changed);
}

void intake_read(struct intake *in, struct str text, const struct value *v)
{
	struct intake_record r = { in, v, upstream_parts(in->mem, text, v) };
	bool gone = str_is(value_str(v, "status"), "tombstone");

	in->bead = (struct bead){ .id = import_renamed(in->mem, in->rename, value_str(v, "id")) };
	in->keys.mem = in->comments.mem = in->mem;
	intake_put_marks(&r);
	intake_put_texts(&r);
	intake_put_priority(&r);
	if (gone)
		bead_put_text(in->mem, &in->bead, MEMBER_STATUS, STR("open"));
	else
		intake_put_word(&r, "status", MEMBER_STATUS, MEMBER_ORIGINAL_STATUS, &bead_statuses,
				upstream_status);
	intake_put_word(&r, "issue_type", MEMBER_TYPE, MEMBER_ORIGINAL_TYPE, &bead_types,
			upstream_type);
	intake_put_closing(&r, gone);
	intake_put_labels(&r);
	intake_put_others(&r);
	intake_put_comments(&r);
	intake_put_edges(&r);
	if (gone) {
		intake_put_deletion(&r);
		return;
	}
	intake_keep_given(&r, "deleted_at");
	intake_keep_given(&r, "deleted_by");
	intake_keep_given(&r, "delete_reason");
}

static void intake_put_texts_of(struct json *j, const char *key, const struct map *texts)
{
	const struct map_entry **order = map_sorted(texts, texts->mem);

	if (!texts->count)
		return;
	json_put_object(j, key);
	for (size_t i = 0; i < texts->count; i++) {
		json_key(j, order[i]->key);
		json_str(j, *(const struct str *)order[i]->value);
	}
	json_end(j);
}

static void intake_put_list(struct json *j, const char *key, const struct str *text, size_t count)
{
	if (count)
		json_put_strs(j, key, text, count);
}

static void intake_add_texts(struct intake *in)
{
	struct json j = json_new(in->mem);

	if (!in->keys.count && !in->comments.count && !in->kept_count && !in->odd_count)
		return;
	json_object(&j);
	intake_put_texts_of(&j, "comments", &in->comments);
	intake_put_list(&j, "dependencies", in->kept, in->kept_count);
	intake_put_texts_of(&j, "keys", &in->keys);
	intake_put_list(&j, "others", in->odd, in->odd_count);
	json_end(&j);
	intake_add_extra(in, STR(UPSTREAM_KEPT),
			 json_canonical_text(in->mem, value_read(in->mem, json_text(&j))),
			 in->bead.mark[REG_TITLE]);
}

void intake_end(struct intake *in)
{
	struct bead *b = &in->bead;

	intake_add_texts(in);
	if (b->extras)
		qsort(b->extra, b->extras, sizeof *b->extra, extra_cmp);
}

bool intake_deletion(struct intake *in, const struct value *v)
{
	bool line = value_find(v, "status"); /* a tombstone of issues.jsonl */
	struct str id = import_renamed(in->mem, in->rename, value_str(v, "id")),
		   by = intake_name(v, line ? "deleted_by" : "by");
	struct bead made = { 0 };
	int64_t ms = 0;

	if (!bead_id_valid(id))
		return false;
	if (!intake_moment(value_str(v, line ? "deleted_at" : "ts"), &ms) ||
	    ms > in->now_ms + STAMP_FOLLOWED_MS) {
		ms = 0;
		import_find(in->findings, id, "bad_time", "the deletion has no time in the past");
	}
	bead_put_text(in->mem, &made, MEMBER_TITLE,
		      value_str(v, line ? "delete_reason" : "reason"));
	in->bead = (struct bead){ .id = id,
				  .deleted = { { ms, 0 }, by.p ? by : STR("unknown") },
				  .reason = made.member[MEMBER_TITLE] };
	return true;
}
