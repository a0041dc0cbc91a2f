/* Replies of `bb agent`. */
#include "agents/mail.h"
#include "agents/reservation.h"
#include "surface/view/bb_view.h"
#include "surface/view/view.h"

static void view_stuck(struct view *v, const struct value *stuck)
{
	if (!stuck || stuck->type != VALUE_OBJECT)
		return;
	buf_put(&v->out, STR("  "));
	view_paint(v, PAINT_RED, STR("stuck"));
	view_say(v, stuck, " on {bead_id}: {text}");
}

/* The name of the agent for all commands of a shell. */
static void agent_put_export(struct view *v, const struct value *agent)
{
	view_say(v, agent, "To use this name in all commands: export ABACUS_AGENT={agent_id}");
}

void bb_view_registered(struct view *v, const struct value *data)
{
	struct str liveness = value_str(data, "liveness"), name = value_str(data, "display_name");

	view_paint(v, PAINT_BOLD, view_at_machine(v, data, "agent_id"));
	if (!str_eq(name, value_str(data, "agent_id")))
		buf_fmt(&v->out, ": " STR_FMT, STR_ARG(name));
	view_say(v, data, " ({role})");
	view_put(v, data, "  {status}, ");
	view_paint(v, view_liveness(liveness), liveness);
	view_say(v, data, ", last seen {last_seen_at~}");
	view_stuck(v, value_find(data, "stuck"));
}

void bb_view_register(struct view *v, const struct value *data)
{
	buf_put(&v->out, STR("Registered "));
	view_paint(v, PAINT_BOLD, value_str(data, "agent_id"));
	view_say(v, data, " ({role}).");
	agent_put_export(v, data);
}

void bb_view_registry(struct view *v, const struct value *data)
{
	static const char *const heads[] = {
		"AGENT", "ROLE", "STATUS", "STATE", "LAST SEEN", NULL
	};
	struct table t = table_new(v, heads);
	bool stuck = false;

	VALUE_EACH(one, data) {
		struct str liveness = value_str(one, "liveness");

		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, view_at_machine(v, one, "agent_id"));
		table_cell(&t, 1, PAINT_NONE, value_str(one, "role"));
		table_cell(&t, 2, PAINT_NONE, value_str(one, "status"));
		table_cell(&t, 3, view_liveness(liveness), liveness);
		table_cell(&t, 4, PAINT_NONE, view_age(v, value_str(one, "last_seen_at")));
		stuck = stuck || value_find(one, "stuck");
	}
	if (data->count)
		table_print(&t);
	for (size_t i = 0; stuck && i < data->count; i++)
		if (value_find(&data->item[i], "stuck")) {
			view_paint(v, PAINT_BOLD, value_str(&data->item[i], "agent_id"));
			view_stuck(v, value_find(&data->item[i], "stuck"));
		}
	if (!data->count && view_wants(v, ROLE_STUCK))
		view_line(v, "No agent is stuck.");
	else if (!data->count)
		view_line(v, "No agents are registered. Run: bb agent register --name "
			     "amber-otter --role ui");
}

/* --- mail --- */

void bb_view_sent(struct view *v, const struct value *data)
{
	const struct value *sent = value_find(data, "messages");

	VALUE_EACH(one, sent)
		view_say(v, one, "Sent to {to_agent} about {bead_id}: {message_id}");
	if (!sent->count)
		view_line(v, "No other agent is registered; nothing was sent.");
}

/* The words of the page: "Seen", "Accepted". */
static struct str state_word(const struct value *m)
{
	static const char *const words[] = {
		[MAIL_UNREAD] = "New", [MAIL_READ] = "Seen", [MAIL_ACKED] = "Accepted"
	};
	int state = names_exact(&mail_states, value_str(m, "state"));

	return str_of(words[state < 0 ? MAIL_UNREAD : state]);
}

static struct str category_word(const struct value *m)
{
	static const char *const words[] = {
		[CATEGORY_HANDOFF] = "Passed to",
		[CATEGORY_BLOCKED] = "Needs input",
		[CATEGORY_DECISION] = "Decision",
		[CATEGORY_INFO] = "Info",
	};
	int category = names_exact(&categories, value_str(m, "category"));

	return str_of(words[category < 0 ? CATEGORY_INFO : category]);
}

