/*
 * Exclusive claims. The operation is run on the beads as they are after a fetch, but its change is
 * not committed here: it goes into a commit on top of the remote's, which is pushed from a ref of
 * its own. Git's compare and swap at the remote decides. Of all clones that push on top of one
 * commit, one succeeds; the others fetch again and run the operation again, which then sees the
 * winner's claim. The journal gets the change once the remote has it, together with the receipt.
 *
 * A push may fail after it has reached the remote. It is never counted as lost before the remote's
 * ref has been read again: if the ref's history has the commit, the push was successful; if the ref
 * has moved without it, it never will be, because it expected the old value; if the ref has not
 * moved, the push may still arrive, and a new push that expects the same value decides.
 */
#include "base/moment.h"
#include "base/text/value.h"
#include "beads/claim.h"
#include "beads/model/record.h"
#include "sync/attempts.h"
#include "sync/sync_parts.h"

/* What a push over the network names. */
static const struct str pushed_ref = { "refs/beads/exclusive", 20 };

enum { BROKEN_MOST = 3 }; /* pushes that fail in a row before the command gives up */

struct exclusive_sync {
	struct sync *s;
	struct exclusive *want;
	struct attempt *mine, *others; /* attempts of this request, and of others */
	struct state *change;          /* of the last decision */
	struct attempt *won;
	int broken;      /* pushes that failed, so that their result is unknown */
	struct call why; /* the failure of the last of them */
};

/* --- attempts --- */

static enum err exclusive_read_attempts(struct exclusive_sync *x)
{
	struct attempt *a, *next;
	enum err e = attempts_read(x->s->c, x->s->b.home, &a);

	for (; !e && a; a = next) {
		struct attempt **list = attempt_is_of(a, &x->want->receipt) ? &x->mine : &x->others;

		next = a->next;
		a->next = *list;
		*list = a;
	}
	return e;
}

static enum err exclusive_write_attempts(struct exclusive_sync *x)
{
	struct attempt **end = &x->mine;
	enum err e;

	while (*end)
		end = &(*end)->next;
	*end = x->others;
	e = attempts_write(x->s->c, x->s->b.home, x->mine);
	*end = NULL;
	return e;
}

/* --- claims --- */

static void exclusive_put_claims(struct call *c, const struct state *change, struct json *out)
{
	json_array(out);
	for (size_t i = 0; i < change->slots.count; i++) {
		const struct slot *slot = change->slots.entry[i].value;
		const struct bead *b = slot->bead;

		if (!b || !b->mark[REG_ASSIGNEE].by.p || !b->member[MEMBER_ASSIGNEE].p ||
		    !b->member[MEMBER_ASSIGNEE_EXPIRES].p ||
		    (b->mark[REG_STATUS].by.p && bead_status(b) != BEAD_IN_PROGRESS))
			continue;
		json_object(out);
		json_put_str(out, "id", slot->id);
		json_put_str(out, "holder", bead_text(&c->mem, b, MEMBER_ASSIGNEE));
		json_key(out, STR("epoch"));
		stamp_encode(out, bead_stamp(b, MEMBER_ASSIGNEE_AT));
		json_end(out);
	}
	json_end(out);
}

static const struct value *exclusive_find_claim(const struct value *claims, struct str id)
{
	for (size_t i = 0; id.p && i < claims->count; i++)
		if (str_eq(value_str(&claims->item[i], "id"), id))
			return &claims->item[i];
	return NULL;
}

/* The reply, a list of beads, with the claimed ones marked. */
static struct str exclusive_mark(struct call *c, struct str reply, struct str claimed)
{
	const struct value *list = value_read(&c->mem, reply),
			   *claims = value_read(&c->mem, claimed);
	struct json j = json_new(&c->mem);

	if (!list || list->type != VALUE_ARRAY)
		return reply;
	json_array(&j);
	VALUE_EACH(bead, list) {
		if (!exclusive_find_claim(claims, value_str(bead, "id"))) {
			json_value(&j, bead);
			continue;
		}
		json_object(&j);
		VALUE_EACH(one, bead)
			json_put_member(&j, one);
		json_put_str(&j, "durability", STR("remote"));
		json_end(&j);
	}
	json_end(&j);
	return json_text(&j);
}

/* Does the holder, who is the actor, still have the claim? If not, that is the failure. */
static enum err exclusive_check_claim(struct call *c, struct beads *b, const struct value *claim)
{
	struct stamp epoch;
	struct bead_row *row;
	struct edit edit;
	int64_t end;
	enum err e = cache_find_bead(c, &b->cache, value_str(claim, "id"), &row);

	if (e)
		return e;
	if (!row)
		return call_fail(c, ERR_DELETED, "'" STR_FMT "' was deleted while it was claimed",
				 STR_ARG(value_str(claim, "id")));
	stamp_decode(value_find(claim, "epoch"), &epoch);
	if ((e = edit_begin(c, b, row, &edit)) || (e = claim_permit(&edit)) ||
	    (e = claim_check(&edit, epoch)))
		return e;
	end = bead_int(&edit.now, MEMBER_ASSIGNEE_EXPIRES, 0);
	if (end && end <= c->now_ms)
		return call_fail(c, ERR_STALE_CLAIM, "the lease on '" STR_FMT "' is over",
				 STR_ARG(row->id));
	if (b->writing && record_empty(b->change))
		lost_note_claim(c, b, row, epoch);
	return ERR_OK;
}

