#include "machines/machines.h"

#include "machines/share.h"

enum err machines_open(struct call *c, struct str home, struct machines *out)
{
	enum err e;

	*out = (struct machines){ .home = home };
	if ((e = machine_db_open(c, share_file(c, home, "machines.db"), true, &out->db)))
		return e;
	if ((e = identity_open(c, home, &out->db, &out->me)))
		machines_close(out);
	return e;
}

void machines_close(struct machines *m)
{
	machine_db_close(&m->db);
}
