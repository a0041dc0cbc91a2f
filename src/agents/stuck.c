#include "agents/stuck.h"

#include "agents/mail.h"
#include "agents/protocol.h"
#include "agents/reservation.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/config.h"
#include "beads/model/bead.h"
#include "store/db/bead_query.h"
#include "store/vybe/vybe_rows.h"

enum {
	EVENTS_MOST = 100, /* events of one agent that are read */
	HELD_MOST = 500,   /* beads in progress that are read */
	TOOL_MOST = 120,   /* bytes of a failing call in a sentence */
	MINUTES = 120,     /* minimum time left of a reservation that is taken over */
};

const struct names reports =
	NAMES_OF([REPORT_BEGAN] = "session_start", [REPORT_PROMPT] = "user_prompt",
		 [REPORT_TOOL] = "tool_success", [REPORT_TOOL_FAILED] = "tool_failure",
		 [REPORT_CHECKPOINT] = "checkpoint", [REPORT_OTHER] = "host_event",
		 [REPORT_WAITS] = "rate_limit");

static const char *const reason_words[] = {
	[STUCK_SILENT] = "silent",
	[STUCK_REPEATS] = "repeats",
};
const struct names stuck_reasons = { reason_words, 2, NULL };

/* --- the rule --- */

struct str stuck_wait(struct call *c, int64_t until_ms)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_moment(&j, "until", until_ms);
	json_end(&j);
	return json_text(&j);
}

/*
 * The time from which silence counts: that of the report, or the end of the wait that it announces.
 */
static int64_t stuck_reported(struct call *c, const struct event_row *e, struct stuck *out)
{
	int report = names_exact(&reports, e->kind);
	int64_t until = 0;

	if (report < 0)
		return 0;
	if (report == REPORT_WAITS)
		moment_parse(value_str(value_read(&c->mem, e->metadata), "until"), &until);
	if (until > c->now_ms)
		out->waits_ms = until;
	return until > e->created ? until : e->created;
}

/*
 * Counts the newest calls, as long as they fail and are equal. A prompt of a person ends the count.
 */
static void stuck_count(const struct event_row *events, struct stuck *out)
{
	for (; events; events = events->next) {
		int report = names_exact(&reports, events->kind);

		if (report == REPORT_CHECKPOINT || report == REPORT_OTHER || report < 0)
			continue;
		if (report != REPORT_TOOL_FAILED ||
		    (out->times && !str_eq(out->tool, events->message)))
			return;
		out->tool = events->message;
		out->since_ms = events->created;
		out->times++;
	}
}

bool stuck_judge(struct call *c, const struct event_row *events, int64_t after_ms,
		 struct stuck *out)
{
	out->seen_ms = out->waits_ms = out->times = 0;
	for (const struct event_row *e = events; e; e = e->next) {
		int64_t at = stuck_reported(c, e, out);

		out->seen_ms = at > out->seen_ms ? at : out->seen_ms;
	}
	stuck_count(events, out);
	if (out->times >= STUCK_TIMES && out->seen_ms >= out->epoch.ms) {
		out->reason = STUCK_REPEATS;
		return true;
	}
	out->tool = STR_NONE;
	out->reason = STUCK_SILENT;
	out->since_ms = out->seen_ms > out->epoch.ms ? out->seen_ms : out->epoch.ms;
	return out->seen_ms && c->now_ms - out->since_ms >= after_ms;
}

/* --- reading --- */

struct stuck_reader {
	struct vybe_db db; /* without a database: no hook has reported anything */
	int64_t after_ms;
};

static enum err stuck_reader_open(struct call *c, struct str home, struct stuck_reader *out)
{
	enum err e = config_duration(c, home, CONFIG_STUCK_AFTER, &out->after_ms);

	out->db = (struct vybe_db){ .lock = LOCK_NONE };
	return e ? e :
		   vybe_db_open(c, path_join(&c->mem, home, STR("vybe.db")), VYBE_READ, &out->db);
}

static enum err stuck_look(struct call *c, struct stuck_reader *r, struct stuck *one, bool *is)
{
	struct event_filter mine = { .agent = one->agent, .limit = EVENTS_MOST, .archived = true };
	struct event_row *events;
	enum err e = vybe_event_each(c, &r->db, &mine, &events);

	*is = !e && stuck_judge(c, events, r->after_ms, one);
	return e;
}

enum err stuck_holder(struct call *c, struct str home, struct stuck *out, bool *is)
{
	struct stuck_reader r;
	enum err e = stuck_reader_open(c, home, &r);

	*is = false;
	if (!e)
		e = stuck_look(c, &r, out, is);
	vybe_db_close(&r.db);
	return e;
}

/* Reads when the bead was claimed, and makes it the agent's if no other was claimed later. */
static enum err stuck_read_claim(struct call *c, struct beads *b, struct str bead,
				 struct stuck *out)
{
	struct stamp epoch;
	struct bead_row *row;
	enum err e = cache_find_bead(c, &b->cache, bead, &row);

