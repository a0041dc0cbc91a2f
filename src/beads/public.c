#include "beads/public.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/moment.h"
#include "base/names.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/bead.h"
#include "store/db/bead_query.h"

/* How a member of a bead's line appears in replies. */
enum look {
	LOOK_PLAIN,  /* text; null if absent */
	LOOK_NUMBER, /* number; null if absent */
	LOOK_RAW,    /* any JSON; null if absent */
	LOOK_TEXT,   /* text; "" if absent */
	LOOK_LIST,   /* list; [] if absent */
	LOOK_NOTES,  /* list of objects; [] if absent */
	LOOK_STAMP,  /* [ms,n] as RFC 3339 */
	LOOK_MOMENT, /* ms as RFC 3339 */
};

static void public_put_time(struct json *j, int64_t ms)
{
	json_str(j, moment_format(j->out.mem, ms));
}

static void public_put_look(struct json *j, const struct value *v, enum look look)
{
	struct stamp stamp;
	int64_t ms;

	if (!v || v->type == VALUE_NULL) {
		if (look == LOOK_TEXT)
			json_str(j, STR(""));
		else
			json_raw(j,
				 look == LOOK_LIST || look == LOOK_NOTES ? STR("[]") : STR("null"));
	} else if (look == LOOK_STAMP && stamp_decode(v, &stamp)) {
		public_put_time(j, stamp.ms);
	} else if (look == LOOK_MOMENT && number_int(v->text, &ms)) {
		public_put_time(j, ms);
	} else {
		json_value(j, v);
	}
}

/* --- the hash --- */

static int public_by_note_id(const void *a, const void *b)
{
	return str_cmp(value_str(*(const struct value *const *)a, "id"),
		       value_str(*(const struct value *const *)b, "id"));
}

static void public_put_notes(struct json *j, const struct value *notes)
{
	size_t count = notes ? notes->count : 0;
	const struct value **order = arena_array(j->out.mem, count + 1, sizeof(*order));

	for (size_t i = 0; i < count; i++)
		order[i] = &notes->item[i];
	qsort(order, count, sizeof *order, public_by_note_id);
	json_put_array(j, "notes");
	for (size_t i = 0; i < count; i++)
		json_canonical(j, order[i]);
	json_end(j);
}

struct str row_hash(struct arena *mem, const struct bead_row *row)
{
	return row->hash.p ? row->hash : public_hash(mem, row->line);
}

/* Sorted by key, as the line is. */
static const struct {
	const char *name;
	enum look look;
	unsigned flags;
} hashed[] = {
#define MEMBER(NAME, key, place, rule, look, flags)   { #key, LOOK_##look, flags },
#define PART(NAME, key, place, rule, look, flags, OF) { #key, LOOK_##look, flags },
#define FIXED(key, place, look, flags)                { #key, LOOK_##look, flags },
#define EXTENSION(NAME, key, type, flags)
#include "beads/model/members.def"
};

struct str public_hash(struct arena *mem, struct str text)
{
	struct json j = json_new(mem);
	const struct value *line = value_read(mem, text);
	size_t at = 0;

	json_object(&j);
	for (size_t i = 0; i < sizeof hashed / sizeof *hashed; i++) {
		struct str name = str_of(hashed[i].name);
		const struct value *v = NULL;

		if (!(hashed[i].flags & HASHED))
			continue;
		while (line && at < line->count && str_cmp(line->item[at].key, name) < 0)
			at++;
		if (line && at < line->count && str_eq(line->item[at].key, name))
			v = &line->item[at];
		if (hashed[i].look == LOOK_NOTES) {
			public_put_notes(&j, v);
			continue;
		}
		json_name(&j, str_of(hashed[i].name));
		public_put_look(&j, v, hashed[i].look);
	}
	json_end(&j);
	return sha256_hex(mem, json_text(&j));
}

/* --- the bead --- */

static const struct public_member {
	const char *name; /* key in the reply */
	const char *from; /* key on the line */
	enum look look;
	unsigned flags;
} members[] = {
#define MEMBER(NAME, key, place, rule, look, flags)   [place] = { #key, #key, LOOK_##look, flags },
#define PART(NAME, key, place, rule, look, flags, OF) [place] = { #key, #key, LOOK_##look, flags },
#define FIXED(key, place, look, flags)                [place] = { #key, #key, LOOK_##look, flags },
#define ALIAS(key, place, look, flags, from)          [place] = { #key, #from, LOOK_##look, flags },
#define EXTENSION(NAME, key, type, flags)
#include "beads/model/members.def"
};

enum { COUNT = sizeof members / sizeof *members };

