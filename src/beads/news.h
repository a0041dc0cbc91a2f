#ifndef BEADS_NEWS_H
#define BEADS_NEWS_H

#include "beads/merge.h"

/* What a commit has that another has not. */
struct news {
	struct state *change;
	size_t count;     /* of lines */
	struct str *gone; /* ids of which it knows nothing any more */
	size_t gone_count;
	bool forgets; /* something is missing: joining cannot tell that */
};

/* With `forgets`, what is missing in `now` was forgotten; otherwise it is only older. */
enum err news_between(struct call *c, const struct snapshot *before,
		      const struct snapshot *now, bool forgets, struct news *out);

/* What a merge has collected. */
void news_of_merge(const struct merge *m, struct news *out);

#endif
