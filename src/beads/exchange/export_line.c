#include "beads/exchange/export_line.h"

#include <stdlib.h>

#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/exchange/intake.h"
#include "beads/exchange/upstream.h"

/* One line while it is written. */
struct outlet {
	struct arena *mem;
	const struct export_issue *issue;
	const struct bead *bead;
	const struct value *keys, *comments, *kept, *odd; /* of the member `imported`; or NULL */
	bool unchanged;                                   /* nothing was written since the import */
	struct json out;
};

struct mark export_changed(const struct bead *b)
{
	struct bead plain = *b;

	plain.notes = 0;
	return bead_top(&plain);
}

struct str export_comment(struct arena *mem, struct str issue, const struct note *note)
{
	struct json j = json_new(mem);

	json_object(&j);
	json_put_str(&j, "id", note->id);
	json_put_str(&j, "issue_id", issue);
	json_put_str(&j, "author", note->author);
	json_put_str(&j, "text", note->content);
	json_put_str(&j, "created_at", upstream_time(mem, note->at.ms));
	json_end(&j);
	return json_text(&j);
}

static const struct extra *outlet_extra(const struct bead *b, const char *key)
{
	for (size_t i = 0; i < b->extras; i++)
		if (str_is(b->extra[i].key, key))
			return &b->extra[i];
	return NULL;
}

/* The text that a member had in the file, as a value; NULL: it has none. Other clones may have
 * written the text, so it is checked. */
static const struct value *outlet_kept(struct outlet *o, struct str key, struct str *text)
{
	*text = value_text(value_member(o->keys, key));
	if (!text->p || memchr(text->p, '\n', text->n))
		return NULL;
	return value_read(o->mem, *text);
}

/* Writes a member: as the file had it if nothing was changed since, else from the bead. */
static void outlet_put(struct outlet *o, const char *key, struct str now)
{
	struct str text;
	bool kept = outlet_kept(o, str_of(key), &text) && o->unchanged;

	if (kept || now.p)
		json_put_raw(&o->out, key, kept ? text : now);
}

static struct str outlet_quoted(struct outlet *o, struct str text)
{
	return text.n ? json_str_text(o->mem, text) : STR_NONE;
}

static void outlet_put_text(struct outlet *o, const char *key, struct str text)
{
	outlet_put(o, key, outlet_quoted(o, text));
}

/* A time keeps its spelling as long as it is the same moment. */
static void outlet_put_time(struct outlet *o, const char *key, int64_t now)
{
	struct str text;
	const struct value *kept = outlet_kept(o, str_of(key), &text);
	int64_t ms;

	if (kept && (o->unchanged || (moment_parse(value_text(kept), &ms) && ms == now)))
		json_put_raw(&o->out, key, text);
	else if (now)
		json_put_str(&o->out, key, upstream_time(o->mem, now));
}

static void outlet_put_member(struct outlet *o, const char *key, enum member m)
{
	outlet_put(o, key, bead_member(o->bead, m));
}

static void outlet_put_value(struct outlet *o, struct str key, struct str value)
{
	struct str text;
	const struct value *kept = outlet_kept(o, key, &text);

	json_key(&o->out, key);
	json_raw(&o->out, kept && str_eq(json_canonical_text(o->mem, kept), value) ? text : value);
}

static void outlet_put_extension(struct outlet *o, enum member m)
{
	struct str value = bead_member(o->bead, m);

	if (bead_mark(o->bead, member_reg(m)).by.p)
		outlet_put_value(o, str_of(names_word(&bead_members, m)),
				 value.p ? value : STR("null"));
}

/* --- the parts of a line --- */

