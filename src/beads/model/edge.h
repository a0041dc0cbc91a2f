#ifndef BEADS_MODEL_EDGE_H
#define BEADS_MODEL_EDGE_H

#include "base/arena.h"
#include "beads/model/stamp.h"
#include "store/db/bead_words.h"

struct json;
struct map;
struct value;

/* A dependency: `from` depends on `to`. Of several creations the earliest counts; of adding and
 * removing the last. */
struct edge {
	struct str from, to;
	struct str kind; /* a word of edge_kinds, or one that this program does not know */
	struct mark created, life;
	bool deleted;
	struct str more; /* unknown members, as a canonical object; or absent */
};

/* The sort key: the same for edges of the same ends and kind. */
struct str edge_key(struct arena *mem, const struct edge *e);

/* Is one of the two beads of the edge with this key in the set? */
bool edge_key_touches(struct str key, const struct map *ids);

/* Copies everything that the edge points to into the arena. */
void edge_own(struct arena *mem, struct edge *e);

struct edge edge_join(struct edge a, struct edge b);

bool edge_decode(struct arena *mem, const struct value *v, struct edge *out, struct str *why);
void edge_encode(struct json *j, const struct edge *e);
struct str edge_text(struct arena *mem, const struct edge *e);

#endif
