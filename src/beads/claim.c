#include "beads/claim.h"

#include <inttypes.h>

#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "store/db/bead_ready.h"

static struct str claim_holder(const struct edit *e)
{
	return bead_text(&e->c->mem, &e->now, MEMBER_ASSIGNEE);
}

static bool claim_mine(const struct edit *e)
{
	struct str name = claim_holder(e);

	return name.p && str_eq(name, e->c->actor);
}

/* A claim without an end does not expire. */
static bool claim_held(const struct edit *e)
{
	int64_t end = bead_int(&e->now, MEMBER_ASSIGNEE_EXPIRES, 0);

	if (!claim_holder(e).p)
		return false;
	return end ? end + e->b->margin_ms > e->c->now_ms :
		     bead_status(&e->now) == BEAD_IN_PROGRESS;
}

static bool claim_is_made(const struct edit *e)
{
	return bead_claimed(bead_status(&e->now), claim_holder(e),
			    bead_int(&e->now, MEMBER_ASSIGNEE_EXPIRES, 0), e->c->now_ms);
}

static struct str claim_put_detail(const struct edit *e, const struct stamp *epoch)
{
	struct json j = json_new(&e->c->mem);
	int64_t end = bead_int(&e->now, MEMBER_ASSIGNEE_EXPIRES, 0);

	json_object(&j);
	json_put_str(&j, "id", e->row->id);
	json_put_str(&j, "holder", claim_holder(e));
	json_put_str(&j, "expires", end ? moment_format(&e->c->mem, end) : STR_NONE);
	if (epoch) {
		json_key(&j, STR("epoch"));
		stamp_encode(&j, *epoch);
	}
	json_end(&j);
	return json_text(&j);
}

static struct str claim_until(const struct edit *e)
{
	int64_t end = bead_int(&e->now, MEMBER_ASSIGNEE_EXPIRES, 0);

	if (!end)
		return STR("");
	if (end <= e->c->now_ms)
		return arena_fmt(&e->c->mem, " until %s", moment_format(&e->c->mem, end).p);
	return arena_fmt(&e->c->mem, " for another %s",
			 duration_left(&e->c->mem, end - e->c->now_ms).p);
}

static enum err claim_refuse_held(struct edit *e)
{
	int64_t end = bead_int(&e->now, MEMBER_ASSIGNEE_EXPIRES, 0);

	call_fail(e->c, ERR_ALREADY_CLAIMED, "'" STR_FMT "' is claimed by " STR_FMT "%s",
		  STR_ARG(e->row->id), STR_ARG(claim_holder(e)), claim_until(e).p);
	if (end && end <= e->c->now_ms)
		call_step(
			e->c,
			"Clocks differ, so an exclusive claim is possible only a minute after the "
			"end of another clone's lease: repeat it after %s.",
			moment_format(&e->c->mem, end + e->b->margin_ms).p);
	return call_detail(e->c, claim_put_detail(e, NULL));
}

enum err claim_refuse_takeover(struct edit *e, struct str why)
{
	call_fail(e->c, ERR_ALREADY_CLAIMED,
		  "'" STR_FMT "' is claimed by " STR_FMT "%s; " STR_FMT " " STR_FMT,
		  STR_ARG(e->row->id), STR_ARG(claim_holder(e)), claim_until(e).p,
		  STR_ARG(claim_holder(e)), STR_ARG(why));
	call_step(e->c, "Claim another bead: 'bd ready --claim'. 'bb agent list --stuck' lists the "
			"agents that are stuck.");
	return call_detail(e->c, claim_put_detail(e, NULL));
}

bool claim_is_anothers(const struct edit *e)
{
	return claim_holder(e).p && !claim_mine(e) &&
	       bead_int(&e->now, MEMBER_ASSIGNEE_EXPIRES, 0) > e->c->now_ms;
}

enum err claim_permit(struct edit *e)
{
	if (e->force || !claim_is_anothers(e))
		return ERR_OK;
	claim_refuse_held(e);
	return call_step(e->c, "Claim another bead: 'bd ready --claim'. A person can override "
			       "the claim with --force.");
}

static void claim_set_end(struct edit *e, int64_t lease_ms)
{
	edit_int(e, MEMBER_ASSIGNEE_EXPIRES, e->c->now_ms + lease_ms);
}

enum err claim_take(struct edit *e, int64_t lease_ms)
{
	if (bead_status(&e->now) == BEAD_CLOSED) {
		call_fail(e->c, ERR_CLOSED, "'" STR_FMT "' is closed", STR_ARG(e->row->id));
		return call_step(e->c, "'bd reopen " STR_FMT "' opens it again.",
				 STR_ARG(spawn_word(&e->c->mem, e->row->id)));
	}
	if (claim_held(e) && !claim_mine(e))
		return claim_refuse_held(e);
	if (!claim_mine(e) || bead_status(&e->now) != BEAD_IN_PROGRESS ||
	    !e->now.member[MEMBER_ASSIGNEE_EXPIRES].p) {
		edit_text(e, MEMBER_ASSIGNEE, e->c->actor);
		edit_stamp(e, MEMBER_ASSIGNEE_AT, e->mark.at);
	}
	claim_set_end(e, lease_ms);
	edit_word(e, MEMBER_STATUS, &bead_statuses, BEAD_IN_PROGRESS);
	return ERR_OK;
}

