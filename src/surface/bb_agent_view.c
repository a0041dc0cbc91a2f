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
