#ifndef BEADS_CLAIM_H
#define BEADS_CLAIM_H

#include "beads/edit.h"

/*
 * Claims: who works on a bead, since when, until when. The beginning is the epoch of the claim:
 * it stays as long as the holder renews it, and an agent that shows another epoch has lost the
 * bead. An end that has passed lets anybody else in.
 */

/* ALREADY_CLAIMED, naming the holder and the end; CLOSED. One's own goes on. */
enum err claim_take(struct edit *e, int64_t lease_ms);

/* NOT_CLAIMED unless the actor holds it. */
enum err claim_renew(struct edit *e, int64_t lease_ms);
enum err claim_release(struct edit *e);

/* For an agent that continues the work of `from`, which has ended: the claim is the actor's from
 * now on, with a new epoch. NOT_CLAIMED unless `from` still holds it. */
enum err claim_adopt(struct edit *e, struct str from, int64_t lease_ms);

/* Without asking: it is open to everybody. */
void claim_drop(struct edit *e);

/* Whatever the holder does to the bead, its lease lasts as long as a new one would. */
void claim_go_on(struct edit *e);

/*
 * The one rule of who may close, reopen or delete a bead, or change its status: the holder of its
 * lease; everybody if there is no live lease; everybody else only with force. ALREADY_CLAIMED,
 * naming the holder and the end.
 */
enum err claim_permit(struct edit *e);
bool claim_is_anothers(const struct edit *e); /* is there a live lease of another? */

/* STALE_CLAIM unless that claim still holds. */
enum err claim_check(struct edit *e, struct stamp epoch);

/* Gives it to somebody, with a lease only if it was being worked on; to nobody if empty. */
void claim_assign(struct edit *e, struct str name);

#endif
