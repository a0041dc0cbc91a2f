/*
 * The brief as text for a model. Parts are put in the order of their importance, each as far as it
 * fits; notes and memory have room reserved for them, so that mail cannot displace them.
 */
#include "base/buf.h"
#include "base/id.h"
#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/quote.h"
#include "base/text/value.h"
#include "continuity/brief.h"
#include "store/home.h"

enum {
	NOTES = 10, /* events under one title */
	SHOWN = 5,  /* messages of each kind */
	LINE = 100, /* bytes: with less left, a list ends */
	ROOM = 900, /* bytes that are reserved for notes, and for memory; half, for comments */
	BYTES = 1500 * 4, /* a token is about four bytes, and rarely fewer */
};

#define A_TASK  "Your task: "
#define NO_TASK "No task is ready for you."

bool brief_found(struct str text)
{
	return str_has(text, STR(A_TASK)) || str_has(text, STR(NO_TASK));
}

struct prompt {
	struct buf out;
	size_t left;      /* bytes */
	size_t kept;      /* of these, for parts that come later */
	struct str title; /* put before the next line, if that fits; or absent */
};

/* Puts whole lines, as many as fit. */
static void prompt_put(struct prompt *p, struct str text)
{
	struct str line;

	while (text.n && str_next(&text, '\n', &line)) {
		size_t head = p->title.p ? p->title.n + 1 : 0;

		if (head + line.n + 1 + p->kept > p->left)
			break;
		if (p->title.p)
			buf_fmt(&p->out, STR_FMT "\n", STR_ARG(p->title));
		buf_put(&p->out, line);
		buf_char(&p->out, '\n');
		p->left -= head + line.n + 1;
		p->title = STR_NONE;
	}
}

/* Our own text. A title that no line followed is dropped. */
#define SAY(p, ...) ((p)->title = STR_NONE, prompt_put((p), arena_fmt(&c->mem, __VA_ARGS__)))

/* Other people's text, quoted, as one line of at most `columns` columns. */
#define QUOTE(p, columns, ...) \
	prompt_put((p), quote_line(&c->mem, arena_fmt(&c->mem, __VA_ARGS__), (columns)))

static bool prompt_has_room(const struct prompt *p)
{
	return p->left > LINE + p->kept;
}

#define TITLE(p, ...) ((p)->title = arena_fmt(&c->mem, __VA_ARGS__))

static void prompt_put_text(struct call *c, struct prompt *p, const char *title, struct str text,
			    size_t columns)
{
	if (!text.n)
		return;
	TITLE(p, "%s", title);
	QUOTE(p, columns, STR_FMT, STR_ARG(text));
}

static void prompt_put_task(struct call *c, struct prompt *p, const struct brief *b)
{
	const struct task *t = b->task;

	if (!t) {
		SAY(p, NO_TASK "\n");
		return;
	}
	SAY(p, A_TASK STR_FMT " (%s, priority %lld)\n", STR_ARG(t->id),
	    names_word(&task_statuses, (int)t->status), (long long)t->priority);
	QUOTE(p, 200, STR_FMT, STR_ARG(t->title));
	if (t->blocked_reason.p) {
		TITLE(p, "It is blocked:");
		QUOTE(p, 200, STR_FMT, STR_ARG(t->blocked_reason));
	}
	prompt_put_text(c, p, "Its description:", t->description, 800);
	if (!b->bead)
		return;
	prompt_put_text(c, p, "Its design:", value_str(b->bead, "design"), 300);
	prompt_put_text(c, p, "Its acceptance criteria:", value_str(b->bead, "acceptance_criteria"),
			300);
}

static void prompt_put_comments(struct call *c, struct prompt *p, const struct brief *b)
{
	const struct value *note;

	TITLE(p, "Comments on the task, newest first:");
	for (size_t i = 0; i < SHOWN && (note = brief_comment(b, i)) && prompt_has_room(p); i++)
		QUOTE(p, 240, STR_FMT ": " STR_FMT, STR_ARG(value_str(note, "author")),
		      STR_ARG(value_str(note, "content")));
}

