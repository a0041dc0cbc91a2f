/*
 * The project on one screen. Each section has a title with a count, and is left out if it is empty.
 */
#include "surface/view/status_view.h"

#include "base/moment.h"
#include "base/text/utf8.h"
#include "live/project_status.h"
#include "surface/view/log_view.h"
#include "surface/view/view.h"

enum { INDENT = 2, GAP = 2, NAME_MOST = 24 };

/* A section's title; `command` lists the entries that are not shown. */
static void status_section(struct view *v, const char *title, const char *more, size_t shown,
			   int64_t total, const char *command)
{
	if (v->out.n)
		buf_char(&v->out, '\n');
	view_paint(v, PAINT_BOLD, str_of(title));
	buf_put(&v->out, STR("  "));
	view_paint(v, PAINT_DIM,
		   total == STATUS_TOTAL_MOST ?
			   arena_fmt(v->out.mem, "more than %d", STATUS_TOTAL_MOST - 1) :
			   arena_fmt(v->out.mem, "%lld%s", (long long)total, more));
	if ((int64_t)shown < total)
		view_paint(v, PAINT_DIM,
			   arena_fmt(v->out.mem, ", %zu shown; all: %s", shown, command));
	buf_char(&v->out, '\n');
}

static void status_pad(struct view *v, struct str text, size_t width)
{
	size_t used = utf8_width(text);

	buf_pad(&v->out, ' ', (used < width ? width - used : 0) + GAP);
}

static size_t status_widest(const struct value *list, const char *key, size_t least)
{
	VALUE_EACH(one, list) {
		size_t n = utf8_width(value_str(one, key));

		n = n > NAME_MOST ? NAME_MOST : n;
		least = n > least ? n : least;
	}
	return least;
}

static size_t status_room(const struct view *v, size_t used)
{
	enum { LEAST = 20 };

	return v->width > used + LEAST ? v->width - used : LEAST;
}

/* --- agents --- */

/* What the agent works on: its beads, else the task that it told the board. */
static void status_put_task(struct view *v, const struct value *agent, size_t used)
{
	const struct value *beads = value_find(agent, "beads");
	struct str task = value_str(agent, "task");
	size_t room = status_room(v, used);

	if (!beads->count) {
		view_paint(v, task.p ? PAINT_NONE : PAINT_DIM,
			   utf8_shorten(v->out.mem, task.p ? task : STR("no bead"), room));
		return;
	}
	for (size_t i = 0; i < beads->count; i++) {
		struct str id = value_str(&beads->item[i], "id"),
			   line = arena_fmt(v->out.mem, STR_FMT "  " STR_FMT, STR_ARG(id),
					    STR_ARG(value_str(&beads->item[i], "title")));

		if (i) {
			buf_char(&v->out, '\n');
			view_target(v, id);
			buf_pad(&v->out, ' ', used);
		}
		buf_put(&v->out, utf8_shorten(v->out.mem, line, room));
	}
}

/* The second line: reserved files, the last act, mail. */
static void status_put_details(struct view *v, const struct value *agent, size_t indent)
{
	const struct value *last = value_find(agent, "last_act"),
			   *scopes = value_find(agent, "scopes");
	struct str stuck = value_str(value_find(agent, "stuck"), "text");
	int64_t accept = value_count(agent, "to_accept");
	struct buf b = { .mem = v->out.mem };

	if (stuck.p)
		buf_fmt(&b, "stuck: " STR_FMT, STR_ARG(stuck));
	if (scopes->count)
		buf_fmt(&b, "%s" STR_FMT, b.n ? " · " : "", STR_ARG(view_join(v, scopes)));
	if (last && last->type == VALUE_OBJECT && !str_is(value_str(last, "kind"), "status"))
		buf_fmt(&b, "%s" STR_FMT " " STR_FMT, b.n ? " · " : "",
			STR_ARG(view_act_word(last)), STR_ARG(view_age(v, value_str(last, "at"))));
	if (accept)
		buf_fmt(&b, "%s%lld message%s to acknowledge", b.n ? " · " : "", (long long)accept,
			accept == 1 ? "" : "s");
	if (!b.n)
		return;
	buf_pad(&v->out, ' ', indent);
	view_paint(v, PAINT_DIM, utf8_shorten(v->out.mem, buf_str(&b), status_room(v, indent)));
	buf_char(&v->out, '\n');
}

/* With its machine, where that is not this one. */
static struct str status_agent_name(struct view *v, const struct value *agent)
{
	struct str id = value_str(agent, "agent_id"), machine = value_str(agent, "machine");

