#include "beads/model/line.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/moment.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/limits.h"
#include "beads/model/note.h"

/* --- what each member may be --- */

static bool is_text(const struct value *v)
{
	return v->type == VALUE_STRING && v->text.n <= LIMIT_TEXT;
}

static bool is_title(const struct value *v)
{
	return v->type == VALUE_STRING && v->text.n && v->text.n <= LIMIT_TITLE;
}

static bool is_name(const struct value *v)
{
	return v->type == VALUE_STRING && v->text.n && v->text.n <= LIMIT_NAME;
}

static bool is_status(const struct value *v)
{
	return is_text(v) && names_has(&bead_statuses, v->text);
}

static bool line_is_type(const struct value *v)
{
	return is_text(v) && names_has(&bead_types, v->text);
}

static bool is_priority(const struct value *v)
{
	int64_t n;

	return v->type == VALUE_NUMBER && number_int(v->text, &n) && n >= 0 && n <= 4;
}

static bool line_is_stamp(const struct value *v)
{
	struct stamp s;

	return stamp_decode(v, &s);
}

static bool is_moment(const struct value *v)
{
	int64_t ms;

	return v->type == VALUE_NUMBER && number_int(v->text, &ms) && ms >= 0 && ms <= MOMENT_LAST;
}

static bool is_labels(const struct value *v)
{
	if (v->type != VALUE_ARRAY || v->count > LIMIT_LABELS)
		return false;
	VALUE_EACH(one, v)
		if (!is_name(one))
			return false;
	return true;
}

static bool is_any(const struct value *v)
{
	return value_depth(v) <= LIMIT_DEPTH;
}

#define RULE_ANY                                       \
	{                                              \
		is_any, "nested at most 64 deep", NULL \
	}
#define RULE_TEXT                                          \
	{                                                  \
		is_text, "a string of at most 8 MiB", NULL \
	}
#define RULE_NAME                                        \
	{                                                \
		is_name, "a name of at most 4 KiB", NULL \
	}
#define RULE_STAMP                                    \
	{                                             \
		line_is_stamp, "a stamp [ms,n]", NULL \
	}
#define RULE_MOMENT                                        \
	{                                                  \
		is_moment, "milliseconds since 1970", NULL \
	}
#define RULE_LABELS                                             \
	{                                                       \
		is_labels, "a list of at most 1000 words", NULL \
	}
#define RULE_PRIORITY                                          \
	{                                                      \
		is_priority, "a whole number from 0 to 4", "2" \
	}
#define RULE_STATUS                                                  \
	{                                                            \
		is_status, "open, in_progress or closed", "\"open\"" \
	}
#define RULE_TITLE                                           \
	{                                                    \
		is_title, "a text of 1 byte to 64 KiB", NULL \
	}
#define RULE_TYPE                                                             \
	{                                                                     \
		line_is_type, "bug, feature, task, epic or chore", "\"task\"" \
	}

static const struct rule {
	bool (*fits)(const struct value *v);
	const char *want;
	const char *otherwise; /* the default, as canonical JSON */
} rules[MEMBERS] = {
#define MEMBER(NAME, key, place, rule, look, flags)   [MEMBER_##NAME] = RULE_##rule,
#define PART(NAME, key, place, rule, look, flags, OF) [MEMBER_##NAME] = RULE_##rule,
#include "beads/model/members.def"
};

/* --- decoding --- */

struct decoder {
	struct arena *mem;
	struct bead *out;
	const struct value *line, *v; /* v: `_v`, or NULL */
	struct mark last;             /* `_at` and `_by`; absent: a change */
	struct str *why;
};

static bool line_refuse(struct decoder *d, const char *key, const char *want)
{
	*d->why = arena_fmt(d->mem, "\"%s\" is not %s", key, want);
	return false;
}

static bool line_decode_mark(struct decoder *d, const char *at, const char *by, struct mark *out)
{
	struct str who = value_str(d->line, by);

	if (!stamp_decode(value_find(d->line, at), &out->at))
		return line_refuse(d, at, "a stamp [ms,n]");
	if (!who.n || who.n > LIMIT_NAME)
		return line_refuse(d, by, "a name of at most 4 KiB");
	out->by = who;
	return true;
}

