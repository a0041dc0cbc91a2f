#include "base/system/path.h"
#include "base/text/json.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/agent_files.h"
#include "store/db/board_db.h"
#include "store/place.h"

/* abacus init: all that is ours, in one repository. */

static const char advice[] =
	"## Working with others\n"
	"\n"
	"Several agents work here at once. They share work items (`bd`), a board and mail\n"
	"(`bb`), and files that are reserved (`bb agent`). Say who you are in BB_AGENT_ID.\n"
	"- `bb-init` begins a session: it gives you a name, or the one you had.\n"
	"- `bd ready --claim --json` takes the next work item; `bd show ID` tells all about it.\n"
	"- `bb agent reserve --scope 'src/part/*' --bead ID` before you change files;\n"
	"  `bb agent guard PATH…` tells whether they are another's.\n"
	"- `bb agent inbox` is your mail. What needs your answer: `bb agent ack --message ID`.\n"
	"- `bb agent send --to NAME --bead ID --category HANDOFF --subject … --body …`\n"
	"  hands something over; BLOCKED asks for help.\n"
	"- `bd create \"title\" --deps discovered-from:ID` for what you find on the way.\n"
	"- `bd close ID --reason \"what was done\"`, then `bb agent release --scope …`.\n";

static const struct prop agents_props[] = {
	{ "path", PROP_STR, 0, NULL },
	{ "result", PROP_STR, 0, NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "beads", PROP_OBJECT, 0, NULL },
	{ "board", PROP_OBJECT, 0, NULL },
	{ "agents", PROP_OBJECT, 0, agents_props },
	{ "agents_md", PROP_STR, 0, NULL },
	{ 0 },
};

static enum err project_init_run_op(struct call *c, const struct op *op, const char *key,
				    struct json *reply)
{
	struct request r = request_new(c, op);
	struct json part = json_new(&c->mem);
	enum err e;

	if ((e = request_check(c, &r)) || (e = request_run(c, &r, &part)))
		return e;
	json_put_raw(reply, key, json_text(&part));
	return ERR_OK;
}

static enum err make_agents(struct call *c, struct json *reply)
{
	struct agent_files files;
	enum err e = agent_files_open(c, AGENTS_WRITE, &files);
	bool there = files.home.p;

	if (!e && !(e = agent_files_begin(c, &files))) {
		json_put_object(reply, "agents");
		json_put_str(reply, "path", files.home);
		json_put_str(reply, "result", there ? STR("exists") : STR("created"));
		json_end(reply);
	}
	agent_files_close(&files);
	return e;
}

/* Of three stores, one that would be refused must not leave the others half-made. */
static enum err check_folders(struct call *c)
{
	struct str root;
	enum err e;

	if ((e = place_new(c, STR(".bb"), &root)) || (e = board_check(c, root)) ||
	    (e = place_new(c, STR(".beadboard"), &root)))
		return e;
	return agent_files_check(c, root);
}

/* The beads first: they need a repository, and without one nothing is made. */
static enum err project_init_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	enum err e;

	(void)s, (void)body;
	json_object(reply);
	if ((e = check_folders(c)) || (e = project_init_run_op(c, &op_bead_init, "beads", reply)) ||
	    (e = project_init_run_op(c, &op_board_init, "board", reply)) ||
	    (e = make_agents(c, reply)))
		return e;
	json_put_str(reply, "agents_md", str_of(advice));
	json_end(reply);
	return ERR_OK;
}

const struct op op_project_init = {
	.name = "init",
	.help = "Set up beads, board and agents in this repository",
	.more = "The same as 'bd init' and 'bb init', and a folder for the agents. What is there "
		"stays as it is, and none of your files is touched. It prints what you may want to "
		"add to AGENTS.md.",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_ACTOR,
	.reply = &(const struct prop){ "project", PROP_OBJECT, 0, props },
	.run = project_init_run,
};
