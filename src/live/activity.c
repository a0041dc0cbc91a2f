/*
 * Every source is read backwards from its end, as far as needed. A source of which a part is unread
 * may have acts older than its oldest entry that was read. So acts before that time are dropped,
 * and if too few are left, all sources are read again, further back.
 */
#include "live/activity_parts.h"

#include <stdlib.h>

#include "agents/mail.h"
#include "base/moment.h"
#include "base/text/json.h"

const struct names act_kinds =
	NAMES_OF([ACT_BEAD] = "bead", [ACT_MAIL] = "mail", [ACT_POST] = "post",
		 [ACT_STATUS] = "status", [ACT_ARTIFACT] = "artifact",
		 [ACT_RESERVATION] = "reservation", [ACT_AGENT] = "agent", [ACT_NOTE] = "note");

const struct names act_words = NAMES_OF(
	[ACT_CREATED] = "created", [ACT_CHANGED] = "changed", [ACT_CLAIMED] = "claimed",
	[ACT_RELEASED] = "released", [ACT_CLOSED] = "closed", [ACT_REOPENED] = "reopened",
	[ACT_COMMENTED] = "commented", [ACT_DELETED] = "deleted", [ACT_LINKED] = "linked",
	[ACT_UNLINKED] = "unlinked", [ACT_SENT] = "sent", [ACT_ACCEPTED] = "accepted",
	[ACT_POSTED] = "posted", [ACT_SET] = "set", [ACT_ADDED] = "added",
	[ACT_RESERVED] = "reserved", [ACT_EXPIRED] = "expired", [ACT_OVERLAPPED] = "overlapped",
	[ACT_REGISTERED] = "registered", [ACT_RESUMED] = "resumed", [ACT_NOTED] = "noted");

bool activity_about(const struct activity *a, struct str bead)
{
	return !a->bead.p || str_eq(bead, a->bead) || (a->brief.n && str_eq(bead, a->brief));
}

bool activity_may_have(const struct activity *a, struct str text)
{
	return (!a->part.p || str_has(text, a->part)) &&
	       (!a->bead.p || str_has(text, a->brief.n ? a->brief : a->bead));
}

static bool activity_concerns(const struct act *act, struct str agent)
{
	if (!agent.p || str_eq(act->by, agent))
		return true;
	for (size_t i = 0; i < act->to_count; i++)
		if (str_eq(act->to[i], agent))
			return true;
	return false;
}

static bool activity_fits(const struct activity_ask *ask, const struct act *act)
{
	return (!ask->until_ms || act->at.ms <= ask->until_ms) &&
	       (!ask->kinds || ask->kinds & (1U << act->kind));
}

struct act *activity_add(struct activity *a, const struct act *act)
{
	void **at = map_find(&a->acts, act->key);

	if (at)
		return *at;
	if (act->at.ms < a->ask->since_ms || !activity_about(a, act->bead))
		return NULL;
	at = map_put(&a->acts, act->key);
	*at = arena_new(&a->c->mem, struct act);
	*(struct act *)*at = *act;
	return *at;
}

void act_add_recipient(struct activity *a, struct act *act, struct str agent)
{
	for (size_t i = 0; i < act->to_count; i++)
		if (str_eq(act->to[i], agent))
			return;
	act->to = arena_room(&a->c->mem, act->to, act->to_count, sizeof *act->to);
	act->to[act->to_count++] = agent;
}

void activity_has_more(struct activity *a, int64_t oldest_ms)
{
	if (oldest_ms > a->horizon)
		a->horizon = oldest_ms;
}

static int times_down(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

int64_t activity_since(struct activity *a)
{
	int64_t *times;
	size_t count = 0;

	if (a->acts.count < a->ask->limit || a->acts.count == a->since_count)
		return a->since;
	times = arena_array(&a->c->mem, a->acts.count, sizeof *times);
	for (size_t i = 0; i < a->acts.count; i++) {
		const struct act *act = a->acts.entry[i].value;

		if (activity_fits(a->ask, act) && activity_concerns(act, a->ask->agent))
			times[count++] = act->at.ms;
	}
	a->since_count = a->acts.count;
	if (count >= a->ask->limit && a->ask->limit) {
		qsort(times, count, sizeof *times, times_down);
		a->since = times[a->ask->limit - 1];
	}
	return a->since;
}

static int act_order(const void *a, const void *b)
{
	const struct act *x = *(struct act *const *)a, *y = *(struct act *const *)b;
	int order = stamp_cmp(x->at, y->at);

	return order ? order : str_cmp(x->key, y->key);
}

/* The acts that were asked for, oldest first, without those that unread entries may lie between. */
static size_t activity_sort(struct activity *a, struct act ***out)
{
	struct act **list = arena_array(&a->c->mem, a->acts.count + 1, sizeof *list);
	size_t count = 0;

	for (size_t i = 0; i < a->acts.count; i++) {
		struct act *act = a->acts.entry[i].value;

		if ((act->at.ms >= a->horizon || a->ask->quick) && activity_fits(a->ask, act) &&
		    activity_concerns(act, a->ask->agent))
			list[count++] = act;
	}
	if (count)
		qsort(list, count, sizeof *list, act_order);
	*out = list;
	return count;
}

/* A name as it is written in JSON, without its quotes. */
static struct str activity_json(struct call *c, struct str name)
{
	struct json j = json_new(&c->mem);

	json_str(&j, name);
	return str_head(str_skip(json_text(&j), 1), json_text(&j).n - 2);
}

static enum err activity_read_all(struct activity *a)
{
	enum err e;

	if ((e = activity_read_beads(a)) || (e = activity_read_agents(a)) ||
	    (e = activity_read_board(a)))
		return e;
	return activity_read_notes(a);
}

enum err activity_read(struct call *c, const struct activity_ask *ask, struct act ***out,
		       size_t *count)
{
	enum { LEAST = 32, FURTHER = 8, MOST = 1 << 24 };
	struct activity a = { .c = c, .ask = ask, .most = ask->limit > LEAST ? ask->limit : LEAST };
	enum err e;

	if (ask->agent.p || ask->bead.p) /* their acts are few, and may be far back */
		a.most = MOST;
	a.part = ask->agent.p ? activity_json(c, ask->agent) : STR_NONE;
	if (ask->quick)
		a.most = LEAST;

	for (;; a.most *= FURTHER) {
		a.acts = (struct map){ .mem = &c->mem };
		a.horizon = INT64_MIN;
		a.since = 0;
		a.since_count = 0;
		if ((e = activity_read_all(&a)))
			return e;
		*count = activity_sort(&a, out);
		if (*count >= ask->limit || a.horizon <= ask->since_ms || a.most >= MOST ||
		    ask->quick)
			break;
	}
	if (*count > ask->limit) {
		*out += *count - ask->limit;
		*count = ask->limit;
	}
	return ERR_OK;
}

void act_encode(struct json *j, const struct act *act)
{
	json_object(j);
	json_put_str(j, "id", act->key);
	json_put_moment(j, "at", act->at.ms);
	json_put_word(j, "kind", &act_kinds, (int)act->kind);
	json_put_word(j, "what", &act_words, (int)act->what);
	json_put_str(j, "by", act->by);
	json_put_str(j, "bead_id", act->bead);
	json_put_str(j, "title", act->title);
	json_put_strs(j, "to", act->to, act->to_count);
	json_put_str(j, "category",
		     act->category < 0 ? STR_NONE : str_of(names_word(&categories, act->category)));
	json_put_str(j, "text", act->text);
	json_end(j);
}
