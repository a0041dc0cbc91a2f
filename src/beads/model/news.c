#include "beads/model/news.h"

#include "beads/model/lines.h"

struct news_comparing {
	struct call *c;
	const struct snapshot *now;
	enum snapshot_file file;
	bool forgets;
	struct news *out;
	struct arena scratch;
	struct arena line; /* for a line that is checked and not kept */
};

static void news_add_gone(struct arena *mem, struct news *out, struct str id)
{
	out->gone.mem = mem;
	if (!map_find(&out->gone, id))
		map_put(&out->gone, arena_copy(mem, id));
}

static void news_note_gone(struct news_comparing *k, struct str id)
{
	for (int f = FILE_STATE; f <= FILE_TOMBSTONES; f++)
		if (lines_find(&k->scratch, (enum snapshot_file)f, k->now->file[f], id).n)
			return;
	news_add_gone(&k->c->mem, k->out, id);
}

/* A remapped bead may have been collected under its new id since. */
static void news_note_gone_remaps(struct news_comparing *k)
{
	const struct map *slots = &k->out->change->slots;

	for (size_t i = 0; i < slots->count; i++) {
		const struct slot *slot = slots->entry[i].value;

		for (size_t n = 0; n < slot->remaps; n++)
			news_note_gone(k, slot->remap[n].to);
	}
}

/* A remapped bead takes its edges along. If the bead that keeps the id has the same edges, they
 * are not in the news, but joining the news would move them. */
static bool news_has_remaps(const struct state *change)
{
	for (size_t i = 0; i < change->slots.count; i++)
		if (((const struct slot *)change->slots.entry[i].value)->remaps)
			return true;
	return false;
}

/* Reads a line strictly, and keeps it unless there are too many. */
static bool news_take_line(struct news_comparing *k, struct str line, struct str *why)
{
	bool told = !news_too_many(k->out) ||
		    (k->file == FILE_TOMBSTONES && str_has(line, STR("\"remap\":")));
	const struct value *v;
	enum taken taken = TAKEN_NOT;

	arena_reset(&k->line);
	v = snapshot_parse_line(&k->line, k->file, line, why);
	if (v &&
	    snapshot_keep(told ? k->out->change : state_new(&k->line), &k->line, k->file, v, why))
		taken = snapshot_compare(&k->line, k->file, v, line, why);
	if (taken == TAKEN_REWRITTEN)
		snapshot_keep(k->out->rewritten, &k->line, k->file, v, why);
	return taken != TAKEN_NOT;
}

static enum err news_take(void *arg, const struct line_pair *pair)
{
	struct news_comparing *k = arg;
	struct str why;

	k->out->count++;
	k->out->bytes += pair->b.n;
	if (!pair->b.p && k->forgets) {
		/* a line of a bead may be replaced by a tombstone; other lines may not vanish */
		k->out->forgets = k->out->forgets || k->file != FILE_STATE;
		if (k->file != FILE_DEPS)
			news_note_gone(k, pair->key);
	}
	if (!pair->b.p || news_take_line(k, pair->b, &why))
		return ERR_OK;
	return snapshot_fail(k->c, k->now, k->file, pair->number, why);
}

enum err news_between(struct call *c, const struct snapshot *before, const struct snapshot *now,
		      bool forgets, struct news *out)
{
	static const enum snapshot_file order[] = { FILE_TOMBSTONES, FILE_STATE, FILE_DEPS };
	struct news_comparing k = { .c = c, .now = now, .forgets = forgets, .out = out };
	enum err e;

	*out = (struct news){ .change = state_new(&c->mem), .rewritten = state_new(&c->mem) };
	e = snapshot_read_meta(c, now, out->change);
	for (size_t i = 0; !e && i < sizeof order / sizeof *order; i++) {
		size_t number;
		struct str why;

		k.file = order[i];
		e = lines_diff(&k.scratch, k.file, before->file[k.file], now->file[k.file],
			       news_take, &k, &number, &why);
		if (e && why.p)
			e = snapshot_fail(c, now, k.file, number, why);
	}
	if (!e && forgets)
		news_note_gone_remaps(&k);
	out->forgets = out->forgets || out->gone.count || news_has_remaps(out->change);
	arena_release(&k.scratch);
	arena_release(&k.line);
	return e;
}

void news_of_merge(const struct merge *m, struct news *out)
{
	*out = (struct news){ .change = state_new(&m->c->mem) };
	for (size_t i = 0; m->collect_before && i < m->count; i++) {
		const struct line_change *change = &m->changes[i];

		if (change->new.p || change->file == FILE_STATE)
			continue;
		out->forgets = true;
		if (change->file == FILE_TOMBSTONES && !merge_change(m, FILE_STATE, change->key))
			news_add_gone(&m->c->mem, out, change->key);
	}
}
