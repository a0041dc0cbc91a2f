#ifndef MACHINES_LOG_H
#define MACHINES_LOG_H

#include "machines/fact.h"
#include "store/db/machine_db.h"

/*
 * A machine's log as it is published: `meta.json`, which is signed, and `log/NNNNNN.jsonl`, the
 * segments. A sealed segment changes only when settled facts are removed, so a push sends little
 * more than the last segment.
 */
enum {
	LOG_FORMAT = 1,
	LOG_SEGMENT = 64 << 10,   /* bytes; more only if it is a single fact */
	LOG_META_MOST = 1 << 20,  /* bytes of meta.json */
	LOG_MOST = 64 << 20,      /* bytes of all segments; others refuse a larger log */
	LOG_HISTORY = 16 << 20,   /* beyond this, posts and events of more than 30 days leave it */
	LOG_FULL = 48 << 20,      /* beyond this, younger ones do, too */
	LOG_MACHINES_MOST = 1000, /* logs that one clone follows */
	LOG_CURRENT_DAYS = 30,    /* settled facts are kept for this long */
	LOG_ID = 16,              /* hex digits of a machine's id */
};

bool log_id_valid(struct str id);
struct str log_ref(struct call *c, struct str id);

/* --- the own log --- */

/* A fact to be added, with the time of the act. */
struct fact_draft {
	enum fact_kind kind;
	int64_t act_ms;
	struct str by, data; /* JSON object */
	struct fact_draft *next;
};

/*
 * Adds facts in the order of their acts. Their stamps follow the clock, and those of all known
 * facts about the same subject.
 */
enum err log_append(struct call *c, struct machine_db *db, struct machine_self *self,
		    struct fact_draft *drafts);

/*
 * The files to publish; `path` is relative to the root of the tree. Each publication has a stamp of
 * its own, so others can refuse an earlier one: `self` has to be stored before the files are
 * pushed.
 */
struct log_file {
	struct str path, text;
	struct log_file *next;
};
enum err log_files(struct call *c, struct machine_db *db, struct machine_self *self,
		   struct str secret, struct log_file **out);

/* Removes settled facts from the log. */
enum err log_compact(struct call *c, struct machine_db *db, struct machine_self *self);

/* --- another machine's log --- */

/* Reads a file of the log; `most` bytes at most. Absent: there is no such file, or it is larger. */
typedef enum err log_read(struct call *c, void *arg, const char *path, int64_t most,
			  struct str *out);

/* meta.json of another machine, once its signature was checked. */
struct log_claim {
	struct str name, key;
	int64_t count, format;
	struct stamp at; /* of the publication; zero: an older version of the program wrote it */
	const struct value *segments;
};

/* `pinned` is the machine's known key, or absent. Returns NULL, or why the log can't be used. */
const char *log_check_meta(struct call *c, struct str id, struct str pinned, struct str text,
			   struct log_claim *out);

/*
 * Reads what is new in the log of `row`, and stores it as facts that are not done. A log that is
 * forged, rolled back, too large or of another format changes nothing but `problem`.
 */
enum err log_take(struct call *c, struct machine_db *db, struct machine_self *self,
		  struct machine_row *row, log_read *read, void *arg, int64_t *taken);

/*
 * Can 'abacus machines trust' cure this problem? It accepts another key, and a log that was set
 * back; a log that cannot be read stays so.
 */
bool log_problem_trustable(struct str problem);

/*
 * Was this log, which is at the ref of this machine, written by a copy of this clone? It is signed
 * with our key, and has facts that this clone did not write. Everything else that others put there
 * is replaced, by a log with a later stamp than that of any log of ours there.
 */
bool log_is_of_copy(struct call *c, struct machine_db *db, struct machine_self *self,
		    log_read *read, void *arg);

#endif
