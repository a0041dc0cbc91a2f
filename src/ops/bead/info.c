#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

static const struct prop info_props[] = {
	{ "version store prefix actor beads:int journal_bytes:int journal_files:int", NULL },
	{ 0 },
};

static enum err bead_info_run_info(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	int64_t bytes, files;
	enum err e = journal_size(c, s->beads->home, &bytes, &files);

	(void)body;
	if (e)
		return e;
	json_object(reply);
	json_put_str(reply, "version", STR(ABACUS_VERSION));
	json_put_str(reply, "store", s->beads->home);
	json_put_str(reply, "prefix", s->beads->about.prefix);
	json_put_str(reply, "actor", c->actor);
	json_put_int(reply, "beads", s->beads->about.beads);
	json_put_int(reply, "journal_bytes", bytes);
	json_put_int(reply, "journal_files", files);
	json_end(reply);
	return ERR_OK;
}

struct body {
	bool schema;
};

static const struct field fields[] = {
	{ "schema", &kind_bool, offsetof(struct body, schema), FIELD_CLI | FIELD_HIDDEN,
	  .also = "whats-new", .help = "accepted for compatibility, without effect" },
	{ 0 },
};

const struct op op_bead_info = {
	.name = "bead info",
	.help = "Show the store's location, settings and your identity",
	OP_BODY(struct body, fields),
	.flags = OP_BEADS | OP_READER,
	.reply = &(const struct prop){ "info", info_props },
	.run = bead_info_run_info,
};