/* Agents read this output, too, so the sender's text is quoted, as in prompts. */
static void mail_head(struct view *v, const struct value *m)
{
	bool waits = value_yes(m, "requires_ack") &&
		     names_exact(&mail_states, value_str(m, "state")) != MAIL_ACKED;

	view_paint(v, PAINT_BOLD, category_word(m));
	view_line(v, " " STR_FMT ", " STR_FMT ". " STR_FMT "%s", STR_ARG(value_str(m, "to_agent")),
		  STR_ARG(view_age(v, value_str(m, "created_at"))), STR_ARG(state_word(m)),
		  waits ? ", not acknowledged yet" : "");
	view_say(v, m, "  {message_id}");
	view_quote(v, arena_fmt(v->out.mem, "from " STR_FMT " about " STR_FMT,
				STR_ARG(view_at_machine(v, m, "from_agent")),
				STR_ARG(value_str(m, "bead_id"))));
	view_quote(v, value_str(m, "subject"));
}

void bb_view_inbox(struct view *v, const struct value *data)
{
	VALUE_EACH(one, data)
		mail_head(v, one);
	if (!data->count)
		view_line(v, "No messages.");
}

/* Whether the request named no message, so that the newest was taken. */
static bool mail_was_newest(const struct request *r)
{
	const struct field *f = r ? r->op->fields : NULL;

	for (size_t i = 0; f && f[i].name; i++)
		if ((f[i].flags & (FIELD_ASSUMED | FIELD_PLACE)) && (r->given >> i & 1))
			return false;
	return f;
}

static void mail_whole(struct view *v, const struct value *data, const char *newest)
{
	if (mail_was_newest(v->asked))
		view_line(v, "%s", newest);
	mail_head(v, data);
	view_quote(v, STR(""));
	view_quote(v, view_whole(value_find(data, "body")));
}

void bb_view_read(struct view *v, const struct value *data)
{
	mail_whole(v, data, "The newest unread message:");
}

void bb_view_acked(struct view *v, const struct value *data)
{
	mail_whole(v, data, "The newest message that had to be acknowledged:");
}

/* --- reservations --- */

/* There may be a thousand rows, so the line is concatenated, which is faster than formatting. */
void bb_view_reservation(struct view *v, const struct value *data)
{
	bool released =
		names_exact(&reservation_states, value_str(data, "state")) == RESERVATION_RELEASED;
	struct buf *out = &v->out;

	view_paint(v, PAINT_BOLD, value_str(data, "scope"));
	buf_put(out, released ? STR(" was released by ") : STR(" is reserved by "));
	buf_put(out, value_str(data, "agent_id"));
	buf_put(out, STR(" for "));
	buf_put(out, value_str(data, "bead_id"));
	if (!released) {
		buf_put(out, value_yes(data, "expired") ? STR(", ended ") : STR(", ends "));
		buf_put(out, view_age(v, value_str(data, "expires_at")));
	}
	buf_put(out, STR(", epoch "));
	buf_put(out, value_find(data, "epoch")->text);
	buf_char(out, '\n');
}

void bb_view_reserved(struct view *v, const struct value *data)
{
	bb_view_reservation(v, data);
	if (str_is(value_str(data, "durability"), "remote"))
		view_line(v, "  exclusive: confirmed by the remote");
	VALUE_EACH(one, value_find(data, "incursions")) {
		const struct value *other = value_find(one, "reservation");

		view_line(v, "  overlaps " STR_FMT " of " STR_FMT ", who is " STR_FMT,
			  STR_ARG(value_str(other, "scope")), STR_ARG(value_str(other, "agent_id")),
			  STR_ARG(value_str(one, "owner_liveness")));
	}
}

void bb_view_session(struct view *v, const struct value *data)
{
	const struct value *resumed = value_find(data, "resumed"),
			   *advice = value_find(data, "recommendation"),
			   *held = value_find(data, "reservations");

	view_line(v, "You are %s " STR_FMT ": " STR_FMT ".", resumed->count ? "again" : "now",
		  STR_ARG(value_str(value_find(data, "agent"), "agent_id")),
		  STR_ARG(resumed->count ? value_str(resumed, "evidence") :
					   value_str(advice, "reason")));
	agent_put_export(v, value_find(data, "agent"));
	VALUE_EACH(one, held)
		bb_view_reservation(v, one);
}

static void agent_status_reserved(struct view *v, const struct value *reserved)
{
	static const char *const heads[] = { "RESERVED", "AGENT", "BEAD", "ENDS", "EPOCH", NULL };
	struct table t = table_new(v, heads);

	VALUE_EACH(one, reserved) {
		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(one, "scope"));
		table_cell(&t, 1, PAINT_NONE, view_at_machine(v, one, "agent_id"));
		table_cell(&t, 2, PAINT_NONE, value_str(one, "bead_id"));
		table_cell(&t, 3, PAINT_NONE, view_age(v, value_str(one, "expires_at")));
		table_cell(&t, 4, PAINT_DIM, value_find(one, "epoch")->text);
	}
	table_has_paths(&t, 0);
	table_print(&t);
}

