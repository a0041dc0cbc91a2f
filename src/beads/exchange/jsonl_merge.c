#include "beads/exchange/jsonl_merge.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/names.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/limits.h"

enum { BASE, OURS, THEIRS, VERSIONS };

/* A line in its versions; a version is absent if that file does not have the line. */
struct jsonl_line {
	struct str key;
	struct str text[VERSIONS];
};

struct jsonl_merger {
	struct arena *mem, scratch; /* scratch: for one parsed line */
	struct map lines; /* struct jsonl_line, by id, or by the text of a line without one */
	bool sorted;      /* the issues of both sides are sorted by id */
};

/*
 * The id of the issue; absent if the line is not an issue, or is larger than any that can be read.
 */
static struct str jsonl_id(struct jsonl_merger *m, struct str text)
{
	struct value_error error;

	if (text.n > LIMIT_LINE)
		return STR_NONE;
	return value_str(value_parse_bounded(&m->scratch, text, LIMIT_VALUES, &error), "id");
}

/* Finds or adds a line: an issue by its id, another line by its text. `kind` keeps an id apart from
 * an equal text. */
static struct jsonl_line *jsonl_at(struct jsonl_merger *m, struct str kind, struct str text)
{
	struct str key = arena_join(&m->scratch, kind, text);
	void **at = map_find(&m->lines, key);
	struct jsonl_line *line;

	if (at)
		return *at;
	line = arena_new(m->mem, struct jsonl_line);
	line->key = arena_copy(m->mem, key);
	*map_put(&m->lines, line->key) = line;
	return line;
}

/* Adds the lines of a version. A second line with the same id counts as a line without an id, so
 * that it is not lost. */
static void jsonl_add(struct jsonl_merger *m, struct str text, int version)
{
	struct str line, last = STR("");

	while (text.n && str_next(&text, '\n', &line)) {
		struct jsonl_line *at;
		struct str id;

		arena_reset(&m->scratch);
		if (!str_trim(line).n)
			continue;
		id = jsonl_id(m, line);
		at = id.p ? jsonl_at(m, STR("i"), id) : jsonl_at(m, STR("l"), line);
		m->sorted = m->sorted && id.p && str_cmp(last, at->key) <= 0;
		last = at->key;
		if (at->text[version].p)
			at = jsonl_at(m, STR("l"), line);
		at->text[version] = line;
	}
}

/* --- members --- */

static struct str jsonl_member_text(struct arena *mem, const struct value *v)
{
	return v && v->type != VALUE_NULL ? json_canonical_text(mem, v) : STR_NONE;
}

static bool jsonl_same(struct arena *mem, const struct value *a, const struct value *b)
{
	struct str x = jsonl_member_text(mem, a), y = jsonl_member_text(mem, b);

	return !x.p == !y.p && str_eq(x, y);
}

/* The items of a list, by their text. */
static struct map jsonl_set(struct arena *mem, const struct value *list)
{
	struct map set = { .mem = mem };

	VALUE_EACH(one, list)
		map_put(&set, json_canonical_text(mem, one));
	return set;
}

/* Three versions of a list, by the texts of their items. */
struct jsonl_lists {
	struct map base, newer, older;
};

/* The items of `side` that the other side did not remove. Of the older side, only those that the
 * newer side does not have. */
static void jsonl_put_items(struct json *j, const struct value *side, const struct jsonl_lists *of,
			    bool older)
{
	const struct map *other = older ? &of->newer : &of->older;

	VALUE_EACH(one, side) {
		struct str text = json_canonical_text(j->out.mem, one);
		bool there = map_find(other, text);

		if ((older && there) || (!there && map_find(&of->base, text)))
			continue;
		json_value(j, one);
	}
}

static const struct names texts = NAMES_OF("description", "design", "acceptance_criteria", "notes");

/* Two versions of an issue, and which of them is newer. */
struct jsonl_pair {
	const struct value *base, *newer, *older;
};

static void jsonl_put_both(struct json *j, struct str key, const struct jsonl_pair *v)
{
	struct str a = value_text(v->older), b = value_text(v->newer);

	if (v->newer && v->newer->type == VALUE_ARRAY && v->older &&
	    v->older->type == VALUE_ARRAY) {
		struct arena *mem = j->out.mem;
		struct jsonl_lists of = { jsonl_set(mem, v->base), jsonl_set(mem, v->newer),
					  jsonl_set(mem, v->older) };

		json_array(j);
		jsonl_put_items(j, v->newer, &of, false);
		jsonl_put_items(j, v->older, &of, true);
		json_end(j);
	} else if (names_has(&texts, key) && a.n && b.n && !str_has(b, a)) {
		json_str(j, str_has(a, b) ? a :
					    arena_fmt(j->out.mem, STR_FMT "\n\n---\n\n" STR_FMT,
						      STR_ARG(a), STR_ARG(b)));
	} else {
		json_value(j, v->newer);
	}
}

/* The versions of an issue, and their members by key: an issue may have very many. */
struct jsonl_issue {
	struct jsonl_pair whole;
	struct map base, newer, older;
};

static struct map jsonl_members(struct arena *mem, const struct value *v)
{
	struct map members = { .mem = mem };

	for (size_t i = 0; v && v->type == VALUE_OBJECT && i < v->count; i++)
		*map_put(&members, v->item[i].key) = &v->item[i];
	return members;
}

static const struct value *jsonl_member(const struct map *members, struct str key)
{
	void **at = map_find(members, key);

	return at ? *at : NULL;
}

