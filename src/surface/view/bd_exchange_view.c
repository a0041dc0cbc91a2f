/* Import and export. */
#include <inttypes.h>

#include "surface/view/bd_view.h"

enum { SHOWN = 20 };

static void exchange_put_findings(struct view *v, const struct value *list)
{
	for (size_t i = 0; list && i < list->count && i < SHOWN; i++) {
		const struct value *f = &list->item[i];
		struct str id = value_str(f, "id");

		view_line(v, "  " STR_FMT ":%" PRId64 "%s" STR_FMT ": " STR_FMT,
			  STR_ARG(value_str(f, "file")), value_count(f, "line"), id.p ? " " : "",
			  STR_ARG(id), STR_ARG(value_str(f, "message")));
	}
	if (list && list->count > SHOWN)
		view_line(v, "  … and %zu more; --json lists all.", list->count - SHOWN);
}

/* Nothing is shown if there was nothing to print. */
void bd_view_export(struct view *v, const struct value *data)
{
	if (!value_str(data, "file").p)
		return;
	view_line(v, "Exported %" PRId64 " bead%s to " STR_FMT ".", value_count(data, "issues"),
		  value_count(data, "issues") == 1 ? "" : "s", STR_ARG(value_str(data, "file")));
}

void bd_view_import(struct view *v, const struct value *data)
{
	static const struct {
		const char *key, *words;
	} counts[] = {
		{ "created", "created" },     { "updated", "updated" },
		{ "unchanged", "unchanged" }, { "older", "older than the bead here" },
		{ "tombstones", "deleted" },  { "memories", "memories" },
		{ "refused", "refused" },
	};
	const struct value *dry = value_find(data, "dry_run"), *list = value_find(data, "findings");

	view_line(v, "%s " STR_FMT ": %" PRId64 " record%s read.",
		  dry && dry->yes ? "Would import" : "Imported", STR_ARG(value_str(data, "source")),
		  value_count(data, "read"), value_count(data, "read") == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (value_count(data, counts[i].key))
			view_line(v, "  %" PRId64 " %s", value_count(data, counts[i].key),
				  counts[i].words);
	if (list && list->count)
		view_line(v, "%zu finding%s:", list->count, list->count == 1 ? "" : "s");
	exchange_put_findings(v, list);
}
