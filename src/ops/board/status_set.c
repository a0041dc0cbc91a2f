#include "base/text/json.h"
#include "board/status.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"

#define AT(member) offsetof(struct status_change, member)

static const struct field fields[] = {
	{ "current_task", &kind_str, AT(current_task), FIELD_PLACE, .arg = "TASK", .max = MAX_TASK,
	  .help = "current task" },
	{ "progress", &kind_int, AT(progress), .max = 100, .help = "progress in percent" },
	{ "status", &kind_word, AT(status), .words = &agent_active_statuses,
	  .help = "kind of work" },
	{ "blockers", &kind_str, AT(blockers), .max = MAX_BLOCKERS,
	  .help = "blockers; sets the status to blocked" },
	{ 0 },
};

static enum err board_status_set_run(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct status_change *change = body;
	struct agent *a;
	enum err e;

	if (!change->current_task.p && !change->blockers.p && change->progress == ABSENT &&
	    change->status < 0)
		return call_fail(c, ERR_INVALID_INPUT, "nothing to set: %s is required",
				 c->wire ? "current_task, progress, status or blockers" :
					   "a task, --progress, --status or --blockers");
	if (!(e = status_set(c, s->board, change, &a)))
		agent_encode(reply, c, a, NULL);
	return e;
}

const struct op op_board_status_set = {
	.name = "board status set",
	.help = "Set your status",
	.more = "Values that are not given stay unchanged. Every status except blocked clears "
		"the blockers.",
	.examples = "bb --as claude-01 status set \"OAuth2 login\" --status coding --progress 40\n"
		    "bb --as claude-01 status set --blockers \"need the callback URL\"",
	.flags = OP_BOARD | OP_WRITE | OP_ACTOR | OP_RECEIPT | OP_IDEMPOTENT,
	OP_BODY(struct status_change, fields),
	.reply = &agent_reply,
	.run = board_status_set_run,
};
