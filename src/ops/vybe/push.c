#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "continuity/memory.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"

/* vybe push: an event, memories, artifacts and a status, atomically. */

struct body {
	struct str json, input;
};

#define AT(member) offsetof(struct body, member)

enum { MOST_BYTES = 1 << 20, MOST_ITEMS = 50 };

static const struct field fields[] = {
	{ "json", &kind_str, AT(json), FIELD_REQUIRED | FIELD_STDIN | FIELD_PIPED, .arg = "JSON",
	  .min = 1, .max = MOST_BYTES, .help = "JSON to push (default: standard input)",
	  .hint = "Pass an object, for example: "
		  "vybe push --json '{\"event\":{\"kind\":\"progress\",\"message\":\"half done\"}}'" },
	{ 0 },
};

static const struct prop props[] = {
	{ "event_id:int? memories:object[]? artifacts:object[]? task_status:object?", NULL },
	{ 0 },
};

static enum err vybe_push_wrong(struct call *c, const char *what)
{
	call_fail(c, ERR_INVALID_INPUT, "%s", what);
	return call_step(c, "Run 'vybe push --help' to see its arguments.");
}

/* Refuses members that are not in `known`, a list separated by spaces. */
static enum err vybe_push_check_members(struct call *c, const struct value *v, const char *where,
					const char *known)
{
	VALUE_EACH(one, v) {
		struct str rest = str_of(known), word;
		bool found = false;

		while (rest.p && str_next(&rest, ' ', &word))
			found = found || str_eq(word, one->key);
		if (!found)
			return call_fail(c, ERR_INVALID_INPUT, "%s has no member '" STR_FMT "'",
					 where, STR_ARG(one->key));
	}
	return ERR_OK;
}

/* An optional string. */
static enum err vybe_push_text(struct call *c, const struct value *v, const char *key,
			       struct str *out)
{
	const struct value *m = value_find(v, key);

	*out = value_text(m);
	if (!m || m->type == VALUE_STRING || m->type == VALUE_NULL)
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT, "'%s' is not a string", key);
}

/* An optional bool. */
static enum err vybe_push_yes(struct call *c, const struct value *v, const char *key, bool *out)
{
	const struct value *m = value_find(v, key);

	*out = m && m->type == VALUE_BOOL && m->yes;
	if (!m || m->type == VALUE_BOOL || m->type == VALUE_NULL)
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT, "'%s' is not true or false", key);
}

static enum err vybe_push_word(struct call *c, const struct value *v, const char *key,
			       const struct names *names, int *out)
{
	struct str s;
	enum err e = vybe_push_text(c, v, key, &s);

	*out = -1;
	if (e || !s.p)
		return e;
	*out = names_exact(names, s);
	return *out >= 0 ? ERR_OK :
			   call_fail(c, ERR_INVALID_INPUT, "'%s' cannot be '" STR_FMT "'", key,
				     STR_ARG(s));
}

static enum err vybe_push_object(struct call *c, const struct value *v, const char *key,
				 enum value_type type, const struct value **out)
{
	*out = value_find(v, key);
	if (*out && (*out)->type == VALUE_NULL)
		*out = NULL;
	if (!*out || (*out)->type == type)
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT, "'%s' is not %s", key,
			 type == VALUE_ARRAY ? "a list" : "an object");
}

static enum err vybe_push_put_event(struct call *c, struct stores *s, const struct value *v,
				    struct str task, struct json *reply)
{
	const struct value *metadata;
	struct json meta = json_new(&c->mem);
	struct event_note note = { .task = task };
	struct str kind;
	int64_t id;
	enum err e;

	if (!v)
		return ERR_OK;
	if ((e = vybe_push_check_members(c, v, "event", "kind message metadata")) ||
	    (e = vybe_push_text(c, v, "kind", &kind)) ||
	    (e = vybe_push_text(c, v, "message", &note.message)) ||
	    (e = vybe_push_object(c, v, "metadata", VALUE_OBJECT, &metadata)))
		return e;
	if (!str_trim(kind).n || kind.n > MAX_ID || utf8_has_control(kind))
		return vybe_push_wrong(c, "an event needs a kind");
	if (!note.message.p)
		return vybe_push_wrong(c, "an event needs a message");
	note.kind = arena_cstr(&c->mem, kind);
	if (metadata && value_depth(metadata) > VALUE_DATA_DEPTH)
		return call_fail(c, ERR_INVALID_INPUT,
				 "\"metadata\" is nested %u deep; it may be %d",
				 value_depth(metadata), VALUE_DATA_DEPTH);
	if (metadata) {
		json_value(&meta, metadata);
		note.metadata = json_text(&meta);
	}
	if ((e = continuity_note(c, s->vybe, &note, &id)))
		return e;
	json_put_int(reply, "event_id", id);
	return ERR_OK;
}