	return machine.p ?
		       arena_fmt(v->out.mem, STR_FMT "@" STR_FMT, STR_ARG(id), STR_ARG(machine)) :
		       id;
}

static size_t status_widest_agent(struct view *v, const struct value *agents)
{
	size_t most = 0;

	VALUE_EACH(one, agents) {
		size_t n = utf8_width(status_agent_name(v, one));

		most = n > most ? n : most;
	}
	return most < NAME_MOST ? most : NAME_MOST;
}

static void status_put_agent(struct view *v, const struct value *agent, size_t names)
{
	enum { SEEN = 8 };
	const struct value *beads = value_find(agent, "beads");
	struct str liveness = value_str(agent, "liveness"),
		   id = utf8_shorten(v->out.mem, status_agent_name(v, agent), names),
		   at = value_str(agent, "last_seen_at"), seen = at.p ? view_age(v, at) : STR("");
	enum paint paint = view_liveness(liveness);
	bool active = paint == PAINT_GREEN,
	     stuck = value_find(agent, "stuck")->type == VALUE_OBJECT;

	view_target(v, beads->count ? value_str(&beads->item[0], "id") : STR_NONE);
	buf_pad(&v->out, ' ', INDENT);
	view_paint(v, stuck ? PAINT_RED : paint, active ? STR("●") : STR("○"));
	buf_char(&v->out, ' ');
	view_paint(v, PAINT_BOLD, id);
	status_pad(v, id, names);
	view_paint(v, active ? PAINT_NONE : paint, seen);
	status_pad(v, seen, SEEN);
	status_put_task(v, agent, INDENT + 2 + names + GAP + SEEN + GAP);
	buf_char(&v->out, '\n');
	status_put_details(v, agent, INDENT + 2 + names + GAP + SEEN + GAP);
}

static void status_put_agents(struct view *v, const struct value *data)
{
	const struct value *agents = value_find(data, "agents");
	size_t names = status_widest_agent(v, agents);
	int64_t total = value_count(data, "agents_total");

	if (!total)
		return;
	status_section(v, "AGENTS",
		       arena_fmt(v->out.mem, ", %lld active",
				 (long long)value_count(data, "agents_active"))
			       .p,
		       agents->count, total, "bb status");
	VALUE_EACH(one, agents)
		status_put_agent(v, one, names);
}

/* --- attention --- */

/*
 * A text of others after the mark of an entry. Its further rows are indented more than the command
 * below it, so that none of them looks like a command.
 */
static void status_wrap(struct view *v, struct str text)
{
	enum { HANG = INDENT + 6 };
	struct view part = *v;

	part.out = (struct buf){ .mem = v->out.mem };
	view_hang(&part, text, INDENT + 2, HANG);
	buf_put(&v->out, str_skip(buf_str(&part.out), INDENT + 2));
}

static void status_put_attention(struct view *v, const struct value *data)
{
	const struct value *list = value_find(data, "attention");
	int64_t total = value_count(data, "attention_total");

	if (!total)
		return;
	status_section(v, "NEEDS ATTENTION", "", list->count, total, "abacus status --limit 500");
	VALUE_EACH(one, list) {
		struct str since = value_str(one, "since"),
			   age = since.p ? arena_fmt(v->out.mem, " (" STR_FMT ")",
						     STR_ARG(view_age(v, since))) :
					   STR("");

		view_target(v, value_str(one, "bead_id"));
		buf_pad(&v->out, ' ', INDENT);
		view_paint(v, PAINT_RED, STR("!"));
		buf_char(&v->out, ' ');
		status_wrap(v, arena_join(v->out.mem, value_str(one, "text"), age));
		buf_pad(&v->out, ' ', INDENT + 2);
		view_paint(v, PAINT_DIM, value_str(one, "command"));
		buf_char(&v->out, '\n');
	}
}

/* --- beads --- */

/* What follows the title: the holder and the lease, the blockers, or the age. */
static struct str status_bead_note(struct view *v, const struct value *bead)
{
	const struct value *blockers = value_find(bead, "blocked_by");
	struct str holder = value_str(bead, "assignee"), lease = value_str(bead, "lease_ends_at");
	int64_t ends = 0;
	bool expired = moment_parse(lease, &ends) && ends <= v->now_ms,
	     begun = str_is(value_str(bead, "status"), "in_progress");

