#include "surface/view/session_view.h"

#include "agents/mail.h"
#include "base/moment.h"
#include "base/text/utf8.h"
#include "surface/view/view.h"

static struct str session_view_count(struct view *v, const struct value *one, const char *key)
{
	int64_t n = value_count(one, key);

	return n ? arena_fmt(v->out.mem, "%lld", (long long)n) : STR("-");
}

/* Where an INCURSION event happened; absent for other events. */
static struct str incursion_place(struct view *v, const struct value *event)
{
	const struct value *payload = value_find(event, "payload");
	struct str kind = value_str(payload, "incursion_kind");

	if (!kind.p)
		return STR_NONE;
	return arena_fmt(v->out.mem, "into " STR_FMT " of " STR_FMT " (" STR_FMT ")",
			 STR_ARG(value_str(event, "scope")),
			 STR_ARG(value_str(payload, "owner_agent")), STR_ARG(kind));
}

/* --- everybody --- */

static void session_view_put_incursions(struct view *v, const struct value *list)
{
	enum { MOST = 5, DAY_MS = 24 * 3600 * 1000 };
	int64_t at;

	for (size_t i = 0; list && i < list->count && i < MOST; i++) {
		const struct value *one = &list->item[i], *payload = value_find(one, "payload");

		if (!moment_parse(value_str(one, "created_at"), &at) || v->now_ms - at > DAY_MS)
			continue;
		view_paint(v, PAINT_RED, STR("Incursion"));
		view_line(v, "  " STR_FMT " " STR_FMT ", " STR_FMT,
			  STR_ARG(value_str(payload, "incoming_agent")),
			  STR_ARG(incursion_place(v, one)),
			  STR_ARG(view_age(v, value_str(one, "created_at"))));
	}
}

static void put_stale(struct view *v, const struct value *list)
{
	VALUE_EACH(one, list) {
		if (!value_yes(one, "stale"))
			continue;
		view_paint(v, PAINT_YELLOW, STR("Stale"));
		view_line(v, "      " STR_FMT " of " STR_FMT ", %s",
			  STR_ARG(value_str(one, "scope")), STR_ARG(value_str(one, "agent_id")),
			  value_yes(one, "expired") ? "expired" : "whose owner is not active");
	}
}

static void session_view_put_agents(struct view *v, const struct value *agents)
{
	static const char *const heads[] = { "AGENT",   "STATE", "SEEN", "UNREAD",
					     "UNACKED", "ROLE",  NULL };
	struct table t = table_new(v, heads);

	VALUE_EACH(one, agents) {
		struct str liveness = value_str(one, "liveness");

		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, view_at_machine(v, one, "agent_id"));
		table_cell(&t, 1, view_liveness(liveness), liveness);
		table_cell(&t, 2, PAINT_NONE, view_age(v, value_str(one, "last_seen_at")));
		table_cell(&t, 3, PAINT_NONE, session_view_count(v, one, "unread"));
		table_cell(&t, 4, PAINT_NONE, session_view_count(v, one, "to_accept"));
		table_cell(&t, 5, PAINT_NONE, value_str(one, "role"));
	}
	if (t.rows)
		table_print(&t);
}

static void session_view_put_task(struct view *v, struct table *t, const struct value *task,
				  bool inside)
{
	struct str status = value_str(task, "status"), owner = value_str(task, "assignee");
	bool blocked = value_count(task, "blockers");

	table_row(t);
	table_cell(t, 0, PAINT_NONE, value_str(task, "id"));
	table_cell(t, 1, PAINT_NONE,
		   arena_fmt(v->out.mem, "P%lld", (long long)value_count(task, "priority")));
	table_cell(t, 2,
		   str_is(status, "closed") ? PAINT_DIM :
		   blocked                  ? PAINT_YELLOW :
					      PAINT_GREEN,
		   blocked && str_is(status, "open") ? STR("blocked") : status);
	table_cell(t, 3, PAINT_NONE, owner.n ? owner : STR("-"));
	table_cell(t, 4, PAINT_DIM, view_age(v, value_str(value_find(task, "last_act"), "at")));
	table_cell(t, 5, inside ? PAINT_NONE : PAINT_BOLD,
		   arena_fmt(v->out.mem, "%s" STR_FMT, inside ? "  " : "",
			     STR_ARG(value_str(task, "title"))));
}

static void session_view_put_more(struct view *v, struct table *t, int64_t more, bool inside)
{
	table_row(t);
	for (int i = 0; i < 5; i++)
		table_cell(t, i, PAINT_NONE, STR(""));
	table_cell(t, 5, PAINT_DIM,
		   arena_fmt(v->out.mem, "%s… %lld more: abacus sessions --tasks 0",
			     inside ? "  " : "", (long long)more));
}

static void session_view_put_tasks(struct view *v, const struct value *sessions)
{
	static const char *const heads[] = {
		"ID", "P", "STATUS", "OWNER", "CHANGED", "TITLE", NULL
	};
	struct table t = table_new(v, heads);

	for (size_t i = 0; i < sessions->count; i++) {
		const struct value *one = &sessions->item[i], *tasks = value_find(one, "tasks");
		bool epic = value_str(one, "id").p;

		if (epic)
			session_view_put_task(v, &t, one, false);
		VALUE_EACH(item, tasks)
			session_view_put_task(v, &t, item, epic);
		if (value_count(one, "more"))
			session_view_put_more(v, &t, value_count(one, "more"), epic);
	}
	table_print_or(&t, "No tasks. 'bd create' creates one.");
}

