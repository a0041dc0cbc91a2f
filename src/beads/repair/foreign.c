#include "beads/repair/foreign.h"

#include "base/names.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/limits.h"
#include "beads/model/line.h"
#include "beads/model/note.h"
#include "beads/model/state.h"
#include "store/db/bead_words.h"

bool foreign_files(struct arena *mem, const struct snapshot *files)
{
	struct str why;
	const struct value *v = snapshot_parse_meta(mem, files, &why);

	return v && v->type == VALUE_OBJECT && !value_find(v, "checksums");
}

/* Such a store may have all edges in one line, so a line may have more values than ours. */
static const struct value *parse_line(struct arena *mem, struct str line, struct str *why)
{
	struct value_error error;
	const struct value *v = value_parse_bounded(mem, line, 8 * (size_t)LIMIT_VALUES, &error);

	if (!v)
		*why = str_of(error.why);
	return v;
}

/* --- beads --- */

static void foreign_put_labels(struct json *j, const struct value *v)
{
	const struct value *entries = value_find(v, "entries");

	json_array(j);
	for (size_t i = 0; v->type == VALUE_ARRAY && i < v->count; i++)
		json_value(j, &v->item[i]);
	VALUE_EACH(one, entries)
		json_str(j, one->key);
	json_end(j);
}

/* Later versions use other words for the status. */
static struct str foreign_status_of(struct str word)
{
	static const struct {
		const char *word, *status;
	} words[] = {
		{ "Todo", "open" },
		{ "In Progress", "in_progress" },
		{ "Human Review", "in_progress" },
		{ "Rework", "in_progress" },
		{ "Merging", "in_progress" },
		{ "Done", "closed" },
		{ "Cancelled", "closed" },
		{ "Duplicate", "closed" },
	};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (str_is(word, words[i].word))
			return str_of(words[i].status);
	return names_has(&bead_statuses, word) ? word : STR("open");
}

static void put_word(struct json *j, struct str key, struct str word, struct str known)
{
	json_key(j, key);
	json_str(j, known);
	if (str_eq(word, known))
		return;
	json_key(j, str_is(key, "status") ? STR("original_status") : STR("original_type"));
	json_str(j, word);
}

static void put_marks(struct json *j, const struct value *v)
{
	json_object(j);
	VALUE_EACH(one, v) {
		struct str key = one->key;

		json_key(j, str_is(key, "workflow") ? STR("status") :
			    str_is(key, "claim")    ? STR("assignee") :
						      key);
		json_value(j, one);
	}
	json_end(j);
}

static bool foreign_is_type(struct str word)
{
	return names_has(&bead_types, word);
}

/* The canonical line. */
static struct str foreign_respelled(struct arena *mem, const struct value *v)
{
	struct json j = json_new(mem);

	json_object(&j);
	VALUE_EACH(m, v) {
		if (str_is(m->key, "labels")) {
			json_key(&j, m->key);
			foreign_put_labels(&j, m);
		} else if (str_is(m->key, "_v") && m->type == VALUE_OBJECT) {
			json_key(&j, m->key);
			put_marks(&j, m);
		} else if (str_is(m->key, "status") && m->type == VALUE_STRING) {
			put_word(&j, m->key, m->text, foreign_status_of(m->text));
		} else if (str_is(m->key, "type") && m->type == VALUE_STRING) {
			put_word(&j, m->key, m->text,
				 foreign_is_type(m->text) ? m->text : STR("task"));
		} else
			json_put_member(&j, m);
	}
	json_end(&j);
	return json_text(&j);
}

static bool foreign_read_bead(struct state *s, const struct value *v, struct str *why)
{
	struct value_error error;
	const struct value *line = value_parse(s->mem, foreign_respelled(s->mem, v), &error);

	struct bead b;

	if (!line) {
		*why = str_of(error.why);
		return false;
	}
	if (!line_decode(s->mem, line, &b, why))
		return false;
	if (!bead_whole(&b)) {
		*why = STR("\"_at\" and \"_by\" are missing");
		return false;
	}
	state_put_bead(s, &b);
	return true;
}

