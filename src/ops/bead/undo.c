#include "beads/undo/undo.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct undo_options options;
	bool dry_run;
};

#define AT(member) offsetof(struct body, member)

static const struct field undo_fields[] = {
	{ "dry_run", &kind_bool, AT(dry_run), .role = ROLE_DRY_RUN,
	  .help = "show what would be undone without undoing it" },
	{ "force", &kind_bool, AT(options.force), .role = ROLE_FORCE, .letter = 'f',
	  .help = "overwrite later changes of others, and do not ask" },
	{ "write", &kind_stamp, AT(options.expected), .role = ROLE_EXPECTED,
	  .help = "the \"write\" that --dry-run printed; undo only that change" },
	{ 0 },
};

static const struct prop undo_bead_props[] = {
	{ "id title|null change", NULL },
	{ "fields[]", changed_field_props },
	{ 0 },
};

static const struct prop undo_props[] = {
	{ "undone:bool write:any written_at", NULL },
	{ "beads[]", undo_bead_props },
	{ "dependencies[]", changed_edge_props },
	{ 0 },
};

static enum err bead_undo_run(struct call *c, struct stores *s, const void *body,
			      struct json *reply)
{
	const struct body *in = body;
	enum err e;

	json_object(reply);
	json_put_bool(reply, "undone", !in->dry_run);
	if ((e = undo_run(c, s->beads, &in->options, reply)))
		return e;
	json_end(reply);
	if (in->dry_run)
		beads_forget(s->beads);
	return ERR_OK;
}

const struct op op_bead_undo = {
	.name = "bead undo",
	.help = "Undo your last change",
	.more = "Restores every field that your last command in this clone changed. A created bead "
		"is deleted, a deleted bead is restored. The undo is a change like any other, so "
		"another 'bd undo' restores the change. Comments are append-only and stay, and an "
		"import can't be undone. If somebody has changed the same field since, nothing is "
		"undone. On a terminal, the command shows what it would do and asks, unless "
		"--force is given.",
	.examples = "bd undo --dry-run\n"
		    "bd undo",
	.flags = BEAD_WRITE & ~OP_GROUPED, /* the journal says what to undo */
	OP_BODY(struct body, undo_fields),
	.reply = &(const struct prop){ "undo", undo_props },
	.run = bead_undo_run,
};