static void outlet_put_words(struct outlet *o)
{
	const struct bead *b = o->bead;
	struct str status = bead_text(o->mem, b, MEMBER_ORIGINAL_STATUS),
		   type = bead_text(o->mem, b, MEMBER_ORIGINAL_TYPE);
	bool exact;

	if (!status.n || upstream_status(status, &exact) != bead_status(b))
		status = str_of(names_word(&bead_statuses, bead_status(b)));
	if (!type.n || upstream_type(type, &exact) != bead_type(b))
		type = str_of(names_word(&bead_types, bead_type(b)));
	outlet_put_text(o, "status", o->issue->row ? status : STR("tombstone"));
	outlet_put_member(o, "priority", MEMBER_PRIORITY);
	outlet_put_text(o, "issue_type", type);
}

static void outlet_put_times(struct outlet *o)
{
	const struct bead *b = o->bead;
	struct mark changed = export_changed(b);
	const struct extra *branch = outlet_extra(b, "created_on_branch");
	bool known = !str_is(b->created.by, "unknown");

	outlet_put_time(o, "created_at", b->created.at.ms);
	outlet_put_text(o, "created_by", known ? b->created.by : STR_NONE);
	outlet_put(o, "created_on_branch",
		   branch && !str_is(branch->value, "null") ? branch->value : STR_NONE);
	outlet_put_time(o, "updated_at", changed.at.ms);
	outlet_put_text(o, "updated_by", str_eq(changed.by, b->created.by) ? STR_NONE : changed.by);
	outlet_put_time(o, "closed_at",
			b->member[MEMBER_CLOSED_AT].p ? bead_stamp(b, MEMBER_CLOSED_AT).ms : 0);
	outlet_put_member(o, "close_reason", MEMBER_CLOSED_REASON);
	outlet_put_member(o, "closed_by", MEMBER_CLOSED_BY);
	outlet_put_member(o, "closed_on_branch", MEMBER_CLOSED_ON_BRANCH);
}

static void outlet_put_deletion(struct outlet *o)
{
	const struct bead *b = o->bead;
	bool gone = !o->issue->row;

	outlet_put_time(o, "deleted_at", gone ? b->deleted.at.ms : 0);
	outlet_put_text(o, "deleted_by", gone ? b->deleted.by : STR_NONE);
	outlet_put(o, "delete_reason", gone ? b->reason : STR_NONE);
}

/* The text of an item that was kept; absent if it is not one line of JSON. */
static struct str outlet_item(struct outlet *o, const struct value *item)
{
	struct str text = value_text(item);

	return text.p && !memchr(text.p, '\n', text.n) && value_read(o->mem, text) ? text :
										     STR_NONE;
}

static bool outlet_has_edge(struct outlet *o, const struct value *item)
{
	bool exact;
	int kind = upstream_kind(value_str(item, "type"), &exact);

	for (size_t i = 0; i < o->issue->edges; i++)
		if (str_eq(o->issue->edge[i].to, value_str(item, "depends_on_id")) &&
		    edge_is(o->issue->edge[i].kind, (enum edge_kind)kind) && exact)
			return true;
	return false;
}

static void outlet_put_edges(struct outlet *o)
{
	size_t kept = o->kept && o->kept->type == VALUE_ARRAY ? o->kept->count : 0;

	if (!o->issue->edges && !kept) {
		outlet_put(o, "dependencies", STR_NONE);
		return;
	}
	json_put_array(&o->out, "dependencies");
	for (size_t i = 0; i < o->issue->edges; i++)
		json_raw(&o->out, upstream_edge_text(o->mem, &o->issue->edge[i]));
	for (size_t i = 0; i < kept; i++) {
		struct str text = value_text(&o->kept->item[i]);
		const struct value *item =
			text.p && !memchr(text.p, '\n', text.n) ? value_read(o->mem, text) : NULL;

		if (item && !outlet_has_edge(o, item))
			json_raw(&o->out, text);
	}
	json_end(&o->out);
}

/* A line has no count within a millisecond, so the order does not depend on it. */
static int outlet_by_time(const void *a, const void *b)
{
	const struct note *x = a, *y = b;

	return x->at.ms < y->at.ms ? -1 : x->at.ms > y->at.ms ? 1 : str_cmp(x->id, y->id);
}

