/*
 * With the setting claim.exclusive, a task is first claimed at the remote, as a bead: before the
 * database of vybe is locked, because the remote may take long. What follows finds the task claimed
 * by its own agent.
 */
#include "base/text/json.h"
#include "beads/config.h"
#include "op/run.h"
#include "ops/vybe/vybe_ops.h"

struct body {
	struct str id;
	struct guard guard;
	bool begin;
};

static const struct field fields[] = {
	{ "id", &kind_str, offsetof(struct body, id), FIELD_REQUIRED, .help = "task id" },
	{ "epoch", &kind_stamp, offsetof(struct body, guard.epoch), .help = "epoch of the claim" },
	{ "force", &kind_bool, offsetof(struct body, guard.force), .help = "overrule a claim" },
	{ "begin", &kind_bool, offsetof(struct body, begin), .help = "refuse a blocked task" },
	{ 0 },
};

static enum err vybe_task_run_claim(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;
	struct task_move move = { .id = in->id, .guard = &in->guard, .to = TASK_IN_PROGRESS };
	struct str id;
	enum err e = task_claim(c, s->beads, &move, in->begin, &id);

	if (e)
		return e;
	json_array(reply);
	json_object(reply);
	json_put_str(reply, "id", id);
	json_end(reply);
	json_end(reply);
	return ERR_OK;
}

const struct op op_vybe_task_claim = {
	.name = "vybe task claim",
	.flags = OP_BEADS | OP_WRITE | OP_ACTOR | OP_RECEIPT | OP_CLAIMS,
	OP_BODY(struct body, fields),
	.run = vybe_task_run_claim,
};

static enum err vybe_task_is_exclusive(struct call *c, bool *is)
{
	struct str project = c->project;
	struct beads b;
	int64_t lease_ms;
	enum err e = beads_home(c, &b);

	*is = false;
	if (!e)
		e = config_claims(c, b.home, &lease_ms, is);
	c->project = project;
	if (!e || e == ERR_NOT_A_REPOSITORY || e == ERR_NOT_INITIALIZED)
		return call_forgive(c);
	return e;
}

enum err vybe_task_claim_first(struct call *c, struct str id, const struct guard *guard, bool begin,
			       struct stores *s)
{
	struct request r = request_new(c, &op_vybe_task_claim);
	struct body *body = r.body;
	struct json reply = json_new(&c->mem);
	struct str asked = c->request_id;
	bool exclusive;
	enum err e = vybe_task_is_exclusive(c, &exclusive);

	if (e || !exclusive || c->store.p) /* a store that --db-path names has no remote */
		return e;
	body->id = id;
	body->begin = begin;
	if (guard)
		body->guard = *guard;
	c->request_id = arena_fmt(&c->mem, "claim:" STR_FMT, STR_ARG(task_request_id(c)));
	e = request_run_beads(c, &r, &reply);
	c->request_id = asked;
	s->seen = e ? NULL : c; /* the remote has it */
	return e;
}

void vybe_task_put_durability(const struct stores *s, struct json *reply)
{
	if (s->seen)
		json_put_str(reply, "durability", STR("remote"));
}
