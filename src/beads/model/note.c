#include "beads/model/note.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/text/json.h"
#include "beads/model/limits.h"

enum { DIGITS = SHA256_BYTES, SUFFIX = 1 + DIGITS }; /* half of the hexadecimal digits, and "~" */

static int note_cmp(const struct note *a, const struct note *b)
{
	int order = mark_cmp((struct mark){ a->at, a->author }, (struct mark){ b->at, b->author });

	return order ? order : str_cmp(a->content, b->content);
}

bool note_same(const struct note *a, const struct note *b)
{
	return !note_cmp(a, b);
}

static struct str note_digits(struct arena *mem, const struct note *n)
{
	struct json j = json_new(mem);

	json_array(&j);
	stamp_encode(&j, n->at);
	json_str(&j, n->author);
	json_str(&j, n->content);
	json_end(&j);
	return str_head(sha256_hex(mem, json_text(&j)), DIGITS);
}

bool note_id_derived(struct str id)
{
	if (id.n <= SUFFIX || id.p[id.n - SUFFIX] != '~')
		return false;
	for (size_t i = id.n - DIGITS; i < id.n; i++)
		if (!(id.p[i] >= '0' && id.p[i] <= '9') && !(id.p[i] >= 'a' && id.p[i] <= 'f'))
			return false;
	return true;
}

/* The original id of a renamed note. */
static struct str note_first_id(struct arena *mem, const struct note *n)
{
	struct str id = n->id, digits = note_id_derived(id) ? note_digits(mem, n) : STR_NONE;

	while (note_id_derived(id) && str_ends(id, digits))
		id = str_head(id, id.n - SUFFIX);
	return id;
}

/* Sorted by id, then by time, author and content. */
static int note_in_order(const void *a, const void *b)
{
	const struct note *x = a, *y = b;
	int order = str_cmp(x->id, y->id);

	return order ? order : note_cmp(x, y);
}

/* The id for one of several notes with the same id; `first`: the least of them keeps it. */
static struct str note_name(struct arena *mem, const struct note *n, bool first)
{
	if ((first && !note_id_derived(n->id)) || n->id.n + SUFFIX > LIMIT_NAME)
		return n->id;
	return arena_fmt(mem, STR_FMT "~" STR_FMT, STR_ARG(n->id), STR_ARG(note_digits(mem, n)));
}

/* Of sorted notes with one id, only the greatest stays. */
static size_t notes_unique(struct note *note, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (i + 1 == count || !str_eq(note[i].id, note[i + 1].id))
			note[left++] = note[i];
	return left;
}

size_t notes_normalize(struct arena *mem, struct note *note, size_t count)
{
	struct str id = STR_NONE;
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		note[i].id = note_first_id(mem, &note[i]);
	if (count)
		qsort(note, count, sizeof *note, note_in_order);
	for (size_t i = 0; i < count; i++)
		if (!i || note_in_order(&note[i - 1], &note[i]))
			note[left++] = note[i];
	for (size_t i = 0; i < left; i++) {
		bool first = !i || !str_eq(note[i].id, id);

		id = note[i].id;
		note[i].id = note_name(mem, &note[i], first);
	}
	if (left)
		qsort(note, left, sizeof *note, note_in_order);
	return notes_unique(note, left); /* for ids that are too long for a suffix */
}