/* `_v` may have the mark under the name of the register, or under those of its members. */
static bool decode_marks(struct decoder *d)
{
	bool seen[REGS] = { false };

	bead_mark_all(d->out, d->last);
	VALUE_EACH(entry, d->v) {
		int m = member_find(entry->key);
		struct mark mark;
		enum reg reg;

		if (!mark_decode(entry, &mark))
			return line_refuse(d, "_v", "an object of marks [[ms,n],\"by\"]");
		if (m < 0)
			continue;

		reg = member_reg((enum member)m);
		if (seen[reg])
			mark = mark_max(bead_mark(d->out, reg), mark);
		bead_put_mark(d->mem, d->out, reg, mark);
		seen[reg] = true;
	}
	return true;
}

static struct str labels_of(struct decoder *d, const struct value *v)
{
	struct str *label = arena_array(d->mem, v->count + 1, sizeof *label);

	for (size_t i = 0; i < v->count; i++)
		label[i] = v->item[i].text;
	return labels_encode(d->mem, label, v->count);
}

static bool line_decode_member(struct decoder *d, int m, const struct value *v)
{
	enum reg reg = member_reg((enum member)m);

	/* A line has the key of an extension wherever the register was written. */
	if (reg_is_extension(reg) && !bead_mark(d->out, reg).by.p)
		bead_put_mark(d->mem, d->out, reg, d->last);
	if (v->type == VALUE_NULL)
		return true;
	if (!rules[m].fits(v))
		return line_refuse(d, names_word(&bead_members, m), rules[m].want);
	if (m == MEMBER_LABELS)
		bead_put(d->mem, d->out, MEMBER_LABELS, labels_of(d, v));
	else if (v->type != VALUE_STRING || v->text.n || reg_is_extension(reg))
		bead_put(d->mem, d->out, (enum member)m, json_canonical_text(d->mem, v));
	return true;
}

static const struct names reserved_members =
	NAMES_OF("_at", "_by", "_v", "id", "created_at", "created_by", "notes", "updated_at",
		 "updated_by", "content_hash");

static bool line_unknown(struct str key)
{
	return member_find(key) < 0 && !names_has(&reserved_members, key);
}

/* Can this program keep the member, even inside a tombstone? */
static bool extra_fits(struct decoder *d, const struct value *v)
{
	if (d->out->extras == LIMIT_MEMBERS)
		*d->why = arena_fmt(d->mem, "it has more than %d unknown members", LIMIT_MEMBERS);
	else if (v->key.n > LIMIT_NAME)
		*d->why = arena_fmt(d->mem, "the name of a member is longer than %d bytes",
				    LIMIT_NAME);
	else if (value_depth(v) > LIMIT_DEPTH)
		*d->why = arena_fmt(d->mem, "\"" STR_FMT "\" is nested more than %d deep",
				    STR_ARG(v->key), LIMIT_DEPTH);
	else
		return true;
	return false;
}

/* There are at most as many as the line and its `_v` have members. */
static void add_extra(struct decoder *d, struct str key, struct str value, struct mark mark)
{
	size_t most = d->line->count + (d->v ? d->v->count : 0);
	struct bead *b = d->out;

	if (!b->extra)
		b->extra = arena_array(d->mem, most < LIMIT_MEMBERS ? most : LIMIT_MEMBERS,
				       sizeof *b->extra);
	b->extra[b->extras++] = (struct extra){ key, value, mark };
}

/* Reads the marks of unknown members from `_v`. */
static struct map unknown_marks(struct decoder *d)
{
	struct map out = { .mem = d->mem };

	for (size_t i = 0; d->v && i < d->v->count; i++)
		if (line_unknown(d->v->item[i].key))
			*map_put(&out, d->v->item[i].key) = &d->v->item[i];
	return out;
}

/* Reads unknown members, and those of which only the mark is left. */
static bool decode_extras(struct decoder *d)
{
	struct map marks = unknown_marks(d);

	VALUE_EACH(v, d->line) {
		struct mark mark = d->last;
		void **own;

		if (!line_unknown(v->key))
			continue;
		if (!extra_fits(d, v))
			return false;
		if ((own = map_find(&marks, v->key)) && *own) {
			mark_decode(*own, &mark);
			*own = NULL;
		}
		if (mark.by.p)
			add_extra(d, v->key, json_canonical_text(d->mem, v), mark);
	}
	for (size_t i = 0; i < marks.count; i++) {
		const struct value *v = marks.entry[i].value;
		struct mark mark;

		if (v && !extra_fits(d, v))
			return false;
		if (v && mark_decode(v, &mark))
			add_extra(d, v->key, STR("null"), mark);
	}
	if (d->out->extras)
		qsort(d->out->extra, d->out->extras, sizeof *d->out->extra, extra_cmp);
	return true;
}

