#include "beads/repair/salvage.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "beads/model/line.h"
#include "beads/model/lines.h"
#include "beads/model/merge.h"
#include "beads/model/state.h"

enum {
	SHOWN = 2000,       /* columns of a line that are shown */
	SHOWN_BYTES = 8000, /* bytes that are enough for these columns */
	TOLD_MOST = 1000,   /* lines that are listed; of more, only the number */
	ROUNDS = 3,         /* rounds of joining the lines of one id in two files */
};

/* A readable line, in canonical form. */
struct salvaged {
	struct str key, text;
	size_t number;
};

struct salvaging {
	struct call *c;
	struct json *report;
	enum snapshot_file file;
	size_t number, aside, told;
	struct arena line; /* for one */

	/* of one file */
	struct arena index;
	struct salvaged *list;
	size_t count, cap;
	bool sorted;

	struct state *loose; /* the join of several lines of one id */
	struct snapshot out;
};

struct str salvage_shown(struct arena *mem, struct str line)
{
	struct buf b = { .mem = mem };

	line = str_head(line, SHOWN_BYTES);
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
	json_put_str(s->report, "text", salvage_shown(&s->line, line));
	json_end(s->report);
}

/* Why a line cannot be kept. */
static struct str salvage_reason(struct salvaging *s, const struct value *v)
{
	struct str why;

	return snapshot_take(state_new(&s->line), s->file, v, &why) ?
		       STR("it is only a change to a bead") :
		       why;
}

/* Can the line that would be written be read again? */
static bool salvage_readable(struct salvaging *s, enum snapshot_file file, struct str text,
			     struct str *why)
{
	return snapshot_take_text(state_new(&s->line), file, text, false, why);
}

/* --- the lines of a file --- */

static void salvage_add(struct salvaging *s, struct str text)
{
	struct salvaged one = { .text = text, .number = s->number };
	int order;

	if (s->count == s->cap) {
		size_t cap = s->cap ? 2 * s->cap : 64;

		s->list = arena_stretch(&s->index, s->list, s->cap * sizeof one, cap * sizeof one);
		s->cap = cap;
	}
	one.key = lines_key(&s->index, s->file, text);
	order = s->count ? str_cmp(s->list[s->count - 1].key, one.key) : -1;
	s->sorted = s->sorted && order <= 0;
	s->list[s->count++] = one;
	if (order > 0)
		salvage_tell(s, "rewritten", STR("it was out of order"), text);
}

static void salvage_take_line(struct salvaging *s, struct str line)
{
	struct str why;
	const struct value *v = snapshot_parse_line(&s->line, s->file, line, &why);
	struct str spelled = v ? snapshot_spelled(&s->line, s->file, v) : STR_NONE;
	bool same = str_eq(line, spelled);

	if (!spelled.p) {
		salvage_tell(s, "set_aside", v ? salvage_reason(s, v) : why, line);
	} else if (!same && !salvage_readable(s, s->file, spelled, &why)) {
		salvage_tell(s, "set_aside",
			     arena_fmt(&s->line, "in its normal form, " STR_FMT, STR_ARG(why)),
			     line);
	} else {
		salvage_add(s, same ? line : arena_copy(&s->c->mem, spelled));
		if (!same)
			salvage_tell(s, "rewritten", STR("it was not in canonical form"), line);
	}
}

static void salvage_read_file(struct salvaging *s, struct str text)
{
	struct str line;

	s->number = s->count = 0;
	s->sorted = true;
	if (!text.p)
		salvage_tell(s, "rewritten", STR("the file was missing"), STR(""));
	else if (text.n && text.p[text.n - 1] != '\n')
		salvage_tell(s, "rewritten", STR("the last line had no end"), STR(""));
	while (text.n && str_next(&text, '\n', &line)) {
		s->number++;
		arena_reset(&s->line);
		salvage_take_line(s, line);
	}
}

/* --- lines of one key --- */

/* Joins halves recursively. Joining one line after the other would copy a growing bead for each of
 * very many lines. */
