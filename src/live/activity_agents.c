/* The acts in the agents' records: mail, reservations, registrations, incursions. */
#include "agents/mailbox.h"
#include "agents/protocol.h"
#include "agents/reservation.h"
#include "base/hash.h"
#include "base/moment.h"
#include "base/text/value.h"
#include "live/activity_parts.h"

/*
 * Whether all times in a line are before `since`, which is written as moment_format() does; so the
 * line need not be parsed. A time that is written in another way, by another program, may be later.
 */
static bool line_is_before(struct str line, struct str since)
{
	const struct str mark = STR("_at\":\"");
	const char *found;
	bool any = false;

	for (; (found = str_find(line, mark)); any = true) {
		struct str at;

		line = str_skip(line, (size_t)(found - line.p) + mark.n);
		at = str_head(line, since.n);
		if (!str_ends(at, STR("Z")) || str_cmp(at, since) >= 0)
			return false;
	}
	return any;
}

/* Reads one line; returns its time, or 0. */
typedef int64_t agent_line_see(struct activity *a, const struct value *v);

static enum err activity_read_record(struct activity *a, const struct agent_files *f,
				     struct str name, size_t most, agent_line_see *see)
{
	struct arena held = { 0 }; /* most lines may be of no interest */
	struct lines_back back = { .f = f, .name = name, .mem = &held };
	struct arena *mem = &a->c->mem;
	int64_t oldest = 0, since_ms = activity_since(a);
	struct str line, since = since_ms ? moment_format(mem, since_ms) : STR_NONE;
	size_t count = 0;
	enum err e;

	while (!(e = lines_back(a->c, &back, &line)) && line.p) {
		bool before = since.p && line_is_before(line, since),
		     may = !before && activity_may_have(a, line);
		const struct value *v = may ? agent_line_parse(mem, arena_copy(mem, line)) : NULL;
		int64_t at = v ? see(a, v) : 0;

		oldest = before ? since_ms : at ? at : oldest;
		if (++count == most)
			break;
	}
	if (!e && line.p && lines_back_at(&back))
		activity_has_more(a, oldest);
	arena_release(&held);
	return e;
}

/* A line is a message after a step. A broadcast is one act with several recipients. */
static int64_t see_mail_line(struct activity *a, const struct value *v)
{
	int64_t sent = value_moment(v, "created_at"), accepted = value_moment(v, "acked_at");
	struct str from = value_str(v, "from_agent"), to = value_str(v, "to_agent"),
		   subject = value_str(v, "subject");
	struct act act = { .at.ms = sent,
			   .kind = ACT_MAIL,
			   .what = ACT_SENT,
			   .by = from,
			   .bead = value_str(v, "bead_id"),
			   .text = subject,
			   .category = names_exact(&categories, value_str(v, "category")) };
	struct act *known;

	act.key = arena_fmt(&a->c->mem, "sent %lld " STR_FMT " %08x", (long long)sent,
			    STR_ARG(from), (unsigned)crc32c(crc32c(0, act.bead), subject));
	if ((known = activity_add(a, &act)))
		act_add_recipient(a, known, to);
	if (!accepted)
		return sent;
	act.at.ms = accepted;
	act.what = ACT_ACCEPTED;
	act.by = to;
	act.key = arena_fmt(&a->c->mem, "accepted " STR_FMT, STR_ARG(value_str(v, "message_id")));
	if ((known = activity_add(a, &act)))
		act_add_recipient(a, known, from);
	return accepted;
}

static int64_t see_reservation_line(struct activity *a, const struct value *v)
{
	int state = names_exact(&reservation_states, value_str(v, "state"));
	bool active = state == RESERVATION_ACTIVE, released = state == RESERVATION_RELEASED;
	int64_t at = value_moment(v, active   ? "created_at" :
				     released ? "released_at" :
						"expires_at");

	if (state < 0 || state == RESERVATION_CONTESTED)
		return 0;
	activity_add(a, &(struct act){ .at.ms = at,
				       .key = arena_fmt(&a->c->mem, "%s " STR_FMT,
							names_word(&reservation_states, state),
							STR_ARG(value_str(v, "reservation_id"))),
				       .kind = ACT_RESERVATION,
				       .what = active   ? ACT_RESERVED :
					       released ? ACT_RELEASED :
							  ACT_EXPIRED,
				       .by = value_str(v, "agent_id"),
				       .bead = value_str(v, "bead_id"),
				       .text = value_str(v, "scope"),
				       .category = -1 });
	return at;
}

/* An agent of another machine may be registered at any time, but is not seen in the future. */
static int64_t see_agent_line(struct activity *a, const struct value *v)
{
	int64_t created = value_moment(v, "created_at"), seen = value_moment(v, "last_seen_at"),
		at = seen && seen < created ? seen : created;
	struct str id = value_str(v, "agent_id");

	activity_add(
		a, &(struct act){ .at.ms = at,
				  .key = arena_fmt(&a->c->mem, "registered " STR_FMT, STR_ARG(id)),
				  .kind = ACT_AGENT,
				  .what = ACT_REGISTERED,
				  .by = id,
				  .text = value_str(v, "role"),
				  .category = -1 });
	return at;
}

/* HANDOFF and BLOCKED are mail, too, and are read as such. */
static int64_t see_event_line(struct activity *a, const struct value *v)
{
	int type = names_exact(&event_types, value_str(v, "event_type"));
	int64_t at = value_moment(v, "created_at");
	struct str scope = value_str(v, "scope"), id = value_str(v, "id");
	struct act act = { .at.ms = at,
			   .key = arena_fmt(&a->c->mem, "event " STR_FMT, STR_ARG(id)),
			   .kind = type == EVENT_RESUME ? ACT_AGENT : ACT_RESERVATION,
			   .what = type == EVENT_RESUME ? ACT_RESUMED : ACT_OVERLAPPED,
			   .by = value_str(v, "from_agent"),
			   .bead = value_str(v, "bead_id"),
			   .text = scope,
			   .category = -1 },
		   *known;

	if (type != EVENT_INCURSION && type != EVENT_RESUME)
		return at;
	if ((known = activity_add(a, &act)) && type == EVENT_INCURSION)
		act_add_recipient(a, known, value_str(v, "to_agent"));
	return at;
}

/* How many lines to read of each mailbox: there may be hundreds of them. */
static size_t mail_lines(const struct activity *a, size_t boxes)
{
	enum { QUICK_LEAST = 4, QUICK_ALL = 512 };
	size_t share = QUICK_ALL / boxes;

	if (!a->ask->quick || share > a->most)
		return a->most;
	return share > QUICK_LEAST ? share : QUICK_LEAST;
}

enum err activity_read_agents(struct activity *a)
{
	struct agent_files f;
	struct str *agents;
	size_t count = 0;
	enum err e = agent_files_open(a->c, AGENTS_READ, &f);

	if (e || !f.home.p)
		return e;
	if ((e = activity_read_record(a, &f, STR("agents/history.jsonl"), a->most,
				      see_agent_line)) ||
	    (e = activity_read_record(a, &f, STR("reservations/history.jsonl"), a->most,
				      see_reservation_line)) ||
	    (e = activity_read_record(a, &f, STR("events.jsonl"), a->most, see_event_line)))
		return e;
	e = mailbox_list(a->c, &f, &agents, &count);
	for (size_t i = 0; !e && i < count; i++)
		e = activity_read_record(a, &f, mailbox_file(a->c, agents[i]), mail_lines(a, count),
					 see_mail_line);
	return e;
}