/* Tombstones and edges are converted to our own lines and read as those, so that the same rules
 * apply. */
static const struct value *foreign_end_line(struct json *j)
{
	json_end(j);
	return value_read(j->out.mem, json_text(j));
}

/* --- what is gone --- */

static bool read_lineage(const struct value *v, struct mark *out)
{
	out->by = value_str(v, "lineage_created_by");
	return out->by.n && stamp_decode(value_find(v, "lineage_created_at"), &out->at);
}

static void put_member(struct json *j, const struct value *v, const char *key)
{
	const struct value *member = value_find(v, key);

	if (member)
		json_put_raw(j, key, json_canonical_text(j->out.mem, member));
}

static bool foreign_read_tombstone(struct state *s, const struct value *v, struct str *why)
{
	static const char *const members[] = { "deleted_at", "deleted_by", "id", "reason" };
	struct json j = json_new(s->mem);
	struct mark created;

	if (!read_lineage(v, &created))
		return state_read_tombstone(s, v, why);
	json_object(&j);
	json_put_object(&j, "bead");
	json_name(&j, STR("created_at"));
	stamp_encode(&j, created.at);
	json_put_str(&j, "created_by", created.by);
	put_member(&j, v, "id");
	json_end(&j);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		put_member(&j, v, members[i]);
	return state_read_tombstone(s, foreign_end_line(&j), why);
}

/* --- edges --- */

/* An end is an id, or an object that has one. */
static struct str end_of(const struct value *v, const char *key)
{
	struct str id = value_str(v, key);

	return id.p ? id : value_str(value_find(v, key), "id");
}

static bool read_entry(struct state *s, const struct value *key, struct mark stamp, struct str *why)
{
	struct json j = json_new(s->mem);

	json_object(&j);
	json_name(&j, STR("created_at"));
	stamp_encode(&j, stamp.at);
	json_put_str(&j, "created_by", stamp.by);
	json_put_str(&j, "from", end_of(key, "from"));
	json_put_str(&j, "kind", value_str(key, "kind"));
	json_put_str(&j, "to", end_of(key, "to"));
	return state_read_edge(s, foreign_end_line(&j), why);
}

/* A set of dots has one stamp for all of its entries. */
static bool read_set(struct state *s, const struct value *v, struct str *why)
{
	const struct value *entries = value_find(v, "entries");
	struct mark stamp = { .by = STR("unknown") };

	mark_decode(value_find(v, "stamp"), &stamp);
	VALUE_EACH(item, entries)
		if (!read_entry(s, value_find(item, "key"), stamp, why))
			return false;
	return true;
}

static bool foreign_read_edge(struct state *s, const struct value *v, struct str *why)
{
	return value_find(v, "cc") ? read_set(s, v, why) : state_read_edge(s, v, why);
}

/* --- notes --- */

static bool note_fits(const struct note *n)
{
	return n->id.n && n->id.n <= LIMIT_NAME && n->author.n && n->author.n <= LIMIT_NAME &&
	       n->content.p && n->content.n <= LIMIT_TEXT;
}

/*
 * Notes are collected by bead and joined at once, because each join copies all notes of the bead.
 */
static bool read_note(struct state *s, const struct value *v, struct map *gathered, struct str *why)
{
	const struct value *value = value_find(v, "note");
	struct note n = { .id = value_str(value, "id"),
			  .author = value_str(value, "author"),
			  .content = value_str(value, "content") };
	struct str id = value_str(v, "bead_id");
	const struct slot *slot = state_find(s, id);
	struct mark created;
	struct bead *b;
	void **at;

	if (!bead_id_valid(id) || !note_fits(&n) || !stamp_decode(value_find(value, "at"), &n.at)) {
		*why = STR("it is not a note");
		return false;
	}
	/* the note of a missing bead stays in its old commit only */
	if (!slot || !slot->bead ||
	    (read_lineage(v, &created) && mark_cmp(created, slot->bead->created)))
		return true;
	at = map_put(gathered, id);
	if (!*at)
		*at = arena_new(s->mem, struct bead);
	b = *at;
	if (b->notes == LIMIT_NOTES) {
		*why = STR("the bead has too many notes");
		return false;
	}
	b->note = arena_room(s->mem, b->note, b->notes, sizeof n);
	b->note[b->notes++] = n;
	return true;
}