static void outlet_put_comments(struct outlet *o)
{
	const struct bead *b = o->bead;
	struct note *list = arena_array(o->mem, b->notes + 1, sizeof *list);
	size_t odd = o->odd && o->odd->type == VALUE_ARRAY ? o->odd->count : 0;

	if (!b->notes && !odd) {
		outlet_put(o, "comments", STR_NONE);
		return;
	}
	if (b->notes)
		memcpy(list, b->note, b->notes * sizeof *list);
	qsort(list, b->notes, sizeof *list, outlet_by_time);
	json_put_array(&o->out, "comments");
	for (size_t i = 0; i < b->notes; i++) {
		struct str text = outlet_item(o, value_member(o->comments, list[i].id));

		json_raw(&o->out, text.p ? text : export_comment(o->mem, b->id, &list[i]));
	}
	for (size_t i = 0; i < odd; i++)
		if (outlet_item(o, &o->odd->item[i]).p)
			json_raw(&o->out, o->odd->item[i].text);
	json_end(&o->out);
}

/* --- members that the bead does not have itself --- */

/* Counts of a changed bead are computed; of any other they are as the file had them. */
static bool outlet_count(struct outlet *o, const struct extra *extra, int64_t *out)
{
	const struct bead_row *row = o->issue->row;
	struct str key = extra->key;

	if (!row || !mark_cmp(extra->mark, export_changed(o->bead)))
		return false;
	if (str_is(key, "dependency_count"))
		*out = row->dependencies;
	else if (str_is(key, "dependent_count"))
		*out = row->dependents;
	else if (str_is(key, "comment_count"))
		*out = (int64_t)o->bead->notes;
	else
		return false;
	return true;
}

/* Members that other parts of this program keep in a bead. */
static const struct names internal_members =
	NAMES_OF(UPSTREAM_KEPT, "created_on_branch", "project", "rank", "request");

static void outlet_put_extras(struct outlet *o)
{
	const struct bead *b = o->bead;

	for (size_t i = 0; i < b->extras; i++) {
		int64_t count;

		if (names_has(&internal_members, b->extra[i].key) ||
		    upstream_key_known(b->extra[i].key))
			continue;
		if (outlet_count(o, &b->extra[i], &count)) {
			json_key(&o->out, b->extra[i].key);
			json_int(&o->out, count);
		} else {
			outlet_put_value(o, b->extra[i].key, b->extra[i].value);
		}
	}
}

/* Members whose names mean something else here were kept only as text. */
static void outlet_put_texts(struct outlet *o)
{
	VALUE_EACH(one, o->keys) {
		struct str key = one->key, text;
		bool known = upstream_key_known(key) || upstream_extension(key) >= 0;

		for (size_t k = 0; k < o->bead->extras && !known; k++)
			known = str_eq(o->bead->extra[k].key, key) &&
				!names_has(&internal_members, key);
		if (known || (str_is(key, "content_hash") && !o->unchanged) ||
		    !outlet_kept(o, key, &text))
			continue;
		json_key(&o->out, key);
		json_raw(&o->out, text);
	}
}

