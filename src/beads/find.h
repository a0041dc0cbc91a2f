#ifndef BEADS_FIND_H
#define BEADS_FIND_H

#include "beads/beads.h"

struct bead;

/*
 * The bead that is meant: by its id, by the start of it, or by the start of what follows the
 * prefix, as long as there is one such. NOT_FOUND, DELETED or AMBIGUOUS_ID otherwise.
 */
enum err find_bead(struct call *c, struct beads *b, struct str text, struct bead_row **out);

/* What of an id follows the prefix; absent: it has another one. */
struct str find_brief(struct str prefix, struct str id);

/* Several at once, as a chain in their order, each once; all or none. */
enum err find_beads(struct call *c, struct beads *b, const struct str *texts, size_t count,
		    struct bead_row **out);

/* A bead that was deleted, with its tombstone's line. */
enum err find_buried(struct call *c, struct beads *b, struct str text, struct str *id,
		     struct str *line);

/* An id that no bead has or had, nor one of this change. */
enum err find_free_id(struct call *c, struct beads *b, const struct state *change, struct str *out);

/* Such an id for a copy of a bead: the same in every clone that knows of the same ids. */
enum err find_copy_id(struct call *c, struct beads *b, const struct state *change,
		      const struct bead *bead, struct str *out);

#endif