/* The same for all claims of an attempt. `b` is open. */
static enum err exclusive_check_claims(struct call *c, struct beads *b, const struct attempt *a)
{
	const struct value *claims = value_read(&c->mem, a->claims);
	struct str actor = c->actor;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < claims->count; i++) {
		c->actor = value_str(&claims->item[i], "holder"); /* one may claim for others */
		e = exclusive_check_claim(c, b, &claims->item[i]);
	}
	c->actor = actor;
	return e;
}

/* --- deciding --- */

/* Runs the operation on the fetched beads, and keeps its change and its reply. */
static enum err exclusive_decide(struct exclusive_sync *x, struct attempt *out)
{
	struct sync *s = x->s;
	struct call *c = s->c;
	struct str actor = c->actor;
	struct json reply = json_new(&c->mem), claims = json_new(&c->mem);
	enum err e;

	if (!c->still)
		c->now_ms = moment_now();
	if ((e = beads_open(c, BEADS_WRITE, &s->b)))
		return e;
	s->sealed = s->b.about.place; /* the change starts from the present state of the journal */
	s->b.margin_ms = CLAIM_MARGIN_MS;
	c->actor = x->want->receipt.actor;
	if (!(e = beads_pending(c, &s->b, &s->pending)))
		e = x->want->run(c, &s->b, x->want->arg, &reply);
	if (!e) {
		x->change = s->b.change;
		exclusive_put_claims(c, x->change, &claims);
		*out = (struct attempt){ .receipt = x->want->receipt,
					 .old = s->there,
					 .claims = json_text(&claims),
					 .at_ms = c->now_ms };
		out->receipt.reply = exclusive_mark(c, json_text(&reply), out->claims);
		state_add(s->pending.change, x->change);
	}
	c->actor = actor;
	beads_close(&s->b);
	return e;
}

/* --- pushing --- */

/* A push has failed. Its result is unknown, unless the remote can be read and has it. */
static enum err exclusive_ask_again(struct exclusive_sync *x, struct attempt *a, bool *lost)
{
	struct sync *s = x->s;
	bool has;

	x->why = call_save(s->c);
	x->broken++;
	if (sync_look_back(s, a->commit, &has) || (!has && x->broken >= BROKEN_MOST)) {
		call_restore(s->c, &x->why);
		return s->c->code;
	}
	*lost = !has;
	x->won = has ? a : NULL;
	return ERR_OK;
}

/* The remote said that it refused the push, and may have carried it out all the same. */
static enum err exclusive_refused(struct exclusive_sync *x, struct attempt *a)
{
	struct sync *s = x->s;
	struct call refused = call_save(s->c);
	bool has;

	if (!sync_look_back(s, a->commit, &has)) {
		if (has) {
			x->won = a;
			return ERR_OK;
		}
		x->mine = a->next;
	}
	call_restore(s->c, &refused);
	return s->c->code;
}

static enum err exclusive_push(struct exclusive_sync *x, struct attempt *a, bool *lost)
{
	struct sync *s = x->s;
	struct call *c = s->c;
	bool moved;
	enum err e;

	*lost = false;
	if (str_eq(s->there, a->commit)) { /* there was nothing to change */
		x->won = a;
		return ERR_OK;
	}
	a->next = x->mine;
	x->mine = a;
	if ((e = exclusive_write_attempts(x)) ||
	    (!s->remote.to.p && (e = repo_ref_put(c, s->repo, pushed_ref, a->commit))))
		return e;
	sync_doing(s, "pushing to");
	e = remote_push(c, &s->remote, pushed_ref, s->ref, a->commit, s->there, &moved);
	if (e == ERR_SYNC_FAILED)
		return exclusive_ask_again(x, a, lost);
	if (e == ERR_REMOTE_REJECTED)
		return exclusive_refused(x, a);
	if (e || !moved) { /* refused, or another clone was faster */
		x->mine = a->next;
		*lost = !e;
		return e;
	}
	if ((e = sync_look_back(s, a->commit, &moved)))
		return e;
	*lost = !moved;
	x->won = moved ? a : NULL;
	return moved || ++x->broken < BROKEN_MOST ? ERR_OK : remote_not_kept(c, &s->remote);
}

/* --- after the decision of the remote --- */

/*
 * An attempt of this request that has reached the remote. One that can't reach it any more is
 * forgotten. Without a request id, a claim that was given up since is no answer.
 */
static enum err exclusive_find_landed(struct exclusive_sync *x, struct attempt **out)
{
	struct sync *s = x->s;
	struct call *c = s->c;
	enum err e = ERR_OK;

