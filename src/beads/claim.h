#ifndef BEADS_CLAIM_H
#define BEADS_CLAIM_H

#include "beads/edit.h"

/*
 * Claims: who works on a bead, since when, until when. The start of a claim is its epoch. Renewing
 * keeps the epoch; an agent with another epoch has lost the bead. After the end of the lease
 * anybody may claim the bead.
 */

/*
 * An exclusive claim leaves this time after the end of another clone's lease, because the clocks of
 * machines differ: while they do by less, no bead has two holders.
 */
enum { CLAIM_MARGIN_MS = 60000 };

/* ALREADY_CLAIMED, naming the holder and the end; CLOSED. The actor's own claim is renewed. */
enum err claim_take(struct edit *e, int64_t lease_ms);

/* NOT_CLAIMED unless the actor holds it. */
enum err claim_renew(struct edit *e, int64_t lease_ms);
enum err claim_release(struct edit *e);

/* For an agent that continues the work of `from`, whose session has ended: the claim becomes the
 * actor's, with a new epoch. NOT_CLAIMED unless `from` still holds it. */
enum err claim_adopt(struct edit *e, struct str from, int64_t lease_ms);

/* ALREADY_CLAIMED, naming the holder and the end, and why the claim cannot be taken over. */
enum err claim_refuse_takeover(struct edit *e, struct str why);

/* Restores an earlier claim with its epoch. If the actor had the claim, its lease starts again. */
void claim_restore(struct edit *e, const struct bead *before);

/* Ends the claim without any check. */
void claim_drop(struct edit *e);

/* Every write of the holder renews its lease. */
void claim_go_on(struct edit *e);

/*
 * The one rule for closing, reopening or deleting a bead and for changing its status: while a
 * lease is live only its holder may, and others only with force; otherwise anybody may.
 * ALREADY_CLAIMED, naming the holder and the end.
 */
enum err claim_permit(struct edit *e);
bool claim_is_anothers(const struct edit *e); /* does another actor have a live lease? */

/* STALE_CLAIM unless that claim still holds. */
enum err claim_check(struct edit *e, struct stamp epoch);

/* Assigns the bead, to nobody if the name is empty. There is a lease only if the bead is in
 * progress. */
void claim_assign(struct edit *e, struct str name);

#endif
