#ifndef STORE_DB_VYBE_DB_H
#define STORE_DB_VYBE_DB_H

#include "base/system/lock.h"
#include "store/journal.h"
#include "store/receipt.h"

struct db;

/*
 * `vybe.db`: what agents did, what they want to remember, how far they have read and what they
 * were answered. The work itself is the beads'. Opened, used and closed by every command; `db` is
 * NULL for a reader where there is none yet.
 */
struct mend;

struct vybe_db {
	struct db *db;
	struct lock lock; /* writers queue here */
	bool writing;
};

enum vybe_mode {
	VYBE_READ,
	VYBE_WRITE,
	VYBE_NOTE, /* to write, unless others are at it for long */
};

/* Refuses a file that holds something else, before anything is created beside it. */
enum err vybe_db_look(struct call *c, struct str path);

/* For writing it is made if it is not there, and a transaction is begun. */
enum err vybe_db_open(struct call *c, struct str path, enum vybe_mode mode, struct vybe_db *out);
enum err vybe_db_commit(struct call *c, struct vybe_db *v);
void vybe_db_close(struct vybe_db *v); /* without a commit: nothing was written */

/* The ledger has the receipts of agents. */
struct receipts vybe_receipts(struct vybe_db *v);

/* --- how far the beads' journal is known, and how the beads were then --- */

struct vybe_task {
	struct str id, assignee;
	int status;               /* enum bead_status; -1: it was not there */
	int64_t created, updated; /* two beads of one id were not made in the same moment */
};
enum err vybe_place_find(struct call *c, struct vybe_db *v, struct journal_place *out);
enum err vybe_place_put(struct call *c, struct vybe_db *v, const struct journal_place *place);
enum err vybe_task_find(struct call *c, struct vybe_db *v, struct str id, struct vybe_task *out);
enum err vybe_task_put(struct call *c, struct vybe_db *v, const struct vybe_task *t);
enum err vybe_task_each(struct call *c, struct vybe_db *v, struct vybe_task **out,
			size_t *count); /* by id */

/* --- where each agent is, in each project --- */

struct vybe_agent {
	struct str agent, project;
	int64_t cursor;   /* the last event it was told of */
	struct str focus; /* a task; absent: none */
	int64_t seen_ms;
};
enum err vybe_agent_find(struct call *c, struct vybe_db *v, struct vybe_agent *a);
enum err vybe_agent_put(struct call *c, struct vybe_db *v, const struct vybe_agent *a);

/* How many rows there are of each, for 'vybe status'. */
struct vybe_counts {
	int64_t events, memory, artifacts, agents, projects;
};
enum err vybe_count(struct call *c, struct vybe_db *v, struct vybe_counts *out);

/* Looks at the file; a damaged one is repaired, if that is asked for. */
enum err vybe_db_mend(struct call *c, struct str path, struct mend *m);

#endif
