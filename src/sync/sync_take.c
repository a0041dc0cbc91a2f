/*
 * Takes the commits of other clones into the base. A commit that descends from the base simply
 * becomes the new base, unless it has lost data; otherwise the two are merged into a new commit.
 * Every line is checked before anything is written.
 */
#include "beads/repair/validate.h"
#include "sync/commits.h"
#include "sync/sync_parts.h"

enum { BACKUPS = 16 }; /* maximum number of backup refs */

static const struct str backups = { "refs/beads/backup/", 18 };

/* The index of the backup ref with the oldest commit, never that of `kept`. */
static size_t oldest_backup(struct sync *s, const struct str *names, size_t count, struct str kept)
{
	int64_t oldest = INT64_MAX;
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		struct str of = str_skip(names[i], backups.n);
		struct commit about;

		if (!str_eq(of, kept) && !repo_commit(s->c, s->repo, of, &about) &&
		    about.time_ms < oldest) {
			oldest = about.time_ms;
			found = i;
		}
	}
	call_forgive(s->c);
	return found;
}

enum err sync_backup(struct sync *s, struct str commit)
{
	struct call *c = s->c;
	struct str *names,
		name = arena_fmt(&c->mem, STR_FMT STR_FMT, STR_ARG(backups), STR_ARG(commit));
	size_t count;
	enum err e;

	if ((e = repo_ref_put(c, s->repo, name, commit)) ||
	    (e = repo_refs_below(c, s->repo, backups, &names, &count)))
		return e;
	while (!e && count > BACKUPS) {
		size_t drop = oldest_backup(s, names, count, commit);

		e = repo_ref_drop(c, s->repo, names[drop]);
		names[drop] = names[--count];
	}
	return e;
}

/* Remembers lines that the next commit, made by sync_join(), rewrites in normal form. */
static void keep_to_rewrite(struct sync *s, const struct state *lines)
{
	if (!s->rewritten)
		s->rewritten = state_new(&s->c->mem);
	state_add(s->rewritten, lines);
}

enum err sync_check(struct sync *s, const struct snapshot *files)
{
	struct state *rewritten = state_new(&s->c->mem);
	enum err e = validate_usable(s->c, files, rewritten);

	if (!e)
		keep_to_rewrite(s, rewritten);
	return e;
}

static size_t count_lines(const struct snapshot *files)
{
	size_t n = 0;

	for (int f = 0; f < FILE_META; f++)
		n += str_count(files->file[f], '\n');
	return n;
}

/* Makes the commit the base. It contains the whole old base and this news. */
static enum err take_next(struct sync *s, struct str commit, const struct news *news)
{
	struct journal_place upto = { .segment = s->pending.segment, .offset = s->pending.offset };
	enum err e;

	s->pulled += (int64_t)news->count;
	sync_report_remaps(s, news->change, NULL);
	if (s->wants->dry) {
		s->base = commit; /* a dry run pretends, so that nothing is counted twice */
		return ERR_OK;
	}
	if ((e = sync_rebase(s, commit, upto, news)))
		return e;
	/* seal again: the journal may have restarted, and beads written back must be published */
	return sync_seal(s);
}

/* Merges our base into the commit, because their histories diverged or the commit has lost data. */
static enum err take_other(struct sync *s, struct merge *m)
{
	struct str joined, tip = sync_parent(s), parent = m->side[0].commit;
	struct snapshot both;
	struct news news;
	bool same, moved;
	enum err e = sync_fits_change(s, &m->side[0], &m->side[1], s->pending.change);

	if (e)
		return e;
	if (s->remote.url.p && tip.p && repo_reaches(s->repo, s->base, tip))
		parent = s->base; /* the base has all published commits; the other side may not */