static void jsonl_put_member(struct json *j, struct str key, const struct jsonl_issue *of)
{
	struct jsonl_pair v = { jsonl_member(&of->base, key), jsonl_member(&of->newer, key),
				jsonl_member(&of->older, key) };
	bool newer_same = jsonl_same(j->out.mem, v.base, v.newer),
	     older_same = jsonl_same(j->out.mem, v.base, v.older);
	const struct value *one = newer_same && !older_same ? v.older : v.newer;

	if (newer_same || older_same || jsonl_same(j->out.mem, v.newer, v.older)) {
		if (!one)
			return;
		json_key(j, key);
		json_value(j, one);
		return;
	}
	if (!v.newer && !v.older)
		return;
	json_key(j, key);
	if (v.newer && v.older)
		jsonl_put_both(j, key, &v);
	else
		json_value(j, v.newer ? v.newer : v.older);
}

/* --- issues --- */

static int64_t jsonl_updated(const struct value *issue)
{
	int64_t ms;

	return moment_parse(value_str(issue, "updated_at"), &ms) ? ms : 0;
}

/* How final a status is: a deleted issue stays deleted, and a closed one closed. */
static int jsonl_rank(const struct value *issue)
{
	struct str status = value_str(issue, "status");

	return str_is(status, "tombstone") ? 2 : str_is(status, "closed") ? 1 : 0;
}

/* Members that go with the status, so they come from the same side. */
static const struct names status_members =
	NAMES_OF("status", "closed_at", "close_reason", "closed_reason", "closed_by", "deleted_at",
		 "deleted_by", "delete_reason");

/* The side whose status counts: the one that changed it, else the more final one. */
static const struct value *jsonl_status_side(struct arena *mem, const struct jsonl_pair *of)
{
	const struct value *base = value_find(of->base, "status");
	bool newer = of->base && jsonl_same(mem, base, value_find(of->newer, "status")),
	     older = of->base && jsonl_same(mem, base, value_find(of->older, "status"));

	if (newer != older)
		return newer ? of->older : of->newer;
	return jsonl_rank(of->older) > jsonl_rank(of->newer) ? of->older : of->newer;
}

static void jsonl_put_key(struct json *j, struct str key, const struct jsonl_issue *of)
{
	const struct value *v;

	if (str_is(key, "updated_at") && jsonl_member(&of->newer, key))
		v = jsonl_member(&of->newer, key);
	else if (names_has(&status_members, key))
		v = value_member(jsonl_status_side(j->out.mem, &of->whole), key);
	else {
		jsonl_put_member(j, key, of);
		return;
	}
	if (!v)
		return;
	json_key(j, key);
	json_value(j, v);
}

static struct str jsonl_join(struct arena *mem, const struct jsonl_line *line)
{
	const struct value *ours = value_read(mem, line->text[OURS]),
			   *theirs = value_read(mem, line->text[THEIRS]);
	int64_t later = jsonl_updated(theirs) - jsonl_updated(ours);
	bool swap = later ? later > 0 : str_cmp(line->text[THEIRS], line->text[OURS]) > 0;
	const struct value *base = line->text[BASE].p ? value_read(mem, line->text[BASE]) : NULL,
			   *newer = swap ? theirs : ours, *older = swap ? ours : theirs;
	struct jsonl_issue of = { { base, newer, older },
				  jsonl_members(mem, base),
				  jsonl_members(mem, newer),
				  jsonl_members(mem, older) };
	struct json j = json_new(mem);

	json_object(&j);
	VALUE_EACH(one, newer)
		jsonl_put_key(&j, one->key, &of);
	VALUE_EACH(one, older)
		if (!jsonl_member(&of.newer, one->key))
			jsonl_put_key(&j, one->key, &of);
	json_end(&j);
	return json_text(&j);
}

/* The merged line; absent if it was removed. */
static struct str jsonl_line_merge(struct arena *mem, const struct jsonl_line *line)
{
	const struct str *t = line->text;

	if (t[OURS].p && t[THEIRS].p) {
		if (str_eq(t[OURS], t[THEIRS]) || (t[BASE].p && str_eq(t[BASE], t[THEIRS])))
			return t[OURS];
		return t[BASE].p && str_eq(t[BASE], t[OURS]) ? t[THEIRS] : jsonl_join(mem, line);
	}
	if (t[BASE].p && (str_eq(t[BASE], t[OURS]) || str_eq(t[BASE], t[THEIRS])))
		return STR_NONE;
	return t[OURS].p ? t[OURS] : t[THEIRS];
}

struct str jsonl_merge(struct arena *mem, const struct jsonl_sides *sides)
{
	struct jsonl_merger m = { .mem = mem, .lines.mem = mem, .sorted = true };
	struct buf out = { .mem = mem };
	const struct map_entry **order;
	bool sorted;

	jsonl_add(&m, sides->ours, OURS);
	jsonl_add(&m, sides->theirs, THEIRS);
	sorted = m.sorted;
	jsonl_add(&m, sides->base, BASE);
	order = map_sorted(&m.lines, mem);
	for (size_t i = 0; i < m.lines.count; i++) {
		struct str line;

		arena_reset(&m.scratch);
		line = jsonl_line_merge(&m.scratch,
					sorted ? order[i]->value : m.lines.entry[i].value);
		if (!line.p)
			continue;
		buf_put(&out, line);
		buf_char(&out, '\n');
	}
	arena_release(&m.scratch);
	return buf_str(&out);
}
