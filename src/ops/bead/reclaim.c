#include "base/text/json.h"
#include "beads/claim.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct reclaim_body {
	int64_t older_than;
	bool dry_run;
};

static const struct field reclaim_fields[] = {
	{ "older_than", &kind_duration, offsetof(struct reclaim_body, older_than),
	  .help = "minimum time since the lease expired" },
	{ "dry_run", &kind_bool, offsetof(struct reclaim_body, dry_run), FIELD_CLI,
	  .role = ROLE_DRY_RUN, .help = "show the result without changing anything" },
	{ 0 },
};

static enum err bead_reclaim_run_reclaim(struct call *c, struct stores *s, const void *body,
					 struct json *reply)
{
	const struct reclaim_body *in = body;
	struct bead_filter filter = { .expired = true, .now = c->now_ms };
	struct state *change = state_new(&c->mem);
	struct shape shape = { .brief = c->terse };
	struct bead_row *rows, *now;
	enum err e;

	if (in->older_than != ABSENT)
		filter.now -= in->older_than;
	if ((e = query_each(c, &s->beads->cache, &filter, &rows)))
		return e;
	for (struct bead_row *row = rows; !e && row && !in->dry_run; row = row->next) {
		struct edit edit;

		if ((e = edit_begin(c, s->beads, row, &edit)))
			return e;
		claim_drop(&edit);
		edit_word(&edit, MEMBER_STATUS, &bead_statuses, BEAD_OPEN);
		edit_end(&edit, change);
	}
	if (!e)
		e = beads_put(c, s->beads, change);
	json_array(reply);
	for (; !e && rows; rows = rows->next)
		if (!(e = cache_find_bead(c, &s->beads->cache, rows->id, &now)) && now)
			public_encode(reply, now, &shape);
	json_end(reply);
	return e;
}

const struct op op_bead_reclaim = {
	.name = "bead reclaim",
	.help = "Reopen all beads whose lease has expired",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	OP_BODY(struct reclaim_body, reclaim_fields),
	.reply = &beads_reply,
	.run = bead_reclaim_run_reclaim,
};