static struct state *salvage_join(struct salvaging *s, const struct salvaged *list, size_t count,
				  struct arena *mem)
{
	struct state *out = state_new(mem);
	struct arena half = { 0 };
	struct str why;

	if (count == 1) {
		snapshot_take_text(out, s->file, list->text, false, &why);
		return out;
	}
	state_add(out, salvage_join(s, list, count / 2, &half));
	arena_release(&half);
	state_add(out, salvage_join(s, list + count / 2, count - count / 2, &half));
	arena_release(&half);
	return out;
}

/* The one line for a joined state; absent: it needs more than one. */
static struct str salvage_line_of(struct salvaging *s, const struct state *joined, struct str key)
{
	const struct slot *slot;

	if (s->file == FILE_DEPS)
		return edge_text(&s->line, joined->edges.entry[0].value);
	slot = joined->slots.count == 1 ? state_find(joined, key) : NULL;
	if (!slot || slot_has_tombstone(slot) != (s->file == FILE_TOMBSTONES) ||
	    slot_live(slot) != (s->file == FILE_STATE))
		return STR_NONE;
	return s->file == FILE_STATE ? line_text(&s->line, slot->bead) :
				       tombstone_text(&s->line, slot);
}

static bool salvage_slot_fits(struct salvaging *s, const struct slot *slot, struct str *why)
{
	if (slot_live(slot) &&
	    !salvage_readable(s, FILE_STATE, line_text(&s->line, slot->bead), why))
		return false;
	return !slot_has_tombstone(slot) ||
	       salvage_readable(s, FILE_TOMBSTONES, tombstone_text(&s->line, slot), why);
}

static bool salvage_state_fits(struct salvaging *s, const struct state *joined, struct str *why)
{
	for (size_t i = 0; i < joined->slots.count; i++)
		if (!salvage_slot_fits(s, joined->slots.entry[i].value, why))
			return false;
	return true;
}

static void salvage_too_large(struct salvaging *s, struct str key, struct str why)
{
	salvage_tell(s, "set_aside",
		     arena_fmt(&s->line, "'" STR_FMT "' would be too large: " STR_FMT, STR_ARG(key),
			       STR_ARG(why)),
		     key);
}

/* Skips duplicates of the line before. */
static size_t salvage_unique(struct salvaged *list, size_t count)
{
	size_t kept = 1;

	for (size_t i = 1; i < count; i++)
		if (!str_eq(list[i].text, list[kept - 1].text))
			list[kept++] = list[i];
	return kept;
}

/* Joins several lines of one key; if the result cannot be kept, the first line stays. */
static struct str salvage_join_lines(struct salvaging *s, struct salvaged *list, size_t count)
{
	struct str key = list[0].key, text = list[0].text, joined_text, why;
	struct arena mem = { 0 };
	struct state *joined;

	arena_reset(&s->line);
	s->number = list[1].number;
	salvage_tell(s, "rewritten",
		     count == 2 ?
			     STR("it occurs twice; both were merged") :
			     arena_fmt(&s->line, "it occurs %zu times; all were merged", count),
		     list[1].text);
	if ((count = salvage_unique(list, count)) == 1)
		return text;
	joined = salvage_join(s, list, count, &mem);
	joined_text = salvage_line_of(s, joined, key);
	if (joined_text.p ? !salvage_readable(s, s->file, joined_text, &why) :
			    !salvage_state_fits(s, joined, &why)) {
		salvage_too_large(s, key, why);
	} else if (joined_text.p) {
		text = arena_copy(&s->c->mem, joined_text);
	} else {
		state_add(s->loose, joined);
		text = STR_NONE;
	}
	arena_release(&mem);
	return text;
}

