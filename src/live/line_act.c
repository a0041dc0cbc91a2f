#include "live/line_act.h"

#include "base/text/value.h"
#include "beads/model/stamp.h"

static bool line_stamp_is(const struct value *v, const char *key, struct stamp stamp)
{
	struct stamp at;

	return stamp_decode(value_find(v, key), &at) && !stamp_cmp(at, stamp);
}

/* The latest stamp: a record's line has no `_at`, but one for each register, and its notes. */
static struct stamp line_last(const struct value *line)
{
	const struct value *marks = value_find(line, "_v"), *notes = value_find(line, "notes");
	struct stamp last = { 0 }, at;

	if (stamp_decode(value_find(line, "_at"), &last))
		return last;
	for (size_t i = 0; marks && i < marks->count; i++)
		if (marks->item[i].count && stamp_decode(&marks->item[i].item[0], &at) &&
		    stamp_cmp(at, last) > 0)
			last = at;
	for (size_t i = 0; notes && notes->type == VALUE_ARRAY && i < notes->count; i++)
		if (stamp_decode(value_find(&notes->item[i], "at"), &at) && stamp_cmp(at, last) > 0)
			last = at;
	return last;
}

struct str line_act(const struct value *line)
{
	const struct value *notes = value_find(line, "notes"),
			   *status = value_find(value_find(line, "_v"), "status");
	struct stamp last = line_last(line), at;

	if (line_stamp_is(line, "created_at", last))
		return STR("created");
	if (line_stamp_is(line, "closed_at", last))
		return STR("closed");
	if (line_stamp_is(line, "assignee_at", last))
		return STR("claimed");
	for (size_t i = 0; notes && notes->type == VALUE_ARRAY && i < notes->count; i++)
		if (line_stamp_is(&notes->item[i], "at", last))
			return STR("commented");
	if (str_is(value_str(line, "status"), "open") && status && status->count &&
	    stamp_decode(&status->item[0], &at) && !stamp_cmp(at, last))
		return STR("opened");
	return STR("changed");
}
