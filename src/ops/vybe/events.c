#include "base/text/json.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"

/* vybe events list, vybe artifacts list */

struct body {
	struct str task, kind;
	bool all, ascending, archived;
	int64_t limit, since;
};

#define AT(member) offsetof(struct body, member)

static const struct field event_fields[] = {
	{ "all", &kind_bool, AT(all), .help = "show the events of all agents, not only yours" },
	{ "task_id", &kind_str, AT(task), .arg = "TASK", .max = MAX_ID, .help = "task id" },
	{ "kind", &kind_str, AT(kind), .arg = "WORD", .max = MAX_ID, .help = "kind of event" },
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .min = 1, .max = 100000,
	  .preset = "50", .help = "maximum number of results" },
	{ "since_id", &kind_int, AT(since), .min = 0, .help = "event id; show only later events" },
	{ "asc", &kind_bool, AT(ascending), .help = "show the oldest first" },
	{ "include_archived", &kind_bool, AT(archived), .help = "include archived events" },
	{ 0 },
};

static const struct field artifact_fields[] = {
	{ "task_id", &kind_str, AT(task), .arg = "TASK", .max = MAX_ID, .help = "task id" },
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .min = 1, .max = 100000,
	  .preset = "50", .help = "maximum number of results" },
	{ 0 },
};

const struct prop vybe_event_props[] = {
	{ "id:int kind agent_name project_id? task_id message metadata:object|null", NULL },
	{ "created_at", NULL },
	{ 0 },
};
const struct prop vybe_artifact_props[] = {
	{ "id:int task_id event_id:int file_path content_type created_at", NULL },
	{ 0 },
};

static const struct prop events_props[] = {
	{ "agent? task_id? kind? count:int", NULL },
	{ "events[]", vybe_event_props },
	{ 0 },
};
static const struct prop artifacts_props[] = {
	{ "task_id? count:int", NULL },
	{ "artifacts[]", vybe_artifact_props },
	{ 0 },
};

static enum err vybe_events_run_events(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	const struct body *in = body;
	struct event_filter filter = { .task = in->task,
				       .kind = in->kind,
				       .since = in->since == ABSENT ? 0 : in->since,
				       .limit = in->limit,
				       .ascending = in->ascending,
				       .archived = in->archived };
	struct json list = json_new(&c->mem);
	struct event_row *row;
	int64_t count = 0;
	enum err e;

	if (call_named(c) && !in->all)
		filter.agent = c->actor;
	if (filter.task.p && (e = continuity_task_id(c, s->vybe, &filter.task)))
		return e;
	if ((e = vybe_event_each(c, &s->vybe->db, &filter, &row)))
		return e;
	json_array(&list);
	for (; row; row = row->next, count++)
		event_row_encode(&list, row);
	json_end(&list);
	json_object(reply);
	json_put_present(reply, "agent", filter.agent);
	json_put_present(reply, "task_id", filter.task);
	json_put_present(reply, "kind", in->kind);
	json_put_int(reply, "count", count);
	json_put_raw(reply, "events", json_text(&list));
	json_end(reply);
	return ERR_OK;
}

static enum err vybe_events_run_artifacts(struct call *c, struct stores *s, const void *body,
					  struct json *reply)
{
	const struct body *in = body;
	struct json list = json_new(&c->mem);
	struct artifact_row *a;
	struct str task = in->task;
	int64_t count = 0;
	enum err e = task.p ? continuity_task_id(c, s->vybe, &task) : ERR_OK;

	if (!e)
		e = vybe_artifact_each(c, &s->vybe->db, task, in->limit, &a);

	json_array(&list);
	for (; !e && a; a = a->next, count++)
		artifact_row_encode(&list, a);
	json_end(&list);
	json_object(reply);
	json_put_present(reply, "task_id", task);
	json_put_int(reply, "count", count);
	json_put_raw(reply, "artifacts", json_text(&list));
	json_end(reply);
	return e;
}

const struct op op_vybe_events = {
	.name = "vybe events list",
	.help = "List events, newest first",
	.flags = VYBE_LOOKS | OP_READER,
	OP_BODY(struct body, event_fields),
	.reply = &(const struct prop){ "events", events_props },
	.run = vybe_events_run_events,
};

const struct op op_vybe_artifacts = {
	.name = "vybe artifacts list",
	.help = "List artifacts",
	.flags = VYBE_LOOKS,
	OP_BODY(struct body, artifact_fields),
	.reply = &(const struct prop){ "artifacts", artifacts_props },
	.run = vybe_events_run_artifacts,
};
