#ifndef STORE_VYBE_VYBE_ROWS_H
#define STORE_VYBE_VYBE_ROWS_H

#include "store/vybe/vybe_db.h"

/* The rows of vybe.db that people and agents see: events, memory, artifacts. */

struct event_row {
	int64_t id;
	struct str kind, agent, project, task, message; /* project, task may be absent */
	struct str metadata;                            /* JSON, as given; or absent */
	int64_t created;
	struct event_row *next;
};

struct event_filter {
	struct str agent, task, kind, project; /* absent: any */
	const char *const *without;            /* excluded kinds, up to a NULL; NULL: none */
	int64_t since;                         /* only events with a higher id; 0: all */
	int64_t limit;
	bool ascending, archived; /* oldest first; archived events, too */
};

enum err vybe_event_put(struct call *c, struct vybe_db *v, struct event_row *event);
enum err vybe_event_each(struct call *c, struct vybe_db *v, const struct event_filter *f,
			 struct event_row **out);
enum err vybe_event_find(struct call *c, struct vybe_db *v, int64_t id, struct event_row **out);
enum err vybe_event_last(struct call *c, struct vybe_db *v, int64_t *id);

/* Archives all but the newest `keep` events; `count` is how many. */
enum err vybe_event_archive(struct call *c, struct vybe_db *v, int64_t keep, int64_t *count,
			    int64_t *first, int64_t *last);
enum err vybe_event_live(struct call *c, struct vybe_db *v, int64_t *count);

struct memory_row {
	int64_t id;
	struct str scope, scope_id, key, value, type;
	struct str kind; /* absent: nothing special */
	bool pinned;
	int64_t expires; /* ms; 0: never */
	int64_t created, updated;
	struct memory_row *next;
};

/* Only entries that have not expired. In a scope, pinned ones come first, then the newest; of all
 * scopes, the newest that have the text in key or value, in either case. */
enum err vybe_memory_each(struct call *c, struct vybe_db *v, struct str scope, struct str scope_id,
			  int64_t limit, struct memory_row **out);
enum err vybe_memory_newest(struct call *c, struct vybe_db *v, struct str text, int64_t limit,
			    struct memory_row **out);

/* Also an entry that has expired, until it is deleted. */
enum err vybe_memory_find(struct call *c, struct vybe_db *v, struct str scope, struct str scope_id,
			  struct str key, struct memory_row **out);

enum err vybe_memory_put(struct call *c, struct vybe_db *v, const struct memory_row *m);

/*
 * For sharing: lists all entries, expired ones too; stores an entry exactly as another machine has
 * it.
 */
enum err vybe_memory_all(struct call *c, struct vybe_db *v, struct memory_row **out);
enum err vybe_memory_replace(struct call *c, struct vybe_db *v, const struct memory_row *m);
enum err vybe_memory_pin(struct call *c, struct vybe_db *v, int64_t id, bool pinned);
enum err vybe_memory_drop(struct call *c, struct vybe_db *v, int64_t id);
enum err vybe_memory_collect(struct call *c, struct vybe_db *v, int64_t limit, int64_t *count);

struct artifact_row {
	int64_t id, event, created;
	struct str task, path, type; /* type may be absent */
	struct artifact_row *next;
};
enum err vybe_artifact_put(struct call *c, struct vybe_db *v, struct artifact_row *a);
enum err vybe_artifact_each(struct call *c, struct vybe_db *v, struct str task, int64_t limit,
			    struct artifact_row **out);
enum err vybe_artifact_drop(struct call *c, struct vybe_db *v, struct str task);

/* Replaces a bead's old id by its new one in all rows. */
enum err vybe_rename_task(struct call *c, struct vybe_db *v, struct str from, struct str to);

/* A run of the loop. */
struct run_row {
	struct str agent, project;
	int64_t started, duration_ms, completed, failed, blocked, total;
	struct run_row *next;
};
enum err vybe_run_put(struct call *c, struct vybe_db *v, const struct run_row *r);
enum err vybe_run_each(struct call *c, struct vybe_db *v, struct str project, int64_t limit,
		       struct run_row **out);

#endif