static void prompt_put_commands(struct call *c, struct prompt *p, const struct brief *b)
{
	const struct task *t = b->task;
	struct str agent = spawn_word(&c->mem, c->actor);

	if (!t || b->protected.p)
		return;
	SAY(p,
	    "Commands, each with a new --request-id:\n"
	    "  begin: vybe task begin --agent " STR_FMT " --request-id REQ --id " STR_FMT "\n"
	    "  done:  vybe task complete --agent " STR_FMT " --request-id REQ --id " STR_FMT
	    " --outcome done --summary \"...\"\n"
	    "  stuck: vybe task complete --agent " STR_FMT " --request-id REQ --id " STR_FMT
	    " --outcome blocked --summary \"...\"\n",
	    STR_ARG(agent), STR_ARG(t->id), STR_ARG(agent), STR_ARG(t->id), STR_ARG(agent),
	    STR_ARG(t->id));
	SAY(p,
	    "  log:   vybe push --agent " STR_FMT
	    " --request-id REQ --json '{\"task_id\":\"" STR_FMT
	    "\",\"event\":{\"kind\":\"progress\",\"message\":\"...\"}}'\n"
	    "  think: the same with \"kind\":\"reasoning\"\n"
	    "  save:  vybe memory set --agent " STR_FMT
	    " --request-id REQ --key ... --value ... --scope task --scope-id " STR_FMT "\n",
	    STR_ARG(agent), STR_ARG(t->id), STR_ARG(agent), STR_ARG(t->id));
}

/* Ids come from a file that anybody may edit. Only an id of our own form is put into a command. */
static struct str prompt_mail_command(struct call *c, const struct mail *m)
{
	if (!id_is_minted(m->id, "msg") || !registry_id_valid(m->to))
		return STR("bb agent inbox");
	return arena_fmt(&c->mem, "bb agent %s --agent " STR_FMT " --message " STR_FMT,
			 m->requires_ack ? "ack" : "read", STR_ARG(m->to), STR_ARG(m->id));
}

static void prompt_put_mail(struct call *c, struct prompt *p, const char *title,
			    const struct mail *m)
{
	int64_t more = 0;

	for (int i = 0; m; m = m->next, i++) {
		struct str command = prompt_mail_command(c, m);

		if (i >= SHOWN) {
			more++;
			continue;
		}
		TITLE(p, "%s (" STR_FMT "):", title, STR_ARG(command));
		QUOTE(p, 240, "from " STR_FMT " about " STR_FMT ": " STR_FMT, STR_ARG(m->from),
		      STR_ARG(m->bead), STR_ARG(m->subject));
		QUOTE(p, 200, STR_FMT, STR_ARG(m->body));
	}
	if (more)
		SAY(p, "%s, %lld more: bb agent inbox --agent " STR_FMT "\n", title,
		    (long long)more, STR_ARG(spawn_word(&c->mem, c->actor)));
}

static void prompt_put_agent(struct call *c, struct prompt *p, const struct brief *b)
{
	int left = SHOWN;

	prompt_put_mail(c, p, "Mail to acknowledge", b->mail);
	prompt_put_mail(c, p, "Unread mail", b->unread);
	for (const struct message *m = b->posts; m && left--; m = m->next) {
		TITLE(p, "On the board, to you (bb message %lld):", (long long)m->id);
		QUOTE(p, 240, "from " STR_FMT ": " STR_FMT, STR_ARG(m->from_agent),
		      STR_ARG(m->content));
	}
	for (const struct reservation *r = b->reserved; r && prompt_has_room(p); r = r->next) {
		TITLE(p, "You have reserved until %s%s:", moment_format(&c->mem, r->expires_ms).p,
		      r->expires_ms <= c->now_ms ? ", which is over" : "");
		QUOTE(p, 120, STR_FMT, STR_ARG(r->scope));
	}
}

static void prompt_put_memory(struct call *c, struct prompt *p, const struct brief *b, bool pinned)
{
	TITLE(p, "%s", pinned ? "Pinned memory:" : "Remembered:");
	for (const struct memory_row *m = b->memory; m && prompt_has_room(p); m = m->next)
		if (m->pinned == pinned)
			QUOTE(p, 320, STR_FMT " " STR_FMT ": " STR_FMT,
			      STR_ARG(m->kind.p ? m->kind : m->scope), STR_ARG(m->key),
			      STR_ARG(m->value));
}

