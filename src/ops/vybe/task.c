#include "base/text/json.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"

/* vybe task: beads in the terms of vybe. */

struct body {
	struct str id, title, description, project, summary, label, reason, on;
	int status, outcome;
	int64_t priority;
	struct guard guard;
};

#define AT(member) offsetof(struct body, member)

enum outcome { OUTCOME_DONE, OUTCOME_BLOCKED };
static const struct names outcomes = NAMES_OF("done", "blocked");

#define ID_FIELD                                                                                 \
	{                                                                                        \
		"id", &kind_str, AT(id), FIELD_REQUIRED, .arg = "TASK", .min = 1, .max = MAX_ID, \
							 .help = "task id"                       \
	}
/* clang-format off */
#define PRIORITY_FIELD(how, otherwise, text) \
	{ "priority", &kind_int, AT(priority), how, .min = -1000000, .max = 1000000, \
	  .preset = otherwise, .help = text }
/* clang-format on */

#define PRIORITY_HELP                                                                          \
	"priority; a higher number is more urgent. 2 is P0 in bd, 1 is P1, 0 is P2 (normal), " \
	"-1 is P3, -2 is P4"

#define FORCE_FIELD                                                                           \
	{                                                                                     \
		"force", &kind_bool, AT(guard.force),                                         \
			.role = ROLE_FORCE, .help = "change it despite another agent's claim" \
	}

#define EPOCH_FIELD                                                                    \
	{                                                                              \
		"epoch", &kind_stamp, AT(guard.epoch),                                 \
			.help = "epoch of your claim; refuse the write if it is stale" \
	}

static const struct field create_fields[] = {
	{ "title", &kind_str, AT(title), FIELD_REQUIRED, .arg = "TEXT", .min = 1, .max = 1000,
	  .help = "title" },
	{ "desc", &kind_str, AT(description), .arg = "TEXT", .max = 1 << 20,
	  .help = "description" },
	{ "project_id", &kind_str, AT(project), .arg = "ID", .max = 4096, .help = "project id" },
	PRIORITY_FIELD(0, "0", PRIORITY_HELP),
	{ 0 },
};

static const struct field id_fields[] = { ID_FIELD, { 0 } };
static const struct field delete_fields[] = { ID_FIELD, FORCE_FIELD, EPOCH_FIELD, { 0 } };

static const struct field list_fields[] = {
	{ "status", &kind_word, AT(status), .words = &task_statuses, .help = "status to include" },
	{ "project_id", &kind_str, AT(project), .arg = "ID", .max = 4096, .help = "project id" },
	PRIORITY_FIELD(0, "-1", "priority to include; -1 includes all"),
	{ 0 },
};

static const struct field status_fields[] = {
	ID_FIELD,
	{ "status", &kind_word, AT(status), FIELD_REQUIRED, .words = &task_statuses,
	  .help = "new status" },
	FORCE_FIELD,
	EPOCH_FIELD,
	{ 0 },
};

static const struct field priority_fields[] = {
	ID_FIELD,
	PRIORITY_FIELD(FIELD_REQUIRED, NULL, PRIORITY_HELP),
	EPOCH_FIELD,
	{ 0 },
};

static const struct field complete_fields[] = {
	ID_FIELD,
	{ "outcome", &kind_word, AT(outcome), FIELD_REQUIRED, .words = &outcomes,
	  .help = "outcome" },
	{ "summary", &kind_str, AT(summary), FIELD_REQUIRED, .arg = "TEXT", .min = 1,
	  .max = 1 << 20, .help = "summary: what was done, or what blocks it" },
	{ "label", &kind_str, AT(label), .arg = "WORD", .max = 100, .help = "label to add" },
	{ "blocked_reason", &kind_str, AT(reason), .arg = "TEXT", .max = 1 << 20,
	  .help = "reason for blocking (default: the summary)" },
	{ "force", &kind_bool, AT(guard.force), .role = ROLE_FORCE,
	  .help = "complete it despite another agent's claim or open children" },
	EPOCH_FIELD,
	{ 0 },
};

static const struct field dep_fields[] = {
	ID_FIELD,
	{ "depends_on", &kind_str, AT(on), FIELD_REQUIRED, .arg = "TASK", .min = 1, .max = MAX_ID,
	  .help = "task that it depends on" },
	EPOCH_FIELD,
	{ 0 },
};

const struct prop vybe_task_props[] = {
	{ "id title description status priority:int project_id? blocked_reason?", NULL },
	{ "depends_on[] version:int created_at updated_at assignee|null epoch:any?", NULL },
	{ 0 },
};

static const struct prop changed_props[] = {
	{ "task", vybe_task_props },
	{ "event_id:int durability?", NULL },
	{ 0 },
};
static const struct prop changed_reply = { "changed", changed_props };

static const struct prop begun_props[] = {
	{ "task", vybe_task_props },
	{ "status_event_id:int? focus_event_id:int durability?", NULL },
	{ 0 },
};

