/* What is shown of agents. */
#include "surface/bb_view.h"
#include "surface/view.h"

static enum paint liveness_paint(struct str liveness)
{
	return str_is(liveness, "active") ? PAINT_GREEN :
	       str_is(liveness, "stale")  ? PAINT_YELLOW :
					    PAINT_DIM;
}

void bb_view_registered(struct view *v, const struct value *data)
{
	struct str liveness = value_str(data, "liveness");

	view_paint(v, PAINT_BOLD, value_str(data, "agent_id"));
	view_line(v, ": " STR_FMT " (" STR_FMT ")",
		  STR_ARG(view_flat(v, value_str(data, "display_name"))),
		  STR_ARG(view_flat(v, value_str(data, "role"))));
	buf_fmt(&v->out, "  " STR_FMT ", ", STR_ARG(value_str(data, "status")));
	view_paint(v, liveness_paint(liveness), liveness);
	view_line(v, ", last seen " STR_FMT,
		  STR_ARG(view_age(v, value_str(data, "last_seen_at"))));
}

void bb_view_registry(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "AGENT", "ROLE",      "STATUS",
					     "STATE", "LAST SEEN", NULL };
	struct table t = table_new(v, heads);

	for (size_t i = 0; i < data->count; i++) {
		const struct value *one = &data->item[i];
		struct str liveness = value_str(one, "liveness");

		table_row(&t);
		table_cell(&t, 0, PAINT_BOLD, value_str(one, "agent_id"));
		table_cell(&t, 1, PAINT_NONE, view_flat(v, value_str(one, "role")));
		table_cell(&t, 2, PAINT_NONE, view_flat(v, value_str(one, "status")));
		table_cell(&t, 3, liveness_paint(liveness), liveness);
		table_cell(&t, 4, PAINT_NONE,
			   view_age(v, value_str(one, "last_seen_at")));
	}
	if (data->count)
		table_print(&t);
	else
		view_line(v, "Nobody is registered. Begin with: bb agent register --name "
			     "amber-otter --role ui");
}

/* --- mail --- */

void bb_view_sent(struct view *v, const struct value *data)
{
	const struct value *sent = value_find(data, "messages");

	for (size_t i = 0; i < sent->count; i++)
		view_line(v, "Sent to " STR_FMT ": " STR_FMT,
			  STR_ARG(value_str(&sent->item[i], "to_agent")),
			  STR_ARG(value_str(&sent->item[i], "message_id")));
	if (!sent->count)
		view_line(v, "Nobody else is registered; nothing was sent.");
}

/* The words that the sessions use: "Seen", "Accepted". */
static struct str state_word(const struct value *m)
{
	struct str state = value_str(m, "state");

	return str_is(state, "read")  ? STR("Seen") :
	       str_is(state, "acked") ? STR("Accepted") :
					STR("New");
}

static struct str category_word(const struct value *m)
{
	struct str category = value_str(m, "category");

	return str_is(category, "HANDOFF")  ? STR("Passed to") :
	       str_is(category, "BLOCKED")  ? STR("Needs input") :
	       str_is(category, "DECISION") ? STR("Decision") :
					      STR("Info");
}

static void mail_head(struct view *v, const struct value *m)
{
	bool waits =
		view_yes(m, "requires_ack") && !str_is(value_str(m, "state"), "acked");

	view_paint(v, PAINT_BOLD, category_word(m));
	view_line(v, " " STR_FMT ": " STR_FMT, STR_ARG(value_str(m, "to_agent")),
		  STR_ARG(view_flat(v, value_str(m, "subject"))));
	view_line(v, "  from " STR_FMT " about " STR_FMT ", " STR_FMT ". " STR_FMT "%s",
		  STR_ARG(value_str(m, "from_agent")),
		  STR_ARG(view_flat(v, value_str(m, "bead_id"))),
		  STR_ARG(view_age(v, value_str(m, "created_at"))),
		  STR_ARG(state_word(m)), waits ? ", to be accepted" : "");
	view_line(v, "  " STR_FMT, STR_ARG(value_str(m, "message_id")));
}

void bb_view_inbox(struct view *v, const struct value *data)
{
	for (size_t i = 0; i < data->count; i++)
		mail_head(v, &data->item[i]);
	if (!data->count)
		view_line(v, "Nothing.");
}

void bb_view_mail(struct view *v, const struct value *data)
{
	mail_head(v, data);
	view_line(v, "%s", "");
	view_wrap(v, value_str(data, "body"), 2);
}