/* Agents read this output, too, so the sender's text is quoted, as in prompts. */
static void agent_status_unacked(struct view *v, const struct value *unacked)
{
	static const char *const heads[] = {
		"UNACKED BY", "KIND", "STATE", "SENT", "MESSAGE", NULL
	};
	struct table t = table_new(v, heads);

	t.quotes = true;
	VALUE_EACH(m, unacked) {
		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(m, "to_agent"));
		table_cell(&t, 1, PAINT_NONE, category_word(m));
		table_cell(&t, 2, PAINT_NONE, state_word(m));
		table_cell(&t, 3, PAINT_NONE, view_age(v, value_str(m, "created_at")));
		table_cell(&t, 4, PAINT_DIM, value_str(m, "message_id"));
		table_below(&t,
			    arena_fmt(v->out.mem, "from " STR_FMT " about " STR_FMT ": " STR_FMT,
				      STR_ARG(view_at_machine(v, m, "from_agent")),
				      STR_ARG(value_str(m, "bead_id")),
				      STR_ARG(value_str(m, "subject"))));
	}
	table_keep_whole(&t, 4);
	table_print(&t);
}

void bb_view_agent_status(struct view *v, const struct value *data)
{
	const struct value *reserved = value_find(data, "reservations"),
			   *unacked = value_find(data, "unacked"),
			   *stuck = value_find(data, "stuck");

	if (reserved->count)
		agent_status_reserved(v, reserved);
	else
		view_line(v, "No reservations.");
	VALUE_EACH(one, stuck) {
		view_paint(v, PAINT_BOLD, value_str(one, "agent_id"));
		view_stuck(v, one);
	}
	buf_char(&v->out, '\n');
	if (unacked->count)
		agent_status_unacked(v, unacked);
	else
		view_line(v, "No unacknowledged messages.");
}

void bb_view_waited(struct view *v, const struct value *data)
{
	const struct value *events = value_find(data, "events");

	VALUE_EACH(one, events) {
		struct str kind = value_str(one, "kind");

		if (str_is(kind, "mail"))
			mail_head(v, value_find(one, "message"));
		else if (str_is(kind, "freed"))
			view_say(v, one, "{scope} is free.");
		else
			view_say(v, one, "{id} is {status}.");
	}
	if (value_yes(data, "timed_out"))
		view_line(v, "Timed out: no condition holds.");
}

void bb_view_guard(struct view *v, const struct value *data)
{
	const struct value *denied = value_find(data, "denied");

	for (size_t i = 0; i < denied->count; i++) {
		const struct value *one = &denied->item[i], *held = value_find(one, "reservation");

		view_line(v, STR_FMT " is reserved by " STR_FMT ", who is " STR_FMT,
			  STR_ARG(value_str(one, "path")),
			  STR_ARG(view_at_machine(v, held, "agent_id")),
			  STR_ARG(value_str(one, "owner_liveness")));
	}
	if (str_is(value_str(data, "outcome"), "allow"))
		view_line(v, "%lld file%s checked: allowed.",
			  (long long)value_count(data, "checked"),
			  value_count(data, "checked") == 1 ? "" : "s");
}

void bb_view_hooks(struct view *v, const struct value *data)
{
	VALUE_EACH(one, data) {
		struct str change = value_str(one, "change");

		view_line(v, STR_FMT ": " STR_FMT, STR_ARG(value_str(one, "path")),
			  STR_ARG(str_is(change, "made") ? STR("created") : change));
	}
}

void bb_view_events(struct view *v, const struct value *data)
{
	for (size_t i = 0; i < data->count; i++) {
		const struct value *one = &data->item[i], *payload = value_find(one, "payload");
		struct str scope = value_str(one, "scope"), subject = value_str(payload, "subject"),
			   hint = value_str(payload, "resolution_hint"),
			   text = subject.p ? subject :
				  hint.p    ? hint :
					      value_str(payload, "evidence");

		view_paint(v, PAINT_BOLD, value_str(one, "event_type"));
		view_line(v, " " STR_FMT " → " STR_FMT " about " STR_FMT "%s" STR_FMT ", " STR_FMT,
			  STR_ARG(value_str(one, "from_agent")),
			  STR_ARG(value_str(one, "to_agent")), STR_ARG(value_str(one, "bead_id")),
			  scope.p ? " in " : "", STR_ARG(scope),
			  STR_ARG(view_age(v, value_str(one, "created_at"))));
		view_line(v, "  " STR_FMT, STR_ARG(text));
	}
	if (!data->count)
		view_line(v, "No events found.");
}
