#include "base/text/json.h"
#include "base/text/value.h"
#include "surface/upstream/compat.h"
#include "surface/view/view.h"

/* Commands of upstream's bd that have no counterpart here. */

#define NO_DAEMON                                                                                 \
	"not needed: every command reads and writes the store itself, and changes are published " \
	"in the background"

static enum err compat_daemon_run(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	(void)c, (void)s, (void)body;
	json_object(reply);
	json_put_bool(reply, "running", false);
	json_put_str(reply, "status", STR("not_needed"));
	json_put_str(reply, "message", STR(NO_DAEMON));
	json_end(reply);
	return ERR_OK;
}

static const struct prop daemon_props[] = { { "running:bool status message", NULL }, { 0 } };

const struct op op_compat_daemon = {
	.name = "upstream daemon",
	.help = "Not needed: commands work without a daemon",
	.reply = &(const struct prop){ "daemon", daemon_props },
	.run = compat_daemon_run,
};

void compat_view_daemon(struct view *v, const struct value *data)
{
	view_say(v, data, "A daemon is {message}.");
}

/* The paragraph of an absent operation is the error, a sentence, and the next step. */
int compat_absent_start(struct call *c, const struct request *r)
{
	struct str step = str_of(r->op->more), error;
	const char *end = str_find(step, STR(". "));

	error = (struct str){ step.p, (size_t)(end - step.p) };
	step = str_skip(step, error.n + 2);
	call_fail(c, ERR_INVALID_INPUT, STR_FMT, STR_ARG(error));
	call_step(c, STR_FMT, STR_ARG(step));
	return -1;
}

#define NOT_HERE(id, text, paragraph)           \
	const struct op op_compat_##id = {      \
		.name = "upstream " #id,        \
		.help = "Not available: " text, \
		.more = paragraph,              \
	}

NOT_HERE(
	molecule, "an epic with children does the same",
	"this bd has no molecules, formulas or wisps. Create an epic with 'bd create TITLE -t epic', "
	"and its steps with 'bd create TITLE --parent EPIC --deps blocks:STEP'.");
NOT_HERE(dolt, "the beads are not in a Dolt database",
	 "the beads are not in a Dolt database. Use 'bd sync' to publish and fetch them, 'bd list "
	 "--json' to query them, and 'bd history ID' or 'bd diff A B' to see what has changed.");
NOT_HERE(migrate, "there is no database to migrate",
	 "there is no database to migrate. 'bd import' imports the issues of another tracker, and "
	 "'bd doctor' checks the store.");
NOT_HERE(
	gate, "a blocking bead does the same",
	"this bd has no gates. Create a bead for what has to happen, and let the work wait for it: "
	"'bd dep add WORK GATE'.");
NOT_HERE(tracker, "other trackers are not synchronised",
	 "other trackers are not synchronised. 'gh issue list --json "
	 "number,title,body,state,labels,createdAt,updatedAt,closedAt | bd import --from github -' "
	 "imports issues once.");