	if (e || !row ||
	    !stamp_decode(value_find(value_read(&c->mem, row->line), "assignee_at"), &epoch) ||
	    (out->bead.p && stamp_cmp(epoch, out->epoch) < 0))
		return e;
	out->bead = row->id;
	out->epoch = epoch;
	return ERR_OK;
}

/* Judges first by the events alone, which rules nearly all agents out; then by the claims, too. */
static enum err stuck_look_at_holder(struct call *c, struct stuck_reader *r, struct beads *b,
				     const struct bead_row *held, struct stuck *one, bool *is)
{
	enum err e = stuck_look(c, r, one, is);

	for (; !e && *is && held; held = held->next)
		if (str_eq(held->assignee, one->agent) && held->lease > c->now_ms)
			e = stuck_read_claim(c, b, held->id, one);
	return e || !*is ? e : stuck_look(c, r, one, is);
}

/* Keeps the list sorted. */
static void stuck_insert(struct stuck **list, struct stuck *one)
{
	while (*list && str_cmp((*list)->agent, one->agent) < 0)
		list = &(*list)->next;
	one->next = *list;
	*list = one;
}

static enum err stuck_judge_holders(struct call *c, struct stuck_reader *r, struct beads *b,
				    struct stuck **out)
{
	struct bead_filter busy = {
		.claimed = true, .now = c->now_ms, .lean = true, .limit = HELD_MOST
	};
	struct map seen = { .mem = &c->mem };
	struct bead_row *held, *row;
	enum err e = query_each(c, &b->cache, &busy, &held);

	for (row = held; !e && row; row = row->next) {
		struct stuck *one;
		bool is;

		if (!row->assignee.n || row->lease <= c->now_ms || map_find(&seen, row->assignee))
			continue;
		*map_put(&seen, row->assignee) = one = arena_new(&c->mem, struct stuck);
		*one = (struct stuck){ .agent = row->assignee };
		if (!(e = stuck_look_at_holder(c, r, b, row, one, &is)) && is)
			stuck_insert(out, one);
	}
	return e;
}

enum err stuck_among(struct call *c, struct beads *b, struct stuck **out)
{
	struct stuck_reader r;
	enum err e = stuck_reader_open(c, b->home, &r);

	*out = NULL;
	if (!e && r.db.db)
		e = stuck_judge_holders(c, &r, b, out);
	vybe_db_close(&r.db);
	return e;
}

enum err stuck_each(struct call *c, struct stuck **out)
{
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	*out = NULL;
	if (e == ERR_NOT_A_REPOSITORY || e == ERR_NOT_INITIALIZED)
		return call_forgive(c);
	if (e)
		return e;
	e = stuck_among(c, &b, out);
	beads_close(&b);
	return e;
}

struct stuck *stuck_shown(struct call *c)
{
	struct call before = call_save(c);
	struct stuck *list;
	struct str why = STR_NONE;

	if (stuck_each(c, &list))
		why = c->message;
	call_restore(c, &before);
	if (why.p)
		call_warn(c, "stuck agents are not shown: " STR_FMT, STR_ARG(why));
	return why.p ? NULL : list;
}

const struct stuck *stuck_find(const struct stuck *list, struct str agent)
{
	while (list && !str_eq(list->agent, agent))
		list = list->next;
	return list;
}

/* --- text --- */

struct str stuck_text(struct call *c, const struct stuck *s)
{
	int64_t minutes = (c->now_ms - s->since_ms) / 60000;

	if (s->reason == STUCK_REPEATS)
		return arena_fmt(&c->mem, "has repeated a failing call %lld times: " STR_FMT,
				 (long long)s->times,
				 STR_ARG(utf8_shorten(&c->mem, s->tool, TOOL_MOST)));
	return arena_fmt(&c->mem, "has reported nothing for " STR_FMT,
			 STR_ARG(duration_format(&c->mem, minutes * 60000)));
}

void stuck_encode(struct json *j, struct call *c, const struct stuck *s)
{
	json_object(j);
	json_put_str(j, "agent_id", s->agent);
	json_put_str(j, "bead_id", s->bead);
	json_put_word(j, "reason", &stuck_reasons, s->reason);
	json_put_moment(j, "since", s->since_ms);
	json_put_str(j, "text", stuck_text(c, s));
	json_end(j);
}

void stuck_put(struct json *j, struct call *c, const struct stuck *s)
{
	json_key(j, STR("stuck"));
	if (s)
		stuck_encode(j, c, s);
	else
		json_null(j);
}

/* --- telling --- */

