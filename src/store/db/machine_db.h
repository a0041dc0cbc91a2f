#ifndef STORE_DB_MACHINE_DB_H
#define STORE_DB_MACHINE_DB_H

#include "base/call.h"

struct db;

/* The logs of machines at the remote. */
#define LOG_REFS "refs/abacus/machines/"

/*
 * `machines/machines.db` in the store's folder: this machine's log, and the facts of other
 * machines. Only one process writes at a time (machines/round.h); every write is one transaction.
 */
struct machine_db {
	struct db *db; /* NULL: a reader found no file */
};

enum err machine_db_open(struct call *c, struct str path, bool write, struct machine_db *out);
enum err machine_db_begin(struct call *c, struct machine_db *m);
enum err machine_db_commit(struct call *c, struct machine_db *m);
void machine_db_rollback(struct machine_db *m);
void machine_db_close(struct machine_db *m); /* rolls back unless machine_db_commit() was called */

/* This machine. */
struct machine_self {
	struct str id, name, key;
	int64_t clock_ms, clock_n; /* the last stamp that was made or seen */
	int64_t count;             /* the number of the last fact */
	int64_t sent;              /* the number of the last fact that the remote has */
	int64_t segment;           /* the segment that is not sealed yet */
	struct str commit;         /* what was pushed last; or absent */
	int64_t pushed_ms, looked_ms;
	int64_t dirty; /* the log has changed in another way than by new facts */
};
enum err machine_self_find(struct call *c, struct machine_db *m, struct machine_self *out);
enum err machine_self_put(struct call *c, struct machine_db *m, const struct machine_self *s);

/* Another machine. */
struct machine_row {
	struct str id, name; /* the name that it gave itself */
	struct str nick;     /* the name that this clone gave it; or absent */
	struct str key;
	int64_t count, applied;
	struct str commit;  /* what was read last; or absent */
	int64_t seen_ms;    /* when something new of it arrived */
	struct str problem; /* why its log is not applied; or absent */
	struct str bad;     /* the commit that the problem is about */
	int64_t forgotten;  /* its log was deleted here */
	struct machine_row *next;
};
enum err machine_row_each(struct call *c, struct machine_db *m, struct machine_row **out);
enum err machine_row_put(struct call *c, struct machine_db *m, const struct machine_row *r);
enum err machine_row_drop(struct call *c, struct machine_db *m, struct str id);

/* A fact: a line of a log. */
enum { FACT_LISTED = -1 }; /* in the log of another machine */
struct fact_row {
	struct str machine;
	int64_t seq, ms, n;
	struct str by, kind, subject, line;
	int64_t segment; /* of this machine's own log, or FACT_LISTED; 0: in no log any more */
	bool done;       /* it is in the local stores */
	struct fact_row *next;
};
enum err fact_row_put(struct call *c, struct machine_db *m, const struct fact_row *f);
enum err fact_row_done(struct call *c, struct machine_db *m, struct str machine, int64_t seq);
enum err fact_row_drop_all(struct call *c, struct machine_db *m, struct str machine);
/* The fact has left its log. */
enum err fact_row_unlist(struct call *c, struct machine_db *m, struct str machine, int64_t seq);

/*
 * After this machine has taken another id: the facts after `sent` are those of the new id. The
 * others are in the log of the old one, which another clone continues.
 */
enum err fact_row_rename(struct call *c, struct machine_db *m, struct str from, struct str to,
			 int64_t sent);

/*
 * Ordered by machine and number, or with `latest` by stamp, the latest first; absent arguments
 * match any. `open`: only those not done.
 */
struct fact_filter {
	struct str kind, subject, machine;
	bool open, latest;
	int64_t seq, segment; /* 0: any */
	int64_t limit;        /* 0: none */
};
enum err fact_row_each(struct call *c, struct machine_db *m, const struct fact_filter *filter,
		       struct fact_row **out);

/*
 * For many facts: calls `visit` for each. The row and what is in `scratch` are freed after the
 * call.
 */
typedef enum err fact_row_visit(const struct fact_row *row, struct arena *scratch, void *arg);
enum err fact_row_visit_each(struct call *c, struct machine_db *m, const struct fact_filter *filter,
			     fact_row_visit *visit, void *arg);

/* The segments of the own log that have facts: number, bytes and last fact of each. */
struct segment_row {
	int64_t number, bytes, last;
	struct segment_row *next;
};
enum err segment_row_each(struct call *c, struct machine_db *m, struct segment_row **out);

/* How far a source was read: JSON; absent: never. */
enum err place_row_find(struct call *c, struct machine_db *m, struct str source, struct str *out);
enum err place_row_put(struct call *c, struct machine_db *m, struct str source, struct str place);

/*
 * The values of a register that are known to be exported or received: a value that is not among
 * them was set here since.
 */
enum err value_row_find(struct call *c, struct machine_db *m, struct str kind, struct str key,
			struct str value, bool *out);
enum err value_row_find_any(struct call *c, struct machine_db *m, struct str kind, struct str key,
			    bool *out);
enum err value_row_put(struct call *c, struct machine_db *m, struct str kind, struct str key,
		       struct str value);
struct value_row {
	struct str key, value;
	struct value_row *next;
};
enum err value_row_each(struct call *c, struct machine_db *m, struct str kind,
			struct value_row **out);
/* The rows with this key or this value. */
enum err value_row_with(struct call *c, struct machine_db *m, struct str kind, struct str text,
			struct value_row **out);
enum err value_row_drop(struct call *c, struct machine_db *m, struct str kind, struct str key);

#endif
