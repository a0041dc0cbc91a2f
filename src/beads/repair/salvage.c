#include "beads/repair/salvage.h"

#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "beads/model/line.h"
#include "beads/model/lines.h"
#include "beads/model/state.h"

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
	struct map lines;  /* by id: struct salvaged; made when it is first needed */
};

struct salvaged {
	enum snapshot_file file;
	struct str line;
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

static void salvage_tell(struct salvaging *s, const char *action, struct str why, struct str line)
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
static struct str salvage_reason(struct salvaging *s, const struct value *v)
{
	struct str why;

	return snapshot_take(state_new(&s->line), s->file, v, &why) ?
		       STR("it is only a change to a bead") :
		       why;
}

static void salvage_take_line(struct salvaging *s, struct str line, struct str before)
{
	struct arena *mem = &s->line;
	struct str broken;
	const struct value *v = snapshot_parse_line(mem, s->file, line, &broken);
	struct str spelled = v ? snapshot_spelled(mem, s->file, v) : STR_NONE,
		   key = lines_key(mem, s->file, line),
		   last = before.p ? lines_key(mem, s->file, before) : before, why;
	int order = last.p && key.p ? str_cmp(last, key) : -1;

	if (!spelled.p) {
		salvage_tell(s, "set_aside", v ? salvage_reason(s, v) : broken, line);
		return;
	}
	snapshot_take_text(s->out, s->file, line, false, &why);
	if (!order)
		salvage_tell(s, "rewritten", STR("it is there twice; both were joined"), line);
	else if (order > 0)
		salvage_tell(s, "rewritten", STR("it was not in its place"), line);
	else if (!str_eq(line, spelled))
		salvage_tell(s, "rewritten", STR("it was not written in the canonical way"), line);
}

/* --- lines that can be read, and not joined --- */

/* One line of each id: that of state.jsonl, or else that of tombstones.jsonl. */
static void index_lines(struct salvaging *s, const struct snapshot *files)
{
	static const enum snapshot_file order[] = { FILE_STATE, FILE_TOMBSTONES };

	s->lines.mem = s->mem;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		struct str text = files->file[order[i]], line;

		while (text.n && str_next(&text, '\n', &line)) {
			struct str key = lines_key(s->mem, order[i], line);
			struct salvaged *one;
			void **at = key.p ? map_put(&s->lines, key) : NULL;

			if (!at || *at)
				continue;
			one = arena_new(s->mem, struct salvaged);
			*one = (struct salvaged){ order[i], line };
			*at = one;
		}
	}
}

static bool salvage_fits(struct salvaging *s, const struct slot *slot, struct str *why)
{
	struct json tombstone = json_new(&s->line);

	if (slot_live(slot) && !snapshot_take_text(state_new(&s->line), FILE_STATE,
						   line_text(&s->line, slot->bead), false, why))
		return false;
	if (!slot_has_tombstone(slot))
		return true;
	tombstone_encode(&tombstone, slot);
	return snapshot_take_text(state_new(&s->line), FILE_TOMBSTONES, json_text(&tombstone),
				  false, why);
}

/* What one line alone says of an id; NULL: even that is too large. */
static struct slot *read_alone(struct salvaging *s, const struct snapshot *files, struct str id)
{
	struct state *alone = state_new(s->mem);
	const struct salvaged *one;
	struct slot *slot;
	struct str why;
	void **at;

	if (!s->lines.mem)
		index_lines(s, files);
	if (!(at = map_find(&s->lines, id)))
		return NULL;
	one = *at;
	if (!snapshot_take_text(alone, one->file, arena_copy(s->mem, one->line), false, &why) ||
	    !(slot = state_find(alone, id)) || !salvage_fits(s, slot, &why))
		return NULL;
	return slot;
}

/* Lines that can be read may be too large once they are joined, or rewritten. */
static void part_lines(struct salvaging *s, const struct snapshot *files)
{
	for (size_t i = 0; i < s->out->slots.count; i++) {
		struct map_entry *at = &s->out->slots.entry[i];
		struct slot *alone;
		struct str why;

		arena_reset(&s->line);
		if (salvage_fits(s, at->value, &why))
			continue;
		s->file = FILE_TOMBSTONES;
		s->number = 0;
		salvage_tell(s, "set_aside",
			     arena_fmt(s->mem, "'" STR_FMT "' would be too large: " STR_FMT,
				       STR_ARG(at->key), STR_ARG(why)),
			     at->key);
		alone = read_alone(s, files, at->key);
		*(struct slot *)at->value = alone ? *alone : (struct slot){ .id = at->key };
	}
}

size_t salvage(struct arena *mem, const struct snapshot *files, struct state *out,
	       struct json *report)
{
	static const enum snapshot_file order[] = { FILE_TOMBSTONES, FILE_STATE, FILE_DEPS };
	struct salvaging s = { .mem = mem, .out = out, .report = report };

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		struct str text = files->file[order[i]], line, before = { 0 };

		s.file = order[i];
		s.number = 0;
		if (!text.p)
			salvage_tell(&s, "rewritten", STR("the file was missing"), STR(""));
		else if (text.n && text.p[text.n - 1] != '\n')
			salvage_tell(&s, "rewritten", STR("the last line had no end"), STR(""));
		while (text.n && str_next(&text, '\n', &line)) {
			s.number++;
			arena_reset(&s.line);
			salvage_take_line(&s, line, before);
			before = line;
		}
	}
	state_add(out, state_new(mem)); /* deletions that apply to every bead of an id */
	part_lines(&s, files);
	arena_release(&s.line);
	return s.aside;
}
