#include "base/text/json.h"
#include "beads/ready.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "store/db/bead_ready.h"

struct body {
	struct list ids;
	struct guard guard;
	struct str reason, note;
	bool suggest_next, claim_next;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	IDS_FIELD(struct body, ids),
	{ "reason", &kind_str, AT(reason), FIELD_STDIN, .letter = 'r', .also = "m message",
	  .max = MAX_TEXT, .help = "reason: what was done, or why it won't be" },
	{ "note", &kind_str, AT(note), .min = 1, .max = MAX_TEXT, .help = "comment to add" },
	FORCE_FIELD(struct body, guard,
		    "close despite open blockers, open children or another agent's claim"),
	{ "suggest_next", &kind_bool, AT(suggest_next), FIELD_CLI,
	  .help = "also show beads that this makes ready" },
	{ "claim_next", &kind_bool, AT(claim_next), FIELD_CLI | FIELD_CLAIMS,
	  .help = "also claim the next ready bead" },
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static enum err bead_close_step(struct edit *e, struct state *change, const void *body)
{
	const struct body *in = body;
	enum err err = edit_may_close(e);

	(void)change;
	if (err)
		return err;
	if (in->note.p)
		edit_note(e, in->note);
	return edit_close(e, in->reason);
}

/* Lists the beads that closing these has made ready. */
static enum err bead_close_put_unblocked(struct call *c, struct beads *b,
					 const struct bead_row *closed, const struct shape *shape,
					 struct json *reply)
{
	struct link *link;
	struct bead_row *row;
	enum err e = ERR_OK;

	for (; !e && closed; closed = closed->next) {
		if ((e = query_links(c, &b->cache, closed->id, SIDE_IN, false, &link)))
			return e;
		for (; !e && link; link = link->next) {
			if (!edge_is(link->kind, EDGE_BLOCKS) || link->bead->status != BEAD_OPEN ||
			    !bead_row_assignable(link->bead, c->actor, c->now_ms))
				continue;
			if (!(e = cache_find_bead(c, &b->cache, link->bead->id, &row)) && row) {
				json_object(reply);
				public_put(reply, row, shape);
				json_put_bool(reply, "unblocked", true);
				json_end(reply);
			}
		}
	}
	return e;
}

static enum err bead_close_put_claimed(struct call *c, struct beads *b, const struct shape *shape,
				       struct json *reply)
{
	struct bead_filter any = { 0 };
	struct bead_row *row;
	int64_t lease;
	enum err e;

	if ((e = lease_of(c, b, ABSENT, &lease)) || (e = ready_claim(c, b, &any, lease, &row)))
		return e;
	if (row)
		encode_claimed(reply, row, shape);
	return ERR_OK;
}

static enum err bead_close_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	const struct body *in = body;
	struct shape shape = { .brief = c->terse };
	struct bead_row *rows, *now;
	bool changed;
	enum err e = edit_each(c, s->beads, &in->ids, &in->guard, bead_close_step, body, &rows,
			       &changed);

	if (e)
		return e;
	json_array(reply);
	for (struct bead_row *row = rows; row; row = row->next) {
		if ((e = cache_find_bead(c, &s->beads->cache, row->id, &now)))
			return e;
		public_encode(reply, now, &shape);
	}
	if (in->suggest_next && (e = bead_close_put_unblocked(c, s->beads, rows, &shape, reply)))
		return e;
	if (in->claim_next && (e = bead_close_put_claimed(c, s->beads, &shape, reply)))
		return e;
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_close = {
	.name = "bead close",
	.help = "Close beads when the work is done",
	.examples = "bd close bd-a1b2 --reason \"fixed in 3f2a\"\n"
		    "bd close bd-a1b2 bd-c3d4 --claim-next",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	OP_BODY(struct body, fields),
	.reply = &beads_reply,
	.run = bead_close_run,
};
