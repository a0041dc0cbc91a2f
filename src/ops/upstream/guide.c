#include "base/text/json.h"
#include "beads/setup.h"
#include "op/op.h"
#include "ops/ops.h"

/* bd onboard, quickstart; and bd admin, which has nothing to do here. */

static const struct prop text_props[] = { { "text", NULL }, { 0 } };
static const struct prop text_reply = { "guide", text_props };

static void guide_put(struct json *j, struct str text)
{
	json_object(j);
	json_put_str(j, "text", text);
	json_end(j);
}

static enum err upstream_onboard_run(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	(void)s, (void)body;
	guide_put(reply, arena_fmt(&c->mem, "Add this to AGENTS.md:\n\n%s", setup_advice));
	return ERR_OK;
}

const struct op op_upstream_onboard = {
	.name = "upstream onboard",
	.help = "Print what to add to AGENTS.md",
	.flags = OP_HOST,
	.reply = &text_reply,
	.run = upstream_onboard_run,
};

static const char quickstart[] =
	"Beads are work items that live in this Git repository and merge automatically.\n"
	"\n"
	"  bd init                                 set up beads here\n"
	"  bd create \"Fix the parser\" -t bug -p 1  create a bead; it prints the id\n"
	"  bd dep add A B                          make A wait for B\n"
	"  bd ready                                list beads that nothing blocks\n"
	"  bd update ID --claim                    claim a bead for exclusive work\n"
	"  bd comment ID \"text\"                    add to its discussion\n"
	"  bd close ID --reason \"what was done\"    finish it\n"
	"  bd list, bd show ID, bd search WORDS    look around\n"
	"  bd sync                                 exchange beads with the remote now\n"
	"\n"
	"Changes are published in the background. Add --json to any command for programs;\n"
	"'bd help' lists all commands, 'bd COMMAND --help' explains one.\n";

static enum err upstream_quickstart_run(struct call *c, struct stores *s, const void *body,
					struct json *reply)
{
	(void)c, (void)s, (void)body;
	guide_put(reply, str_of(quickstart));
	return ERR_OK;
}

const struct op op_upstream_quickstart = {
	.name = "upstream quickstart",
	.help = "Print a short guide",
	.flags = OP_HOST,
	.reply = &text_reply,
	.run = upstream_quickstart_run,
};

static const struct prop nothing_props[] = { { "status message", NULL }, { 0 } };
static const struct prop nothing_reply = { "upkeep", nothing_props };

static enum err guide_nothing(struct json *j, const char *message)
{
	json_object(j);
	json_put_str(j, "status", STR("not_needed"));
	json_put_str(j, "message", str_of(message));
	json_end(j);
	return ERR_OK;
}

static enum err upstream_cleanup_run(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	(void)c, (void)s, (void)body;
	return guide_nothing(
		reply, "Nothing was removed: closed beads cost next to nothing here. 'bd "
		       "list -s closed --closed-before 30d' lists old ones, and 'bd delete ID' "
		       "deletes one.");
}

static enum err upstream_compact_run(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	(void)c, (void)s, (void)body;
	return guide_nothing(reply,
			     "Nothing was changed: the store compacts itself, and no text of "
			     "a bead is ever summarised. 'bd status' shows its size.");
}

const struct op op_upstream_cleanup = {
	.name = "upstream cleanup",
	.help = "Explain why closed beads need no clean-up",
	.flags = OP_HOST,
	.reply = &nothing_reply,
	.run = upstream_cleanup_run,
};

const struct op op_upstream_compact = {
	.name = "upstream compact",
	.help = "Explain why the store needs no compaction",
	.flags = OP_HOST,
	.reply = &nothing_reply,
	.run = upstream_compact_run,
};
