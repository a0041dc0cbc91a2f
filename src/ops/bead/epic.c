#include "base/text/json.h"
#include "beads/claim.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

static const struct prop epic_props[] = {
	{ "id title status total_children:int closed_children:int eligible_for_close:bool", NULL },
	{ 0 },
};
static const struct prop epics_reply = { "epics[]", epic_props };

struct progress {
	int64_t total, closed;
};

static enum err bead_epic_look(struct call *c, struct beads *b, struct str epic,
			       struct progress *out)
{
	struct bead_filter filter = { .parent = epic };
	struct bead_row *row;
	enum err e = query_each(c, &b->cache, &filter, &row);

	*out = (struct progress){ 0 };
	for (; !e && row; row = row->next) {
		out->total++;
		out->closed += row->status == BEAD_CLOSED;
	}
	return e;
}

static bool bead_epic_eligible(struct progress p)
{
	return p.total && p.closed == p.total;
}

static void bead_epic_put(struct json *j, const struct bead_row *row, struct progress p)
{
	json_object(j);
	json_put_str(j, "id", row->id);
	json_put_str(j, "title", row->title);
	json_put_str(j, "status", str_of(names_word(&bead_statuses, row->status)));
	json_put_int(j, "total_children", p.total);
	json_put_int(j, "closed_children", p.closed);
	json_put_bool(j, "eligible_for_close", bead_epic_eligible(p));
	json_end(j);
}

static enum err open_epics(struct call *c, struct beads *b, struct bead_row **out)
{
	struct bead_filter filter = { .types = 1u << BEAD_EPIC,
				      .statuses = 1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS };

	return query_each(c, &b->cache, &filter, out);
}

struct status_body {
	bool eligible_only;
};

static const struct field status_fields[] = {
	{ "eligible_only", &kind_bool, offsetof(struct status_body, eligible_only),
	  .help = "show only epics whose children are all closed" },
	{ 0 },
};

static enum err bead_epic_run_status(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct status_body *in = body;
	struct bead_row *row;
	struct progress p;
	enum err e = open_epics(c, s->beads, &row);

	json_array(reply);
	for (; !e && row; row = row->next)
		if (!(e = bead_epic_look(c, s->beads, row->id, &p)) &&
		    (!in->eligible_only || bead_epic_eligible(p)))
			bead_epic_put(reply, row, p);
	json_end(reply);
	return e;
}

const struct op op_bead_epic_status = {
	.name = "bead epic status",
	.help = "Show the progress of each open epic",
	.flags = BEAD_READ,
	OP_BODY(struct status_body, status_fields),
	.reply = &epics_reply,
	.run = bead_epic_run_status,
};

struct close_body {
	bool dry_run;
};

static const struct field close_fields[] = {
	{ "dry_run", &kind_bool, offsetof(struct close_body, dry_run), .role = ROLE_DRY_RUN,
	  .help = "show the result without closing anything" },
	{ 0 },
};

static enum err bead_epic_run_close(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct close_body *in = body;
	struct state *change = state_new(&c->mem);
	struct bead_row *row;
	struct progress p;
	enum err e = open_epics(c, s->beads, &row);

	json_array(reply);
	for (; !e && row; row = row->next) {
		struct edit edit;

		if ((e = bead_epic_look(c, s->beads, row->id, &p)) || !bead_epic_eligible(p) ||
		    row->blockers || (e = edit_begin(c, s->beads, row, &edit)) ||
		    claim_is_anothers(&edit))
			continue;
		if (!in->dry_run && !(e = edit_close(&edit, STR("all children are closed"))))
			edit_end(&edit, change);
		row->status = in->dry_run ? row->status : BEAD_CLOSED;
		bead_epic_put(reply, row, p);
	}
	json_end(reply);
	return e ? e : beads_put(c, s->beads, change);
}

const struct op op_bead_epic_close_eligible = {
	.name = "bead epic close-eligible",
	.help = "Close every epic whose children are all closed",
	.more = "Epics that another agent has claimed are skipped.",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	OP_BODY(struct close_body, close_fields),
	.reply = &epics_reply,
	.run = bead_epic_run_close,
};
