#ifndef MACHINES_MACHINES_H
#define MACHINES_MACHINES_H

#include "machines/identity.h"

/*
 * Takes local acts out of the stores as facts (collect), and puts facts of other machines into
 * them (apply). Both are called by one process at a time, which holds the round's lock.
 */
struct machines {
	struct str home;
	struct machine_db db;
	struct identity me;
	bool reserved;       /* a collected act concerns reservations */
	bool acted;          /* applying has made local acts, which the next collection exports */
	struct str left_out; /* a warning about facts for which there was no room; or absent */
};

enum err machines_open(struct call *c, struct str home, struct machines *out);
void machines_close(struct machines *m);

/* Adds everything that happened here since the last call to the log. */
enum err machines_collect(struct call *c, struct machines *m);

/* Joins all facts that are not done. A fact that waits for another one stays. */
enum err machines_apply(struct call *c, struct machines *m, int64_t *applied);

#endif
