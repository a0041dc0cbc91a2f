#include "hosts/handler.h"

#include "agents/current.h"
#include "agents/reservation.h"
#include "agents/stuck.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/quote.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "continuity/brief.h"
#include "continuity/resume.h"
#include "continuity/sessions.h"
#include "continuity/task_events.h"
#include "hosts/delivery.h"
#include "hosts/hooks.h"
#include "hosts/host_tasks.h"
#include "hosts/sandbox.h"
#include "hosts/tool_guard.h"
#include "machines/lease_notes.h"
#include "store/agent_files.h"
#include "store/place.h"

enum {
	PROMPT_MOST = 500,
	HEAD = 8, /* bytes of a session's id in the agent's name */
	SOON_MS = 20 * 60 * 1000,
	RENEW_MINUTES = 120,
};

enum moment_kind {
	BEGINS,
	PROMPTS,
	WRITES,
	TOOL,
	TOOL_FAILED,
	ASKS,
	COMPACTS,
	ENDS,
	TASK_DONE,
	OTHER
};

/* One call of a hook. */
struct hook_call {
	enum host_id host;
	struct str event;
	const struct value *in;
	struct str session; /* a name made of the session's id */
	bool own_name;      /* the agent has that name, and none from the environment */
	bool listed;        /* it is about an entry of the host's task list, which we follow */
};

/* The hosts' names of events. */
static const struct {
	const char *event;
	enum moment_kind kind;
} meanings[] = {
	{ "SessionStart", BEGINS },        { "sessionStart", BEGINS },
	{ "UserPromptSubmit", PROMPTS },   { "BeforeAgent", PROMPTS },
	{ "beforeSubmitPrompt", PROMPTS }, { "PreToolUse", WRITES },
	{ "BeforeTool", WRITES },          { "preToolUse", WRITES },
	{ "PostToolUse", TOOL },           { "AfterTool", TOOL },
	{ "postToolUse", TOOL },           { "PostToolUseFailure", TOOL_FAILED },
	{ "BeforeModel", ASKS },           { "PreCompact", COMPACTS },
	{ "PreCompress", COMPACTS },       { "SessionEnd", ENDS },
	{ "TaskCompleted", TASK_DONE },
};

static enum moment_kind kind_of(struct str event)
{
	for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
		if (str_is(event, meanings[i].event))
			return meanings[i].kind;
	return OTHER;
}

static enum session_sign sign_of(enum moment_kind kind)
{
	switch (kind) {
	case BEGINS:
	case PROMPTS:
	case TOOL:
	case TOOL_FAILED:
		return SESSION_WORKS;
	case ENDS:
		return SESSION_ENDS;
	default:
		return SESSION_OTHER;
	}
}

/* Some hosts write snake case, others camel case. */
static struct str handler_member(const struct value *v, const char *snake, const char *camel)
{
	struct str s = value_str(v, snake);

	return s.p ? s : value_str(v, camel);
}

static struct str handler_session(struct call *c, enum host_id of, const struct value *in)
{
	const char *host = names_word(&hosts, (int)of);
	struct str session = handler_member(in, "session_id", "sessionId");
	struct buf b = { .mem = &c->mem };

