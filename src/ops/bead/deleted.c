#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct deleted_body {
	int64_t limit;
};

static const struct field deleted_fields[] = {
	{ "limit", &kind_int, offsetof(struct deleted_body, limit), .role = ROLE_LIMIT,
	  .letter = 'n', .min = 0, .preset = "50",
	  .help = "maximum number of results; 0 shows "
		  "all" },
	{ 0 },
};

static enum err deleted_run(struct call *c, struct stores *s, const void *body, struct json *reply)
{
	const struct deleted_body *in = body;
	struct tombstone_row *b;
	enum err e = query_tombstones(c, &s->beads->cache, in->limit, &b);

	json_array(reply);
	for (; !e && b; b = b->next) {
		const struct value *v = value_read(&c->mem, b->line);
		struct stamp at = { 0 };

		stamp_decode_deletion(value_find(v, "deleted_at"), &at);
		json_object(reply);
		json_put_str(reply, "id", b->id);
		json_put_str(reply, "title", value_str(value_find(v, "bead"), "title"));
		json_put_str(reply, "deleted_at", moment_of(c, at));
		json_put_str(reply, "deleted_by", value_str(v, "deleted_by"));
		json_put_str(reply, "reason", value_str(v, "reason"));
		if (value_find(v, "remap")) {
			json_key(reply, STR("remap"));
			json_value(reply, value_find(v, "remap"));
		}
		json_end(reply);
	}
	json_end(reply);
	return e;
}

const struct op op_bead_deleted = {
	.name = "bead deleted",
	.help = "List deleted beads, newest first",
	.flags = BEAD_READ,
	OP_BODY(struct deleted_body, deleted_fields),
	.reply = &deleted_reply,
	.run = deleted_run,
};
