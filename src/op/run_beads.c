/*
 * Runs a request on the beads. A repeated request is answered from its receipt. A reader opens the
 * cache without a lock, and reads again if a writer has changed it meanwhile. A cache that turns
 * out to be damaged is rebuilt, and the request is run again.
 */
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/autosync.h"
#include "beads/edit.h"
#include "beads/public.h"
#include "op/exclusive.h"
#include "op/run.h"

/* --- repeated requests --- */

static enum err beads_put_bead(struct call *c, struct beads *b, struct str id, struct json *j)
{
	struct shape shape = { .brief = c->terse };
	struct bead_row *row;
	enum err e = cache_find_bead(c, &b->cache, id, &row);

	if (e)
		return e;
	if (row) {
		public_encode(j, row, &shape);
		return ERR_OK;
	}
	json_object(j);
	json_put_str(j, "id", id);
	json_put_bool(j, "deleted", true);
	json_end(j);
	return ERR_OK;
}

/*
 * An old receipt keeps only the ids of its beads: its reply is made of the beads as they are now.
 */
static enum err beads_renew_reply(struct call *c, struct beads *b, struct receipt *old)
{
	struct json j = json_new(&c->mem);
	const struct value *about = value_read(&c->mem, old->about);
	bool list = about && about->type == VALUE_ARRAY;
	enum err e = ERR_OK;

	if (!about)
		return ERR_OK;
	if (list)
		json_array(&j);
	for (size_t i = 0; !e && i < (list ? about->count : 1); i++)
		e = beads_put_bead(c, b, list ? about->item[i].text : about->text, &j);
	if (list)
		json_end(&j);
	c->warning = STR("this request was carried out before; its reply is no longer stored, so "
			 "the beads are shown as they are now");
	old->reply = json_text(&j);
	return e;
}

/*
 * A request that was carried out in another clone left no receipt here, but the beads that it
 * created carry its id and a part of its digest.
 */
static enum err beads_find_created(struct call *c, struct beads *b, struct receipt *out)
{
	const struct receipt *ask = &b->receipt;
	struct json about = json_new(&c->mem);
	struct bead_row *row;
	struct edit edit;
	struct str *ids, args;
	size_t count;
	enum err e =
		cache_find_created(c, &b->cache, receipt_key(c, ask->actor, ask->id), &ids, &count);

	if (e || !count || (e = cache_find_bead(c, &b->cache, ids[0], &row)) || !row ||
	    (e = edit_begin(c, b, row, &edit)))
		return e;
	bead_request(&c->mem, &edit.now, &args);
	if (!str_starts(ask->args, args)) {
		call_fail(c, ERR_REQUEST_MISMATCH,
			  "request id '" STR_FMT "' created '" STR_FMT
			  "' in another clone, with other arguments",
			  STR_ARG(ask->id), STR_ARG(ids[0]));
		return call_step(c, "Use a request id that no other clone uses.");
	}
	if (count > 1)
		json_array(&about);
	for (size_t i = 0; i < count; i++)
		json_str(&about, ids[i]);
	if (count > 1)
		json_end(&about);
	*out = *ask;
	out->about = json_text(&about);
	return ERR_OK;
}

static enum err beads_find_answer(struct call *c, struct beads *b, const struct request *r,
				  struct receipt *old)
{
	struct receipts in = beads_receipts(b);
	enum err e = receipt_find(c, &in, &b->receipt, old);

	if (!e && !old->op.p && (r->op->flags & OP_CREATES))
		e = beads_find_created(c, b, old);
	if (!e && !old->reply.p && old->about.p)
		e = beads_renew_reply(c, b, old);
	return e;
}

/* --- running --- */

/* `exclusive`: nothing was done; the request is to be carried out at the remote. */
static enum err beads_run_opened(struct call *c, struct stores *s, const struct request *r,
				 struct json *reply, bool *exclusive)
{
	struct beads *b = s->beads;
	struct receipts in = beads_receipts(b);
	struct receipt old = { 0 };
	bool once = b->writing && c->request_id.p;
	enum err e;