/* One message for each claim and reason: its request id is made of them. */
static void stuck_send(struct call *c, struct agent_files *f, const struct stuck *s,
		       const char *about, struct str subject, struct str body)
{
	struct call before = call_save(c);
	struct mail_draft draft = { .from = STR("abacus"),
				    .to = s->agent,
				    .bead = s->bead,
				    .category = CATEGORY_INFO,
				    .urgency = -1,
				    .subject = subject,
				    .body = body,
				    .system = true };
	struct mail *sent;

	c->request_id = arena_fmt(&c->mem, "%s:" STR_FMT ":%lld.%lld", about, STR_ARG(s->bead),
				  (long long)s->epoch.ms, (long long)s->epoch.n);
	mail_send(c, f, &draft, &sent);
	call_restore(c, &before);
}

static void stuck_tell_one(struct call *c, struct agent_files *f, const struct stuck *s)
{
	struct str id = spawn_word(&c->mem, s->bead), text = stuck_text(c, s);

	stuck_send(c, f, s, arena_fmt(&c->mem, "stuck-%s", reason_words[s->reason]).p,
		   arena_fmt(&c->mem, "You seem to be stuck on " STR_FMT, STR_ARG(s->bead)),
		   arena_fmt(&c->mem,
			     STR_FMT " " STR_FMT
				     ". Another agent may take the bead over. Try another way; ask "
				     "for help with 'bb agent send'; or give the bead back: bd "
				     "unclaim " STR_FMT,
			     STR_ARG(s->agent), STR_ARG(text), STR_ARG(id)));
}

/* Registers the agent, so that it has a mailbox. */
static void stuck_register(struct call *c, struct agent_files *f, struct str agent)
{
	struct registered *a;

	if (str_eq(agent, c->actor) && registry_find(c, f, agent, &a) == ERR_AGENT_NOT_FOUND) {
		call_forgive(c);
		registry_add(c, f, agent, STR_NONE, STR("agent"), false, &a);
	}
	call_forgive(c);
}

void stuck_tell(struct call *c)
{
	struct call before = call_save(c);
	struct agent_files files;
	struct stuck *list;

	if (!stuck_each(c, &list) && list && !agent_files_open(c, AGENTS_WRITE, &files)) {
		for (; list; list = list->next)
			if (registry_id_valid(list->agent)) {
				stuck_register(c, &files, list->agent);
				stuck_tell_one(c, &files, list);
			}
		agent_files_close(&files);
	}
	call_restore(c, &before);
}

/* --- taking over --- */

static enum err stuck_take_reservations(struct call *c, struct agent_files *f,
					const struct stuck *from)
{
	struct registered *old, *own;
	struct reservation *taken;
	enum err e = registry_find(c, f, from->agent, &old);

	if (e == ERR_AGENT_NOT_FOUND) /* a session of a host need not be registered */
		return call_forgive(c);
	if (!e && (e = registry_find(c, f, c->actor, &own)) == ERR_AGENT_NOT_FOUND) {
		call_forgive(c);
		e = registry_add(c, f, c->actor, STR_NONE, old->role, false, &own);
	}
	return e ? e : reservation_adopt(c, f, from->agent, c->actor, from->bead, MINUTES, &taken);
}

static enum err stuck_record(struct call *c, struct agent_files *f, const struct stuck *from)
{
	struct str text = stuck_text(c, from);
	struct protocol_event event = {
		.type = EVENT_RESUME,
		.bead = from->bead,
		.from = c->actor,
		.to = from->agent,
		.reason = RESUME_IN_PROGRESS,
		.text = arena_fmt(&c->mem, STR_FMT " was stuck: it " STR_FMT, STR_ARG(from->agent),
				  STR_ARG(text)),
	};
	struct str subject =
		arena_fmt(&c->mem, "Your claim on " STR_FMT " was taken over", STR_ARG(from->bead));
	struct str body =
		arena_fmt(&c->mem,
			  STR_FMT " has claimed it, because you were stuck: " STR_FMT " " STR_FMT
				  ". Stop working on it, and claim another bead: bd ready "
				  "--claim",
			  STR_ARG(c->actor), STR_ARG(from->agent), STR_ARG(text));
	enum err e = protocol_record(c, f, &event);

	if (!e && registry_id_valid(from->agent))
		stuck_send(c, f, from, "stuck-taken", subject, body);
	return e;
}

void stuck_succeed(struct call *c, const struct stuck *from)
{
	struct agent_files files;
	struct str why;
	enum err e = agent_files_open(c, AGENTS_WRITE, &files);

	if (!e) {
		if (registry_id_valid(c->actor) && registry_id_valid(from->agent))
			e = stuck_take_reservations(c, &files, from);
		if (!e)
			e = stuck_record(c, &files, from);
		agent_files_close(&files);
	}
	why = c->message;
	call_forgive(c);
	if (e)
		call_warn(c, "the claim was taken over, but not recorded as an event: " STR_FMT,
			  STR_ARG(why));
}