static const struct prop completed_props[] = {
	{ "task", vybe_task_props },
	{ "status_event_id:int close_event_id:int", NULL },
	{ 0 },
};

static const struct prop list_props[] = {
	{ "count:int", NULL },
	{ "tasks[]", vybe_task_props },
	{ 0 },
};

static const struct prop message_props[] = { { "message", NULL }, { 0 } };
static const struct prop deleted_props[] = { { "task_id event_id:int", NULL }, { 0 } };

static void vybe_task_put_changed(const struct stores *s, struct json *reply, const struct task *t,
				  int64_t event)
{
	json_object(reply);
	json_key(reply, STR("task"));
	task_encode(reply, t);
	json_put_int(reply, "event_id", event);
	vybe_task_put_durability(s, reply);
	json_end(reply);
}

static enum err vybe_task_changed(struct call *c, struct stores *s, const char *kind,
				  const struct task *t, struct str message, struct json *reply)
{
	int64_t event;
	enum err e = task_note(c, s->vybe, kind, t, message, &event);

	vybe_task_put_changed(s, reply, t, event);
	return e;
}

static enum err vybe_task_run_create(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct body *in = body;
	struct task_new ask = { .title = in->title,
				.description = in->description,
				.project = in->project.n ? in->project : STR_NONE,
				.priority = in->priority };
	struct task t;
	enum err e = task_create(c, &ask, &t);

	return e ? e : vybe_task_changed(c, s, "task_created", &t, t.title, reply);
}

static enum err vybe_task_look_begin(struct call *c, struct stores *s, const void *body)
{
	const struct body *in = body;

	return vybe_task_claim_first(c, in->id, NULL, true, s);
}

static enum err vybe_task_look_set_status(struct call *c, struct stores *s, const void *body)
{
	const struct body *in = body;

	return in->status == TASK_IN_PROGRESS ?
		       vybe_task_claim_first(c, in->id, &in->guard, false, s) :
		       ERR_OK;
}

static enum err vybe_task_run_begin(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;
	int64_t status, focus;
	struct task t;
	bool held;
	enum err e;

	if ((e = task_begin(c, in->id, &t, &held)) ||
	    (!held &&
	     (e = task_note(c, s->vybe, "task_status", &t,
			    str_of(names_word(&task_statuses, (int)t.status)), &status))) ||
	    (e = task_note(c, s->vybe, "agent_focus", &t, t.title, &focus)) ||
	    (e = continuity_set_focus(c, s->vybe, t.id)))
		return e;
	json_object(reply);
	json_key(reply, STR("task"));
	task_encode(reply, &t);
	if (!held)
		json_put_int(reply, "status_event_id", status);
	json_put_int(reply, "focus_event_id", focus);
	vybe_task_put_durability(s, reply);
	json_end(reply);
	return ERR_OK;
}

static enum err vybe_task_run_get(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	const struct body *in = body;
	struct beads *b;
	struct task t;
	enum err e = continuity_tasks(c, s->vybe, &b);

	if (!e && !(e = task_find(c, b, in->id, &t)))
		task_encode(reply, &t);
	return e;
}

/* Frees the task's memory before the next one is read. */
static enum err vybe_task_add(struct call *c, struct beads *b, const struct task_key *key,
			      struct json *reply)
{
	struct call part = call_part(c);
	struct json one = json_new(&part.mem);
	struct task t;
	enum err e = task_of_key(&part, b, key, &t);

	if (!e) {
		task_encode(&one, &t);
		json_raw(reply, json_text(&one));
	}
	return call_part_end(c, &part, e);
}

static enum err vybe_task_run_list(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	struct task_filter filter = { .status = in->status,
				      .project = in->project,
				      .priority = in->priority == -1 ? INT64_MIN : in->priority };
	struct beads *b;
	struct task_key *key;
	size_t count;
	enum err e = continuity_tasks(c, s->vybe, &b);

	if (e || (e = task_keys(c, b, &filter, false, &key, &count)))
		return e;
	json_object(reply);
	json_put_int(reply, "count", (int64_t)count);
	json_put_array(reply, "tasks");
	for (size_t i = 0; !e && i < count; i++)
		e = vybe_task_add(c, b, &key[i], reply);
	json_end(reply);
	json_end(reply);
	return e;
}

static enum err vybe_task_run_set_status(struct call *c, struct stores *s, const void *body,
					 struct json *reply)
{
	const struct body *in = body;
	struct task_move move = { .id = in->id,
				  .guard = &in->guard,
				  .to = (enum task_status)in->status };
	struct task_moved moved;
	enum err e = task_complete(c, s->vybe, &move, &moved);

	if (!e)
		vybe_task_put_changed(s, reply, &moved.task, moved.status_event);
	return e;
}

static enum err vybe_task_run_set_priority(struct call *c, struct stores *s, const void *body,
					   struct json *reply)
{
	const struct body *in = body;
	struct task t;
	enum err e = task_prioritise(c, in->id, &in->guard, in->priority, &t);

