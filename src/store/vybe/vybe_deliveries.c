#include "store/vybe/vybe_deliveries.h"

#include "store/db/row.h"

static bool vybe_deliveries_exist(const struct vybe_db *v)
{
	return db_has_table(v->db, "deliveries");
}

enum err vybe_deliveries_upgrade(struct call *c, struct vybe_db *v)
{
	if (vybe_deliveries_exist(v))
		return ERR_OK;
	return db_exec(c, v->db, VYBE_DELIVERIES_TABLE ";" VYBE_DELIVERIES_MOVE);
}

enum err vybe_delivery_find(struct call *c, struct vybe_db *v, struct str agent,
			    struct vybe_delivery *out)
{
	AUTO_STMT *st = NULL;

	*out = (struct vybe_delivery){ .agent = agent };
	if (!v->db)
		return ERR_OK;
	st = db_stmt(v->db, vybe_deliveries_exist(v) ?
				    "SELECT mail, post, briefed FROM deliveries WHERE agent = ?" :
				    VYBE_DELIVERIES_OLD " AND agent = ? GROUP BY agent");
	stmt_bind_str(st, agent);
	if (stmt_row(st)) {
		out->mail = stmt_str(st, &c->mem);
		out->post = stmt_int(st);
		out->brief = (enum brief_state)stmt_int(st);
	}
	return stmt_end(c, st);
}

enum err vybe_delivery_put(struct call *c, struct vybe_db *v, const struct vybe_delivery *d)
{
	return db_run(c, v->db,
		      "INSERT OR REPLACE INTO deliveries (agent, mail, post, briefed)"
		      " VALUES (?, ?, ?, ?)",
		      BIND(d->agent), BIND(d->mail), BIND(d->post), BIND(d->brief));
}
