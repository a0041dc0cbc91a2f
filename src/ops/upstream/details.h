#ifndef OPS_UPSTREAM_DETAILS_H
#define OPS_UPSTREAM_DETAILS_H

#include "base/call.h"
#include "base/map.h"

/* What upstream's replies say beside ours; read from the beads in a second step. */

/* The dependency edges of each bead, as a JSON array by id: `text` of each value. */
struct detail_edges {
	struct str text;
};
enum err details_edges(struct call *c, const struct str *ids, size_t count, struct map *out);

/* Whole beads, as JSON by id. */
enum err details_beads(struct call *c, const struct str *ids, size_t count, struct map *out);

struct detail_stats {
	double lead_hours; /* from creation to closing, on average */
	int64_t deferred;
};
enum err details_stats(struct call *c, struct detail_stats *out);

/* Upstream's word for a kind of dependency. */
struct str details_kind_word(struct str kind);

#endif