	*exclusive = false;
	if (once) {
		b->receipt = request_receipt(c, r);
		if ((e = beads_find_answer(c, b, r, &old)))
			return e;
	}
	if (old.op.p) {
		e = receipt_answer(c, &old, reply);
		return e ? e : beads_settle(c, b);
	}
	if ((*exclusive = b->writing && exclusive_asked(r, b->exclusive)))
		return ERR_OK;
	if ((e = r->op->run(c, s, r->body, reply)) || !b->writing)
		return e;
	if (once && (e = receipt_put(c, &in, &b->receipt, json_text(reply))))
		return e;
	return beads_commit(c, b);
}

/* The commit or time that the request asks about; NULL: it asks about now. */
static const struct when *beads_asked_at(const struct request *r)
{
	for (const struct field *f = r->op->fields; f && f->name; f++) {
		const struct when *when = (const void *)((const char *)r->body + f->at);

		if ((f->flags & FIELD_AT) && when->spec.p)
			return when;
	}
	return NULL;
}

static enum err beads_run_past(struct call *c, const struct request *r, const struct when *when,
			       struct json *reply)
{
	bool exclusive;
	struct beads b;
	struct stores s = { .beads = &b };
	enum err e;

	if (request_writes(r))
		return call_fail(c, ERR_INVALID_INPUT,
				 "--at shows a past state, which can't be "
				 "changed");
	if ((e = beads_open_at(c, when, &b)))
		return e;
	e = beads_run_opened(c, &s, r, reply, &exclusive);
	beads_close(&b);
	return e;
}

/* What comes next needs the lock of the group, or must not find its transaction. */
static enum err beads_leave_group(struct call *c, bool doubtful)
{
	struct write_group *g = c->group;
	enum err e;

	g->spoilt = g->spoilt || doubtful;
	c->group = NULL;
	e = beads_group_end(g);
	return e ? call_fail(c, e, STR_FMT, STR_ARG(g->call.message)) : ERR_OK;
}

/* A cache that turns out to be damaged is replaced, and the request is run again. */
enum err request_run_beads(struct call *c, const struct request *r, struct json *reply)
{
	bool write = request_writes(r), disturbed, doubtful, exclusive;
	enum beads_mode mode = write ? BEADS_WRITE : BEADS_STILL;
	const struct when *when = beads_asked_at(r);
	struct beads b;
	struct stores s = { .beads = &b };
	enum err e;

	if ((e = exclusive_check(c, r)))
		return e;
	if (when)
		return beads_run_past(c, r, when, reply);
	if (write && r->op->look && (e = r->op->look(c, NULL, r->body)))
		return e;
	for (int tries = 0;; tries++) {
		if ((e = beads_open(c, mode, &b))) {
			if ((e != ERR_DAMAGED && e != ERR_INTERNAL_ERROR) || tries == 2)
				return e;
			mode = write ? BEADS_WRITE : BEADS_READ;
			call_forgive(c);
			continue;
		}
		json_restart(reply);
		s.seen = NULL;
		e = beads_run_opened(c, &s, r, reply, &exclusive);
		disturbed = !write && !beads_undisturbed(c, &b);
		doubtful = !b.committing && (e == ERR_DAMAGED || e == ERR_INTERNAL_ERROR);
		beads_close(&b);
		if (c->group && (doubtful || exclusive) && beads_leave_group(c, doubtful))
			return c->code;
		if (!e && exclusive)
			return exclusive_run(c, &b, r, reply);
		if ((!disturbed && !doubtful) || tries == 2) {
			if (!e && write && !b.forgotten && !c->group)
				autosync_start(c, &b);
			if (!e && r->op->after && s.seen)
				r->op->after(c, s.seen);
			return e;
		}
		call_forgive(c);
		mode = write ? BEADS_WRITE : BEADS_READ;
		if (!disturbed && (e = beads_distrust(c, &b)))
			return e;
	}
}