static bool public_wanted(const struct shape *shape, const char *name, bool brief)
{
	if (!shape)
		return true;
	for (size_t i = 0; i < shape->field_count; i++)
		if (shape->fields[i].n && shape->fields[i].p[0] == name[0] &&
		    str_is(shape->fields[i], name))
			return true;
	if (shape->field_count)
		return !strcmp(name, "id");
	return brief || !shape->brief;
}

static void public_put_comments(struct json *j, const struct value *notes, struct str id)
{
	json_put_array(j, "comments");
	VALUE_EACH(note, notes) {
		json_object(j);
		json_put_str(j, "id", value_str(note, "id"));
		json_put_str(j, "issue_id", id);
		json_put_str(j, "author", value_str(note, "author"));
		json_put_str(j, "text", value_str(note, "content"));
		json_name(j, STR("created_at"));
		public_put_look(j, value_find(note, "at"), LOOK_STAMP);
		json_end(j);
	}
	json_end(j);
}

static const struct names derived_members =
	NAMES_OF("_at", "_by", "_v", "again", "blocked_by", "blocked_by_count", "comments",
		 "comment_count", "container", "content_hash", "dependencies", "dependency_count",
		 "dependency_type", "dependents", "dependent_count", "depth", "direction", "epoch",
		 "kind", "open_children", "parent", "unblocked", "under", "why");

static bool public_known(struct str key)
{
	for (size_t i = 0; i < COUNT; i++)
		if (str_is(key, members[i].name))
			return true;
	return names_has(&derived_members, key);
}

/* Unknown members are copied, and so are extensions that are set. */
static void public_put_extras(struct json *j, const struct value *line, const bool *known,
			      const struct shape *shape)
{
	if (shape && shape->brief && !shape->field_count)
		return;
	for (size_t i = 0; line && i < line->count; i++) {
		const struct value *v = &line->item[i];

		if (known[i] || public_known(v->key) || v->type == VALUE_NULL ||
		    str_is(v->key, "request") || str_is(v->key, "imported") ||
		    !public_wanted(shape, arena_cstr(j->out.mem, v->key), false))
			continue;
		json_put_member(j, v);
	}
}

bool shape_names(const struct shape *shape, const char *key)
{
	for (size_t i = 0; shape && i < shape->field_count; i++)
		if (str_is(shape->fields[i], key))
			return true;
	return false;
}

/* For lists: a member that only a request for it adds, so that other replies stay as they are. */
static void public_put_blockers(struct json *j, const struct bead_row *row,
				const struct shape *shape)
{
	if (shape_names(shape, "blocked_by_count"))
		json_put_int(j, "blocked_by_count", row->blockers);
}

static void public_put_counts(struct json *j, const struct bead_row *row, const struct value *notes,
			      const struct shape *shape)
{
	if (public_wanted(shape, "dependency_count", false))
		json_put_int(j, "dependency_count", row->dependencies);
	if (public_wanted(shape, "dependent_count", false))
		json_put_int(j, "dependent_count", row->dependents);
	if (public_wanted(shape, "comment_count", false))
		json_put_int(j, "comment_count", notes ? (int64_t)notes->count : 0);
	if (public_wanted(shape, "parent", false))
		json_put_str(j, "parent", row->parent);
	public_put_blockers(j, row, shape);
}

