#include "base/id.h"
#include "base/text/json.h"
#include "beads/setup.h"
#include "continuity/continuity.h"
#include "op/run.h"

/* Tasks are beads. Sets up beads where there are none; otherwise first records the changes that
 * others made to the tasks. */
static enum err vybe_prepare_tasks(struct call *c, struct continuity *k)
{
	struct beads *b, made;
	struct setup done;
	enum err e = continuity_tasks(c, k, &b);

	if (!e && b)
		e = continuity_absorb(c, k);
	continuity_let_go(k);
	if (e || b)
		return e;
	return setup_run(c, &(struct setup_ask){ 0 }, &made, &done);
}

static enum err vybe_run_once(struct call *c, const struct request *r, struct stores *s,
			      const struct receipt *ask, struct json *reply)
{
	struct receipts in = vybe_receipts(&s->vybe->db);
	struct receipt old;
	enum err e = receipt_find(c, &in, ask, &old);

	if (e)
		return e;
	if (old.op.p) {
		c->replayed = true;
		return receipt_answer(c, &old, reply);
	}
	if ((r->op->flags & OP_TASKS) && (e = vybe_prepare_tasks(c, s->vybe)))
		return e;
	if ((e = r->op->run(c, s, r->body, reply)) ||
	    (e = receipt_put(c, &in, ask, json_text(reply))))
		return e;
	return continuity_commit(c, s->vybe);
}

/* A request id for a person: agent_task_create_1739373000123_a19f2c. */
static struct str vybe_mint_request_id(struct call *c, const struct op *op)
{
	struct str name = arena_copy(&c->mem, str_of(op->name));
	char *at = (char *)name.p;

	for (size_t i = 0; i < name.n; i++)
		at[i] = at[i] == ' ' || at[i] == '-' ? '_' : at[i];
	return arena_fmt(&c->mem, STR_FMT "_" STR_FMT "_%lld_" STR_FMT, STR_ARG(c->actor),
			 STR_ARG(str_skip(name, sizeof "vybe " - 1)), (long long)c->now_ms,
			 STR_ARG(id_random(&c->mem, 6)));
}

/*
 * Every write needs a request id. A host repeats no call by itself, and neither does a user of 'bd
 * remember', so their calls get a new one. A person at a terminal gets one with the reply.
 */
static enum err vybe_need_request_id(struct call *c, const struct op *op)
{
	if (!c->request_id.p && (c->wire || !(op->flags & OP_RECEIPT))) {
		c->request_id = id_random(&c->mem, 32);
	} else if (!c->request_id.p && c->ask) {
		c->request_id = vybe_mint_request_id(c, op);
		c->minted = true;
	}
	if (c->request_id.p)
		return ERR_OK;
	call_fail(c, ERR_USAGE, "--request-id is missing");
	return call_step(c, "Add a new id to each write, for example --request-id \"$(date "
			    "+%%s%%N)\", and repeat a failed write with the same id.");
}

enum err request_run_vybe(struct call *c, const struct request *r, struct json *reply)
{
	bool write = (r->op->flags & OP_WRITE) && !request_bool(r, ROLE_PEEK);
	struct continuity k;
	struct stores s = { .vybe = &k };
	struct receipt ask;
	enum err e = write ? vybe_need_request_id(c, r->op) : ERR_OK;

	if (e)
		return e;
	ask = request_receipt(c, r);
	c->request_args = ask.args;
	if (write && r->op->look && (e = r->op->look(c, &s, r->body)))
		return e;
	if (!write && (r->op->flags & OP_TASKS)) /* reads beads alone: vybe.db is not needed */
		e = continuity_locate(c, &k);
	else
		e = continuity_open(c, write ? VYBE_WRITE : VYBE_READ, &k);
	if (e)
		return e;
	e = write ? vybe_run_once(c, r, &s, &ask, reply) : r->op->run(c, &s, r->body, reply);
	continuity_close(&k);
	return e;
}
