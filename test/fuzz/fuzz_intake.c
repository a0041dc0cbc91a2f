/*
 * A record of another tracker becomes a bead whose line is read as it was written. Exported and read
 * again it is the same bead, and the export is one line of JSON. A text of Backlog.md becomes no
 * line, or one that is JSON.
 */
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/exchange/export_line.h"
#include "beads/exchange/intake.h"
#include "beads/exchange/readers.h"
#include "beads/model/line.h"
#include "fuzz.h"

enum { NOW = 2000000000 }; /* s */

static struct intake read_record(struct arena *mem, struct str text, const struct value *v)
{
	static const struct import_rename same;
	struct import_findings findings = { .mem = mem };
	struct intake in = {
		.mem = mem, .now_ms = (int64_t)NOW * 1000, .rename = &same, .findings = &findings
	};

	intake_read(&in, text, v);
	intake_end(&in);
	return in;
}

static struct str exported(struct arena *mem, const struct intake *in)
{
	static const struct bead_row live;
	struct export_issue issue = { .bead = &in->bead,
				      .row = in->bead.deleted.by.p ? NULL : &live,
				      .edge = in->edge,
				      .edges = in->edges };

	return export_line(mem, &issue);
}

static void check_record(struct arena *mem, struct str text)
{
	struct value_error error;
	const struct value *v = value_parse_bounded(mem, text, 10000, &error), *again;
	struct intake first, second;
	struct str line, out, why = { 0 };
	struct bead bead;

	if (!v || v->type != VALUE_OBJECT || !bead_id_valid(value_str(v, "id")))
		return;
	first = read_record(mem, text, v);
	line = line_text(mem, &first.bead);
	rule(line_decode(mem, value_read(mem, line), &bead, &why), "a record becomes a valid bead");
	rule(str_eq(line, line_text(mem, &bead)), "the line of the bead is canonical");
	out = exported(mem, &first);
	rule(!memchr(out.p, '\n', out.n), "an export is one line");
	again = value_read(mem, out);
	rule(again, "an export is JSON");
	second = read_record(mem, out, again);
	rule(str_eq(line, line_text(mem, &second.bead)), "an export is read as the same bead");
	rule(str_eq(out, exported(mem, &second)), "an export is exported unchanged");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena mem = { 0 };
	struct str text = fuzz_text(data, size), line = backlog_line(&mem, text);

	rule(!line.p || (value_read(&mem, line) && !memchr(line.p, '\n', line.n)),
	     "a task of Backlog.md becomes a line of JSON");
	if (!memchr(text.p ? text.p : "", '\n', text.n))
		check_record(&mem, text);
	arena_release(&mem);
	return 0;
}