static void foreign_put_notes(struct state *s, const struct map *gathered)
{
	for (size_t i = 0; i < gathered->count; i++) {
		struct bead b = *(const struct bead *)gathered->entry[i].value;

		b.notes = notes_normalize(s->mem, b.note, b.notes);
		b.id = gathered->entry[i].key;
		b.created = state_find(s, b.id)->bead->created;
		state_put_bead(s, &b);
	}
}

/* Returns 0, or the number of the line that could not be read. */
static size_t foreign_read_notes(struct state *s, struct str text, struct str *why)
{
	struct map gathered = { .mem = s->mem };
	struct str line;

	for (size_t n = 1; text.n && str_next(&text, '\n', &line); n++) {
		const struct value *v;

		if (!str_trim(line).n)
			continue;
		v = parse_line(s->mem, line, why);
		if (!v || !read_note(s, v, &gathered, why))
			return n;
	}
	foreign_put_notes(s, &gathered);
	return 0;
}

/* --- files --- */

typedef bool read_line(struct state *s, const struct value *v, struct str *why);

/* Returns 0, or the number of the line that could not be read. */
static size_t foreign_read_lines(struct state *s, struct str text, read_line *read, struct str *why)
{
	struct str line;

	for (size_t n = 1; text.n && str_next(&text, '\n', &line); n++) {
		const struct value *v;

		if (!str_trim(line).n)
			continue;
		v = parse_line(s->mem, line, why);
		if (!v || !read(s, v, why))
			return n;
	}
	return 0;
}

static struct str common_prefix(const struct state *s)
{
	for (size_t i = 0; i < s->slots.count; i++) {
		struct str id = s->slots.entry[i].key;

		for (size_t n = id.n; n-- > 1;)
			if (id.p[n] == '-')
				return str_head(id, n);
	}
	return STR_NONE;
}

/* A prefix that gives way to any prefix that was chosen. */
static void foreign_read_prefix(struct call *c, const struct snapshot *files, struct state *s)
{
	struct str why, slug = value_str(snapshot_parse_meta(&c->mem, files, &why), "root_slug");
	struct mark mark = { .by = STR("unknown") };

	slug = bead_prefix_valid(slug) ? slug : common_prefix(s);
	if (bead_prefix_valid(slug))
		state_put_prefix(s, arena_copy(s->mem, slug), mark);
}

enum err foreign_read(struct call *c, const struct snapshot *files, struct str notes,
		      struct state *out)
{
	static const struct {
		enum snapshot_file file;
		read_line *read;
	} order[] = { { FILE_TOMBSTONES, foreign_read_tombstone },
		      { FILE_STATE, foreign_read_bead },
		      { FILE_DEPS, foreign_read_edge } };
	struct str why = { 0 };
	size_t n;

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		if (!files->file[order[i].file].p)
			return snapshot_fail(c, files, order[i].file, 0, STR("it is missing"));
		if ((n = foreign_read_lines(out, files->file[order[i].file], order[i].read, &why)))
			return snapshot_fail(c, files, order[i].file, n, why);
	}
	if ((n = foreign_read_notes(out, notes, &why)))
		return call_fail(c, ERR_REMOTE_DAMAGED,
				 "line %zu of notes.jsonl cannot be used: " STR_FMT, n,
				 STR_ARG(why));
	foreign_read_prefix(c, files, out);
	state_add(out, state_new(&c->mem)); /* deletions that apply to every bead of an id */
	return ERR_OK;
}