static int line_by_note_id(const void *a, const void *b)
{
	return str_cmp(((const struct note *)a)->id, ((const struct note *)b)->id);
}

static bool decode_notes(struct decoder *d)
{
	const struct value *list = value_find(d->line, "notes");
	struct bead *b = d->out;
	bool derived = false;

	if (!list || list->type == VALUE_NULL)
		return true;
	if (list->type != VALUE_ARRAY || list->count > LIMIT_NOTES)
		return line_refuse(d, "notes", "a list of at most 20000 notes");
	b->note = arena_array(d->mem, list->count + 1, sizeof *b->note);
	VALUE_EACH(v, list) {
		struct note *n = &b->note[b->notes++];

		n->id = value_str(v, "id");
		n->author = value_str(v, "author");
		n->content = value_str(v, "content");
		if (!n->id.n || n->id.n > LIMIT_NAME || !n->author.n || n->author.n > LIMIT_NAME ||
		    !n->content.p || n->content.n > LIMIT_TEXT ||
		    !stamp_decode(value_find(v, "at"), &n->at))
			return line_refuse(d, "notes",
					   "a list of notes with id, content, author and at");
	}
	qsort(b->note, b->notes, sizeof *b->note, line_by_note_id);
	for (size_t i = 0; i < b->notes; i++) {
		if (i && str_eq(b->note[i].id, b->note[i - 1].id))
			return line_refuse(d, "notes", "a list of notes with different ids");
		derived = derived || note_id_derived(b->note[i].id);
	}
	if (derived)
		b->notes = notes_normalize(d->mem, b->note, b->notes);
	return true;
}

static bool decode_members(struct decoder *d)
{
	struct bead *b = d->out;

	VALUE_EACH(one, d->line) {
		int m = member_find(one->key);

		if (m >= 0 && !line_decode_member(d, m, one))
			return false;
	}
	for (int m = 0; m < MEMBERS; m++) {
		bool there = bead_mark(b, member_reg((enum member)m)).by.p;

		if (!there)
			bead_put(d->mem, b, (enum member)m, STR_NONE);
		else if (rules[m].otherwise && !bead_member(b, (enum member)m).p)
			bead_put(d->mem, b, (enum member)m, str_of(rules[m].otherwise));
	}
	if (b->mark[REG_TITLE].by.p && !b->member[MEMBER_TITLE].p)
		return line_refuse(d, "title", "there");
	return true;
}

bool line_decode(struct arena *mem, const struct value *v, struct bead *out, struct str *why)
{
	struct decoder d = { .mem = mem, .out = out, .line = v, .why = why };

	*out = (struct bead){ .id = value_str(v, "id") };
	if (!v || v->type != VALUE_OBJECT) {
		*why = STR("it is not an object");
		return false;
	}
	if (!bead_id_valid(out->id))
		return line_refuse(&d, "id", "an id");
	d.v = value_find(v, "_v");
	if (d.v && d.v->type == VALUE_NULL)
		d.v = NULL;
	if (d.v && d.v->type != VALUE_OBJECT)
		return line_refuse(&d, "_v", "an object of marks [[ms,n],\"by\"]");
	if (value_find(v, "_at") && !line_decode_mark(&d, "_at", "_by", &d.last))
		return false;
	return line_decode_mark(&d, "created_at", "created_by", &out->created) &&
	       decode_marks(&d) && decode_members(&d) && decode_notes(&d) && decode_extras(&d);
}

/* --- encoding --- */

struct pair {
	struct str key, text;
};

struct pairs {
	struct arena *mem;
	struct pair *pair;
	size_t count;
};

static void line_add(struct pairs *p, struct str key, struct str text)
{
	p->pair[p->count++] = (struct pair){ key, text };
}

