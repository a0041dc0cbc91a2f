#ifndef BEADS_EXCHANGE_UPSTREAM_H
#define BEADS_EXCHANGE_UPSTREAM_H

#include "base/arena.h"
#include "beads/model/bead.h"
#include "store/db/bead_words.h"

struct value;

/* Words, times and texts of upstream's issues.jsonl. */

/* The status or type that is nearest to a word of upstream; `exact`: it is the same word. */
int upstream_status(struct str word, bool *exact);
int upstream_type(struct str word, bool *exact);

/* The kind of an edge; `exact`: it has the same word in upstream. */
int upstream_kind(struct str word, bool *exact);

/* RFC 3339 in UTC, with milliseconds only if there are some. */
struct str upstream_time(struct arena *mem, int64_t ms);

/*
 * The members of an object, or the items of an array, as their own text: `out[i]` is the text of
 * `v->item[i]`. `text` is the valid JSON that `v` was parsed from.
 */
struct str *upstream_parts(struct arena *mem, struct str text, const struct value *v);

/*
 * Data that a bead's own members cannot express is kept in its extra member `imported`:
 *
 *	{"comments":{NOTE:TEXT,…},"dependencies":[TEXT,…],"keys":{KEY:TEXT,…},"others":[TEXT,…]}
 *
 * Each TEXT is a string with the JSON of the file; `others` are comments without a text. An export
 * writes TEXT unchanged as long as it agrees with the bead.
 */
#define UPSTREAM_KEPT "imported"

/*
 * An edge as an item of `dependencies`. If the kind has another word there, the edge keeps that
 * word as `original_kind`; if the item has more members than an edge, the edge keeps the item as
 * `imported`.
 */
struct edge;
struct str upstream_edge_text(struct arena *mem, const struct edge *e);
struct str upstream_edge_more(struct arena *mem, const struct edge *e, struct str original_kind,
			      struct str text);

/* The members of upstream's lines that export writes from the members of the bead. */
bool upstream_key_known(struct str key);

/* The extension of the bead that upstream's line has under the same key; -1: none. */
int upstream_extension(struct str key);

#endif
