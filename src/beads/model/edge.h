#ifndef BEADS_MODEL_EDGE_H
#define BEADS_MODEL_EDGE_H

#include "base/arena.h"
#include "beads/model/stamp.h"
#include "store/db/bead_words.h"

struct json;
struct value;

/*
 * A dependency: `from` depends on `to`. Its creation is the earliest one anybody knows; whether
 * it is there or deleted is what was written last.
 */
struct edge {
	struct str from, to;
	struct str kind; /* a word of edge_kinds, or one that this program does not know */
	struct mark created, life;
	bool deleted;
	struct str more; /* members not known here, as a canonical object; or absent */
};

/* A text that is the same for edges of the same ends and kind, and sorts as they do. */
struct str edge_key(struct arena *mem, const struct edge *e);

/* Copies all that it points to. */
void edge_own(struct arena *mem, struct edge *e);

struct edge edge_join(struct edge a, struct edge b);

bool edge_decode(struct arena *mem, const struct value *v, struct edge *out, struct str *why);
void edge_encode(struct json *j, const struct edge *e);
struct str edge_text(struct arena *mem, const struct edge *e);

#endif
