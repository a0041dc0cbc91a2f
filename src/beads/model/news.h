#ifndef BEADS_MODEL_NEWS_H
#define BEADS_MODEL_NEWS_H

#include "beads/model/merge.h"

/* Lines and bytes; more are not told one by one, but read in the commit. */
enum { NEWS_MOST = 2000, NEWS_BYTES = 16 << 20 };

/* What a commit has that another has not. */
struct news {
	struct state *change;    /* if there is too much of it, only ids that were left */
	size_t count, bytes;     /* of lines */
	struct map gone;         /* ids of which it knows nothing any more */
	struct state *rewritten; /* lines that are to be published in their normal form */
	bool forgets;            /* something is missing, or moved: joining cannot tell that */
};

static inline bool news_too_many(const struct news *n)
{
	return n->count > NEWS_MOST || n->bytes > NEWS_BYTES;
}

/* With `forgets`, what is missing in `now` was forgotten; otherwise it is only older. */
enum err news_between(struct call *c, const struct snapshot *before, const struct snapshot *now,
		      bool forgets, struct news *out);

/* What a merge has collected. */
void news_of_merge(const struct merge *m, struct news *out);

#endif