void view_sessions(struct view *v, const struct value *data)
{
	const struct value *sessions = value_find(data, "sessions"),
			   *agents = value_find(data, "agents");
	size_t active = 0, reserved;

	if (!agents) {
		session_view_put_tasks(v, &(const struct value){ 0 });
		return;
	}
	reserved = value_find(data, "reservations")->count;
	VALUE_EACH(one, agents)
		active +=
			names_exact(&liveness_words, value_str(one, "liveness")) == LIVENESS_ACTIVE;
	view_line(v, "%zu of %zu agents active, %zu scope%s reserved", active, agents->count,
		  reserved, reserved == 1 ? "" : "s");
	session_view_put_incursions(v, value_find(data, "incursions"));
	put_stale(v, value_find(data, "reservations"));
	buf_char(&v->out, '\n');
	session_view_put_agents(v, agents);
	if (!sessions)
		return;
	if (agents->count)
		buf_char(&v->out, '\n');
	session_view_put_tasks(v, sessions);
}

/* --- one bead --- */

static void session_view_put_change(struct view *v, const struct value *item)
{
	const struct value *fields = value_find(item, "fields");
	struct str what = value_str(item, "what");

	buf_put(&v->out, what);
	for (size_t i = 0; str_is(what, "changed") && i < fields->count; i++)
		buf_fmt(&v->out, "%s" STR_FMT, i ? ", " : " ", STR_ARG(fields->item[i].text));
	buf_char(&v->out, '\n');
}

static void session_view_put_recipients(struct view *v, const struct value *to)
{
	static const char *const words[] = {
		[MAIL_UNREAD] = "not seen", [MAIL_READ] = "seen", [MAIL_ACKED] = "accepted"
	};

	VALUE_EACH(one, to) {
		int state = names_exact(&mail_states, value_str(one, "state"));

		view_line(v, "    %s by " STR_FMT, words[state < 0 ? MAIL_UNREAD : state],
			  STR_ARG(value_str(one, "agent")));
	}
}

static const struct value *first_of(const struct value *v, const char *const *keys)
{
	const struct value *text = NULL;

	for (; *keys && !value_text(text).p; keys++)
		text = value_find(v, *keys);
	return text;
}

/* An event between agents, as text. */
static const struct value *payload_text(const struct value *event)
{
	static const char *const keys[] = { "summary", "blocker", "evidence", "resolution_hint",
					    NULL };

	return first_of(value_find(event, "payload"), keys);
}

/* What the rest of an item's first line says. */
static struct str item_subject(struct view *v, const struct value *item, const struct value *inner)
{
	static const char *const names[] = { "path", "file_path", NULL };
	struct str kind = value_str(item, "kind");

	if (str_is(kind, "artifact"))
		return value_text(first_of(inner, names));
	return str_is(kind, "protocol") ? incursion_place(v, value_find(item, "event")) :
					  value_str(item, "subject");
}

/* `column` is the width of the longest name. */
static void put_item(struct view *v, const struct value *item, size_t column)
{
	static const char *const words[] = { "content", "message", "description", NULL };
	struct str kind = value_str(item, "kind"), label = value_str(item, "label");
	const struct value *inner = value_member(item, kind), *to = value_find(item, "recipients");
	struct str subject = item_subject(v, item, inner);

	view_paint(v, PAINT_DIM,
		   arena_fmt(v->out.mem, "%8.*s", STR_ARG(view_age(v, value_str(item, "at")))));
	view_put(v, item, "  {by}  ");
	buf_pad(&v->out, ' ', column - utf8_width(value_str(item, "by")));
	if (str_is(kind, "change")) {
		session_view_put_change(v, item);
		return;
	}
	view_paint(v, PAINT_BOLD, label.p ? label : kind);
	for (size_t i = 0; to && i < to->count; i++)
		buf_fmt(&v->out, "%s" STR_FMT, i ? ", " : " ",
			STR_ARG(value_str(&to->item[i], "agent")));
	if (subject.n)
		buf_fmt(&v->out, "%s" STR_FMT, to ? ": " : " ", STR_ARG(subject));
	buf_char(&v->out, '\n');
	if (str_is(kind, "protocol"))
		view_wrap(v, view_whole(payload_text(value_find(item, "event"))), 4);
	else if (value_str(item, "text").p)
		view_wrap(v, view_whole(value_find(item, "text")), 4);
	else if (value_text(first_of(inner, words)).p)
		view_wrap(v, view_whole(first_of(inner, words)), 4);
	session_view_put_recipients(v, to);
}

void view_conversation(struct view *v, const struct value *data)
{
	const struct value *bead = value_find(data, "bead"), *items = value_find(data, "items");
	size_t names = 0;

	VALUE_EACH(one, items) {
		size_t width = utf8_width(value_str(one, "by"));

		names = width > names ? width : names;
	}
	if (bead && bead->type == VALUE_OBJECT) {
		view_paint(v, PAINT_BOLD, value_str(bead, "id"));
		view_say(v, bead, ": {title} ({status})");
	}
	VALUE_EACH(one, items)
		put_item(v, one, names);
	if (!items->count)
		view_line(v, "No activity yet.");
}
