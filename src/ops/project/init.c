#include "base/text/json.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/agent_files.h"
#include "store/board/board_db.h"
#include "store/home.h"
#include "store/place.h"

/* abacus init: sets up beads, board and agents in one repository. */

static const char advice[] =
	"## Working with others\n\nSeveral agents work here at once. They share work items "
	"(`bd`), a board and mail\n(`bb`), and file reservations (`bb agent`). Put your name "
	"into ABACUS_AGENT.\n- `bb-init` starts a session: it assigns you a name, or resumes "
	"your unfinished work.\n- `bd ready --claim --json` claims the next bead; `bd show ID` "
	"shows its details.\n"
	"- `abacus work ID` claims a bead, reserves the files that it touches and makes a branch;\n"
	"  `abacus work done --reason \"what was done\"` closes it and releases them.\n"
	"- `bb agent reserve --scope 'src/part/*' --bead ID` reserves files before you change\n"
	"  them; `bb agent guard PATH…` checks that no other agent has reserved them.\n"
	"- `bb agent inbox` lists your mail; `bb agent ack` acknowledges a message.\n"
	"- `bb agent send NAME \"subject\" --category HANDOFF -m \"body\"` hands work over;\n"
	"  category BLOCKED asks for help.\n"
	"- `bd create \"title\" --deps discovered-from:ID` records work that you discover.\n"
	"- `bd close ID --reason \"what was done\"` closes a bead; then `bb agent release --scope …`.\n";

static const struct prop agents_props[] = { { "path result", NULL }, { 0 } };

static const struct prop props[] = {
	{ "beads:object board:object", NULL },
	{ "agents", agents_props },
	{ "agents_md", NULL },
	{ 0 },
};

struct project_init {
	int store; /* of home_kinds */
};

static const struct field fields[] = {
	{ "store", &kind_word, offsetof(struct project_init, store), .words = &home_kinds,
	  .preset = "auto",
	  .help = "where to create the store of beads; workspace is the folder "
		  ".abacus" },
	{ 0 },
};

static enum err project_init_run_op(struct call *c, struct request *r, const char *key,
				    struct json *reply)
{
	struct json part = json_new(&c->mem);
	enum err e;

	if ((e = request_check(c, r)) || (e = request_run(c, r, &part)))
		return e;
	json_put_raw(reply, key, json_text(&part));
	return ERR_OK;
}

static enum err project_init_make(struct call *c, const struct project_init *in, struct json *reply)
{
	struct request beads = request_new(c, &op_bead_init),
		       board = request_new(c, &op_board_init);
	enum err e;

	if ((e = request_set_named(c, &beads, "store",
				   str_of(names_word(&home_kinds, in->store)))) ||
	    (e = project_init_run_op(c, &beads, "beads", reply)))
		return e;
	return project_init_run_op(c, &board, "board", reply);
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

/* Checks all stores first, so that a refused one does not leave the others half-made. */
static enum err check_folders(struct call *c)
{
	struct str root;
	enum err e;

	if ((e = place_new(c, STR(".bb"), &root)) || (e = board_check(c, root)) ||
	    (e = place_new(c, STR(".beadboard"), &root)))
		return e;
	return agent_files_check(c, root);
}

/* Beads come first, because they need a repository: without one, nothing is made. */
static enum err project_init_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	enum err e;

	(void)s;
	json_object(reply);
	if ((e = check_folders(c)) || (e = project_init_make(c, body, reply)) ||
	    (e = make_agents(c, reply)))
		return e;
	json_put_str(reply, "agents_md", str_of(advice));
	json_end(reply);
	return ERR_OK;
}

const struct op op_project_init = {
	.name = "init",
	.help = "Set up beads, board and agents in this repository",
	.more = "The same as 'bd init' and 'bb init', plus a folder for the agents. Existing "
		"stores stay as they are, and no file of yours is changed. Prints what you may "
		"want to add to AGENTS.md.",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_ACTOR | OP_HOST,
	OP_BODY(struct project_init, fields),
	.reply = &(const struct prop){ "project", props },
	.run = project_init_run,
};
