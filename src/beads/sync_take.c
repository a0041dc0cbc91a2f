#include "beads/commits.h"
#include "beads/lines.h"
#include "beads/sync_parts.h"
#include "beads/validate.h"

enum { BACKUPS = 16 }; /* refs to what was replaced */

static const struct str backups = { "refs/beads/backup/", 18 };

/* Which of them is of the oldest commit; never that of `kept`. */
static size_t oldest_backup(struct sync *s, const struct str *names, size_t count,
			    struct str kept)
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
	s->c->code = ERR_OK;
	return found;
}

enum err sync_backup(struct sync *s, struct str commit)
{
	struct call *c = s->c;
	struct str *names, name = arena_fmt(&c->mem, STR_FMT STR_FMT, STR_ARG(backups),
					    STR_ARG(commit));
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

enum err sync_check(struct sync *s, const struct snapshot *files)
{
	for (const struct finding *f = validate_snapshot(&s->c->mem, files, s->c->now_ms);
	     f; f = f->next)
		for (int i = 0; f->severity == SEVERITY_ERROR && i < SNAPSHOT_FILES; i++)
			if (!strcmp(f->file, snapshot_name((enum snapshot_file)i)))
				return snapshot_fail(s->c, files, (enum snapshot_file)i,
						     (size_t)f->line, f->message);
	return ERR_OK;
}

static size_t count_lines(const struct snapshot *files)
{
	size_t n = 0;

	for (int f = 0; f < FILE_META; f++)
		n += str_count(files->file[f], '\n');
	return n;
}

/* A commit that goes on from our base is the base itself from now on. */
static enum err take_next(struct sync *s, struct str commit, const struct snapshot *old,
			  const struct snapshot *new, bool descends)
{
	struct journal_place upto = { .segment = s->pending.segment,
				      .offset = s->pending.offset };
	struct news news = { .change = state_new(&s->c->mem) };
	enum err e = ERR_OK;

	if (old)
		e = news_between(s->c, old, new, descends, &news);
	else
		news = (struct news){ .change = news.change,
				      .count = count_lines(new),
				      .forgets = true }; /* nothing was known */
	if (e)
		return e;
	s->pulled += (int64_t)news.count;
	sync_report_remaps(s, news.change, NULL);
	if (s->wants->dry) {
		s->base = commit; /* as if; so that nothing is counted twice */
		return ERR_OK;
	}
	if ((e = sync_rebase(s, commit, upto, &news)))
		return e;
	/* the journal may have begun anew, and what came back is to be published */
	return sync_seal(s);
}

/* They went different ways: what is only in our base is joined to the other. */
static enum err take_other(struct sync *s, struct str commit, const struct snapshot *old,
			   const struct snapshot *new)
{
	struct merge m = { .c = s->c, .side = { *new, *old }, .sides = 2 };
	struct str joined, tip = sync_parent(s), parent = commit;
	bool same, moved;
	enum err e = merge_run(&m);

	if (s->remote.url.p && tip.p && repo_reaches(s->repo, s->base, tip))
		parent = s->base; /* it has what was published; the other may not */

	if (e || s->wants->dry)
		return e ? e : take_next(s, commit, old, new, false);
	if ((e = sync_write_commit(s, &m, parent, &joined, &same)) ||
	    (e = sync_move_here(s, joined, &moved)))
		return e;
	if (!moved) /* it has to be kept by some ref */
		e = sync_backup(s, joined);
	return e ? e : take_next(s, joined, old, new, false);
}

/* Is what a commit has already in the base? */
static bool known(struct sync *s, struct str commit)
{
	return !commit.p || (s->base.p && repo_has(s->repo, s->base) &&
			     repo_reaches(s->repo, s->base, commit));
}

struct vanishing {
	struct sync *s;
	const struct snapshot *new;
	int64_t count; /* beads that nobody has deleted, and that are gone */
};

/* Has a commit since our base a tombstone of that id? It may be forgotten by now. */
static bool was_deleted(struct sync *s, struct str commit, struct str id)
{
	struct call *c = s->c;
	struct snapshot files;
	struct commit about;

	while (commit.p && !str_eq(commit, s->base) &&
	       !commit_read(c, s->repo, commit, &files) &&
	       !repo_commit(c, s->repo, commit, &about)) {
		if (files.file[FILE_TOMBSTONES].p &&
		    lines_find(&c->mem, FILE_TOMBSTONES, files.file[FILE_TOMBSTONES], id)
			    .n)
			return true;
		commit = about.parent;
	}
	c->code = ERR_OK;
	return false;
}

static enum err vanishes(void *arg, const struct line_pair *pair)
{
	struct vanishing *v = arg;

	if (!pair->b.p && !was_deleted(v->s, v->new->commit, pair->key))
		v->count++;
	return ERR_OK;
}

/* Lines that are only missing are not deletions: what was known stays, and is said. */
static bool vanished(struct sync *s, const struct snapshot *old,
		     const struct snapshot *new)
{
	struct vanishing v = { .s = s, .new = new };
	struct str why;
	size_t number;

	if (lines_diff(&s->c->mem, FILE_STATE, old->file[FILE_STATE],
		       new->file[FILE_STATE], vanishes, &v, &number, &why) ||
	    !v.count)
		return false; /* what cannot be read is told by whoever reads it */
	sync_warn(s,
		  arena_fmt(&s->c->mem,
			    "%lld beads that nobody deleted were missing at '" STR_FMT
			    "' in commit %.10s; they are kept",
			    (long long)v.count, STR_ARG(s->remote.name), new->commit.p));
	return true;
}

enum err sync_take_in(struct sync *s, struct str commit)
{
	struct call *c = s->c;
	struct snapshot old = { 0 }, new;
	bool first = !s->base.p, apart;
	enum err e;

	if (known(s, commit))
		return ERR_OK;
	apart = !first && !repo_reaches(s->repo, commit, s->base);
	if ((e = commit_read(c, s->repo, commit, &new)))
		return e;
	if ((e = snapshot_check(c, &new))) {
		c->code = ERR_OK; /* a line that is wrong says more than a checksum */
		return sync_check(s, &new) ? c->code : snapshot_check(c, &new);
	}
	if (!first && (e = commit_read(c, s->repo, s->base, &old)))
		return e;
	apart = apart || (!first && vanished(s, &old, &new));
	/* what is joined to is copied, not read */
	if ((first || apart) && (e = sync_check(s, &new)))
		return e;
	if (apart)
		e = take_other(s, commit, &old, &new);
	else
		e = take_next(s, commit, first ? NULL : &old, &new, true);
	repo_forget(s->repo);
	return e;
}