	*out = NULL;
	for (struct attempt **at = &x->mine; !e && *at && !*out;) {
		bool has = s->there.p && repo_reaches(s->repo, s->there, (*at)->commit);

		if (has && !(*at)->receipt.id.p) {
			if ((e = beads_open(c, BEADS_READ, &s->b)))
				return e;
			has = !exclusive_check_claims(c, &s->b, *at);
			call_forgive(c);
			beads_close(&s->b);
		}
		if (has)
			*out = *at;
		else if (!str_eq(s->there, (*at)->old))
			*at = (*at)->next;
		else
			at = &(*at)->next;
	}
	return e;
}

/*
 * Writes the change and the receipt to the journal. A command may have claimed the bead here in the
 * meantime: its claim is later and wins, and then this one has failed.
 */
static enum err exclusive_store(struct exclusive_sync *x, struct state *change, enum err *held)
{
	struct sync *s = x->s;
	struct call *c = s->c;
	struct str actor = c->actor;
	struct receipts in = beads_receipts(&s->b);
	bool sealed;
	enum err e = beads_open(c, BEADS_WRITE, &s->b);

	if (e)
		return e;
	c->actor = x->won->receipt.actor;
	sealed = sync_still_sealed(s);
	if (change)
		e = beads_put(c, &s->b, change);
	if (!e)
		*held = exclusive_check_claims(c, &s->b, x->won);
	if (!e && !change) /* an earlier attempt succeeded */
		*held = call_forgive(c);
	if (!e && !*held && x->won->receipt.id.p) {
		s->b.receipt = x->won->receipt;
		e = receipt_put(c, &in, &s->b.receipt, x->won->receipt.reply);
	}
	if (!e) {
		struct call before = call_save(c);

		if (!(e = beads_commit(c, &s->b)))
			call_restore(c, &before);
	}
	if (!e && sealed)
		s->sealed = s->b.about.place; /* the commit has the change, too */
	c->actor = actor;
	beads_close(&s->b);
	return e;
}

/* `stored`: the journal has the change and the receipt. */
static enum err exclusive_finish(struct exclusive_sync *x, bool *stored)
{
	struct sync *s = x->s;
	struct str commit = x->won->commit;
	enum err e, held = ERR_OK;
	bool moved, pushed = !str_eq(commit, s->there);
	struct call failed;

	e = exclusive_store(x, x->change, &held);
	*stored = !e;
	if (e)
		return e;
	failed = call_save(s->c);
	if (x->change && pushed &&
	    ((e = repo_ref_put(s->c, s->repo, s->tracking, commit)) ||
	     (e = sync_move_here(s, commit, &moved)) || (e = sync_settle(s, commit))))
		return e;
	call_restore(s->c, &failed);
	if (x->change && pushed)
		sync_pack_later(s, commit);
	x->want->reply = x->won->receipt.reply;
	return held;
}

/* --- running --- */

static enum err exclusive_attempt(struct exclusive_sync *x, bool *lost)
{
	struct attempt *a = arena_new(&x->s->c->mem, struct attempt);
	enum err e;

	*lost = false;
	x->change = NULL;
	if ((e = sync_pull(x->s)) || (e = exclusive_find_landed(x, &x->won)) || x->won ||
	    (e = exclusive_decide(x, a)) || (e = sync_join(x->s, &a->commit)))
		return e;
	return exclusive_push(x, a, lost);
}

/* Says whether something may have been claimed, after a failure of the remote. */
static enum err exclusive_failed(struct exclusive_sync *x, enum err e)
{
	if (!err_of_sync(e))
		return e;
	if (x->mine)
		return call_step(x->s->c,
				 "The remote may or may not have the claim. Run the same command "
				 "again: it finds out, and claims nothing twice.");
	return call_step(x->s->c, "Nothing was claimed. " STR_FMT,
			 STR_ARG(call_next_step(x->s->c)));
}

/* The result of every attempt of this request is known. */
static void exclusive_forget(struct exclusive_sync *x)
{
	struct sync *s = x->s;
	struct call before = call_save(s->c);

	x->mine = NULL;
	if (s->attempts)
		exclusive_write_attempts(x);
	if (!s->remote.to.p)
		repo_ref_drop(s->c, s->repo, pushed_ref);
	call_restore(s->c, &before);
}

static enum err exclusive_steps(struct sync *s, void *arg)
{
	struct exclusive_sync x = { .s = s, .want = arg };
	bool lost = true, stored = true;
	enum err e;

	if (!s->remote.url.p)
		return remote_missing(
			s->c, &s->remote,
			"Nothing was claimed. Claim without --exclusive, or add the remote");
	if ((e = exclusive_read_attempts(&x)))
		return e;
	while (!e && lost)
		if (!(e = exclusive_attempt(&x, &lost)) && lost)
			e = sync_lost_again(s);
	e = e ? exclusive_failed(&x, e) : exclusive_finish(&x, &stored);
	if (stored && !(e && err_of_sync(e) && x.mine))
		exclusive_forget(&x);
	sync_find_lost(s);
	return e;
}

enum err sync_run_exclusive(struct call *c, const struct sync_wants *wants, struct exclusive *x)
{
	return sync_run_alone(c, wants, exclusive_steps, x);
}
