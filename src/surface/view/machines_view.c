#include "surface/view/machines_view.h"

#include "surface/view/view.h"

static const char *view_plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

static void view_share_on(struct view *v, const struct value *data)
{
	int64_t others = value_count(data, "others"), waiting = value_count(data, "waiting");

	view_say(v, data, "Sharing is on. This machine is '{name}' ({machine}).");
	view_wrap(v,
		  STR("Everybody who can read the repository at the Git remote can read the "
		      "messages, reservations, posts, statuses, artifacts, memory and events of "
		      "this project."),
		  0);
	view_line(v, "%lld other machine%s share%s here; %lld change%s to send.", (long long)others,
		  view_plural(others), others == 1 ? "s" : "", (long long)waiting,
		  view_plural(waiting));
	view_line(v, "To stop: abacus share off");
}

static void view_share_off(struct view *v, const struct value *data)
{
	int64_t sent = value_count(data, "sent"), others = value_count(data, "others");

	view_line(v, "Sharing is off. Mail, reservations, posts and memory stay on this machine.");
	if (sent)
		view_line(v,
			  "Already at the remote: %lld change%s, in " STR_FMT
			  "\nTo delete them there: abacus machines forget " STR_FMT,
			  (long long)sent, view_plural(sent), STR_ARG(value_str(data, "ref")),
			  STR_ARG(value_str(data, "name")));
	if (others)
		view_line(v,
			  "%lld other machine%s share%s here. To share with them: abacus share "
			  "on",
			  (long long)others, view_plural(others), others == 1 ? "s" : "");
	else if (!sent)
		view_line(v, "To share them through the Git remote: abacus share on");
}

void view_share(struct view *v, const struct value *data)
{
	const struct value *warnings = value_find(data, "warnings");

	if (value_yes(data, "on"))
		view_share_on(v, data);
	else
		view_share_off(v, data);
	VALUE_EACH(one, warnings)
		view_line(v, "Warning: " STR_FMT, STR_ARG(one->text));
}

static struct str machine_problem(struct view *v, const struct value *one, struct str problem)
{
	struct str text = arena_fmt(v->out.mem, "not applied: " STR_FMT, STR_ARG(problem));

	if (!value_yes(one, "trustable"))
		return text;
	return arena_fmt(v->out.mem, STR_FMT "; abacus machines trust " STR_FMT, STR_ARG(text),
			 STR_ARG(value_str(one, "id")));
}

void view_machines(struct view *v, const struct value *data)
{
	static const char *const heads[] = { "MACHINE", "ID", "SEEN", "WAITING", "AGENTS", NULL };
	struct table t = table_new(v, heads);

	if (!data->count) {
		view_line(v, "This clone does not share with other machines. To begin: abacus "
			     "share on");
		return;
	}
	VALUE_EACH(one, data) {
		struct str problem = value_str(one, "problem");
		bool here = value_yes(one, "here");

		table_row(&t);
		table_cell(&t, 0, here ? PAINT_BOLD : PAINT_NONE,
			   arena_fmt(v->out.mem, STR_FMT "%s", STR_ARG(value_str(one, "name")),
				     here ? " (here)" : ""));
		table_cell(&t, 1, PAINT_DIM, value_str(one, "id"));
		table_cell(&t, 2, PAINT_NONE,
			   value_str(one, "last_seen").p ?
				   view_age(v, value_str(one, "last_seen")) :
				   STR("never"));
		table_cell(&t, 3, PAINT_NONE,
			   arena_fmt(v->out.mem, "%lld", (long long)value_count(one, "waiting")));
		table_cell(&t, 4, PAINT_NONE, view_join(v, value_find(one, "agents")));
		if (problem.p)
			table_below(&t, machine_problem(v, one, problem));
	}
	table_print(&t);
}

void view_machine(struct view *v, const struct value *data)
{
	view_say(v, data, "The machine {id} is called '{name}' now.");
}

void view_machine_forgotten(struct view *v, const struct value *data)
{
	view_say(v, data,
		 "Deleted the log of '{name}' ({id}) at the remote. Other clones keep what they "
		 "have received; if that machine still shares, it sends its log again.");
}

void view_machine_trusted(struct view *v, const struct value *data)
{
	view_say(v, data, "The next sync reads the log of '{name}' ({id}) as it is now.");
}
