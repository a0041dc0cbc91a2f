/*
 * Merging two valid lines may produce a line, or a file, beyond the limits that every reader
 * enforces. A merge is therefore checked before anything is written; if it does not fit, the sync
 * is refused and nothing changes.
 */
#include "base/number.h"
#include "beads/model/lines.h"
#include "beads/model/record.h"
#include "beads/model/state.h"
#include "sync/sync_parts.h"

struct fitting {
	struct sync *s;
	const struct merge *m;
	struct misfit *first, **last;
};

static struct misfit *add_misfit(struct fitting *f, enum snapshot_file file, struct str key,
				 struct str why)
{
	struct arena *mem = &f->s->c->mem;
	struct misfit *one = arena_new(mem, struct misfit);

	*one = (struct misfit){ .file = file, .key = key, .why = arena_copy(mem, why) };
	*f->last = one;
	f->last = &one->next;
	return one;
}

static void sync_fit_check_lines(struct fitting *f)
{
	struct arena line = { 0 };

	for (size_t i = 0; i < f->m->count; i++) {
		const struct line_change *change = &f->m->changes[i];
		struct str why;

		arena_reset(&line);
		if (change->new.p &&
		    !snapshot_take_text(state_new(&line), change->file, change->new, false, &why))
			add_misfit(f, change->file, change->key, why);
	}
	arena_release(&line);
}

/*
 * The merge also joins members of meta.json that this program does not know, so they may grow too
 * large.
 */
static void sync_fit_check_meta(struct fitting *f)
{
	const struct str sum =
		STR("0000000000000000000000000000000000000000000000000000000000000000");
	struct arena mem = { 0 };
	struct snapshot files = { 0 };
	struct str why;

	if (f->m->meta_changed) {
		files.file[FILE_META] =
			snapshot_meta(&mem, f->m->joined, (struct str[]){ sum, sum, sum });
		if (!snapshot_parse_meta(&mem, &files, &why))
			add_misfit(f, FILE_META, STR_NONE, why);
	}
	arena_release(&mem);
}

static void sync_fit_check_files(struct fitting *f)
{
	int64_t size[FILE_META];

	for (int i = 0; i < FILE_META; i++)
		size[i] = (int64_t)f->m->side[0].file[i].n;
	for (size_t i = 0; i < f->m->count; i++) {
		const struct line_change *change = &f->m->changes[i];

		size[change->file] += change->new.p ? (int64_t)change->new.n + 1 : 0;
		size[change->file] -= change->old.p ? (int64_t)change->old.n + 1 : 0;
	}
	for (int i = 0; i < FILE_META; i++)
		if (size[i] > f->s->file_most)
			add_misfit(f, (enum snapshot_file)i, STR_NONE,
				   arena_fmt(&f->s->c->mem,
					     "it has %lld bytes, and at most %lld are read",
					     (long long)size[i], (long long)f->s->file_most))
				->size = size[i];
}

struct misfit *sync_misfits(struct sync *s, const struct merge *m)
{
	struct fitting f = { .s = s, .m = m };

	f.last = &f.first;
	sync_fit_check_lines(&f);
	sync_fit_check_meta(&f);
	sync_fit_check_files(&f);
	return f.first;
}

static size_t sync_fit_line_of(struct sync *s, const struct snapshot *files,
			       enum snapshot_file file, struct str key)
{
	struct str text = files->file[file], line = lines_find(&s->c->mem, file, text, key);

	return line.n ? str_count(str_head(text, (size_t)(line.p - text.p)), '\n') + 1 : 0;
}

size_t sync_place_of(struct sync *s, const struct snapshot *files, const struct misfit *misfit,
		     enum snapshot_file *file)
{
	enum snapshot_file other = misfit->file == FILE_STATE ? FILE_TOMBSTONES : FILE_STATE;
	size_t line;

	*file = misfit->file;
	if (!misfit->key.p)
		return *file == FILE_META;
	if ((line = sync_fit_line_of(s, files, *file, misfit->key)) || *file == FILE_DEPS)
		return line;
	if ((line = sync_fit_line_of(s, files, other, misfit->key)))
		*file = other;
	return line;
}

static enum err refuse_line(struct sync *s, const struct snapshot *files,
			    const struct misfit *misfit)
{
	enum snapshot_file file;
	size_t line = sync_place_of(s, files, misfit, &file);

	snapshot_fail(s->c, files, file, line,
		      arena_fmt(&s->c->mem,
				"'" STR_FMT "' cannot be merged with the local data: " STR_FMT,
				STR_ARG(misfit->key), STR_ARG(misfit->why)));
	return call_step(s->c,
			 "Your own work is safe. Run 'bd repair --apply', which takes that line "
			 "as it is and keeps your version of '" STR_FMT "' as another bead.",
			 STR_ARG(misfit->key));
}

enum err sync_refuse(struct sync *s, const struct snapshot *files, const struct misfit *misfit)
{
	if (misfit->key.p)
		return refuse_line(s, files, misfit);
	snapshot_fail(s->c, files, misfit->file, misfit->file == FILE_META,
		      arena_fmt(&s->c->mem, "merged with the local data, " STR_FMT,
				STR_ARG(misfit->why)));
	if (misfit->file == FILE_META)
		return call_step(s->c, "Your own work is safe. Run 'bd repair --apply', which "
				       "takes that file as it is.");
	return call_step(s->c,
			 "Your own work is safe. If that size is expected, raise the limit: 'bd "
			 "config set sync.max_file " STR_FMT "'.",
			 STR_ARG(number_size(&s->c->mem, misfit->size)));
}

enum err sync_fits(struct sync *s, const struct merge *m)
{
	const struct misfit *first = sync_misfits(s, m);

	return first ? sync_refuse(s, &m->side[0], first) : ERR_OK;
}

enum err sync_fits_change(struct sync *s, const struct snapshot *commit,
			  const struct snapshot *known, const struct state *change)
{
	struct arena mem = { 0 };
	struct merge m = {
		.c = s->c, .mem = &mem, .side = { *commit }, .sides = 1, .change = change
	};
	enum err e;

	if (record_empty(change))
		return ERR_OK;
	if (known)
		m.side[m.sides++] = *known;
	if (!(e = merge_run(&m)))
		e = sync_fits(s, &m);
	arena_release(&mem);
	return e;
}

enum err sync_fits_itself(struct sync *s, const struct snapshot *files)
{
	return sync_fits_change(s, files, NULL, merge_own_ids(&s->c->mem, files));
}
