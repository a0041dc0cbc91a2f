#include "board/status.h"

#include "base/moment.h"
#include "base/text/json.h"
#include "board/unread.h"
#include "store/board/board_db.h"

static const int64_t MINUTE = 60 * 1000, ACTIVE = 5, STALE = 30;

const struct names board_liveness_words =
	NAMES_OF([BOARD_ACTIVE] = "active", [BOARD_STALE] = "stale", [BOARD_OFFLINE] = "offline");

enum board_liveness board_liveness_of(int64_t last_seen, int64_t now)
{
	int64_t minutes = (now - last_seen) / MINUTE; /* only whole minutes */

	return minutes <= ACTIVE ? BOARD_ACTIVE : minutes <= STALE ? BOARD_STALE : BOARD_OFFLINE;
}

int64_t status_offline_before(int64_t now)
{
	return now - STALE * MINUTE;
}

/* The status of an agent that was offline and is active again. */
static enum agent_status status_woken(const struct agent *a)
{
	return a->blockers.p ? AGENT_BLOCKED : AGENT_IDLE;
}

/* Reads the actor's entry, or prepares a new one. */
static enum err status_actor(struct call *c, struct board *b, struct agent **out)
{
	enum err e = agent_find(c, b, c->actor, out);

	if (e)
		return e;
	if (!*out) {
		*out = arena_new(&c->mem, struct agent);
		(*out)->id = c->actor;
		(*out)->current_task = STR("");
		(*out)->updated_at = c->now_ms;
	}
	if ((*out)->status == AGENT_OFFLINE)
		(*out)->status = status_woken(*out);
	(*out)->last_seen = c->now_ms;
	return ERR_OK;
}

static bool status_same(const struct agent *a, const struct agent *b)
{
	return str_eq(a->current_task, b->current_task) && a->progress == b->progress &&
	       a->status == b->status && str_eq(a->blockers, b->blockers);
}

static enum err status_put(struct call *c, struct board *b, const struct agent *before,
			   struct agent *a)
{
	if (!status_same(before, a))
		a->updated_at = c->now_ms;
	return agent_put(c, b, a);
}

enum err status_set(struct call *c, struct board *b, const struct status_change *change,
		    struct agent **out)
{
	enum err e = status_actor(c, b, out);
	struct agent *a = *out, before;

	if (e)
		return e;
	before = *a;
	if (change->current_task.p)
		a->current_task = change->current_task;
	if (change->progress >= 0)
		a->progress = change->progress;
	if (change->status >= 0)
		a->status = change->status;
	if (change->blockers.n) {
		if (change->status >= 0 && change->status != AGENT_BLOCKED)
			return call_fail(c, ERR_INVALID_INPUT,
					 "blockers go with status 'blocked', not with '%s'",
					 names_word(&agent_statuses, change->status));
		a->status = AGENT_BLOCKED;
		a->blockers = change->blockers;
	}
	if (a->status != AGENT_BLOCKED || (change->blockers.p && !change->blockers.n))
		a->blockers = STR_NONE;
	return status_put(c, b, &before, a);
}

enum err status_clear(struct call *c, struct board *b, struct agent **out)
{
	return status_set(c, b,
			  &(struct status_change){ .current_task = STR(""), .status = AGENT_IDLE },
			  out);
}

bool status_derive(struct agent *a, int64_t now)
{
	bool gone = a->last_seen < status_offline_before(now);

	if (!gone && a->status == AGENT_OFFLINE)
		a->status = status_woken(a); /* a wrong clock had marked it offline */
	if (!gone || a->status == AGENT_OFFLINE)
		return false;
	a->status = AGENT_OFFLINE;
	return true;
}

static void derive_offline(struct call *c, struct board *b, struct agent *list)
{
	bool news = false;

	for (struct agent *a = list; a; a = a->next)
		if (status_derive(a, c->now_ms))
			news = true;
	if (news)
		agent_note_offline(c, b, status_offline_before(c->now_ms));
}

enum err status_each(struct call *c, struct board *b, struct agent **out)
{
	enum err e = agent_each(c, b, out);

	if (!e)
		derive_offline(c, b, *out);
	return e;
}

void agent_put_members(struct json *j, const struct call *c, const struct agent *a,
		       const struct unread *unread)
{
	struct arena *mem = j->out.mem;
	int64_t silent = c->now_ms - a->last_seen;
	enum board_liveness liveness = board_liveness_of(a->last_seen, c->now_ms);

	json_put_str(j, "id", a->id);
	json_put_str(j, "current_task", a->current_task);
	json_put_int(j, "progress", a->progress);
	json_put_str(j, "status", str_of(names_word(&agent_statuses, a->status)));
	json_put_str(j, "blockers", a->blockers);
	json_put_str(j, "last_seen", moment_format(mem, a->last_seen));
	json_put_str(j, "updated_at", moment_format(mem, a->updated_at));
	json_put_str(j, "liveness", str_of(names_word(&board_liveness_words, liveness)));
	json_put_int(j, "minutes_since_last_seen", silent > 0 ? silent / MINUTE : 0);
	if (unread) {
		json_key(j, STR("unread"));
		unread_encode(j, unread);
	}
}

void agent_encode(struct json *j, const struct call *c, const struct agent *a,
		  const struct unread *unread)
{
	json_object(j);
	agent_put_members(j, c, a, unread);
	json_end(j);
}
