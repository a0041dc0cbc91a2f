#include "board/unread.h"

#include "base/text/json.h"
#include "store/board/board_messages.h"

const struct gap *unread_gaps(struct call *c, const struct span *seen)
{
	size_t count = 2, n = 0;

	for (const struct span *s = seen; s; s = s->next)
		count++;

	struct gap *gaps = arena_array(&c->mem, count, sizeof *gaps);
	int64_t after = 0;

	for (; seen; seen = seen->next) {
		if (seen->first > after + 1)
			gaps[n++] = (struct gap){ after, seen->first };
		after = seen->last;
	}
	gaps[n] = (struct gap){ after, INT64_MAX };
	return gaps;
}

enum err unread_count(struct call *c, struct board *b, struct str agent, struct unread *out)
{
	struct span *seen;
	enum err e = reads_each(c, b, agent, &seen);

	*out = (struct unread){ 0, -1 };
	if (e)
		return e;
	for (const struct gap *g = unread_gaps(c, seen); g->before; g++) {
		int64_t rest = UNREAD_MOST - out->count, count;

		if ((e = gap_count(c, b, *g, rest, &count, &out->priority)))
			return e;
		out->count += count;
	}
	return ERR_OK;
}

void unread_encode(struct json *j, const struct unread *u)
{
	struct str none = { 0 };

	json_object(j);
	json_put_int(j, "count", u->count);
	json_put_str(j, "highest_priority",
		     u->count ? str_of(names_word(&priorities, u->priority)) : none);
	json_end(j);
}

static bool unread_holds(const struct span *seen, int64_t id)
{
	for (; seen && seen->first <= id; seen = seen->next)
		if (id <= seen->last)
			return true;
	return false;
}

void unread_show(struct call *c, struct board *b, const struct span *seen, struct message *shown,
		 bool all_between)
{
	struct span *news = NULL, whole = { INT64_MAX, 0, NULL };

	for (struct message *m = shown; m; m = m->next) {
		m->seen = unread_holds(seen, m->id) ? SEEN_BEFORE : SEEN_FIRST;
		whole.first = m->id < whole.first ? m->id : whole.first;
		whole.last = m->id > whole.last ? m->id : whole.last;
		if (m->seen == SEEN_FIRST) {
			struct span *one = arena_new(&c->mem, struct span);

			*one = (struct span){ m->id, m->id, news };
			news = one;
		}
	}
	reads_note(b, c->actor, news && all_between ? &whole : news);
}
