#ifndef STORE_VYBE_VYBE_DB_H
#define STORE_VYBE_VYBE_DB_H

#include "base/system/lock.h"
#include "store/journal.h"
#include "store/receipt.h"

struct db;

/*
 * `vybe.db`: the events of agents, their memory, their read positions and their receipts. The tasks
 * themselves are beads. Every command opens, uses and closes it; `db` is NULL for a reader if the
 * file does not exist yet.
 */
struct mend;

struct vybe_db {
	struct db *db;
	struct lock lock; /* queue of the writers */
	bool writing;
};

enum vybe_mode {
	VYBE_READ,
	VYBE_WRITE,
	VYBE_NOTE, /* to write, unless other writers hold the lock for long */
};

/* Refuses a file with other content, before anything is created beside it. */
enum err vybe_db_look(struct call *c, struct str path);

/* For writing, creates the file if it does not exist, and begins a transaction. */
enum err vybe_db_open(struct call *c, struct str path, enum vybe_mode mode, struct vybe_db *out);
enum err vybe_db_commit(struct call *c, struct vybe_db *v);
void vybe_db_close(struct vybe_db *v); /* rolls back unless vybe_db_commit() was called */

/* The receipts of agents. */
struct receipts vybe_receipts(struct vybe_db *v);

/* --- known position in the beads' journal, and the state of the beads there --- */

struct vybe_task {
	struct str id, assignee;
	int status;               /* enum bead_status; -1: no such bead */
	int64_t created, updated; /* tells two beads with the same id apart */
};
enum err vybe_place_find(struct call *c, struct vybe_db *v, struct journal_place *out);
enum err vybe_place_put(struct call *c, struct vybe_db *v, const struct journal_place *place);
enum err vybe_task_find(struct call *c, struct vybe_db *v, struct str id, struct vybe_task *out);
enum err vybe_task_put(struct call *c, struct vybe_db *v, const struct vybe_task *t);
enum err vybe_task_each(struct call *c, struct vybe_db *v, struct vybe_task **out,
			size_t *count); /* sorted by id */

/* --- the state of each agent, per project --- */

struct vybe_agent {
	struct str agent, project;
	int64_t cursor;   /* the last event it has seen */
	struct str focus; /* a task; absent: none */
	int64_t seen_ms;
};
enum err vybe_agent_find(struct call *c, struct vybe_db *v, struct vybe_agent *a);
enum err vybe_agent_put(struct call *c, struct vybe_db *v, const struct vybe_agent *a);

/* The number of rows of each kind, for 'vybe status'. */
struct vybe_counts {
	int64_t events, memory, artifacts, agents, projects;
};
enum err vybe_count(struct call *c, struct vybe_db *v, struct vybe_counts *out);

/* Checks the file, and repairs a damaged one if asked to. */
enum err vybe_db_mend(struct call *c, struct str path, struct mend *m);

#endif
