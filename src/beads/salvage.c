#include "beads/salvage.h"

#include "base/json.h"
#include "base/utf8.h"
#include "base/value.h"
#include "beads/lines.h"
#include "beads/state.h"

enum {
	SHOWN = 2000,     /* columns of a line */
	TOLD_MOST = 1000, /* lines; of more, only their number */
};

struct salvaging {
	struct arena *mem;
	struct state *out;
	struct json *report;
	enum snapshot_file file;
	size_t number, aside, told;
	struct arena line; /* for one */
};

struct str salvage_shown(struct arena *mem, struct str line)
{
	struct buf b = { .mem = mem };

	for (size_t i = 0; i < line.n;) {
		uint32_t point;
		size_t n = utf8_decode(str_skip(line, i), &point);

		if (n)
			buf_put(&b, (struct str){ line.p + i, n });
		else
			buf_char(&b, '?');
		i += n ? n : 1;
	}
	return utf8_shorten(mem, buf_str(&b), SHOWN);
}

static void tell(struct salvaging *s, const char *action, struct str why, struct str line)
{
	s->aside += !strcmp(action, "set_aside");
	if (++s->told > TOLD_MOST)
		return;
	json_object(s->report);
	json_put_str(s->report, "file", str_of(snapshot_name(s->file)));
	json_put_int(s->report, "line", (int64_t)s->number);
	json_put_str(s->report, "action", str_of(action));
	json_put_str(s->report, "why", why);
	json_put_str(s->report, "text", salvage_shown(s->mem, line));
	json_end(s->report);
}

/* Why a line says nothing that can be kept. */
static struct str reason(struct salvaging *s, const struct value *v)
{
	struct str why;

	return snapshot_take(state_new(&s->line), s->file, v, &why) ?
		       STR("it is only a change to a bead") :
		       why;
}

static void take_line(struct salvaging *s, struct str line, struct str before)
{
	struct arena *mem = &s->line;
	struct str broken;
	const struct value *v = snapshot_parse_line(mem, s->file, line, &broken);
	struct str spelled = v ? snapshot_spelled(mem, s->file, v) : (struct str){ 0 },
		   key = lines_key(mem, s->file, line),
		   last = before.p ? lines_key(mem, s->file, before) : before, why;
	int order = last.p && key.p ? str_cmp(last, key) : -1;

	if (!spelled.p) {
		tell(s, "set_aside", v ? reason(s, v) : broken, line);
		return;
	}
	snapshot_take_text(s->out, s->file, line, false, &why);
	if (!order)
		tell(s, "rewritten", STR("it is there twice; both were joined"), line);
	else if (order > 0)
		tell(s, "rewritten", STR("it was not in its place"), line);
	else if (!str_eq(line, spelled))
		tell(s, "rewritten", STR("it was not written in the canonical way"),
		     line);
}

size_t salvage(struct arena *mem, const struct snapshot *files, struct state *out,
	       struct json *report)
{
	static const enum snapshot_file order[] = { FILE_TOMBSTONES, FILE_STATE,
						    FILE_DEPS };
	struct salvaging s = { .mem = mem, .out = out, .report = report };

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		struct str text = files->file[order[i]], line, before = { 0 };

		s.file = order[i];
		s.number = 0;
		if (!text.p)
			tell(&s, "rewritten", STR("the file was missing"), STR(""));
		else if (text.n && text.p[text.n - 1] != '\n')
			tell(&s, "rewritten", STR("the last line had no end"), STR(""));
		while (text.n && str_next(&text, '\n', &line)) {
			s.number++;
			arena_reset(&s.line);
			take_line(&s, line, before);
			before = line;
		}
	}
	arena_release(&s.line);
	state_add(out, state_new(mem)); /* what was deleted whole, whoever had it */
	return s.aside;
}
