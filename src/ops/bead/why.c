#include <inttypes.h>

#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "store/db/bead_ready.h"

struct body {
	struct str id;
};

static const struct field fields[] = {
	ID_FIELD(struct body, id),
	{ 0 },
};

static const struct prop reason_props[] = { { "code message id?", NULL }, { 0 } };

static const struct prop props[] = {
	{ "id title status ready:bool", NULL },
	{ "reasons[]", reason_props },
	{ 0 },
};

static void bead_why_put(struct json *j, const char *code, struct str id, struct str message)
{
	json_object(j);
	json_put_str(j, "code", str_of(code));
	json_put_str(j, "message", message);
	json_put_present(j, "id", id);
	json_end(j);
}

static void bead_why_put_holding(struct call *c, const struct bead_row *row, struct json *j)
{
	const char *end = row->lease ? moment_format(&c->mem, row->lease).p : "",
		   *left = duration_left(&c->mem, row->lease - c->now_ms).p;
	struct str reason = value_str(value_read(&c->mem, row->line), "blocked_reason");
	struct arena *mem = &c->mem;

	switch (bead_row_holding(row, c->actor, c->now_ms)) {
	case HOLDING_CLOSED:
		bead_why_put(j, "closed", STR_NONE, STR("the bead is closed"));
		break;
	case HOLDING_ENDED:
		bead_why_put(j, "lease_ended", STR_NONE,
			     arena_fmt(mem, "the lease of " STR_FMT " ended at %s",
				       STR_ARG(row->assignee), end));
		break;
	case HOLDING_IN_PROGRESS:
		bead_why_put(j, "in_progress", STR_NONE,
			     row->lease ? arena_fmt(mem, STR_FMT " has claimed it for another %s",
						    STR_ARG(row->assignee), left) :
			     row->assignee.p ?
					  arena_fmt(mem, STR_FMT " has claimed it, without a lease",
						    STR_ARG(row->assignee)) :
			     reason.p ? arena_fmt(mem, "it is blocked: " STR_FMT, STR_ARG(reason)) :
					STR("it is in progress and unclaimed"));
		break;
	case HOLDING_CLAIMED:
		bead_why_put(j, "claimed", STR_NONE,
			     arena_fmt(mem, STR_FMT " has claimed it for another %s",
				       STR_ARG(row->assignee), left));
		break;
	case HOLDING_NONE:
		bead_why_put(j, "open", STR_NONE,
			     STR("it is open and not claimed by another "
				 "agent"));
		break;
	}
}

static enum err bead_why_put_blockers(struct call *c, struct beads *b, const struct bead_row *row,
				      struct json *j)
{
	struct link *link;
	bool found = false;
	enum err e = query_links(c, &b->cache, row->id, SIDE_OUT, false, &link);

	for (; !e && link; link = link->next)
		if (edge_blocks(link->kind, link->bead->status) && (found = true))
			bead_why_put(j, "blocked_by", link->bead->id,
				     arena_fmt(&c->mem,
					       "it is blocked by " STR_FMT " (%s): " STR_FMT,
					       STR_ARG(link->bead->id),
					       names_word(&bead_statuses, link->bead->status),
					       STR_ARG(link->bead->title)));
	if (!e && row->blockers && !found)
		bead_why_put(j, "circle", row->id,
			     STR("it is its own ancestor, through a cycle "
				 "of parents"));
	if (!e && !row->blockers)
		bead_why_put(j, "unblocked", STR_NONE, STR("no open bead blocks it"));
	if (!e && row->deferred > c->now_ms)
		bead_why_put(j, "deferred", STR_NONE,
			     row->deferred == MOMENT_LAST ?
				     STR("it is deferred until 'bd undefer'") :
				     arena_fmt(&c->mem, "it is deferred until %s",
					       moment_format(&c->mem, row->deferred).p));
	if (!e && row->children)
		bead_why_put(j, "container", STR_NONE,
			     arena_fmt(&c->mem,
				       "it has %" PRId64 " open child%s, so it is not handed out",
				       row->children, row->children == 1 ? "" : "ren"));
	return e;
}

static enum err bead_why_run(struct call *c, struct stores *s, const void *body, struct json *reply)
{
	const struct body *in = body;
	struct json reasons = json_new(&c->mem);
	struct bead_row *row;
	enum err e = find_bead(c, s->beads, in->id, &row);

	if (e)
		return e;
	json_array(&reasons);
	bead_why_put_holding(c, row, &reasons);
	if ((e = bead_why_put_blockers(c, s->beads, row, &reasons)))
		return e;
	json_end(&reasons);
	json_object(reply);
	json_put_str(reply, "id", row->id);
	json_put_str(reply, "title", row->title);
	json_put_str(reply, "status", str_of(names_word(&bead_statuses, row->status)));
	json_put_bool(reply, "ready", bead_row_ready(row, c->actor, c->now_ms));
	json_put_raw(reply, "reasons", json_text(&reasons));
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_why = {
	.name = "bead why",
	.help = "Explain why a bead is or isn't ready",
	.flags = BEAD_READ | OP_READER,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "why", props },
	.run = bead_why_run,
};
