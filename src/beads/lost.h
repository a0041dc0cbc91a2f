#ifndef BEADS_LOST_H
#define BEADS_LOST_H

#include "beads/beads.h"

struct json;

enum lease_cut { LEASE_WHOLE, LEASE_SHORTENED, LEASE_ENDED, LEASE_NEW_EPOCH };

/*
 * Claims that are lost in a merge: two clones claim one bead, both are told that it is theirs, and
 * the later claim wins when the clones sync. The loser has to be told.
 *
 * `claims.jsonl` in the store's folder has the claims that were made in this clone: a line for each
 * new claim, for each new end of one, and for each that was given up or ended here; the last line
 * of a bead counts. A line has the lineage of its bead, so that the claim is found again if the
 * bead has to move to another id. Every sync removes the claims that no longer hold, and stores the
 * lost ones in `lost/`, from where the next reply to the actor reports them. Both files are hints:
 * without them nobody is told, and nothing else is different.
 */
struct lost_claim {
	struct str id, title;
	struct str holder;  /* the actor that lost it */
	struct stamp epoch; /* of the claim that is lost */
	struct str by;      /* the actor whose write ended it */
	struct str to;      /* the actor that has the bead now; absent: none */
	int64_t until_ms;   /* the end of the lease of `to`; 0: none */
	enum lease_cut cut; /* what became of the lease, if the holder kept the bead */
	const char *status; /* of the bead now, or "deleted" */
	struct lost_claim *next;
};

/* For a writer: notes the claims in what it is about to commit. Never fails. */
void lost_note(struct call *c, struct beads *b);

/* The same for a claim that was made here and came back with a fetch. */
void lost_note_claim(struct call *c, struct beads *b, const struct bead_row *row,
		     struct stamp epoch);

/*
 * After a sync: the claims of this clone that do not hold any longer, because of somebody else's
 * write. `tell` is called with each of them before it is forgotten.
 */
typedef void lost_tell(struct call *c, const struct lost_claim *lost);
enum err lost_check(struct call *c, struct str home, lost_tell *tell, struct lost_claim **out);

/* The same for a reserved scope that another machine's agent has reserved earlier. */
void lost_keep_scope(struct call *c, struct str home, struct str actor, struct str scope,
		     struct str message);

/* May there be something for lost_take() to take? Only looks, and opens nothing. */
bool lost_waits(struct call *c, struct str home, struct str actor);

/*
 * The claims that the actor has lost and was not told about, as a JSON list; absent: none. They
 * count as told from now on.
 */
struct str lost_take(struct call *c, struct str home, struct str actor);

/* The lost claims that their actors were not notified of yet, as a JSON list; notifies nobody. */
struct str lost_list(struct call *c, struct str home);

void lost_encode(struct json *j, const struct lost_claim *lost);

/* The same for people: "'bd-1' is held by bob until …". */
struct str lost_text(struct arena *mem, const struct lost_claim *lost);

#endif
