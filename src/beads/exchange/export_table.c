#include "beads/exchange/export_table.h"

#include <inttypes.h>

#include "base/buf.h"
#include "beads/exchange/upstream.h"

static struct str table_time(struct arena *mem, const struct bead *b, enum member m)
{
	return b->member[m].p ? upstream_time(mem, bead_stamp(b, m).ms) : STR_NONE;
}

static struct str table_labels(struct arena *mem, const struct bead *b, const char *between)
{
	struct buf out = { .mem = mem };
	size_t count;
	struct str *labels = bead_labels(mem, b, &count);

	for (size_t i = 0; i < count; i++)
		buf_fmt(&out, "%s" STR_FMT, i ? between : "", STR_ARG(labels[i]));
	return buf_str(&out);
}

static struct str table_edges(struct arena *mem, const struct export_issue *issue,
			      enum edge_kind kind, const char *between)
{
	struct buf out = { .mem = mem };

	for (size_t i = 0; i < issue->edges; i++)
		if (edge_is(issue->edge[i].kind, kind))
			buf_fmt(&out, "%s" STR_FMT, out.n ? between : "",
				STR_ARG(issue->edge[i].to));
	return buf_str(&out);
}

/* --- Markdown --- */

static void table_line(struct buf *out, const char *name, struct str value)
{
	if (value.n)
		buf_fmt(out, "- %s: " STR_FMT "\n", name, STR_ARG(value));
}

static void table_section(struct buf *out, const char *name, struct str text)
{
	if (text.n)
		buf_fmt(out, "\n### %s\n\n" STR_FMT "\n", name, STR_ARG(text));
}

struct str export_markdown(struct arena *mem, const struct export_issue *issue)
{
	const struct bead *b = issue->bead;
	struct buf out = { .mem = mem };

	buf_fmt(&out, "## " STR_FMT ": " STR_FMT "\n\n", STR_ARG(b->id),
		STR_ARG(bead_text(mem, b, MEMBER_TITLE)));
	buf_fmt(&out, "- Status: %s\n- Priority: %" PRId64 "\n- Type: %s\n",
		names_word(&bead_statuses, bead_status(b)), bead_int(b, MEMBER_PRIORITY, 2),
		names_word(&bead_types, bead_type(b)));
	table_line(&out, "Assignee", bead_text(mem, b, MEMBER_ASSIGNEE));
	table_line(&out, "Labels", table_labels(mem, b, ", "));
	table_line(&out, "Parent", table_edges(mem, issue, EDGE_PARENT, ", "));
	table_line(&out, "Blocked by", table_edges(mem, issue, EDGE_BLOCKS, ", "));
	table_line(&out, "Created", upstream_time(mem, b->created.at.ms));
	table_line(&out, "Closed", table_time(mem, b, MEMBER_CLOSED_AT));
	table_line(&out, "Close reason", bead_text(mem, b, MEMBER_CLOSED_REASON));
	table_section(&out, "Description", bead_text(mem, b, MEMBER_DESCRIPTION));
	table_section(&out, "Design", bead_text(mem, b, MEMBER_DESIGN));
	table_section(&out, "Acceptance", bead_text(mem, b, MEMBER_ACCEPTANCE_CRITERIA));
	table_section(&out, "Notes", bead_text(mem, b, MEMBER_NOTES_TEXT));
	for (size_t i = 0; i < b->notes; i++)
		buf_fmt(&out, "\n### Comment of " STR_FMT "\n\n" STR_FMT "\n",
			STR_ARG(b->note[i].author), STR_ARG(b->note[i].content));
	return buf_str(&out);
}

/* --- comma-separated values --- */

struct str export_csv_head(void)
{
	return STR("id,title,status,priority,type,assignee,labels,parent,blocked_by,created_at,"
		   "updated_at,closed_at,close_reason,description\n");
}

/* A spreadsheet would run a cell that begins with one of these as a formula. */
static bool table_is_formula(struct str text)
{
	return text.n && strchr("=+-@\t\r", text.p[0]);
}

static void table_cell(struct buf *out, struct str text)
{
	if (out->n)
		buf_char(out, ',');
	if (!table_is_formula(text) && !memchr(text.p ? text.p : "", '"', text.n) &&
	    !memchr(text.p ? text.p : "", ',', text.n) &&
	    !memchr(text.p ? text.p : "", '\n', text.n) &&
	    !memchr(text.p ? text.p : "", '\r', text.n)) {
		buf_put(out, text);
		return;
	}
	buf_put(out, table_is_formula(text) ? STR("\"'") : STR("\""));
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '"')
			buf_char(out, '"');
		buf_char(out, text.p[i]);
	}
	buf_char(out, '"');
}

struct str export_csv(struct arena *mem, const struct export_issue *issue)
{
	const struct bead *b = issue->bead;
	struct buf out = { .mem = mem };

	table_cell(&out, b->id);
	table_cell(&out, bead_text(mem, b, MEMBER_TITLE));
	table_cell(&out, str_of(names_word(&bead_statuses, bead_status(b))));
	table_cell(&out, arena_fmt(mem, "%" PRId64, bead_int(b, MEMBER_PRIORITY, 2)));
	table_cell(&out, str_of(names_word(&bead_types, bead_type(b))));
	table_cell(&out, bead_text(mem, b, MEMBER_ASSIGNEE));
	table_cell(&out, table_labels(mem, b, " "));
	table_cell(&out, table_edges(mem, issue, EDGE_PARENT, " "));
	table_cell(&out, table_edges(mem, issue, EDGE_BLOCKS, " "));
	table_cell(&out, upstream_time(mem, b->created.at.ms));
	table_cell(&out, upstream_time(mem, export_changed(b).at.ms));
	table_cell(&out, table_time(mem, b, MEMBER_CLOSED_AT));
	table_cell(&out, bead_text(mem, b, MEMBER_CLOSED_REASON));
	table_cell(&out, bead_text(mem, b, MEMBER_DESCRIPTION));
	return buf_str(&out);
}
