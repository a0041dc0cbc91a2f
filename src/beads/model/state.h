#ifndef BEADS_MODEL_STATE_H
#define BEADS_MODEL_STATE_H

#include "base/map.h"
#include "beads/model/bead.h"
#include "beads/model/edge.h"

/*
 * A state is a set of beads by id, edges by their two beads, and remapped or deleted ids. A change
 * is a small state, and so are a record of the journal and the content of a commit; state_add()
 * joins any two of them.
 *
 * The join is commutative, associative and idempotent on closed states: a closed state contains the
 * beads at both ends of its edges, and for every remapped id the bead that kept the id.
 *
 * If two machines give the same id to two beads, the bead that was created first keeps it, and the
 * other one moves to bead_other_id(), with its edges. The new id is recorded, so that writes to the
 * old id on other machines reach the moved bead.
 */

/* A lineage that was remapped, and its new id. */
struct remap {
	struct mark created;
	struct str to;
	struct str later;    /* a later id of that bead, if it moved again; or absent */
	unsigned delete_run; /* the last state_delete_every() that followed it */
};

/* Everything about one id. */
struct slot {
	struct str id;
	struct bead *bead;   /* the bead with this id, deleted or not; or NULL */
	struct mark every;   /* a deletion of every bead of this id; or absent */
	struct str reason;   /* its reason; canonical JSON, or absent */
	struct remap *remap; /* by lineage */
	size_t remaps;
	unsigned round; /* number of the state_add() that put the bead here */
};

struct state {
	struct arena *mem;
	struct map slots;  /* by id: struct slot */
	struct map edges;  /* by edge_key(): struct edge */
	struct str prefix; /* prefix of new ids; absent: not chosen */
	struct mark prefix_mark;
	struct str meta; /* unknown members of meta.json, a canonical object; or absent */
	unsigned round;
	bool has_every;       /* some id has an `every` */
	unsigned delete_runs; /* counts state_delete_every() */
};

struct state *state_new(struct arena *mem);

/*
 * Joins the other state into this one. What is kept is copied; but if both are in the same memory,
 * their beads share texts and lists, which nobody may change then.
 */
void state_add(struct state *s, const struct state *more);

/* Puts a single bead or edge into a new state, which is then added to another. */
void state_put_bead(struct state *s, const struct bead *b);
void state_put_edge(struct state *s, const struct edge *e);
void state_put_prefix(struct state *s, struct str prefix, struct mark mark);

/* Unknown members of meta.json: of two values, the greater text wins. */
void state_put_meta(struct state *s, struct str members);

/* The latest stamp in the state that is not after the horizon. */
struct stamp state_clock(const struct state *s, int64_t horizon_ms);

/* NULL: the id is unknown. */
struct slot *state_find(const struct state *s, struct str id);
struct slot *state_slot(struct state *s, struct str id); /* created if missing */

/* Is there a bead under that id that is not deleted? */
bool slot_live(const struct slot *slot);
bool slot_visible(const struct slot *slot); /* live, and has more than a lineage */

/* Must the id have a line in tombstones.jsonl? */
bool slot_has_tombstone(const struct slot *slot);
struct str tombstone_text(struct arena *mem, const struct slot *slot);

/* Reads one line into the state; false, and why, if it is invalid. */
bool state_read_bead(struct state *s, const struct value *line, struct str *why);
bool state_read_tombstone(struct state *s, const struct value *line, struct str *why);
bool state_read_edge(struct state *s, const struct value *line, struct str *why);

#endif