static void outlet_put_all(struct outlet *o)
{
	const struct bead *b = o->bead;
	struct str assignee = b->member[MEMBER_ASSIGNEE];

	outlet_put_member(o, "title", MEMBER_TITLE);
	outlet_put_member(o, "description", MEMBER_DESCRIPTION);
	outlet_put_member(o, "design", MEMBER_DESIGN);
	outlet_put_member(o, "acceptance_criteria", MEMBER_ACCEPTANCE_CRITERIA);
	outlet_put(o, "notes", bead_member(b, MEMBER_NOTES_TEXT));
	outlet_put_words(o);
	outlet_put(o, "assignee", assignee);
	outlet_put_extension(o, MEMBER_OWNER);
	outlet_put_extension(o, MEMBER_ESTIMATED_MINUTES);
	outlet_put_times(o);
	outlet_put_extension(o, MEMBER_STARTED_AT);
	outlet_put_extension(o, MEMBER_DUE_AT);
	outlet_put_extension(o, MEMBER_DEFER_UNTIL);
	outlet_put_member(o, "external_ref", MEMBER_EXTERNAL_REF);
	outlet_put_extension(o, MEMBER_SPEC_ID);
	outlet_put_extension(o, MEMBER_PINNED);
	outlet_put_extension(o, MEMBER_METADATA);
	outlet_put_extension(o, MEMBER_TOUCHES);
	outlet_put_member(o, "source_repo", MEMBER_SOURCE_REPO);
	outlet_put_member(o, "labels", MEMBER_LABELS);
	outlet_put_edges(o);
	outlet_put_comments(o);
	outlet_put_deletion(o);
	outlet_put_extras(o);
	outlet_put_texts(o);
}

/* `imported` is the text that was kept of the file, as far as it is to be used; or NULL. */
static struct str export_line_with(struct arena *mem, const struct export_issue *issue,
				   const struct extra *imported)
{
	struct outlet o = { .mem = mem, .issue = issue, .bead = issue->bead, .out = json_new(mem) };
	const struct value *v = imported ? value_read(mem, imported->value) : NULL;

	o.keys = value_find(v, "keys");
	o.comments = value_find(v, "comments");
	o.kept = value_find(v, "dependencies");
	o.odd = value_find(v, "others");
	o.unchanged = v && !mark_cmp(imported->mark, export_changed(issue->bead));
	json_object(&o.out);
	json_put_str(&o.out, "id", issue->bead->id);
	if (issue->bead->mark[REG_TITLE].by.p) {
		outlet_put_all(&o);
	} else { /* only the deletion is known */
		json_put_str(&o.out, "status", STR("tombstone"));
		outlet_put_deletion(&o);
	}
	json_end(&o.out);
	return json_text(&o.out);
}

/* The latest time in the bead: when it was imported, a time that was kept as text because it was in
 * the future was later than this. */
static int64_t export_line_latest(const struct bead *b)
{
	struct mark top = mark_max(mark_max(bead_top(b), b->created), b->deleted);
	int64_t closed = b->member[MEMBER_CLOSED_AT].p ? bead_stamp(b, MEMBER_CLOSED_AT).ms : 0;

	return closed > top.at.ms ? closed : top.at.ms;
}

/*
 * Does an import of the line give this bead again? Other clones may have written the text that was
 * kept, and it could make the bead a deleted one, or a memory. Dependencies are not compared,
 * because those that the store cannot have are kept as text.
 */
static bool export_line_agrees(struct arena *mem, const struct export_issue *issue, struct str line)
{
	struct import_findings ignored = { .mem = mem, .tail = &ignored.first };
	struct import_rename none = { 0 };
	struct intake in = { .mem = mem,
			     .now_ms = export_line_latest(issue->bead),
			     .rename = &none,
			     .findings = &ignored };
	struct export_issue there = { .bead = &in.bead },
			    here = { .bead = issue->bead, .row = issue->row };
	const struct value *v = value_read(mem, line);

	if (!v || str_is(value_str(v, "_type"), "memory"))
		return false;
	intake_read(&in, line, v);
	intake_end(&in);
	there.row = in.bead.deleted.by.p ? NULL : issue->row;
	return str_eq(export_line_with(mem, &there, NULL), export_line_with(mem, &here, NULL));
}

struct str export_line(struct arena *mem, const struct export_issue *issue)
{
	const struct extra *imported = outlet_extra(issue->bead, UPSTREAM_KEPT);
	struct str line = export_line_with(mem, issue, imported);

	return !imported || export_line_agrees(mem, issue, line) ?
		       line :
		       export_line_with(mem, issue, NULL);
}
