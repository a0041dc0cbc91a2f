/*
 * Hands a request over to the local service, because this process may not write to the stores: a
 * sandbox forbids it. The service runs the request in the folder and in the name of the caller, and
 * its reply or failure becomes that of this call.
 */
#include "surface/service/handoff.h"

#include "base/text/json.h"
#include "base/text/value.h"
#include "surface/cli/pipe.h"
#include "surface/service/service.h"

enum { PATIENCE_S = 60 };

/* The service must not read files for a process in a sandbox, which may not read them itself. */
static bool handoff_allowed(const struct call *c, const struct request *r)
{
	const struct field *fields = r->op->fields;

	for (size_t i = 0; fields && fields[i].name; i++)
		if ((r->given >> i & 1) && !field_can_be_handed(&fields[i]))
			return false;
	return c->code == ERR_READ_ONLY && c->stored == STORED_NOTHING && !c->store.p &&
	       pipe_serves(r->op) && pipe_find(str_of(r->op->name)) == r->op;
}

static void handoff_put_params(struct json *j, struct call *c, const struct handoff_actor *actor,
			       const struct request *r)
{
	const struct field *fields = r->op->fields;
	unsigned flags = r->op->flags;

	json_put_object(j, "params");
	for (size_t i = 0; fields && fields[i].name; i++) {
		if (!(r->given >> i & 1))
			continue;
		json_key(j, str_of(fields[i].name));
		field_to_json(j, &fields[i], r->body);
	}
	if (actor->name.p && (flags & (OP_ACTOR | OP_READER)) &&
	    (!actor->anonymous || (flags & OP_ACTOR)))
		json_put_str(j, "agent", actor->name);
	if (c->request_id.p && (flags & OP_RECEIPT))
		json_put_str(j, "request_id", c->request_id);
	json_end(j);
}

static struct str handoff_text(struct call *c, const struct handoff_actor *actor,
			       const struct request *r)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "op", str_of(r->op->name));
	json_put_str(&j, "dir", c->dir);
	json_put_present(&j, "project", c->project);
	handoff_put_params(&j, c, actor, r);
	json_end(&j);
	return json_text(&j);
}

static enum err handoff_fail(struct call *c, const struct value *error)
{
	const struct value *details = value_find(error, "details");
	enum err e = err_named(arena_cstr(&c->mem, value_str(error, "reason")));
	struct json text = json_new(&c->mem);

	call_fail(c, e, STR_FMT, STR_ARG(value_str(error, "message")));
	call_step(c, STR_FMT, STR_ARG(value_str(error, "hint")));
	if (details)
		json_value(&text, details);
	return details ? call_detail(c, json_text(&text)) : e;
}

static enum err handoff_succeed(struct call *c, const struct value *v, struct json *reply)
{
	const struct value *meta = value_find(v, "meta");
	struct json text = json_new(&c->mem);

	call_forgive(c);
	json_restart(reply);
	json_value(reply, value_find(v, "data"));
	if (meta)
		json_value(&text, meta);
	c->meta = meta ? json_text(&text) : STR_NONE;
	c->warning = value_str(v, "warning");
	c->replayed = value_find(v, "replayed");
	return ERR_OK;
}

static enum err handoff_unanswered(struct call *c)
{
	call_fail(c, ERR_INTERNAL_ERROR,
		  "the service ended, or took longer than %d s, before it answered", PATIENCE_S);
	call_stored(c, STORED_MAYBE);
	return call_step(c, "Check whether it was done. With a request id, it is safe to run the "
			    "command again.");
}

static enum err handoff_read(struct call *c, struct str text, struct json *reply)
{
	const struct value *v = text.p ? value_read(&c->mem, text) : NULL;

	if (value_find(v, "error"))
		return handoff_fail(c, value_find(v, "error"));
	return value_find(v, "data") ? handoff_succeed(c, v, reply) : handoff_unanswered(c);
}

enum err handoff_run(struct call *c, const struct handoff_actor *actor, const struct request *r,
		     struct json *reply)
{
	struct service_place at;
	struct call failed;
	struct service_message m = { .path = "/service/run" };
	struct str text;
	enum err e = c->code;

	if (!handoff_allowed(c, r))
		return e;
	m.body = handoff_text(c, actor, r);
	m.patience_s = r->op->flags & OP_WAITS ? 0 : PATIENCE_S;
	failed = call_save(c);
	if (!service_find(c, &at) && service_send(c, &at, &m, &text))
		return handoff_read(c, text, reply);
	call_restore(c, &failed);
	return e;
}