	if (s->wants->dry) {
		e = news_between(s->c, &m->side[1], &m->side[0], false, &news);
		return e ? e : take_next(s, m->side[0].commit, &news);
	}
	if ((e = sync_write_commit(s, m, parent, &joined, &same)) ||
	    (e = sync_move_here(s, joined, &moved)))
		return e;
	if (!moved) /* some ref has to keep the commit */
		e = sync_backup(s, joined);
	if (e || (e = commit_read(s->c, s->repo, joined, &both)) ||
	    (e = news_between(s->c, &m->side[1], &both, true, &news)))
		return e;
	keep_to_rewrite(s, news.rewritten);
	return take_next(s, joined, &news);
}

/* Whether the base already contains the commit. */
static bool sync_take_known(struct sync *s, struct str commit)
{
	return !commit.p ||
	       (s->base.p && repo_has(s->repo, s->base) && repo_reaches(s->repo, s->base, commit));
}

static void say_lost(struct sync *s, const struct merge *m)
{
	size_t lost = m->count + m->meta_changed;

	sync_warn(s,
		  arena_fmt(&s->c->mem,
			    "commit %.10s of '" STR_FMT
			    "' lacked %zu published change%s, which %s restored",
			    m->side[0].commit.p, STR_ARG(s->remote.url.p ? s->remote.name : s->ref),
			    lost, lost == 1 ? "" : "s", lost == 1 ? "was" : "were"));
}

/*
 * A merge copies lines without reading them, so they are checked before. Which of them to rewrite
 * is decided after it: a line may belong to a bead that gets another id.
 */
static enum err take_check(struct sync *s, const struct snapshot *new)
{
	return validate_usable(s->c, new, state_new(&s->c->mem));
}

/*
 * Compares our base with a commit that descends from it. The merge then has what the commit lacks.
 */
static enum err take_news(struct sync *s, struct merge *m, struct news *news, bool *lost)
{
	const struct snapshot *new = &m->side[0];
	enum err e;

	if ((e = news_between(s->c, &m->side[1], new, true, news)) || (e = sync_lost(s, m, lost)) ||
	    !*lost || (e = take_check(s, new)))
		return e;
	say_lost(s, m);
	return ERR_OK;
}

/* Takes over a commit if there is a base: merges the two, unless the commit contains the base. */
static enum err take_more(struct sync *s, struct str commit, const struct snapshot *new)
{
	struct arena mem = { 0 };
	struct merge m = { .c = s->c, .mem = &mem, .side = { *new }, .sides = 2 };
	bool lost = true;
	struct news news;
	enum err e = commit_read(s->c, s->repo, s->base, &m.side[1]);

	if (!e && repo_reaches(s->repo, commit, s->base))
		e = take_news(s, &m, &news, &lost);
	else if (!e && !(e = take_check(s, new)))
		e = merge_run(&m);
	if (!e && lost)
		e = take_other(s, &m);
	arena_release(&mem);
	if (e || lost)
		return e;
	keep_to_rewrite(s, news.rewritten);
	e = sync_fits_change(s, new, NULL, s->pending.change);
	return e ? e : take_next(s, commit, &news);
}

static enum err take_first(struct sync *s, struct str commit, const struct snapshot *new)
{
	struct news all = { .change = state_new(&s->c->mem),
			    .count = count_lines(new),
			    .forgets = true }; /* read everything from the commit */
	enum err e = sync_fits_itself(s, new);

	if (!e)
		e = sync_fits_change(s, new, NULL, s->pending.change);
	return e ? e : take_next(s, commit, &all);
}

enum err sync_take_in(struct sync *s, struct str commit)
{
	struct call *c = s->c;
	struct snapshot new;
	enum err e;

	if (sync_take_known(s, commit))
		return ERR_OK;
	if ((e = commit_read(c, s->repo, commit, &new)))
		return e;
	if ((e = snapshot_check(c, &new))) {
		call_forgive(c);
		return sync_check(s, &new);
	}
	if (s->base.p)
		e = take_more(s, commit, &new);
	else if (!(e = sync_check(s, &new)))
		e = take_first(s, commit, &new);
	repo_forget(s->repo);
	return e;
}