/* Leaves out the events in `said`, which the prompt has already. */
static void prompt_put_events(struct call *c, struct prompt *p, const char *title,
			      const struct event_row *e, const struct event_row *said)
{
	int left = NOTES;

	TITLE(p, "%s", title);
	for (; e && left && prompt_has_room(p); e = e->next) {
		if (event_listed(said, e->id))
			continue;
		left--;
		QUOTE(p, 200, STR_FMT " " STR_FMT ": " STR_FMT, STR_ARG(e->agent), STR_ARG(e->kind),
		      STR_ARG(e->message));
	}
}

static void prompt_put_tasks(struct call *c, struct prompt *p, const char *title,
			     const struct task *t)
{
	TITLE(p, "%s", title);
	for (; t; t = t->next)
		QUOTE(p, 140, STR_FMT " " STR_FMT, STR_ARG(t->id), STR_ARG(t->title));
}

/* Names of sessions need no quotes: they are our own, of letters, digits and dashes. */
static void prompt_put_adopted(struct call *c, struct prompt *p, const struct adoption *a)
{
	if (!a)
		return;
	SAY(p, "You continue the session " STR_FMT ", " STR_FMT ".\n", STR_ARG(a->from),
	    STR_ARG(a->why));
	TITLE(p, "Adopted from it, and now yours:");
	for (const struct task *t = a->tasks; t; t = t->next)
		QUOTE(p, 140, "task " STR_FMT " " STR_FMT, STR_ARG(t->id), STR_ARG(t->title));
	for (const struct reservation *r = a->reserved; r; r = r->next)
		QUOTE(p, 140, "reservation of " STR_FMT, STR_ARG(r->scope));
}

static void prompt_put_others(struct call *c, struct prompt *p, const struct other_session *o,
			      bool over)
{
	TITLE(p, "%s",
	      over ? "Left by other ended sessions, for a new session to adopt:" :
		     "Other sessions are active here; do not work on their tasks:");
	for (; o; o = o->next)
		for (const struct task *t = o->over == over ? o->task : NULL; t; t = t->next)
			QUOTE(p, 140, STR_FMT ": " STR_FMT " " STR_FMT, STR_ARG(o->agent),
			      STR_ARG(t->id), STR_ARG(t->title));
}

struct str brief_protected(struct call *c, struct str path)
{
	return arena_fmt(&c->mem,
			 "Commands that write fail here, because a sandbox protects " STR_FMT
			 "; reads such as 'bd ready' work. Ask the person to run 'abacus %s' "
			 "outside of the sandbox.",
			 STR_ARG(spawn_word(&c->mem, path)),
			 home_in_workspace(path) ? "serve" : "move-store workspace");
}

struct str brief_prompt(struct call *c, const struct brief *b)
{
	struct prompt p = { .out.mem = &c->mem, .left = BYTES };
	size_t notes = b->notes ? ROOM : 0, memory = b->memory ? ROOM : 0;
	size_t comments = brief_comment(b, 0) ? ROOM / 2 : 0;

	SAY(&p, "%s", QUOTE_RULE);
	prompt_put_adopted(c, &p, b->adopted);
	prompt_put_task(c, &p, b);
	if (b->protected.p)
		SAY(&p, STR_FMT "\n", STR_ARG(brief_protected(c, b->protected)));
	else if (b->sandbox.p)
		SAY(&p, STR_FMT "\n", STR_ARG(b->sandbox));
	prompt_put_commands(c, &p, b);
	p.kept = notes + memory + comments;
	prompt_put_others(c, &p, b->others, false);
	prompt_put_others(c, &p, b->others, true);
	prompt_put_agent(c, &p, b);
	prompt_put_memory(c, &p, b, true);
	p.kept = notes + memory;
	prompt_put_comments(c, &p, b);
	p.kept = memory;
	prompt_put_events(c, &p, "Notes of earlier sessions:", b->notes, NULL);
	p.kept = 0;
	prompt_put_memory(c, &p, b, false);
	prompt_put_tasks(c, &p, "Completing this task unblocks:", b->unlocks);
	prompt_put_events(c, &p, "Recent activity:", b->events, b->notes);
	prompt_put_tasks(c, &p, "Next tasks:", b->pipeline);
	return buf_str(&p.out);
}