/* A string is stored as it is, any other value as JSON with its type. */
static struct str vybe_push_value_text(struct call *c, const struct value *v, int *type)
{
	struct json j = json_new(&c->mem);

	if (v->type == VALUE_STRING)
		return v->text;
	if (*type < 0)
		*type = v->type == VALUE_NUMBER ? TYPE_NUMBER :
			v->type == VALUE_BOOL   ? TYPE_BOOLEAN :
			v->type == VALUE_ARRAY  ? TYPE_ARRAY :
						  TYPE_JSON;
	json_value(&j, v);
	return json_text(&j);
}

static enum err vybe_push_put_memory(struct call *c, struct stores *s, const struct value *v,
				     struct json *reply)
{
	static const char known[] = "key value value_type scope scope_id expires_at kind pinned";
	struct memory_ask ask = { 0 };
	const struct value *value = value_find(v, "value");
	struct str expires;
	int64_t event;
	enum err e;

	if (v->type != VALUE_OBJECT)
		return vybe_push_wrong(c, "a memory is not an object");
	if ((e = vybe_push_check_members(c, v, "a memory", known)) ||
	    (e = vybe_push_text(c, v, "key", &ask.key)) ||
	    (e = vybe_push_word(c, v, "value_type", &memory_types, &ask.type)) ||
	    (e = vybe_push_word(c, v, "scope", &memory_scopes, &ask.where.scope)) ||
	    (e = vybe_push_word(c, v, "kind", &memory_kinds, &ask.kind)) ||
	    (e = vybe_push_text(c, v, "scope_id", &ask.where.id)) ||
	    (e = vybe_push_text(c, v, "expires_at", &expires)))
		return e;
	if (!ask.key.p || !value || ask.where.scope < 0)
		return vybe_push_wrong(c, "a memory needs a key, a value and a scope");
	if (expires.p && !moment_parse(expires, &ask.expires_ms))
		return vybe_push_wrong(c, "'expires_at' is not a time");
	ask.pinned = value_yes(v, "pinned");
	ask.value = vybe_push_value_text(c, value, &ask.type);
	if ((e = memory_where(c, s->vybe, &ask.where)) ||
	    (e = memory_set(c, s->vybe, &ask, &event)))
		return e;
	json_object(reply);
	json_put_str(reply, "key", ask.key);
	json_put_int(reply, "event_id", event);
	json_end(reply);
	return ERR_OK;
}

static enum err vybe_push_put_artifact(struct call *c, struct stores *s, const struct value *v,
				       struct str task, struct json *reply)
{
	struct artifact_row a = { .task = task };
	enum err e;

	if (v->type != VALUE_OBJECT)
		return vybe_push_wrong(c, "an artifact is not an object");
	if ((e = vybe_push_check_members(c, v, "an artifact", "file_path content_type")) ||
	    (e = vybe_push_text(c, v, "file_path", &a.path)) ||
	    (e = vybe_push_text(c, v, "content_type", &a.type)))
		return e;
	if (!str_trim(a.path).n || utf8_has_control(a.path))
		return vybe_push_wrong(c, "an artifact needs a file_path");
	if ((e = continuity_note(c, s->vybe,
				 &(struct event_note){ .kind = "artifact_added",
						       .task = task,
						       .message = a.path },
				 &a.event)) ||
	    (e = vybe_artifact_put(c, &s->vybe->db, &a)))
		return e;
	json_object(reply);
	json_put_int(reply, "artifact_id", a.id);
	json_put_str(reply, "file_path", a.path);
	json_put_int(reply, "event_id", a.event);
	json_end(reply);
	return ERR_OK;
}

static enum err vybe_push_epoch(struct call *c, const struct value *v, struct stamp *out)
{
	const struct value *m = value_find(v, "epoch");

	if (!m || m->type == VALUE_NULL || stamp_decode(m, out))
		return ERR_OK;
	return vybe_push_wrong(c, "'epoch' is not the epoch of a claim, such as [1794896617915,0]");
}

/* The status is written last, because the beads are a store of their own: what comes before can
 * still be rolled back. */
static enum err vybe_push_put_status(struct call *c, struct stores *s, const struct value *v,
				     struct str id, struct json *reply)
{
	struct guard guard = { .epoch.ms = ABSENT };
	struct task_move move = { .id = id, .guard = &guard };
	struct task_moved moved;
	int to;
	enum err e;

