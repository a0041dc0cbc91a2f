#ifndef STORE_VYBE_VYBE_DELIVERIES_H
#define STORE_VYBE_VYBE_DELIVERIES_H

#include "store/vybe/vybe_db.h"

#define VYBE_DELIVERIES_TABLE                                         \
	"CREATE TABLE deliveries (agent TEXT PRIMARY KEY, mail TEXT," \
	"    post INTEGER NOT NULL, briefed INTEGER NOT NULL) WITHOUT ROWID"

/*
 * Earlier versions stored deliveries as rows of `agents` with the projects ":mail", ":board" and
 * ":told". Opening such a file for writing creates the table and moves the rows; a reader reads the
 * old rows.
 */
#define VYBE_DELIVERIES_OLD                                              \
	"SELECT max(CASE project WHEN ':mail' THEN focus END) AS mail,"  \
	" coalesce(max(CASE project WHEN ':board' THEN cursor END), 0)," \
	" max(project = ':told' AND coalesce(focus, '') <> ''), agent"   \
	" FROM agents WHERE project IN (':mail', ':board', ':told')"
#define VYBE_DELIVERIES_MOVE                                                                 \
	"INSERT OR IGNORE INTO deliveries (mail, post, briefed, agent) " VYBE_DELIVERIES_OLD \
	" GROUP BY agent;"                                                                   \
	"DELETE FROM agents WHERE project IN (':mail', ':board', ':told')"

/* Whether the context of a session has the brief. Earlier versions wrote the first two. */
enum brief_state { BRIEF_NEVER, BRIEF_SHOWN, BRIEF_LOST };

/* What the hooks have already shown to an agent's model, so that everything is shown once. */
struct vybe_delivery {
	struct str agent;
	struct str mail; /* the id of the last message; absent: none */
	int64_t post;    /* the id of the last post on the board; 0: none */
	enum brief_state brief;
};

/* For a writer that has begun its transaction: moves the old rows. */
enum err vybe_deliveries_upgrade(struct call *c, struct vybe_db *v);

/* Finds the delivery of an agent, for a reader, too; without a row, nothing was shown. */
enum err vybe_delivery_find(struct call *c, struct vybe_db *v, struct str agent,
			    struct vybe_delivery *out);
enum err vybe_delivery_put(struct call *c, struct vybe_db *v, const struct vybe_delivery *d);

#endif