	if (holder.n && (begun || ends > v->now_ms))
		return arena_fmt(v->out.mem, STR_FMT "%s", STR_ARG(holder),
				 expired ? ", claim expired" : "");
	if (blockers->count)
		return arena_fmt(v->out.mem, "blocked by " STR_FMT,
				 STR_ARG(view_join(v, blockers)));
	if (value_count(bead, "open_children"))
		return arena_fmt(v->out.mem, "%lld open child%s",
				 (long long)value_count(bead, "open_children"),
				 value_count(bead, "open_children") == 1 ? "" : "ren");
	return view_age(v, value_str(bead, "created_at"));
}

/* The columns of all lists of beads. */
struct status_columns {
	size_t id, title, note;
};

/* Titles and notes get the width that they need; if it is too much, notes get at most half. */
static struct status_columns status_fit(struct view *v, const struct value *data)
{
	static const char *const parts[] = { "in_progress", "ready", "blocked" };
	struct status_columns w = { 0 };
	size_t room;

	for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
		const struct value *list = value_find(data, parts[p]);

		w.id = status_widest(list, "id", w.id);
		VALUE_EACH(one, list) {
			size_t title = utf8_width(value_str(one, "title")),
			       note = utf8_width(status_bead_note(v, one));

			w.title = title > w.title ? title : w.title;
			w.note = note > w.note ? note : w.note;
		}
	}
	room = status_room(v, INDENT + w.id + GAP + 2 + GAP + GAP);
	if (w.title + w.note > room && w.note > room / 2)
		w.note = w.title < room / 2 ? room - w.title : room / 2;
	if (w.title + w.note > room)
		w.title = room - w.note;
	return w;
}

static void status_put_bead(struct view *v, const struct value *bead,
			    const struct status_columns *w)
{
	struct str id = value_str(bead, "id"), note = status_bead_note(v, bead),
		   title = utf8_shorten(v->out.mem, value_str(bead, "title"), w->title),
		   priority =
			   arena_fmt(v->out.mem, "P%lld", (long long)value_count(bead, "priority"));

	view_target(v, id);
	buf_pad(&v->out, ' ', INDENT);
	buf_put(&v->out, id);
	status_pad(v, id, w->id);
	view_paint(v, value_count(bead, "priority") <= 1 ? PAINT_YELLOW : PAINT_DIM, priority);
	buf_pad(&v->out, ' ', GAP);
	buf_put(&v->out, title);
	status_pad(v, title, w->title);
	view_paint(v, PAINT_DIM, utf8_shorten(v->out.mem, note, w->note));
	buf_char(&v->out, '\n');
}

static void status_put_beads(struct view *v, const struct value *data, const char *title,
			     const char *key, const char *command)
{
	const struct value *list = value_find(data, key);
	int64_t total = value_count(data, arena_fmt(v->out.mem, "%s_total", key).p);
	struct status_columns w = status_fit(v, data);

	if (!total)
		return;
	status_section(v, title, "", list->count, total, command);
	VALUE_EACH(one, list)
		status_put_bead(v, one, &w);
}

static void status_put_sync(struct view *v, const struct value *data)
{
	const struct value *sync = value_find(data, "sync");
	struct str at = value_str(sync, "succeeded_at");

	buf_char(&v->out, '\n');
	view_paint(v, PAINT_BOLD, STR("SYNC"));
	buf_put(&v->out, STR("  "));
	if (at.p && value_count(sync, "failures"))
		view_paint(v, PAINT_RED,
			   arena_fmt(v->out.mem, "failing; the last success was " STR_FMT,
				     STR_ARG(view_age(v, at))));
	else if (at.p)
		view_paint(v, PAINT_DIM, view_age(v, at));
	else
		view_paint(v, PAINT_DIM, STR("never; with a Git remote, run: bd sync"));
	buf_char(&v->out, '\n');
}

void view_status(struct view *v, const struct value *data)
{
	const struct value *sync = value_find(data, "sync");
	bool beads = sync && sync->type == VALUE_OBJECT;

	status_put_agents(v, data);
	status_put_attention(v, data);
	status_put_beads(v, data, "IN PROGRESS", "in_progress", "bd list --status in_progress");
	status_put_beads(v, data, "READY", "ready", "bd ready");
	status_put_beads(v, data, "BLOCKED", "blocked", "bd blocked");
	if (!v->out.n)
		view_line(
			v,
			beads ? "No agents and no open beads. Run: bd create \"First task\"" :
				"There is no project here yet. In a Git repository, run: abacus init");
	if (beads)
		status_put_sync(v, data);
}
