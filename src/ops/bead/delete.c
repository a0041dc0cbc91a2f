#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct list ids;
	struct guard guard;
	struct str reason;
	bool dry_run, yes;
};

#define AT(member) offsetof(struct body, member)

static const struct field delete_fields[] = {
	IDS_FIELD(struct body, ids),
	{ "reason", &kind_str, AT(reason), .letter = 'r', .max = MAX_TEXT, .help = "reason" },
	{ "force", &kind_bool, AT(guard.force), .role = ROLE_FORCE, .letter = 'f',
	  .help = "delete despite another agent's claim, and without asking" },
	{ "yes", &kind_bool, AT(yes), FIELD_CLI, .role = ROLE_CONFIRM, .letter = 'y',
	  .help = "delete without asking" },
	{ "dry_run", &kind_bool, AT(dry_run), FIELD_CLI, .role = ROLE_DRY_RUN,
	  .help = "show what would be deleted without deleting anything" },
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static enum err delete_run(struct call *c, struct stores *s, const void *body, struct json *reply)
{
	const struct body *in = body;
	struct bead_row *row;
	struct state *change = state_new(&c->mem);
	enum err e = find_beads(c, s->beads, in->ids.item, in->ids.n, &row);

	if (!e)
		e = guard_check(c, &in->ids, &in->guard);
	json_array(reply);
	for (; !e && row; row = row->next) {
		struct edit edit;

		if ((e = edit_begin(c, s->beads, row, &edit)) ||
		    (e = edit_guard(&edit, &in->guard)) ||
		    (e = edit_delete(&edit, change, in->reason)))
			return e;
		json_object(reply);
		json_put_str(reply, "id", row->id);
		json_put_str(reply, "title", row->title);
		json_put_str(reply, "deleted_at", moment_of(c, edit.mark.at));
		json_put_str(reply, "deleted_by", edit.mark.by);
		json_put_str(reply, "reason", in->reason.n ? in->reason : STR_NONE);
		json_put_int(reply, "dependent_count", row->dependents);
		json_put_bool(reply, "deleted", !in->dry_run);
		json_end(reply);
	}
	json_end(reply);
	if (e || in->dry_run)
		return e;
	return beads_put(c, s->beads, change);
}

const struct op op_bead_delete = {
	.name = "bead delete",
	.help = "Delete beads; 'bd undelete' restores them",
	.examples = "bd delete bd-a1b2 --yes",
	.more = "The deletion is recorded, so that it reaches every clone. Without --yes or "
		"--force, the command only shows what it would delete: on a terminal it then "
		"asks, elsewhere it exits with 1. A bead that another agent has claimed is "
		"deleted only with --force.",
	.flags = BEAD_WRITE,
	OP_BODY(struct body, delete_fields),
	.reply = &deleted_reply,
	.run = delete_run,
};
