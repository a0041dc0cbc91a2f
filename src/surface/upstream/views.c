#include "base/text/value.h"
#include "surface/upstream/compat.h"
#include "surface/view/view.h"

/* What people read of the operations in compat.def. */

void compat_view_text(struct view *v, const struct value *data)
{
	view_lines(v, view_whole(value_find(data, "text")));
}

void compat_view_message(struct view *v, const struct value *data)
{
	view_wrap(v, value_str(data, "message"), 0);
}

void compat_view_memory(struct view *v, const struct value *data)
{
	struct str value = value_str(data, "value"), action = value_str(data, "action");

	if (action.p)
		view_line(v, "%s " STR_FMT, str_is(action, "forgotten") ? "Forgot" : "Remembered",
			  STR_ARG(value_str(data, "key")));
	else
		view_line(v, STR_FMT, STR_ARG(value));
}

void compat_view_memories(struct view *v, const struct value *data)
{
	if (!data->count)
		view_line(v, "Nothing is remembered. Use 'bd remember TEXT'.");
	VALUE_EACH(one, data)
		view_line(v, "  " STR_FMT ": " STR_FMT, STR_ARG(one->key), STR_ARG(one->text));
}

static void compat_view_twins(struct view *v, const struct value *group)
{
	const struct value *ids = value_find(group, "ids");

	view_say(v, group, "  {title}");
	VALUE_EACH(one, ids)
		view_line(v, "    " STR_FMT, STR_ARG(one->text));
	view_say(v, group, "    → {command}");
}

void compat_view_duplicates(struct view *v, const struct value *data)
{
	const struct value *groups = value_find(data, "groups");

	if (!groups->count)
		view_line(v, "No open beads have the same content.");
	view_each(v, groups, compat_view_twins);
}

void compat_view_setup(struct view *v, const struct value *data)
{
	const struct value *list = value_find(data, "hosts");
	bool there = value_yes(data, "installed");

	VALUE_EACH(one, list)
		view_line(v, STR_FMT, STR_ARG(one->text));
	if (!list)
		view_line(v, STR_FMT ": %s (" STR_FMT ")", STR_ARG(value_str(data, "host")),
			  there ? "hooks are installed" : "hooks are not installed",
			  STR_ARG(value_str(data, "path")));
}