	return e ? e :
		   vybe_task_changed(c, s, "task_priority_changed", &t,
				     arena_fmt(&c->mem, "%lld", (long long)t.priority), reply);
}

static enum err vybe_task_run_complete(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	const struct body *in = body;
	struct task_move move = { .id = in->id,
				  .guard = &in->guard,
				  .to = in->outcome == OUTCOME_DONE ? TASK_COMPLETED : TASK_BLOCKED,
				  .summary = in->summary,
				  .blocked_reason = in->reason,
				  .label = in->label };
	struct task_moved moved;
	enum err e = task_complete(c, s->vybe, &move, &moved);

	if (e)
		return e;
	json_object(reply);
	json_key(reply, STR("task"));
	task_encode(reply, &moved.task);
	json_put_int(reply, "status_event_id", moved.status_event);
	json_put_int(reply, "close_event_id", moved.close_event);
	json_end(reply);
	return ERR_OK;
}

static enum err vybe_task_depend(struct call *c, struct stores *s, const struct body *in,
				 bool there, struct json *reply)
{
	struct task t;
	enum err e = task_depend(c, in->id, &in->guard, in->on, there, &t);

	if (e ||
	    (e = task_note(c, s->vybe, there ? "task_dependency_added" : "task_dependency_removed",
			   &t, in->on, NULL)))
		return e;
	json_object(reply);
	json_put_str(reply, "message",
		     arena_fmt(&c->mem, "'" STR_FMT "' %s '" STR_FMT "'", STR_ARG(t.id),
			       there ? "depends on" : "no longer depends on", STR_ARG(in->on)));
	json_end(reply);
	return ERR_OK;
}

static enum err vybe_task_run_add_dep(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	return vybe_task_depend(c, s, body, true, reply);
}

static enum err vybe_task_run_remove_dep(struct call *c, struct stores *s, const void *body,
					 struct json *reply)
{
	return vybe_task_depend(c, s, body, false, reply);
}

static enum err vybe_task_run_delete(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct body *in = body;
	struct task t;
	int64_t event;
	enum err e;

	if ((e = task_delete(c, in->id, &in->guard, &t)))
		return e;
	t.bead_status = -1; /* recorded as deleted */
	if ((e = task_note(c, s->vybe, "task_deleted", &t, t.title, &event)) ||
	    (e = vybe_artifact_drop(c, &s->vybe->db, t.id)))
		return e;
	json_object(reply);
	json_put_str(reply, "task_id", t.id);
	json_put_int(reply, "event_id", event);
	json_end(reply);
	return ERR_OK;
}

#define TASK_OP(id, words, text, how, what, shape, ...) \
	const struct op op_vybe_task_##id = {           \
		.name = "vybe task " words,             \
		.help = text,                           \
		.flags = (how) | OP_TASKS,              \
		.body_size = sizeof(struct body),       \
		.fields = what,                         \
		.reply = shape,                         \
		.run = __VA_ARGS__,                     \
	}

TASK_OP(create, "create", "Create a task", VYBE_CHANGES, create_fields, &changed_reply,
	vybe_task_run_create);
TASK_OP(begin, "begin", "Begin work on a task, exclusively", VYBE_CHANGES | OP_CLAIMS, id_fields,
	(&(const struct prop){ "begun", begun_props }), vybe_task_run_begin,
	.look = vybe_task_look_begin);
TASK_OP(get, "get", "Show a task", VYBE_LOOKS, id_fields,
	(&(const struct prop){ "task", vybe_task_props }), vybe_task_run_get);
TASK_OP(list, "list", "List tasks, highest priority first", VYBE_LOOKS, list_fields,
	(&(const struct prop){ "list", list_props }), vybe_task_run_list);
TASK_OP(set_status, "set-status", "Set a task's status", VYBE_CHANGES, status_fields,
	&changed_reply, vybe_task_run_set_status, .look = vybe_task_look_set_status);
TASK_OP(set_priority, "set-priority", "Set a task's priority", VYBE_CHANGES, priority_fields,
	&changed_reply, vybe_task_run_set_priority);
TASK_OP(complete, "complete", "Complete a task, or mark it as blocked", VYBE_CHANGES,
	complete_fields, (&(const struct prop){ "completed", completed_props }),
	vybe_task_run_complete);
TASK_OP(add_dep, "add-dep", "Add a dependency", VYBE_CHANGES, dep_fields,
	(&(const struct prop){ "added", message_props }), vybe_task_run_add_dep);
TASK_OP(remove_dep, "remove-dep", "Remove a dependency", VYBE_CHANGES, dep_fields,
	(&(const struct prop){ "removed", message_props }), vybe_task_run_remove_dep);
TASK_OP(delete, "delete", "Delete a task; 'bd undelete' restores it", VYBE_CHANGES, delete_fields,
	(&(const struct prop){ "deleted", deleted_props }), vybe_task_run_delete);
