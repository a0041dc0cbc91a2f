#include "continuity/resume.h"
#include "base/text/json.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"

/* vybe resume */

struct body {
	int64_t limit;
	struct str dir, focus;
	bool peek;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .min = 1, .max = 100000,
	  .preset = "1000", .help = "maximum number of deltas" },
	{ "project_dir", &kind_path, AT(dir), .min = 1, .max = 4096,
	  .help = "folder that you work in (default: the repository)" },
	{ "peek", &kind_bool, AT(peek), .role = ROLE_PEEK,
	  .help = "mark nothing as seen; no request id is required" },
	{ "focus", &kind_str, AT(focus), .arg = "TASK", .min = 1, .max = MAX_ID,
	  .help = "task to focus on" },
	{ 0 },
};

static const struct prop props[] = {
	{ "agent_name old_cursor:int? new_cursor:int?", NULL },
	{ "deltas[]?", vybe_event_props },
	{ "focus_task_id? focus_project_id? focus_rule? brief:object prompt?", NULL },
	{ 0 },
};

static enum err vybe_resume_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	struct resume_ask ask = { .limit = in->limit, .focus = in->focus };
	struct resume r;
	enum err e;

	if ((e = continuity_project(c, in->dir, &ask.project)))
		return e;
	if (in->peek)
		return (e = resume_peek(c, s->vybe, &ask, &r)) ?
			       e :
			       resume_encode_brief(c, s->vybe, &r, reply);
	if ((e = resume_run(c, s->vybe, &ask, &r)))
		return e;
	return resume_encode(c, s->vybe, &r, reply);
}

const struct op op_vybe_resume = {
	.name = "vybe resume",
	.help = "Resume work: changes, current task, memory and mail",
	.more = "The deltas are all events since the agent's last resume, by anybody, including "
		"changes to beads. The focus is chosen by fixed rules; the reply names the rule. "
		"The prompt is meant for a model.",
	.flags = VYBE_CHANGES,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "resumed", props },
	.run = vybe_resume_run,
};
