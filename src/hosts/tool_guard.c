#include "hosts/tool_guard.h"

#include "agents/current.h"
#include "agents/guard.h"
#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "beads/beads.h"
#include "beads/config.h"
#include "beads/model/bead.h"
#include "hosts/tool_paths.h"
#include "store/place.h"

/*
 * What to wait for: the scope, if the path begins like it; else the path. Others choose the texts
 * of scopes, such as `any words/../src`, so no other scope is shown.
 */
static struct str tool_guard_scope(const struct guard_finding *f)
{
	struct str begin = f->held.scope;

	while (begin.n && strchr("*/", begin.p[begin.n - 1]))
		begin.n--;
	return str_starts(f->asked, begin) ? f->held.scope : f->asked;
}

/*
 * A model reads this outside of quotes. So it has ids, and the path of the tool call, but no text
 * that somebody else chose freely.
 */
static struct str tool_guard_reason(struct call *c, const struct guard_finding *f)
{
	struct str path = spawn_word(&c->mem, f->asked), /* a name can contain line ends */
		question = arena_fmt(&c->mem, "May I change " STR_FMT "?",
				     STR_ARG(utf8_clean(&c->mem, f->asked))),
		   bead = !f->held.bead.n             ? STR("no bead") :
			  bead_id_valid(f->held.bead) ? f->held.bead :
							STR("other work"),
		   left = duration_format(&c->mem,
					  (f->held.expires_ms - c->now_ms) / 60000 * 60000);

	return arena_fmt(&c->mem,
			 STR_FMT
			 " is reserved by agent " STR_FMT " for " STR_FMT
			 " until %s (for another " STR_FMT
			 "), so this tool call was refused. Change other files; ask for it: "
			 "bb agent send " STR_FMT " " STR_FMT
			 "; or wait until it is free: bb agent wait --freed " STR_FMT,
			 STR_ARG(path), STR_ARG(f->held.agent), STR_ARG(bead),
			 moment_format(&c->mem, f->held.expires_ms).p, STR_ARG(left),
			 STR_ARG(f->held.agent), STR_ARG(spawn_word(&c->mem, question)),
			 STR_ARG(spawn_word(&c->mem, tool_guard_scope(f))));
}

/* The bead to reserve for; absent: none is current, or the setting is off. */
static struct str tool_guard_auto(struct call *c)
{
	struct current now = { 0 };
	struct beads b;
	struct str on;

	if (beads_home(c, &b) || config_get(c, b.home, CONFIG_GUARD_AUTO, &on) ||
	    !str_is(on, "true") || current_find(c, b.home, c->actor, &now))
		now.bead = STR_NONE;
	call_forgive(c);
	return now.bead;
}

/* Is the path in a reservation already, which can only be the agent's own? */
static bool tool_guard_covered(const struct reservation *list, struct str key)
{
	for (; list; list = list->next)
		if (scope_overlap(list->key, key) != OVERLAP_DISJOINT && list->key.n <= key.n)
			return true;
	return false;
}

static void tool_guard_reserve(struct call *c, const struct guard_ask *ask, struct str bead)
{
	enum { MINUTES = 120 };
	struct registered *agent;
	struct reservation *have, *made;
	struct incursion *incursions;
	struct agent_files files;
	struct str key;

	if (agent_files_open(c, AGENTS_WRITE, &files))
		return;
	if (registry_find(c, &files, ask->agent, &agent) == ERR_AGENT_NOT_FOUND) {
		call_forgive(c);
		registry_add(c, &files, ask->agent, STR_NONE, STR("agent"), false, &agent);
	}
	if (!c->code && !reservation_each(c, &files, ask->agent, STR_NONE, &have))
		for (const struct guard_path *p = ask->paths; p; p = p->next) {
			struct reserve_ask one = { .agent = ask->agent,
						   .bead = bead,
						   .minutes = MINUTES,
						   .strict = true };

			if (!scope_of_path(&c->mem, files.root, ask->tree, p->path, &key) ||
			    tool_guard_covered(have, key))
				continue;
			one.scope = key;
			if (reservation_make(c, &files, &one, &made, &incursions))
				call_forgive(c);
		}
	agent_files_close(&files);
}

struct str tool_guard(struct call *c, const struct value *in)
{
	struct guard_ask ask = { .agent = c->actor, .paths = tool_paths(c, in) };
	struct guard_answer answer = { 0 };
	struct agent_files files;
	struct str bead;
	enum err e;

	if (!ask.paths || (e = agent_files_open(c, AGENTS_READ, &files)))
		return STR_NONE;
	if (files.root.p && !(e = place_tree(c, files.root, &ask.tree)))
		e = guard_paths(c, &files, &ask, &answer);
	agent_files_close(&files);
	if (!e && answer.denied)
		return tool_guard_reason(c, answer.denied);
	if (!e && files.root.p && (bead = tool_guard_auto(c)).p)
		tool_guard_reserve(c, &ask, bead);
	return STR_NONE;
}

struct str tool_guard_answer(struct call *c, enum host_id host, struct str event, struct str reason)
{
	enum hooks_answer shape = host_row(host)->hooks.answer;
	struct json j = json_new(&c->mem);

	if (host_row(host)->hooks.shape == HOOKS_PLUGIN)
		return reason;
	json_object(&j);
	if (shape == ANSWER_CURSOR) {
		json_put_str(&j, "permission", STR("deny"));
		json_put_str(&j, "agent_message", reason);
		json_put_str(&j, "user_message", reason);
	} else if (host == HOST_GEMINI) {
		json_put_str(&j, "decision", STR("deny"));
		json_put_str(&j, "reason", reason);
	} else {
		if (shape == ANSWER_BOTH) {
			json_put_str(&j, "permissionDecision", STR("deny"));
			json_put_str(&j, "permissionDecisionReason", reason);
		}
		json_put_object(&j, "hookSpecificOutput");
		json_put_str(&j, "hookEventName", event);
		json_put_str(&j, "permissionDecision", STR("deny"));
		json_put_str(&j, "permissionDecisionReason", reason);
		json_end(&j);
	}
	json_end(&j);
	return json_text(&j);
}
