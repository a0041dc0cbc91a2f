#ifndef BEADS_MODEL_NEWS_H
#define BEADS_MODEL_NEWS_H

#include "beads/model/merge.h"

/* Limits in lines and bytes. Larger news are read from the commit instead. */
enum { NEWS_MOST = 2000, NEWS_BYTES = 16 << 20 };

/* What one commit has and another lacks. */
struct news {
	struct state *change;    /* if there are too many, only the remaps */
	size_t count, bytes;     /* number of lines */
	struct map gone;         /* ids that it does not have any more */
	struct state *rewritten; /* lines that have to be published in canonical form */
	bool forgets; /* something is missing or was remapped, which a join does not show */
};

static inline bool news_too_many(const struct news *n)
{
	return n->count > NEWS_MOST || n->bytes > NEWS_BYTES;
}

/* With `forgets`, lines that `now` lacks were collected; otherwise `now` is only older. */
enum err news_between(struct call *c, const struct snapshot *before, const struct snapshot *now,
		      bool forgets, struct news *out);

/* Notes the deletions that a merge collected. */
void news_of_merge(const struct merge *m, struct news *out);

#endif