/* Both the line and the table are sorted by key, so one pass finds all members. */
static const unsigned char *public_cmp_name(void)
{
	static unsigned char order[COUNT];
	static bool done;

	for (unsigned char i = 0; !done && i < COUNT; i++) {
		size_t at = i;

		for (; at && strcmp(members[i].from, members[order[at - 1]].from) < 0; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	done = true;
	return order;
}

/* Marks in `known` the members of the line that are found. */
static void public_find_members(const struct value *line, const struct value *out[COUNT],
				bool *known)
{
	const unsigned char *order = public_cmp_name();
	size_t at = 0;

	for (size_t i = 0; line && i < line->count && at < COUNT; i++) {
		struct str key = line->item[i].key;
		int cmp = -1;

		while (at < COUNT && (cmp = str_cmp(str_of(members[order[at]].from), key)) < 0)
			at++;
		for (; at < COUNT && !cmp; at++) {
			out[order[at]] = &line->item[i];
			known[i] = true;
			cmp = at + 1 < COUNT ? str_cmp(str_of(members[order[at + 1]].from), key) :
					       1;
		}
	}
}

static const struct names lean = NAMES_OF(
	"id", "title", "status", "priority", "type", "assignee", "assignee_expires", "parent",
	"container", "open_children", "created_at", "blocked_by_count", "labels");

bool shape_lean(const struct shape *shape)
{
	for (size_t i = 0; i < shape->field_count; i++)
		if (names_exact(&lean, shape->fields[i]) < 0)
			return false;
	return shape->field_count > 0;
}

/* The same members in the same order, from the columns of the row, without parsing the line. */
static void public_put_columns(struct json *j, const struct bead_row *row,
			       const struct shape *shape)
{
	json_put_str(j, "id", row->id);
	if (public_wanted(shape, "title", true))
		json_put_str(j, "title", row->title);
	if (public_wanted(shape, "status", true))
		json_put_str(j, "status", str_of(names_word(&bead_statuses, row->status)));
	if (public_wanted(shape, "priority", true))
		json_put_int(j, "priority", row->priority);
	if (public_wanted(shape, "type", true))
		json_put_str(j, "type", str_of(names_word(&bead_types, row->type)));
	if (public_wanted(shape, "labels", true)) {
		json_name(j, STR("labels"));
		json_raw(j, row->tags.p ? row->tags : STR("[]"));
	}
	if (public_wanted(shape, "assignee", true))
		json_put_str(j, "assignee", row->assignee);
	if (public_wanted(shape, "assignee_expires", false)) {
		json_name(j, STR("assignee_expires"));
		if (row->lease)
			public_put_time(j, row->lease);
		else
			json_null(j);
	}
	if (public_wanted(shape, "created_at", false)) {
		json_name(j, STR("created_at"));
		public_put_time(j, row->created);
	}
	if (public_wanted(shape, "parent", false))
		json_put_str(j, "parent", row->parent);
	public_put_blockers(j, row, shape);
}

void public_put(struct json *j, const struct bead_row *row, const struct shape *shape)
{
	const struct value *line, *notes, *found[COUNT] = { NULL };
	bool *known;

	if (shape && !shape->brief && !shape->field_count)
		shape = NULL; /* all members */
	if (!row->line.p) {
		public_put_columns(j, row, shape);
		return;
	}
	line = value_read(j->out.mem, row->line);
	known = arena_array(j->out.mem, line ? line->count : 0, sizeof *known);
	public_find_members(line, found, known);
	notes = value_find(line, "notes");
	for (size_t i = 0; i < COUNT; i++) {
		const struct public_member *m = &members[i];

		if (!public_wanted(shape, m->name, m->flags & BRIEF))
			continue;
		json_name(j, str_of(m->name));
		public_put_look(j, found[i], m->look);
	}
	if (public_wanted(shape, "content_hash", false))
		json_put_str(j, "content_hash", row_hash(j->out.mem, row));
	if (public_wanted(shape, "comments", false))
		public_put_comments(j, notes, row->id);
	public_put_counts(j, row, notes, shape);
	public_put_extras(j, line, known, shape);
}

void public_put_container(struct json *j, const struct bead_row *row, const struct shape *shape)
{
	if (!row->children)
		return;
	if (public_wanted(shape, "container", true))
		json_put_bool(j, "container", true);
	if (public_wanted(shape, "open_children", true))
		json_put_int(j, "open_children", row->children);
}

void public_encode(struct json *j, const struct bead_row *row, const struct shape *shape)
{
	json_object(j);
	public_put(j, row, shape);
	json_end(j);
}

/* The beads of a list while they are read. */
struct public_list {
	struct json *reply;
	struct arena scratch;
	const struct shape *shape;
	int64_t count;
};

static bool public_add(void *arg, const struct bead_row *row)
{
	struct public_list *list = arg;
	struct json one;

	arena_reset(&list->scratch);
	one = json_new(&list->scratch);
	public_encode(&one, row, list->shape);
	json_raw(list->reply, json_text(&one));
	list->count++;
	return true;
}

enum err public_encode_all(struct call *c, struct cache *cache, struct bead_filter filter,
			   const struct shape *shape, struct json *reply, int64_t *count)
{
	struct public_list list = { .reply = reply, .shape = shape };
	struct bead_row *none;
	enum err e;

	filter.lean = shape_lean(shape);
	filter.visit = public_add;
	filter.arg = &list;
	json_array(reply);
	e = query_each(c, cache, &filter, &none);
	json_end(reply);
	arena_release(&list.scratch);
	*count = list.count;
	return e;
}

void public_encode_links(struct json *j, const struct link *links, const struct shape *shape)
{
	json_array(j);
	for (; links; links = links->next) {
		json_object(j);
		public_put(j, links->bead, shape);
		json_put_str(j, "dependency_type", links->kind);
		json_end(j);
	}
	json_end(j);
}