	if (!v)
		return ERR_OK;
	if ((e = vybe_push_check_members(c, v, "task_status",
					 "status summary label blocked_reason force epoch")) ||
	    (e = vybe_push_yes(c, v, "force", &guard.force)) ||
	    (e = vybe_push_epoch(c, v, &guard.epoch)) ||
	    (e = vybe_push_word(c, v, "status", &task_statuses, &to)) ||
	    (e = vybe_push_text(c, v, "summary", &move.summary)) ||
	    (e = vybe_push_text(c, v, "label", &move.label)) ||
	    (e = vybe_push_text(c, v, "blocked_reason", &move.blocked_reason)))
		return e;
	if (to < 0)
		return vybe_push_wrong(c, "task_status needs a status");
	move.to = (enum task_status)to;
	if ((e = task_complete(c, s->vybe, &move, &moved)))
		return e;
	json_put_object(reply, "task_status");
	json_put_str(reply, "task_id", moved.task.id);
	json_put_str(reply, "status", str_of(names_word(&task_statuses, (int)moved.task.status)));
	json_put_int(reply, "status_event_id", moved.status_event);
	if (moved.close_event)
		json_put_int(reply, "close_event_id", moved.close_event);
	json_end(reply);
	return ERR_OK;
}

struct push {
	struct str task;
	const struct value *event, *memories, *artifacts, *status;
};

static enum err vybe_push_parse(struct call *c, struct str json, struct push *out)
{
	struct value_error error;
	const struct value *v = value_parse(&c->mem, json, &error);
	enum err e;

	if (!v)
		return call_fail(c, ERR_INVALID_INPUT, "the input is not JSON: %s (at byte %zu)",
				 error.why, error.offset);
	if (v->type != VALUE_OBJECT)
		return vybe_push_wrong(c, "the input is not an object");
	if ((e = vybe_push_check_members(c, v, "a push",
					 "task_id event memories artifacts task_status")) ||
	    (e = vybe_push_text(c, v, "task_id", &out->task)) ||
	    (e = vybe_push_object(c, v, "event", VALUE_OBJECT, &out->event)) ||
	    (e = vybe_push_object(c, v, "memories", VALUE_ARRAY, &out->memories)) ||
	    (e = vybe_push_object(c, v, "artifacts", VALUE_ARRAY, &out->artifacts)) ||
	    (e = vybe_push_object(c, v, "task_status", VALUE_OBJECT, &out->status)))
		return e;
	if (!out->event && !(out->memories && out->memories->count) &&
	    !(out->artifacts && out->artifacts->count) && !out->status)
		return vybe_push_wrong(
			c, "the input has no event, memories, artifacts or task_status");
	if ((out->memories && out->memories->count > MOST_ITEMS) ||
	    (out->artifacts && out->artifacts->count > MOST_ITEMS))
		return vybe_push_wrong(c, "at most 50 memories and 50 artifacts at once");
	if (((out->artifacts && out->artifacts->count) || out->status) && !out->task.n)
		return vybe_push_wrong(c, "artifacts and task_status need a task_id");
	return ERR_OK;
}

/* Completes the id of the task. */
static enum err vybe_push_resolve(struct call *c, struct continuity *k, struct push *p)
{
	struct beads *b;
	struct task t;
	enum err e;

	if (!p->task.n)
		return ERR_OK;
	if (!(e = continuity_tasks(c, k, &b)) && !(e = task_find(c, b, p->task, &t)))
		p->task = t.id;
	continuity_let_go(k);
	return e;
}

static enum err vybe_push_run(struct call *c, struct stores *s, const void *body,
			      struct json *reply)
{
	const struct body *in = body;
	struct push p = { 0 };
	enum err e;

	if ((e = vybe_push_parse(c, in->json, &p)) || (e = vybe_push_resolve(c, s->vybe, &p)))
		return e;
	/* changes of others to the task get earlier events */
	if (p.status) {
		e = continuity_absorb(c, s->vybe);
		continuity_let_go(s->vybe);
		if (e)
			return e;
	}
	json_object(reply);
	if ((e = vybe_push_put_event(c, s, p.event, p.task, reply)))
		return e;
	if (p.memories) {
		json_put_array(reply, "memories");
		for (size_t i = 0; !e && i < p.memories->count; i++)
			e = vybe_push_put_memory(c, s, &p.memories->item[i], reply);
		json_end(reply);
	}
	if (!e && p.artifacts) {
		json_put_array(reply, "artifacts");
		for (size_t i = 0; !e && i < p.artifacts->count; i++)
			e = vybe_push_put_artifact(c, s, &p.artifacts->item[i], p.task, reply);
		json_end(reply);
	}
	if (!e)
		e = vybe_push_put_status(c, s, p.status, p.task, reply);
	json_end(reply);
	return e;
}

const struct op op_vybe_push = {
	.name = "vybe push",
	.help = "Record an event, memories and artifacts in one step",
	.more = "The JSON is an object with any of these: task_id; event {kind, message, "
		"metadata}; memories [{key, value, value_type, scope, scope_id, expires_at, kind, "
		"pinned}]; artifacts [{file_path, content_type}]; task_status {status, summary, "
		"label, blocked_reason, force, epoch}. Artifacts and task_status need a task_id.",
	.examples = "vybe push --agent amber-otter --request-id p-1 --json "
		    "'{\"event\":{\"kind\":\"progress\",\"message\":\"half done\"}}'",
	.flags = VYBE_CHANGES,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "pushed", props },
	.run = vybe_push_run,
};
