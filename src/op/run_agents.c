/*
 * Operations on the agents' files. Each write replaces a file or appends a line: there is no
 * commit. The receipt is looked up under the lock, so that of several equal requests at once only
 * one is carried out.
 */
#include "agents/agent_names.h"
#include "agents/liveness.h"
#include "agents/mail.h"
#include "agents/receipts.h"
#include "base/text/json.h"
#include "op/run.h"
#include "store/agent_files.h"

/* A request without an id has no receipt. */
static enum err agents_find_answer(struct call *c, struct agent_files *files,
				   const struct receipt *ask, struct receipt *old)
{
	struct receipts in = agents_receipts(files);

	*old = (struct receipt){ 0 };
	return ask->id.p ? receipt_find(c, &in, ask, old) : ERR_OK;
}

/* Only a project that was shared has names to be resolved. */
static enum err agents_resolve(struct call *c, const struct request *r, struct agent_files *f)
{
	int64_t size = 0;
	enum err e;

	if (!f->home.p || agent_file_size(c, f, STR("names.json"), &size) || !size)
		return call_forgive(c);
	if (c->actor.p && (e = agent_names_find(c, f, &c->actor, NULL)))
		return e;
	for (const struct field *p = r->op->fields; p && p->name; p++) {
		struct str *name = (struct str *)((char *)r->body + p->at);

		if ((p->flags & (FIELD_ACTOR | FIELD_AGENT)) && name->n &&
		    (e = agent_names_find(c, f, name, NULL)))
			return e;
	}
	return ERR_OK;
}

/* Does the request need the operation's `look`? Only some need the remote. */
static bool agents_must_look(const struct request *r)
{
	const int *exclusive = request_value(r, ROLE_EXCLUSIVE);

	return r->op->look && (!exclusive || *exclusive > 0);
}

/* Runs the operation's `look`, without the lock, unless there is a receipt already. */
static enum err agents_look(struct call *c, const struct request *r, struct stores *s,
			    const struct receipt *ask, struct receipt *old)
{
	enum err e = agent_files_open(c, AGENTS_READ, s->agents);

	if (!e)
		e = agents_resolve(c, r, s->agents);
	if (!e)
		e = agents_find_answer(c, s->agents, ask, old);
	return e || old->op.p ? e : r->op->look(c, s, r->body);
}

/*
 * Runs the operation and stores its receipt, under the actor that sent the request: `bb agent
 * init` changes the actor of the call. Where there was no folder, and so no lock, several
 * processes may have run the operation at once: the reply of the first receipt is the answer of
 * all of them.
 */
static enum err agents_run_once(struct call *c, const struct request *r, struct stores *s,
				const struct receipt *ask, struct json *reply)
{
	struct receipts in = agents_receipts(s->agents);
	struct receipt old = { 0 };
	bool unlocked = !s->agents->home.p;
	enum err e = r->op->run(c, s, r->body, reply);

	if (!e && unlocked)
		e = agents_find_answer(c, s->agents, ask, &old);
	if (e || !ask->id.p)
		return e;
	if (!old.op.p) {
		e = receipt_put(c, &in, ask, json_text(reply));
		return e ? e : mail_settle(c, s->agents);
	}
	json_restart(reply);
	return receipt_answer(c, &old, reply);
}

enum err request_run_agents(struct call *c, const struct request *r, struct json *reply)
{
	bool write = r->op->flags & OP_WRITE;
	struct agent_files files;
	struct stores s = { .agents = &files, .looked = LOCK_NONE };
	struct receipt old = { 0 }, ask = { 0 };
	enum err e = liveness_check(c);

	if (e)
		return e;
	if (write && c->request_id.p)
		ask = request_receipt(c, r);
	c->request_args = ask.args;
	if (agents_must_look(r) && (e = agents_look(c, r, &s, &ask, &old))) {
		lock_drop(&s.looked);
		return e;
	}
	if (old.op.p)
		return receipt_answer(c, &old, reply);
	e = agent_files_open(c, write ? AGENTS_WRITE : AGENTS_READ, &files);
	if (!e)
		e = agents_resolve(c, r, &files);
	if (!e)
		e = agents_find_answer(c, &files, &ask, &old);
	if (!e)
		e = old.op.p ? receipt_answer(c, &old, reply) :
			       agents_run_once(c, r, &s, &ask, reply);
	agent_files_close(&files);
	lock_drop(&s.looked);
	return e;
}