static enum err claim_refuse_other(struct edit *e)
{
	struct str name = claim_holder(e), id = spawn_word(&e->c->mem, e->row->id);

	if (name.p)
		call_fail(e->c, ERR_NOT_CLAIMED,
			  "'" STR_FMT "' is not claimed by you: " STR_FMT " has claimed it%s",
			  STR_ARG(e->row->id), STR_ARG(name), claim_until(e).p);
	else
		call_fail(e->c, ERR_NOT_CLAIMED, "nobody has claimed '" STR_FMT "'",
			  STR_ARG(e->row->id));
	call_step(e->c,
		  "Look at it with 'bd show " STR_FMT "'; 'bd claim " STR_FMT
		  "' takes it if it is free.",
		  STR_ARG(id), STR_ARG(id));
	return call_detail(e->c, claim_put_detail(e, NULL));
}

enum err claim_renew(struct edit *e, int64_t lease_ms)
{
	if (!claim_mine(e) || !claim_is_made(e))
		return claim_refuse_other(e);
	claim_set_end(e, lease_ms);
	return ERR_OK;
}

enum err claim_release(struct edit *e)
{
	if (!claim_mine(e))
		return claim_refuse_other(e);
	claim_drop(e);
	edit_word(e, MEMBER_STATUS, &bead_statuses, BEAD_OPEN);
	return ERR_OK;
}

enum err claim_adopt(struct edit *e, struct str from, int64_t lease_ms)
{
	if (!str_eq(claim_holder(e), from) || !claim_is_made(e))
		return claim_refuse_other(e);
	claim_assign(e, e->c->actor);
	claim_set_end(e, lease_ms);
	return ERR_OK;
}

void claim_restore(struct edit *e, const struct bead *before)
{
	struct str name = bead_text(&e->c->mem, before, MEMBER_ASSIGNEE);

	edit_set(e, MEMBER_ASSIGNEE, before->member[MEMBER_ASSIGNEE]);
	edit_set(e, MEMBER_ASSIGNEE_AT, before->member[MEMBER_ASSIGNEE_AT]);
	edit_set(e, MEMBER_ASSIGNEE_EXPIRES, before->member[MEMBER_ASSIGNEE_EXPIRES]);
	if (before->member[MEMBER_ASSIGNEE_EXPIRES].p && str_eq(name, e->c->actor))
		claim_set_end(e, e->b->lease_ms);
}

void claim_drop(struct edit *e)
{
	edit_set(e, MEMBER_ASSIGNEE, STR_NONE);
	edit_set(e, MEMBER_ASSIGNEE_AT, STR_NONE);
	edit_set(e, MEMBER_ASSIGNEE_EXPIRES, STR_NONE);
}

void claim_go_on(struct edit *e)
{
	int64_t end = bead_int(&e->now, MEMBER_ASSIGNEE_EXPIRES, 0);
	bool touched = e->change.mark[REG_ASSIGNEE].by.p;

	if (touched || !claim_mine(e) || !end || !claim_is_made(e))
		return;
	if (end < e->c->now_ms + e->b->lease_ms)
		claim_set_end(e, e->b->lease_ms);
}

enum err claim_check(struct edit *e, struct stamp epoch)
{
	struct stamp now = bead_stamp(&e->now, MEMBER_ASSIGNEE_AT);

	if (e->now.member[MEMBER_ASSIGNEE_AT].p && !stamp_cmp(now, epoch) && claim_mine(e))
		return ERR_OK;
	call_fail(e->c, ERR_STALE_CLAIM,
		  "the claim [%" PRId64 ",%" PRId64 "] on '" STR_FMT "' has ended%s" STR_FMT,
		  epoch.ms, epoch.n, STR_ARG(e->row->id),
		  claim_holder(e).p ? ": it is now claimed by " : "", STR_ARG(claim_holder(e)));
	call_step(e->c,
		  "Stop working on it: another agent may have claimed it. 'bd show " STR_FMT
		  "' shows which one.",
		  STR_ARG(spawn_word(&e->c->mem, e->row->id)));
	return call_detail(e->c, claim_put_detail(e, &epoch));
}

void claim_assign(struct edit *e, struct str name)
{
	if (!name.n) {
		claim_drop(e);
		return;
	}
	if (str_eq(name, claim_holder(e)))
		return;
	edit_text(e, MEMBER_ASSIGNEE, name);
	edit_stamp(e, MEMBER_ASSIGNEE_AT, e->mark.at);
	/* work in progress stays under a lease, so that it does not stall with the new assignee */
	if (claim_held(e) && !e->change.mark[REG_STATUS].by.p)
		claim_set_end(e, e->b->lease_ms);
	else
		edit_set(e, MEMBER_ASSIGNEE_EXPIRES, STR_NONE);
}
