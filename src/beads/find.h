#ifndef BEADS_FIND_H
#define BEADS_FIND_H

#include "beads/beads.h"

struct bead;

/* Finds a bead by its id, by the start of its id, or by the start of the part after the prefix.
 * NOT_FOUND, DELETED, AMBIGUOUS_ID. */
enum err find_bead(struct call *c, struct beads *b, struct str text, struct bead_row **out);

/* The part of an id after the prefix; absent if the id has another prefix. */
struct str find_brief(struct str prefix, struct str id);

/* Several beads, as a chain in the order given, without duplicates; all or none. */
enum err find_beads(struct call *c, struct beads *b, const struct str *texts, size_t count,
		    struct bead_row **out);

/* A bead that was deleted, with its tombstone's line; if the tombstone was removed because it was
 * old, that of the last commit that had it, and a warning. */
enum err find_deleted(struct call *c, struct beads *b, struct str text, struct str *id,
		      struct str *line);

/* The beads that an actor has claimed, most urgent first. */
enum err find_claimed(struct call *c, struct beads *b, struct str actor, struct bead_row **out);

/* Fails with AMBIGUOUS_ID, and lists the first ids that `text` may mean. */
enum err find_ambiguous(struct call *c, struct str text, const struct str *ids, size_t count);

/* A new id: no bead has or had it, and none of this change. */
enum err find_free_id(struct call *c, struct beads *b, const struct state *change, struct str *out);

/* A new id for a copy of a bead: the same in every clone that knows the same ids. */
enum err find_copy_id(struct call *c, struct beads *b, const struct state *change,
		      const struct bead *bead, struct str *out);

#endif
