#include "base/text/json.h"
#include "beads/model/snapshot.h"
#include "op/op.h"
#include "ops/ops.h"

static const struct prop version_props[] = { { "version format_version:int", NULL }, { 0 } };

static enum err bead_version_run_version(struct call *c, struct stores *s, const void *body,
					 struct json *reply)
{
	(void)c, (void)s, (void)body;
	json_object(reply);
	json_put_str(reply, "version", STR(ABACUS_VERSION));
	json_put_int(reply, "format_version", FORMAT_VERSION);
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_version = {
	.name = "bead version",
	.help = "Print the version",
	.reply = &(const struct prop){ "version", version_props },
	.run = bead_version_run_version,
};
