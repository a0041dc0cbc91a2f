#ifndef STORE_VYBE_VYBE_SESSIONS_H
#define STORE_VYBE_VYBE_SESSIONS_H

#include "store/vybe/vybe_db.h"

#define VYBE_SESSIONS_TABLE                                                       \
	"CREATE TABLE sessions (agent TEXT PRIMARY KEY, workspace TEXT NOT NULL," \
	"    line TEXT NOT NULL, host INTEGER NOT NULL, ended INTEGER NOT NULL,"  \
	"    heir TEXT, seen INTEGER NOT NULL) WITHOUT ROWID"

/* Sessions of hosts: each is an agent of its own, named after the session. */
struct host_session {
	struct str agent;
	struct str workspace; /* the root of its worktree */
	struct str line;      /* the ancestor processes of its last hook, as text */
	int64_t host;         /* nearest common ancestor of its last two hooks; 0: unknown */
	bool ended;           /* the host reported its end, and nothing has come since */
	struct str heir;      /* the session that continues it; or absent */
	int64_t seen_ms;
	struct host_session *next;
};

/* For a writer. Without a row, `out` has only the agent, and was never seen. */
enum err vybe_session_find(struct call *c, struct vybe_db *v, struct str agent,
			   struct host_session *out);
enum err vybe_session_put(struct call *c, struct vybe_db *v, const struct host_session *s);

/* The sessions of a workspace that no other session continues, most recently seen first. */
enum err vybe_session_each(struct call *c, struct vybe_db *v, struct str workspace, int64_t limit,
			   struct host_session **out);

/* The agent, then the sessions that it continues, in turn; also for a reader. */
enum err vybe_session_names(struct call *c, struct vybe_db *v, struct str agent, int64_t limit,
			    struct str **names, size_t *count);

/* Adds the read positions and the private memory of `from` to those of `to`. */
enum err vybe_session_inherit(struct call *c, struct vybe_db *v, struct str from, struct str to);

/* Removes sessions last seen before a moment. */
enum err vybe_session_collect(struct call *c, struct vybe_db *v, int64_t before_ms);

#endif
