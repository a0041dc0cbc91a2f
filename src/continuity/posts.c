#include "continuity/posts.h"

#include "store/board/board_db.h"

enum { MOST = 300 };

/* A mention ends where no letter, digit or dash follows. */
static bool posts_mentions(struct call *c, struct str text, struct str agent)
{
	struct str at = arena_fmt(&c->mem, "@" STR_FMT, STR_ARG(agent));
	const char *found;

	while ((found = str_find(text, at))) {
		text = str_skip(text, (size_t)(found - text.p) + at.n);
		if (!text.n || !(text.p[0] == '-' || text.p[0] == '_' ||
				 (text.p[0] >= '0' && text.p[0] <= '9') ||
				 ((text.p[0] | 0x20) >= 'a' && (text.p[0] | 0x20) <= 'z')))
			return true;
	}
	return false;
}

struct message *posts_to(struct call *c, struct str agent, int64_t after, int64_t *last)
{
	struct message_filter filter = { .after = after, .min_priority = -1, .limit = MOST };
	struct message *all = NULL, *first = NULL, *next;
	struct board board;

	*last = after;
	if (!board_open(c, BOARD_READ, &board)) {
		if (message_each(c, &board, &filter, &all))
			all = NULL;
		board_close(&board);
	}
	call_forgive(c);
	for (; all; all = next) { /* the query returns the newest first */
		next = all->next;
		if (all->id > *last)
			*last = all->id;
		if (str_eq(all->from_agent, agent) || !posts_mentions(c, all->content, agent))
			continue;
		all->next = first;
		first = all;
	}
	return first;
}