static int salvage_by_key(const void *a, const void *b)
{
	const struct salvaged *x = a, *y = b;
	int order = str_cmp(x->key, y->key);

	return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

static void salvage_write_file(struct salvaging *s)
{
	struct buf out = { .mem = &s->c->mem };
	size_t n;

	if (!s->sorted)
		qsort(s->list, s->count, sizeof *s->list, salvage_by_key);
	for (size_t i = 0; i < s->count; i += n) {
		struct str text = s->list[i].text;

		for (n = 1; i + n < s->count && str_eq(s->list[i + n].key, s->list[i].key);)
			n++;
		if (n > 1)
			text = salvage_join_lines(s, &s->list[i], n);
		if (!text.p)
			continue;
		buf_put(&out, text);
		buf_char(&out, '\n');
	}
	s->out.file[s->file] = buf_str(&out);
}

/* --- all files together --- */

/* Reads the valid members of meta.json. */
static void salvage_read_meta(struct salvaging *s, const struct snapshot *files)
{
	struct call *c = s->c;
	struct state *known = state_new(&c->mem);
	struct str sum[FILE_META];

	snapshot_read_meta(c, files, known);
	call_forgive(c); /* keep the known prefix if meta.json has none */
	for (int f = 0; f < FILE_META; f++)
		sum[f] = sha256_hex(&c->mem, s->out.file[f]);
	s->out.file[FILE_META] = snapshot_meta(&c->mem, known, sum);
}

/* Ids for which the merge made a line that could not be read. */
static struct map salvage_find_misfits(struct salvaging *s, const struct merge *m)
{
	struct map out = { .mem = &s->c->mem };

	for (size_t i = 0; i < m->count; i++) {
		const struct line_change *change = &m->changes[i];
		struct str why;

		arena_reset(&s->line);
		if (!change->new.p || salvage_readable(s, change->file, change->new, &why) ||
		    map_find(&out, change->key))
			continue;
		s->file = FILE_TOMBSTONES;
		s->number = 0;
		salvage_too_large(s, change->key, why);
		map_put(&out, change->key);
	}
	return out;
}

/* Keeps the line of state.jsonl, or without one that of tombstones.jsonl. */
static void salvage_drop(struct salvaging *s, const struct map *ids)
{
	struct buf out = { .mem = &s->c->mem };
	struct str text = s->out.file[FILE_TOMBSTONES], line;

	while (text.n && str_next(&text, '\n', &line)) {
		struct str id = lines_key(&s->line, FILE_TOMBSTONES, line);

		if (map_find(ids, id) &&
		    lines_find(&s->line, FILE_STATE, s->out.file[FILE_STATE], id).n)
			continue;
		buf_put(&out, line);
		buf_char(&out, '\n');
	}
	s->out.file[FILE_TOMBSTONES] = buf_str(&out);
	for (size_t i = 0; i < ids->count; i++)
		if (map_find(&s->loose->slots, ids->entry[i].key))
			*state_find(s->loose, ids->entry[i].key) =
				(struct slot){ .id = ids->entry[i].key };
}

/* Joins the lines of an id that is in both files, or that several beads were given. */
static enum err salvage_join_files(struct salvaging *s)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct merge m = { .c = s->c, .side = { s->out }, .sides = 1, .change = s->loose };
		struct map misfits;
		enum err e;

		state_add(s->loose, merge_own_ids(&s->c->mem, &s->out));
		if (!s->loose->slots.count)
			return ERR_OK;
		if ((e = merge_run(&m)))
			return e;
		misfits = salvage_find_misfits(s, &m);
		if (!misfits.count) {
			s->out = merge_files(&m);
			return ERR_OK;
		}
		salvage_drop(s, &misfits);
	}
	return ERR_OK; /* the unchanged lines */
}

enum err salvage(struct call *c, const struct snapshot *files, struct json *report,
		 struct snapshot *out, size_t *aside)
{
	static const enum snapshot_file order[] = { FILE_TOMBSTONES, FILE_STATE, FILE_DEPS };
	struct salvaging s = { .c = c, .report = report, .loose = state_new(&c->mem) };
	enum err e;

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		s.file = order[i];
		salvage_read_file(&s, files->file[order[i]]);
		salvage_write_file(&s);
		s.list = NULL;
		s.cap = 0;
		arena_release(&s.index);
	}
	salvage_read_meta(&s, files);
	e = salvage_join_files(&s);
	arena_release(&s.line);
	*out = s.out;
	*aside = s.aside;
	return e;
}