	buf_fmt(&b, "%s-", host);
	for (size_t i = 0; i < session.n && i < HEAD; i++) {
		char ch = session.p[i];

		if ((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9'))
			buf_char(&b, ch);
	}
	if (b.n == strlen(host) + 1)
		buf_put(&b, STR("session"));
	if (session.n > HEAD) /* the head is often a time, which other sessions share */
		buf_fmt(&b, "-%.8s", sha256_hex(&c->mem, session).p);
	return buf_str(&b);
}

/* Sets the actor: the agent that the environment names, else one named after the session. */
static void handler_name_agent(struct call *c, struct hook_call *h)
{
	h->session = handler_session(c, h->host, h->in);
	h->own_name = !call_named(c);
	if (h->own_name) {
		c->actor = h->session;
		c->anonymous = false;
	} else { /* handler_name_in_shell() may have set that name */
		h->own_name = str_eq(c->actor, h->session);
	}
}

/* Makes the commands of the session act as its agent: `bd claim` as well as `vybe`. */
static void handler_name_in_shell(struct call *c, struct str env_file)
{
	struct str line =
		arena_fmt(&c->mem, "export BB_AGENT_ID='" STR_FMT "'\n", STR_ARG(c->actor));
	struct str text;

	if (env_file.n && env_file.p[0] == '/' && !file_read(c, env_file, &text) &&
	    !(text.p && str_has(text, line)))
		file_append(c, env_file, line, 0600);
	call_forgive(c);
}

/* --- renewing reservations --- */

/* One that the remote has given exclusively is left alone: only the remote can extend it. */
static bool ends_soon(struct call *c, const struct reservation *r)
{
	return r->expires_ms > c->now_ms && r->expires_ms - c->now_ms < SOON_MS &&
	       !lease_is_noted(c, r);
}

static void renew_one(struct call *c, struct agent_files *f, const struct reservation *r)
{
	struct reserve_ask ask = {
		.agent = c->actor, .scope = r->scope, .bead = r->bead, .minutes = RENEW_MINUTES
	};
	struct reservation *made;
	struct incursion *with;

	if (ends_soon(c, r))
		reservation_make(c, f, &ask, &made, &with);
}

/* The first of the agent's reservations that ends soon; NULL: none does. */
static const struct reservation *find_ending(struct call *c, enum agents_mode mode,
					     struct agent_files *files)
{
	struct reservation *r = NULL;

	if (!agent_files_open(c, mode, files) && files->home.p &&
	    !reservation_each(c, files, c->actor, STR_NONE, &r))
		while (r && !ends_soon(c, r))
			r = r->next;
	return c->code ? NULL : r;
}

/* Takes the lock only if a reservation ends soon, and reads them again under the lock. */
static void renew_reservations(struct call *c)
{
	struct agent_files files = { .lock = LOCK_NONE };
	const struct reservation *r = NULL;

	if (registry_id_valid(c->actor) && find_ending(c, AGENTS_READ, &files))
		r = find_ending(c, AGENTS_WRITE, &files);
	for (; r; r = r->next)
		renew_one(c, &files, r);
	agent_files_close(&files);
	call_forgive(c);
}

/* --- notes, and text for the model --- */

static void handler_note(struct call *c, struct continuity *k, enum report kind, struct str text,
			 struct str task)
{
	struct event_note n = { .kind = names_word(&reports, (int)kind),
				.task = task,
				.message = utf8_shorten(&c->mem, text, PROMPT_MOST) };

	continuity_note(c, k, &n, NULL);
}

static struct str focus_of(struct call *c, struct continuity *k)
{
	struct str task;

	return continuity_focus(c, k, &task) ? STR_NONE : task;
}

/* A session that continues after its context was compacted adopts nothing. */
static const struct adoption *adopt_work(struct call *c, struct continuity *k,
					 const struct hook_call *h)
{
	struct adoption *adopted = NULL;

	if (h->own_name && !str_is(value_str(h->in, "source"), "compact") &&
	    sessions_adopt(c, k, &adopted))
		adopted = NULL;
	call_forgive(c);
	return adopted;
}

static struct str begin_session(struct call *c, struct continuity *k, const struct hook_call *h)
{
	struct resume_ask ask = { .project = STR(""), .limit = 1000 };
	struct other_session *others = NULL;
	struct brief b = { .adopted = adopt_work(c, k, h), .project = STR("") };
	struct resume r;
	struct str text;

	if (h->own_name && sessions_others(c, k, &others))
		others = NULL;
	call_forgive(c);
	if (resume_run(c, k, &ask, &r))
		return STR_NONE;
	b.task = r.focus;
	b.others = others;
	b.sandbox = h->host == HOST_CODEX ? sandbox_note(c) : STR_NONE;
	if (brief_read(c, k, &b))
		return STR_NONE;
	text = brief_prompt(c, &b);
	if (hooks_heard(h->host, h->event)) {
		delivery_count(c, k, text);
		delivery_brief_shown(c, k, h->session);
	}
	return text;
}

/* Whether the host passes the text of its session start on to the model. */
static bool handler_starts(enum host_id host)
{
	for (const struct hook *hook = host_row(host)->hooks.event; hook->event; hook++)
		if (kind_of(str_of(hook->event)) == BEGINS && hook->heard == HEARD)
			return true;
	return false;
}

/*
 * The brief for a session that has none: its host ignores the text of SessionStart, or has
 * compacted the context and does not start the session again.
 */
static struct str begin_late(struct call *c, struct continuity *k, const struct hook_call *h)
{
	enum brief_state brief = delivery_brief(c, k, h->session);
	struct str text;

	if (!hooks_heard(h->host, h->event) || brief == BRIEF_SHOWN ||
	    (brief == BRIEF_NEVER && handler_starts(h->host)))
		return STR("");
	text = begin_session(c, k, h);
	call_forgive(c);
	return text.p ? text : STR("");
}

static bool find_task(struct call *c, struct continuity *k, struct str id, struct task *out)
{
	struct beads *b;

	return id.n && !continuity_tasks(c, k, &b) && !task_find(c, b, id, out);
}

/* Tells the session once that another agent has its task now. */
static struct str tell_loss(struct call *c, struct continuity *k, const struct task *t)
{
	struct str by = quote_line(
		&c->mem, arena_fmt(&c->mem, "claimed by " STR_FMT, STR_ARG(t->assignee)), 200);

	if (continuity_set_focus(c, k, STR_NONE))
		return STR("");
	return arena_fmt(&c->mem,
			 "You have lost the claim on your task " STR_FMT
			 ". Stop working on it, and get another task: vybe resume --agent " STR_FMT
			 " --request-id REQ\n" STR_FMT,
			 STR_ARG(t->id), STR_ARG(spawn_word(&c->mem, c->actor)), STR_ARG(by));
}

/* A reminder of the agent's task, if `asked`; or the news that the agent has lost it. */
static struct str handler_remind(struct call *c, struct continuity *k, struct str focus, bool asked)
{
	struct str title;
	struct task t;

	if (!find_task(c, k, focus, &t)) {
		call_forgive(c);
		return STR("");
	}
	if (t.assignee.n && !str_eq(t.assignee, c->actor))
		return tell_loss(c, k, &t);
	if (!asked || t.status == TASK_COMPLETED)
		return STR("");
	title = quote_line(&c->mem, t.title, 200);
	return arena_fmt(&c->mem, "Your task is " STR_FMT ":\n" STR_FMT, STR_ARG(t.id),
			 STR_ARG(title));
}

/* What the user typed. Gemini puts the text of our own hooks before it. */
static struct str prompt_text(const struct value *in)
{
	const struct value *prompt = value_find(in, "prompt");
	struct str text = value_str(in, "prompt"), end = STR("</hook_context>");
	const char *at;

	if (prompt && prompt->type == VALUE_ARRAY && prompt->count) /* Kimi gives a list of parts */
		text = value_str(&prompt->item[0], "text");

	while (text.p && str_starts(str_trim(text), STR("<hook_context>")) &&
	       (at = str_find(text, end)))
		text = str_skip(text, (size_t)(at - text.p) + end.n);
	return text.p ? str_trim(text) : STR("");
}

static struct str tool_text(struct call *c, const struct value *in)
{
	const struct value *input = value_find(in, "tool_input");
	struct str tool = handler_member(in, "tool_name", "toolName"),
		   file = value_str(input, "file_path"), command = value_str(input, "command");

	return arena_fmt(&c->mem, STR_FMT " " STR_FMT, STR_ARG(tool.p ? tool : STR("a tool")),
			 STR_ARG(file.p ? file : command));
}

/* Hosts without an event for failed calls say so in the result of the call. */
static bool tool_failed(const struct value *in)
{
	static const char *const codes[] = { "exit_code", "exitCode" };
	const struct value *result = value_find(in, "tool_response"),
			   *error = value_find(result, "error"),
			   *is = value_find(result, "is_error");
	int64_t code;

	if ((error && error->type != VALUE_NULL) || (is && is->yes))
		return true;
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (value_int(result, codes[i], &code) && code)
			return true;
	return false;
}

/*
 * Should this call look for stuck agents, to tell them? The first report of an agent in a minute
 * does, and each failed call, because it may be the one that makes the agent itself stuck.
 */
static bool handler_looks(struct call *c, struct continuity *k, const struct hook_call *h)
{
	enum { MINUTE_MS = 60000 };
	struct event_filter last = { .agent = c->actor, .limit = 1, .archived = true };
	struct event_row *event = NULL;

	if (vybe_event_each(c, &k->db, &last, &event))
		call_forgive(c);
	return kind_of(h->event) == TOOL_FAILED || tool_failed(h->in) || !event ||
	       event->created / MINUTE_MS != c->now_ms / MINUTE_MS;
}

/* Renews all claims of the agent that end soon, not only that of its focus. */
static void renew_claims(struct call *c, struct continuity *k)
{
	struct task_filter claimed = { .status = TASK_IN_PROGRESS,
				       .priority = INT64_MIN,
				       .assignee = c->actor };
	struct task *t, now;
	struct beads *b;

	if (continuity_tasks(c, k, &b) || task_each(c, b, &claimed, true, &t))
		return;
	for (; t; t = t->next) {
		if (!t->lease || t->lease - c->now_ms >= SOON_MS)
			continue;
		continuity_let_go(k);
		c->request_id = id_random(&c->mem, 32);
		c->request_args = STR("hook");
		if (!task_renew(c, t->id, &now))
			continuity_know(c, k, &now);
		call_forgive(c);
	}
}

static void finish_task(struct call *c, struct continuity *k, struct str focus)
{
	struct task_move done = { .id = focus,
				  .to = TASK_COMPLETED,
				  .summary = STR("completed by the host") };
	struct task_moved moved;
	struct task t;

	if (!find_task(c, k, focus, &t) || !str_eq(t.assignee, c->actor) ||
	    t.status != TASK_IN_PROGRESS)
		return;
	continuity_let_go(k);
	c->request_id = id_random(&c->mem, 32);
	c->request_args = STR("hook");
	task_complete(c, k, &done, &moved);
}

/* The text for the model: its task, messages and posts. */
static struct str handler_inform(struct call *c, struct continuity *k, struct str focus, bool asked,
				 bool heard)
{
	struct str first = heard ? handler_remind(c, k, focus, asked) : STR(""), mail;

	mail = heard ? delivery_news(c, k) : STR("");
	return arena_fmt(&c->mem, STR_FMT STR_FMT, STR_ARG(first), STR_ARG(mail));
}

static struct str handler_act(struct call *c, struct continuity *k, const struct hook_call *h)
{
	struct str focus = focus_of(c, k), text, first;
	enum moment_kind kind = kind_of(h->event);
	bool heard = hooks_heard(h->host, h->event);

	if (h->own_name && sessions_note(c, k, sign_of(kind)))
		call_forgive(c);
	switch (kind) {
	case BEGINS:
		text = begin_session(c, k, h);
		call_forgive(c);
		handler_note(c, k, REPORT_BEGAN, value_str(h->in, "source"), focus_of(c, k));
		return text;
	case PROMPTS:
		handler_note(c, k, REPORT_PROMPT, prompt_text(h->in), focus);
		first = begin_late(c, k, h);
		text = handler_inform(c, k, focus_of(c, k), !first.n, heard);
		return arena_fmt(&c->mem, STR_FMT STR_FMT, STR_ARG(first), STR_ARG(text));
	case TOOL:
		handler_note(c, k, tool_failed(h->in) ? REPORT_TOOL_FAILED : REPORT_TOOL,
			     tool_text(c, h->in), focus);
		first = begin_late(c, k, h);
		text = handler_inform(c, k, focus, false, heard);
		return arena_fmt(&c->mem, STR_FMT STR_FMT, STR_ARG(first), STR_ARG(text));
	case ASKS: /* only if the brief is no longer among what the model is asked */
		delivery_brief_lost(c, k, h->session);
		return STR_NONE;
	case TOOL_FAILED:
		handler_note(c, k, REPORT_TOOL_FAILED, tool_text(c, h->in), focus);
		return STR_NONE;
	case COMPACTS:
	case ENDS:
		handler_note(c, k, REPORT_CHECKPOINT, h->event, focus);
		continuity_checkpoint(c, k);
		delivery_brief_lost(c, k, h->session);
		return STR_NONE;
	case TASK_DONE:
		if (!h->listed)
			finish_task(c, k, focus);
		return STR_NONE;
	default:
		handler_note(c, k, REPORT_OTHER, h->event, focus);
		return STR_NONE;
	}
}

/* A brief begins with the rule already. */
static struct str with_rule(struct call *c, struct str text)
{
	if (!text.n || str_starts(text, STR(QUOTE_RULE)))
		return text;
	return arena_fmt(&c->mem, "%s" STR_FMT, QUOTE_RULE, STR_ARG(text));
}

/* The tool guard checks nothing in a folder that was refused, and lets every tool run. */
static struct str with_refusal(struct call *c, enum moment_kind kind, struct str text)
{
	struct str root;
	enum err e;

	if (kind != BEGINS && kind != PROMPTS)
		return text;
	e = place_find(c, STR(".beadboard"), &root);
	if (!e && root.p)
		e = agent_files_check(c, root);
	call_forgive(c);
	if (e != ERR_UNSAFE_PATH && e != ERR_DUBIOUS_OWNERSHIP)
		return text;
	return arena_fmt(&c->mem,
			 STR_FMT "The project's folder .beadboard was refused, so you get no mail, "
				 "and no reservation is checked. To see why: bb agent status\n",
			 STR_ARG(text));
}

enum host_id handler_host(enum host_id named, const char *copilot_cli)
{
	return named == HOST_VSCODE && copilot_cli && *copilot_cli ? HOST_COPILOT : named;
}

/* The entries belong to the bead of 'abacus work', else to the agent's task. */
static void handler_follow_tasks(struct call *c, const struct hook_call *h, struct str focus)
{
	struct str current = current_bead(c);

	c->request_id = c->request_args = STR_NONE;
	call_forgive(c);
	host_tasks_follow(c, h->in, current.p ? current : focus, h->session);
}

void handler_run(struct call *c, const struct handler_ask *ask, struct handler_answer *out)
{
	const struct value *in = value_read(&c->mem, ask->input);
	struct str cwd = value_str(in, "cwd");
	struct hook_call h = { .host = ask->host, .in = in };
	struct continuity k;

	*out = (struct handler_answer){ .event = handler_member(in, "hook_event_name",
								"hookEventName") };
	if (!out->event.n)
		return;
	if (cwd.n && cwd.p[0] == '/' && file_is_dir(&c->mem, cwd))
		c->dir = path_real(&c->mem, cwd);
	h.event = out->event;
	if (kind_of(h.event) == ASKS && brief_found(ask->input))
		return;
	handler_name_agent(c, &h);
	if (kind_of(h.event) == WRITES) {
		out->refusal = tool_guard(c, in);
		call_forgive(c);
		return;
	}
	if (!continuity_open(c, VYBE_NOTE, &k)) {
		bool looks = handler_looks(c, &k, &h);
		struct str focus;

		h.listed = host_tasks_about(in) && host_tasks_on(c);
		out->text = with_rule(c, handler_act(c, &k, &h));
		call_forgive(c);
		out->text = with_refusal(c, kind_of(h.event), out->text);
		if (kind_of(h.event) != ENDS)
			renew_claims(c, &k);
		call_forgive(c);
		focus = focus_of(c, &k);
		if (continuity_commit(c, &k))
			out->text = STR_NONE;
		continuity_close(&k);
		if (h.listed)
			handler_follow_tasks(c, &h, focus);
		renew_reservations(c);
		if (looks)
			stuck_tell(c);
		if (h.own_name && kind_of(h.event) == BEGINS)
			handler_name_in_shell(c, ask->env_file);
	}
	call_forgive(c);
}
