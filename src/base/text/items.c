#include "base/text/items.h"

/* The next character that is not a blank; 0: there is none. */
static char items_look(struct items *list)
{
	for (;;) {
		struct str rest = reader_rest(&list->text);
		size_t n = 0;

		while (n < rest.n && memchr(" \t\r\n", rest.p[n], 4))
			n++;
		reader_take(&list->text, n);
		if (n < rest.n)
			return rest.p[n];
		if (!reader_more(&list->text))
			return '\0';
	}
}

static bool items_skip(struct items *list, char ch)
{
	bool found = items_look(list) == ch;

	if (found)
		reader_take(&list->text, 1);
	return found;
}

static const struct value *items_stop(struct items *list, bool damaged)
{
	list->ended = true;
	list->damaged = damaged;
	return NULL;
}

/* After the last item, only blanks may follow. */
static const struct value *items_close(struct items *list)
{
	return items_stop(list, items_look(list));
}

/* The item at the place of the reader, and whatever ends it; NULL: it is not JSON. */
static const struct value *items_parse(struct items *list, struct arena *mem)
{
	for (;;) {
		struct arena before = arena_mark(mem);
		struct str rest = reader_rest(&list->text), after = rest;
		const struct value *item = value_parse_first(mem, &after);

		/* a number that ends the part may go on in the next one */
		if (item && after.n) {
			list->place = reader_place(&list->text);
			reader_take(&list->text, rest.n - after.n);
			return item;
		}
		arena_rewind(mem, before);
		if (!reader_more(&list->text))
			return NULL;
	}
}

const struct value *items_next(struct items *list, struct arena *mem)
{
	const struct value *item;

	if (list->ended)
		return NULL;
	if (!list->count && !items_skip(list, '['))
		return items_stop(list, true);
	if (items_skip(list, ']'))
		return items_close(list);
	if (list->count && !items_skip(list, ','))
		return items_stop(list, true);
	if (!(item = items_parse(list, mem)))
		return items_stop(list, true);
	list->count++;
	return item;
}

const struct value *items_again(struct items *list, size_t place, struct arena *mem)
{
	reader_seek(&list->text, place);
	return items_parse(list, mem);
}