static int by_pair_key(const void *a, const void *b)
{
	return json_key_cmp(((const struct pair *)a)->key, ((const struct pair *)b)->key);
}

static void put_pairs(struct json *j, struct pairs *p)
{
	qsort(p->pair, p->count, sizeof *p->pair, by_pair_key);
	json_object(j);
	for (size_t i = 0; i < p->count; i++) {
		json_key(j, p->pair[i].key);
		json_raw(j, p->pair[i].text);
	}
	json_end(j);
}

static struct str stamp_text(struct arena *mem, struct stamp s)
{
	struct json j = json_new(mem);

	stamp_encode(&j, s);
	return json_text(&j);
}

static struct str mark_text(struct arena *mem, struct mark m)
{
	struct json j = json_new(mem);

	mark_encode(&j, m);
	return json_text(&j);
}

static void add_marks(struct pairs *p, const struct bead *b, struct mark last)
{
	struct pairs v = { .mem = p->mem };
	struct json j = json_new(p->mem);

	v.pair = arena_array(p->mem, REGS + b->extras, sizeof *v.pair);
	for (int i = 0; i < REGS; i++) {
		struct mark mark = bead_mark(b, (enum reg)i);

		if (mark.by.p && mark_cmp(mark, last))
			line_add(&v, str_of(reg_word((enum reg)i)), mark_text(p->mem, mark));
	}
	for (size_t i = 0; i < b->extras; i++)
		if (mark_cmp(b->extra[i].mark, last))
			line_add(&v, b->extra[i].key, mark_text(p->mem, b->extra[i].mark));
	if (!v.count)
		return;
	put_pairs(&j, &v);
	line_add(p, STR("_v"), json_text(&j));
}

static int by_note_time(const void *a, const void *b)
{
	const struct note *x = a, *y = b;
	int order = stamp_cmp(x->at, y->at);

	return order ? order : str_cmp(x->id, y->id);
}

static struct str notes_text(struct arena *mem, const struct bead *b)
{
	struct json j = json_new(mem);
	struct note *list = arena_array(mem, b->notes, sizeof *list);

	memcpy(list, b->note, b->notes * sizeof *list);
	qsort(list, b->notes, sizeof *list, by_note_time);
	json_array(&j);
	for (size_t i = 0; i < b->notes; i++) {
		json_object(&j);
		json_key(&j, STR("at"));
		stamp_encode(&j, list[i].at);
		json_put_str(&j, "author", list[i].author);
		json_put_str(&j, "content", list[i].content);
		json_put_str(&j, "id", list[i].id);
		json_end(&j);
	}
	json_end(&j);
	return json_text(&j);
}

void line_encode(struct json *j, const struct bead *b)
{
	enum { OWN = 7 }; /* the members that every bead has, or may have */
	struct arena *mem = j->out.mem;
	struct pairs p = { .mem = mem };
	struct mark last = bead_whole(b) ? bead_top(b) : (struct mark){ 0 };

	p.pair = arena_array(mem, OWN + MEMBERS + b->extras, sizeof *p.pair);
	line_add(&p, STR("id"), json_str_text(mem, b->id));
	line_add(&p, STR("created_at"), stamp_text(mem, b->created.at));
	line_add(&p, STR("created_by"), json_str_text(mem, b->created.by));
	if (last.by.p) {
		line_add(&p, STR("_at"), stamp_text(mem, last.at));
		line_add(&p, STR("_by"), json_str_text(mem, last.by));
	}
	add_marks(&p, b, last);
	for (int m = 0; m < MEMBERS; m++) {
		enum reg reg = member_reg((enum member)m);
		bool cleared = reg_is_extension(reg) && bead_mark(b, reg).by.p;
		struct str value = bead_member(b, (enum member)m);

		if (value.p || cleared)
			line_add(&p, str_of(names_word(&bead_members, m)),
				 value.p ? value : STR("null"));
	}
	for (size_t i = 0; i < b->extras; i++)
		line_add(&p, b->extra[i].key, b->extra[i].value);
	if (b->notes)
		line_add(&p, STR("notes"), notes_text(mem, b));
	put_pairs(j, &p);
}

struct str line_text(struct arena *mem, const struct bead *b)
{
	struct json j = json_new(mem);

	line_encode(&j, b);
	return json_text(&j);
}
