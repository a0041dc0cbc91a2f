#include "beads/undo/undo_log.h"

#include <stdlib.h>

#include "base/text/json.h"
#include "base/text/value.h"

enum {
	NOTE_MOST = 256 << 10, /* bytes of one note that a shortened journal keeps */
	NOTES_MOST = 1 << 20,  /* bytes of all of them */
};

struct undo_text {
	char *p;
	size_t n, cap;
	size_t order; /* number of the note in the journal */
};

static void undo_log_keep(struct undo_log *log, struct str actor, struct str json)
{
	void **at = map_find(&log->last, actor);
	struct undo_text *text;

	log->last.mem = log->mem;
	if (!at)
		at = map_put(&log->last, arena_copy(log->mem, actor));
	if (!*at)
		*at = arena_new(log->mem, struct undo_text);
	text = *at;
	if (text->cap < json.n) {
		text->cap = json.n;
		text->p = arena_text(log->mem, json.n);
	}
	memcpy(text->p, json.p, json.n);
	text->n = json.n;
	text->order = log->count++;
}

static bool undo_log_wants(const struct undo_log *log, struct str actor)
{
	return actor.p && (!log->actor.p || str_eq(actor, log->actor));
}

static void undo_log_put(struct json *j, const struct value *from, const char *key)
{
	const struct value *member = value_find(from, key);

	if (!member)
		return;
	json_key(j, str_of(key));
	json_value(j, member);
}

/* A note in the record of its command: the rest of the record is what the command wrote. */
static void undo_log_add_own(struct undo_log *log, const struct value *record,
			     const struct value *note)
{
	struct json j = json_new(&log->scratch);

	json_object(&j);
	undo_log_put(&j, note, "actor");
	json_put_object(&j, "after");
	undo_log_put(&j, record, "beads");
	undo_log_put(&j, record, "deps");
	undo_log_put(&j, record, "tombstones");
	json_end(&j);
	undo_log_put(&j, note, "before");
	undo_log_put(&j, note, "final");
	json_end(&j);
	undo_log_keep(log, value_str(note, "actor"), json_text(&j));
}

/* Parsing is costly, and most records are of other actors. */
static bool undo_log_may_have(struct undo_log *log, struct str record)
{
	struct json j = json_new(&log->scratch);

	if (!str_has(record, STR("\"undo")))
		return false;
	if (!log->actor.p)
		return true;
	json_object(&j);
	json_put_str(&j, "actor", log->actor);
	json_end(&j);
	return str_has(record, str_head(json_text(&j), j.out.n - 1));
}

void undo_log_add(struct undo_log *log, struct str record)
{
	const struct value *v, *one, *many;

	arena_reset(&log->scratch);
	if (!undo_log_may_have(log, record) || !(v = value_read(&log->scratch, record)))
		return;
	one = value_find(v, "undo");
	many = value_find(v, "undos");
	VALUE_EACH(item, many) {
		struct str actor = value_str(item, "actor");
		struct json j = json_new(&log->scratch);

		if (!undo_log_wants(log, actor))
			continue;
		json_value(&j, item);
		undo_log_keep(log, actor, json_text(&j));
	}
	if (one && undo_log_wants(log, value_str(one, "actor")))
		undo_log_add_own(log, v, one);
}

struct str undo_log_find(const struct undo_log *log, struct str actor)
{
	void **at = map_find(&log->last, actor);
	const struct undo_text *text = at ? *at : NULL;

	return text ? (struct str){ text->p, text->n } : STR_NONE;
}

static int undo_text_cmp(const void *a, const void *b)
{
	const struct undo_text *x = *(const struct undo_text *const *)a,
			       *y = *(const struct undo_text *const *)b;

	return x->order < y->order ? -1 : x->order > y->order;
}

struct str *undo_log_list(const struct undo_log *log, size_t *count)
{
	size_t all = log->last.count, first = all, bytes = 0;
	const struct undo_text **text = arena_array(log->mem, all + 1, sizeof *text);
	struct str *out = arena_array(log->mem, all + 1, sizeof *out);

	for (size_t i = 0; i < all; i++)
		text[i] = log->last.entry[i].value;
	qsort(text, all, sizeof *text, undo_text_cmp);
	while (first && bytes + text[first - 1]->n <= NOTES_MOST)
		bytes += text[--first]->n;
	*count = 0;
	for (; first < all; first++)
		if (text[first]->n <= NOTE_MOST)
			out[(*count)++] = (struct str){ text[first]->p, text[first]->n };
	return out;
}
