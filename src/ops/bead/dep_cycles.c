#include "base/text/json.h"
#include "beads/graph.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

static const struct prop cycle_props[] = { { "kind ids[]", NULL }, { 0 } };

static enum err bead_dep_cycles_run_cycles(struct call *c, struct stores *s, const void *body,
					   struct json *reply)
{
	struct cycle *cy;
	enum err e = graph_cycles_of(c, &s->beads->cache, &cy);

	(void)body;
	json_array(reply);
	for (; cy; cy = cy->next) {
		json_object(reply);
		json_put_str(reply, "kind", cy->kind);
		json_put_strs(reply, "ids", cy->ids, cy->count);
		json_end(reply);
	}
	json_end(reply);
	return e;
}

const struct op op_bead_dep_cycles = {
	.name = "bead dep cycles",
	.help = "List dependency cycles",
	.flags = BEAD_READ,
	.reply = &(const struct prop){ "cycles[]", cycle_props },
	.run = bead_dep_cycles_run_cycles,
};
