#include "machines/lease_given.h"

#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/git_process.h"
#include "machines/lease_notes.h"
#include "machines/share.h"

enum err lease_check(struct call *c)
{
	if (share_is_on(c))
		return ERR_OK;
	call_fail(
		c, ERR_INVALID_INPUT,
		"an exclusive reservation is shared with other machines, and sharing is off here");
	return call_step(c, "Nothing was reserved. Run 'abacus share on', or reserve without "
			    "--exclusive.");
}

enum err lease_begin(struct call *c, int64_t timeout_ms, struct lock *out)
{
	struct str home, gitdir;
	enum err e = share_home(c, &home, &gitdir);

	return e ? e : lock_take(c, share_file(c, home, LEASES_COMMAND_LOCK), (int)timeout_ms, out);
}

static struct str lease_request(struct call *c, const struct reserve_ask *ask,
				const struct reservation_outlook *outlook)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "agent", ask->agent);
	json_put_str(&j, "bead", ask->bead);
	json_put_int(&j, "epoch", outlook->epoch);
	json_put_int(&j, "minutes", ask->minutes);
	json_put_bool(&j, "own", outlook->own);
	json_put_str(&j, "scope", outlook->key);
	json_put_bool(&j, "takeover", ask->takeover);
	json_end(&j);
	return json_text(&j);
}

enum err lease_reserve(struct call *c, const struct reserve_ask *ask,
		       const struct reservation_outlook *outlook, int64_t timeout_ms,
		       struct lease_given *out)
{
	struct git_process h = { .timeout_ms = timeout_ms,
				 .input = lease_request(c, ask, outlook) };
	struct str home, gitdir;
	const struct value *v;
	enum err e = share_home(c, &home, &gitdir);

	if (e)
		return e;
	h.words[0] = "lease";
	h.words[1] = arena_cstr(&c->mem, gitdir);
	h.words[2] = "--timeout-ms";
	h.words[3] = arena_fmt(&c->mem, "%lld", (long long)timeout_ms).p;
	e = git_process_run(c, &h);
	if (e == ERR_SYNC_TIMEOUT && !c->step.p)
		call_step(c, "The remote may or may not have the reservation. Run the same command "
			     "again: it finds out.");
	if (e)
		return e;
	v = value_read(&c->mem, h.reply);
	if (!value_int(v, "epoch", &out->epoch) || !value_int(v, "until_ms", &out->until_ms))
		return call_fail(c, ERR_INTERNAL_ERROR, "the git process gave no lease");
	return ERR_OK;
}
