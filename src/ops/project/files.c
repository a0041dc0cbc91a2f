#include "base/text/json.h"
#include "beads/git_process.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

/* abacus files: the files of the repository, and the last commits that changed them. */

static const struct prop commit_props[] = {
	{ "commit author|null summary at files[]", NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "files[] more:bool", NULL },
	{ "commits[]", commit_props },
	{ 0 },
};

static enum err project_files_run(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	struct git_process h = { .words = { "files", arena_cstr(&c->mem, s->beads->repo.common) } };
	enum err e = git_process_run(c, &h);

	(void)body;
	if (!e)
		json_raw(reply, h.reply);
	return e;
}

const struct op op_project_files = {
	.name = "files",
	.help = "List the repository's files and the commits that changed them",
	.more = "Lists the files of the current commit, at most 20,000, and the last 60 commits of "
		"all branches, newest first. 'bb agent status' lists the reservations, 'bd "
		"conflicts' the beads that are likely to change the same files.",
	.flags = BEAD_READ,
	.reply = &(const struct prop){ "files", props },
	.run = project_files_run,
};
