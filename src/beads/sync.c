#include "beads/sync.h"

#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform.h"
#include "base/spawn.h"
#include "base/value.h"
#include "beads/beads.h"
#include "beads/commits.h"
#include "beads/config.h"
#include "beads/foreign.h"
#include "beads/line.h"
#include "beads/lines.h"
#include "beads/merge.h"
#include "beads/message.h"
#include "beads/record.h"
#include "beads/salvage.h"
#include "beads/sync_state.h"
#include "beads/validate.h"
#include "store/repo_remote.h"

enum {
	BACKUPS = 16,    /* refs to what was replaced */
	PACK_AFTER = 64, /* commits */
	PACK_LOOK = 100000,
	BIG_NEWS = 2000, /* lines; more are not told one by one */
	JITTER_MS = 40,  /* of the first wait after a lost race; it doubles */
	JITTER_MOST = 1000,
};

/*
 * Of commits: `base` is what the journal says has all before a place; `there` is where
 * the remote's ref is, `seen` where it was when we last looked; `here` is our own ref.
 */
struct sync {
	struct call *c;
	const struct sync_wants *wants;
	struct beads b;
	struct repo *repo;
	struct remote remote;
	struct str ref, tracking;
	struct str base, there, seen, here;
	struct str made; /* a commit of ours that may not have been published */
	struct pending pending;
	struct journal_place sealed;
	struct news forgot; /* on the way to the commit */
	struct json remapped;
	struct map reported;
	int64_t pulled, pushed, attempts, started_ms;
	struct str warning;
	bool published;
};

static int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void doing(struct sync *s, const char *what)
{
	if (s->wants->doing)
		s->wants->doing(what, s->remote.name);
}

static void warn(struct sync *s, struct str text)
{
	if (s->warning.p && str_has(s->warning, text))
		return;
	s->warning = s->warning.p ? arena_fmt(&s->c->mem, STR_FMT "; " STR_FMT,
					      STR_ARG(s->warning), STR_ARG(text)) :
				    text;
}

/* --- the journal and the cache --- */

static enum err open_writer(struct sync *s)
{
	return s->wants->begin ? beads_open_new(s->c, &s->b) :
				 beads_open(s->c, BEADS_WRITE, &s->b);
}

/* What is not in a commit yet, up to where the journal ends now, and on the medium. */
static enum err seal(struct sync *s)
{
	struct call *c = s->c;
	enum err e = open_writer(s);

	if (e)
		return e;
	s->sealed = s->b.about.place;
	if (!(e = beads_pending(c, &s->b, &s->pending)))
		e = beads_settle(c, &s->b);
	beads_close(&s->b);
	s->base = s->pending.base;
	return e;
}

/* The bead of an id as a commit has it, deleted or not. */
static void read_again(struct call *c, const struct snapshot *old, struct str id,
		       struct state *again)
{
	struct str why,
		tombstone = lines_find(&c->mem, FILE_TOMBSTONES,
				       old->file[FILE_TOMBSTONES], id),
		line = lines_find(&c->mem, FILE_STATE, old->file[FILE_STATE], id);
	struct value_error error;

	if (tombstone.n)
		state_read_tombstone(again, value_parse(&c->mem, tombstone, &error),
				     &why);
	if (line.n)
		state_read_bead(again, value_parse(&c->mem, line, &error), &why);
}

/*
 * Ids that are gone from the base, but were written to here after what the new one has,
 * come back whole: a change alone is no bead. A deletion that is in it is no such write.
 */
static enum err keep_written(struct sync *s, const struct record *r,
			     const struct news *news, struct state *again)
{
	struct call *c = s->c;
	struct snapshot old = { 0 };
	struct state *since;
	struct pending now;
	enum err e;

	if (!news->gone_count)
		return ERR_OK;
	if ((e = beads_pending(c, &s->b, &now)) ||
	    (e = beads_since(c, &s->b, r, &since)) ||
	    (e = commit_read(c, s->repo, now.base, &old)))
		return e;
	for (size_t i = 0; i < news->gone_count; i++) {
		const struct slot *slot = state_find(since, news->gone[i]);

		if (slot && slot->bead)
			read_again(c, &old, news->gone[i], again);
	}
	return ERR_OK;
}

/*
 * From now on this commit is the base. What is new in it is told line by line, unless
 * that is too much, or something was forgotten: an id may be another's since.
 */
static enum err rebase(struct sync *s, struct str commit, struct journal_place upto,
		       const struct news *news)
{
	struct call *c = s->c;
	bool whole = news->count > BIG_NEWS || news->forgets;
	struct record r = { .change = whole ? state_new(&c->mem) : news->change,
			    .base = commit,
			    .segment = upto.segment,
			    .offset = upto.offset,
			    .whole = whole };
	size_t written = 0;
	enum err e;

	for (;;) {
		struct state *again = state_new(&c->mem);

		if ((e = open_writer(s)))
			return e;
		if ((e = keep_written(s, &r, news, again)) ||
		    again->slots.count == written)
			break;
		/* before the base: who dies between the two has them whole */
		if ((e = beads_put(c, &s->b, again)) || (e = beads_commit(c, &s->b)))
			break;
		written = again->slots.count;
		beads_close(&s->b);
	}
	if (!e)
		e = beads_rebase(c, &s->b, &r);
	beads_close(&s->b);
	return e;
}

/* --- what is reported --- */

static void report_remap(struct sync *s, struct str id, const struct remap *r)
{
	void **at = map_put(&s->reported, arena_copy(&s->c->mem, r->to));

	if (*at)
		return;
	*at = s;
	json_object(&s->remapped);
	json_put_str(&s->remapped, "from", id);
	json_put_str(&s->remapped, "to", r->to);
	json_end(&s->remapped);
}

/* Those who had to leave their ids, as far as `known` did not tell. */
static void report_remaps(struct sync *s, const struct state *now,
			  const struct state *known)
{
	for (size_t i = 0; i < now->slots.count; i++) {
		const struct slot *slot = now->slots.entry[i].value,
				  *old = known ? state_find(known, slot->id) : NULL;

		for (size_t k = 0; k < slot->remaps; k++) {
			bool new = true;

			for (size_t n = 0; old && n < old->remaps; n++)
				new = new && !str_eq(old->remap[n].to, slot->remap[k].to);
			if (new)
				report_remap(s, slot->id, &slot->remap[k]);
		}
	}
}

/* --- taking in what others have published --- */

static enum err backup(struct sync *s, struct str commit)
{
	struct call *c = s->c;
	struct str *names,
		name = arena_fmt(&c->mem, "refs/beads/backup/" STR_FMT, STR_ARG(commit));
	size_t count;
	enum err e = repo_ref_put(c, s->repo, name, commit);
	int64_t oldest;
	size_t drop;

	if (e ||
	    (e = repo_refs_below(c, s->repo, STR("refs/beads/backup/"), &names, &count)))
		return e;
	while (!e && count > BACKUPS) { /* the oldest go */
		oldest = INT64_MAX;
		drop = 0;
		for (size_t i = 0; i < count; i++) {
			struct commit about;
			struct str of = str_skip(names[i], 18);

			if (!str_eq(of, commit) && !repo_commit(c, s->repo, of, &about) &&
			    about.time_ms < oldest) {
				oldest = about.time_ms;
				drop = i;
			}
			c->code = ERR_OK;
		}
		e = repo_ref_drop(c, s->repo, names[drop]);
		names[drop] = names[--count];
	}
	return e;
}

/* Nothing of it is known here: all of it has to be sound, line by line. */
static enum err check_all(struct sync *s, const struct snapshot *files)
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
		for (size_t i = 0; i < files->file[f].n; i++)
			n += files->file[f].p[i] == '\n';
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
		e = merge_news(s->c, old, new, descends, &news);
	else
		news = (struct news){ .change = news.change,
				      .count = count_lines(new),
				      .forgets = true }; /* nothing was known */
	if (e)
		return e;
	s->pulled += (int64_t)news.count;
	report_remaps(s, news.change, NULL);
	if (s->wants->dry) {
		s->base = commit; /* as if; so that nothing is counted twice */
		return ERR_OK;
	}
	if ((e = rebase(s, commit, upto, &news)))
		return e;
	/* the journal may have begun anew, and what came back is to be published */
	return seal(s);
}

static enum err write_commit(struct sync *s, struct merge *m, struct str parent,
			     struct str *commit, bool *same);

static enum err move_here(struct sync *s, struct str commit, bool *moved)
{
	enum err e;

	*moved = true;
	if (str_eq(s->here, commit))
		return ERR_OK;
	if (!(e = repo_ref_move(s->c, s->repo, s->ref, s->here, commit, moved)) && *moved)
		s->here = commit;
	return e;
}

/* What the new commit goes on from: all that was ever published stays in its history. */
static struct str parent_of(const struct sync *s)
{
	if (!s->remote.url.p)
		return s->base;
	if (s->seen.p && (!s->there.p || repo_reaches(s->repo, s->seen, s->there)))
		return s->seen;
	return s->there;
}

/* They went different ways: what is only in our base is joined to the other. */
static enum err take_other(struct sync *s, struct str commit, const struct snapshot *old,
			   const struct snapshot *new)
{
	struct merge m = { .c = s->c, .side = { *new, *old }, .sides = 2 };
	struct str joined, tip = parent_of(s), parent = commit;
	bool same, moved;
	enum err e = merge_run(&m);

	if (s->remote.url.p && tip.p && repo_reaches(s->repo, s->base, tip))
		parent = s->base; /* it has what was published; the other may not */

	if (e || s->wants->dry)
		return e ? e : take_next(s, commit, old, new, false);
	if ((e = write_commit(s, &m, parent, &joined, &same)) ||
	    (e = move_here(s, joined, &moved)))
		return e;
	if (!moved) /* it has to be kept by some ref */
		e = backup(s, joined);
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
	warn(s, arena_fmt(&s->c->mem,
			  "%lld beads that nobody deleted were missing at '" STR_FMT
			  "' in commit %.10s; they are kept",
			  (long long)v.count, STR_ARG(s->remote.name), new->commit.p));
	return true;
}

static enum err take_in(struct sync *s, struct str commit)
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
	if ((e = merge_check(c, &new))) {
		c->code = ERR_OK; /* a line that is wrong says more than a checksum */
		return check_all(s, &new) ? c->code : merge_check(c, &new);
	}
	if (!first && (e = commit_read(c, s->repo, s->base, &old)))
		return e;
	apart = apart || (!first && vanished(s, &old, &new));
	/* what is joined to is copied, not read */
	if ((first || apart) && (e = check_all(s, &new)))
		return e;
	if (apart)
		e = take_other(s, commit, &old, &new);
	else
		e = take_next(s, commit, first ? NULL : &old, &new, true);
	repo_forget(s->repo);
	return e;
}

/* --- making a commit --- */

static enum err write_commit(struct sync *s, struct merge *m, struct str parent,
			     struct str *commit, bool *same)
{
	struct call *c = s->c;
	struct repo_file files[SNAPSHOT_FILES];
	struct pieces pieces[SNAPSHOT_FILES];
	struct str sum[FILE_META], tree, meta;
	struct commit before = { 0 };
	enum err e;

	for (int f = 0; f < FILE_META; f++) {
		pieces[f] = merge_file(m, (enum snapshot_file)f);
		sum[f] = sha256_pieces(&c->mem, pieces[f].piece, pieces[f].count);
		files[f] = (struct repo_file){ snapshot_name((enum snapshot_file)f),
					       pieces[f].piece,
					       pieces[f].count,
					       { 0 } };
		if (!merge_touches(m, (enum snapshot_file)f))
			files[f].blob = m->side[0].blob[f];
	}
	meta = snapshot_meta(&c->mem, m->joined, sum);
	files[FILE_META] =
		(struct repo_file){ snapshot_name(FILE_META), &meta, 1, { 0 } };
	if ((e = repo_tree(c, s->repo, files, SNAPSHOT_FILES, &tree)) ||
	    (parent.p && (e = repo_commit(c, s->repo, parent, &before))))
		return e;
	*same = str_eq(tree, before.tree);
	*commit = parent;
	if (*same)
		return ERR_OK;
	return repo_commit_tree(c, s->repo, tree, parent,
				message_of(&c->mem, m->changes, m->count), commit);
}

static enum err nothing_yet(struct call *c, struct snapshot *out)
{
	*out = snapshot_encode(&c->mem, state_new(&c->mem));
	return ERR_OK;
}

/* The base with what was written since: a new commit, or the base itself. */
static enum err join(struct sync *s, struct str *commit)
{
	struct call *c = s->c;
	struct merge m = { .c = c,
			   .sides = 1,
			   .change = s->pending.change,
			   .collect_before = s->wants->collect_before_ms };
	bool same;
	enum err e;

	*commit = s->base;
	if ((e = s->base.p ? commit_read(c, s->repo, s->base, &m.side[0]) :
			     nothing_yet(c, &m.side[0])) ||
	    (e = merge_run(&m)))
		return e;
	s->pushed = m.count ? (int64_t)m.count : m.meta_changed; /* a prefix alone */
	report_remaps(s, m.joined, m.part[0]);
	merge_forgotten(&m, &s->forgot);
	if (!s->wants->dry &&
	    (m.count || m.meta_changed || m.side[0].foreign || !s->base.p)) {
		doing(s, "writing a commit for");
		e = write_commit(s, &m, parent_of(s), commit, &same);
	}
	repo_forget(s->repo);
	return e;
}

/* --- publishing it --- */

/* Says that it is there only after looking. */
static enum err look_back(struct sync *s, struct str commit)
{
	struct call *c = s->c;
	struct str there;
	enum err e;

	doing(s, "reading back from");
	if ((e = remote_look(c, &s->remote, s->ref, &there)))
		return e;
	if (!str_eq(there, commit) &&
	    (e = remote_fetch(c, &s->remote, s->ref, commit, &there)))
		return e;
	if (there.p && repo_reaches(s->repo, there, commit))
		return ERR_OK;
	return call_fail(c, ERR_SYNC_FAILED,
			 "'" STR_FMT "' took the change, and then did not have it",
			 STR_ARG(s->remote.name));
}

static enum err publish(struct sync *s, struct str commit, bool *lost)
{
	struct call *c = s->c;
	bool moved;
	enum err e;

	*lost = false;
	if ((e = move_here(s, commit, &moved)) || !moved) {
		*lost = !moved;
		return e;
	}
	if (!s->remote.url.p || !s->wants->push)
		return ERR_OK;
	s->published = str_eq(s->there, commit);
	if (s->published)
		return str_eq(s->seen, commit) ?
			       ERR_OK :
			       repo_ref_put(c, s->repo, s->tracking, commit);
	doing(s, "pushing to");
	if ((e = remote_push(c, &s->remote, s->ref, commit, s->there, &moved)))
		return e;
	if (!moved && !s->wants->pull)
		return call_fail(c, ERR_SYNC_FAILED,
				 "'" STR_FMT "' has what is not here, and --no-pull "
				 "keeps from taking it in",
				 STR_ARG(s->remote.name));
	*lost = !moved;
	if (*lost)
		return ERR_OK;
	if ((e = repo_ref_put(c, s->repo, s->tracking, commit)) ||
	    (e = look_back(s, commit)))
		return e;
	s->published = true;
	return ERR_OK;
}

/* The journal need not keep any longer what the commit has. */
static enum err settle(struct sync *s, struct str commit)
{
	if (str_eq(commit, s->base) && !s->pending.records)
		return ERR_OK;
	return rebase(s, commit, s->sealed, &s->forgot);
}

/* --- the whole of it --- */

static enum err lost_again(struct sync *s)
{
	int64_t most = JITTER_MS << (s->attempts < 6 ? s->attempts : 6);
	struct timespec wait = { 0 };
	unsigned short some;

	if (clock_ms() - s->started_ms > s->wants->timeout_ms)
		return call_fail(s->c, ERR_SYNC_TIMEOUT,
				 "others were faster, %lld times; '" STR_FMT
				 "' is very busy",
				 (long long)s->attempts, STR_ARG(s->remote.name));
	platform_random(&some, sizeof some);
	wait.tv_nsec = (some % (most < JITTER_MOST ? most : JITTER_MOST)) * 1000000L;
	nanosleep(&wait, NULL);
	return ERR_OK;
}

/* Somebody has replaced what was published: nothing of it is lost here. */
static enum err replaced(struct sync *s)
{
	enum err e = s->wants->dry ? ERR_OK : backup(s, s->seen);

	warn(s, arena_fmt(&s->c->mem,
			  "the history at '" STR_FMT
			  "' was %s; all of it is kept, the commit it was at as "
			  "refs/beads/backup/%.10s…",
			  STR_ARG(s->remote.name), s->there.p ? "replaced" : "deleted",
			  s->seen.p));
	return e;
}

static enum err fetch(struct sync *s)
{
	struct call *c = s->c;
	enum err e;

	if ((e = repo_ref(c, s->repo, s->tracking, &s->seen)))
		return e;
	s->there = s->seen;
	if (!s->remote.url.p || !s->wants->pull)
		return ERR_OK;
	doing(s, "fetching from");
	if ((e = remote_fetch(c, &s->remote, s->ref, s->seen, &s->there)))
		return e;
	if (s->there.p && !repo_is_commit(s->repo, s->there))
		return call_fail(c, ERR_REMOTE_DAMAGED,
				 "'" STR_FMT "' at '" STR_FMT "' is not a commit",
				 STR_ARG(s->ref), STR_ARG(s->remote.name));
	if (s->seen.p && (!s->there.p || !repo_reaches(s->repo, s->there, s->seen)))
		return replaced(s);
	return ERR_OK;
}

/*
 * What could be read, and goes on from what was seen, is what was seen last. Others are
 * so only once ours is published on top of them: until then we know what is missing.
 */
static enum err note_seen(struct sync *s)
{
	enum err e;

	if (s->wants->dry || !s->there.p || str_eq(s->there, s->seen) ||
	    (s->seen.p && !repo_reaches(s->repo, s->there, s->seen)))
		return ERR_OK;
	if (!(e = repo_ref_put(s->c, s->repo, s->tracking, s->there)))
		s->seen = s->there;
	return e;
}

static enum err attempt(struct sync *s, struct str *commit, bool *lost)
{
	struct call *c = s->c;
	enum err e;

	*lost = false;
	s->attempts++;
	if ((e = fetch(s)) || (e = seal(s)) ||
	    (e = repo_ref(c, s->repo, s->ref, &s->here)) ||
	    (e = take_in(s, parent_of(s))) || (e = take_in(s, s->there)) ||
	    (e = take_in(s, s->seen)) || (e = note_seen(s)))
		return e;
	if (!str_eq(s->here, s->made) && (e = take_in(s, s->here)))
		return e;
	if (!s->base.p && record_empty(s->pending.change)) /* a store that is not there */
		return ERR_OK;
	if ((e = join(s, commit)) || s->wants->dry)
		return e;
	if (!str_eq(*commit, s->base))
		s->made = *commit;
	return publish(s, *commit, lost);
}

/* Where there is no store on our ref, but one of the program before us, that is it. */
static enum err find_ref(struct sync *s)
{
	static const char other[] = "refs/heads/beads/store";
	struct call *c = s->c;
	struct str here, there = { 0 };
	bool far = s->remote.url.p && s->wants->pull;
	enum err e = ERR_OK;

	if (!str_is(s->ref, config_default(CONFIG_SYNC_REF)) ||
	    (e = repo_ref(c, s->repo, s->ref, &here)) || here.p)
		return e;
	doing(s, "looking at");
	if (far && ((e = remote_look(c, &s->remote, s->ref, &there)) || there.p))
		return e;
	if ((e = repo_ref(c, s->repo, str_of(other), &here)) ||
	    (far && (e = remote_look(c, &s->remote, str_of(other), &there))))
		return e;
	if (!here.p && !there.p)
		return ERR_OK;
	s->ref = str_of(other);
	return config_put(c, s->b.home, CONFIG_SYNC_REF, s->ref);
}

static enum err open_all(struct sync *s)
{
	struct call *c = s->c;
	struct str name, chosen;
	enum err e;

	if ((e = config_get(c, s->b.home, CONFIG_SYNC_REF, &s->ref)) ||
	    (e = config_get(c, s->b.home, CONFIG_SYNC_REMOTE, &name)) ||
	    (e = config_find(c, s->b.home, CONFIG_SYNC_REMOTE, &chosen)) ||
	    (e = repo_open(c, s->b.repo.common, &s->repo)) ||
	    (e = remote_open(c, s->repo, name, &s->remote)))
		return e;
	if (chosen.p && !s->remote.url.p) {
		call_fail(c, ERR_SYNC_FAILED,
			  "this repository has no Git remote '" STR_FMT "'",
			  STR_ARG(name));
		return call_step(c, "'git remote' lists those there are; 'bd config set "
				    "sync.remote NAME' chooses one.");
	}
	if (s->wants->begin && (e = find_ref(s)))
		return e;
	s->tracking = arena_fmt(&c->mem, "refs/beads/remote/" STR_FMT, STR_ARG(name));
	s->made = sync_state_read(c, s->b.home).made;
	return ERR_OK;
}

static void put_reply(struct sync *s, struct str commit, struct json *reply)
{
	json_end(&s->remapped);
	json_object(reply);
	json_put_int(reply, "pulled", s->pulled);
	json_put_int(reply, "pushed", s->pushed);
	json_put_raw(reply, "remapped", json_text(&s->remapped));
	json_put_str(reply, "commit", commit);
	json_put_int(reply, "attempts", s->attempts);
	json_put_str(reply, "durability", s->published ? STR("remote") : STR("local"));
	json_put_str(reply, "remote",
		     s->remote.url.p ? s->remote.name : (struct str){ 0 });
	json_put_str(reply, "ref", s->ref);
	json_put_bool(reply, "dry_run", s->wants->dry);
	json_put_str(reply, "warning", s->warning);
	json_end(reply);
}

static void pack_later(struct sync *s, struct str commit);

/* It only spares a join: whether this works or not says nothing about the sync. */
static void remember(struct sync *s)
{
	struct call aside = *s->c;
	struct sync_state known;

	if (s->wants->dry || !s->made.p)
		return;
	known = sync_state_read(&aside, s->b.home);
	known.made = s->made;
	sync_state_write(&aside, s->b.home, &known);
	s->c->mem = aside.mem;
}

static enum err run(struct sync *s, struct json *reply)
{
	struct str commit = { 0 };
	bool lost = true;
	enum err e = ERR_OK;

	while (!e && lost)
		if (!(e = attempt(s, &commit, &lost)) && lost)
			e = lost_again(s);
	remember(s);
	if (!e && !s->wants->dry)
		e = settle(s, commit);
	if (e)
		return e;
	if (!s->wants->dry)
		pack_later(s, commit);
	put_reply(s, commit, reply);
	return ERR_OK;
}

/* One at a time in a repository. */
static enum err wait_alone(struct sync *s, struct lock *lock)
{
	struct call *c = s->c;
	struct str path = path_join(&c->mem, s->b.home, STR("sync.lock"));

	if (lock_take(c, path, 0, lock) != ERR_DATABASE_BUSY)
		return c->code;
	c->code = ERR_OK;
	doing(s, "waiting for another sync of this repository");
	return lock_take(c, path, (int)s->wants->timeout_ms, lock);
}

enum err sync_run(struct call *c, const struct sync_wants *wants, struct json *reply)
{
	struct sync s = { .c = c,
			  .wants = wants,
			  .started_ms = clock_ms(),
			  .remapped.out.mem = &c->mem,
			  .reported.mem = &c->mem };
	AUTO_LOCK alone = LOCK_NONE;
	enum err e = beads_home(c, &s.b);

	if (e || (wants->begin && (e = file_make_dir(c, s.b.home, 0700))) ||
	    (e = wait_alone(&s, &alone)) || (e = open_all(&s)))
		return e;
	json_array(&s.remapped);
	e = run(&s, reply);
	repo_close(s.repo);
	return e;
}

/* --- repairing --- */

struct repair {
	struct sync *s;
	struct json *reply; /* an open list, of commits */
	bool apply;
	int64_t damaged, aside;
	struct str made; /* what is to be published; or absent */
};

static bool sound(struct sync *s, const struct snapshot *files)
{
	bool well = !merge_check(s->c, files) && !check_all(s, files);

	s->c->code = ERR_OK;
	return well;
}

/* Nothing that is known here is lost with a line that cannot be read. */
static enum err join_known(struct sync *s, struct str except, struct state *all)
{
	struct state *known = state_new(&s->c->mem);
	struct snapshot base;
	enum err e;

	if (!s->base.p || str_eq(s->base, except))
		return ERR_OK;
	if ((e = commit_read(s->c, s->repo, s->base, &base)) ||
	    (e = snapshot_read(s->c, &base, known)))
		return e;
	state_add(all, known);
	return ERR_OK;
}

static enum err publish_repaired(struct repair *r, struct str commit,
				 const struct state *all)
{
	struct sync *s = r->s;
	struct call *c = s->c;
	struct snapshot mended = snapshot_encode(&c->mem, all);
	struct repo_file files[SNAPSHOT_FILES];
	struct str tree, message;
	enum err e = backup(s, commit);

	for (int f = 0; f < SNAPSHOT_FILES; f++)
		files[f] = (struct repo_file){
			snapshot_name((enum snapshot_file)f), &mended.file[f], 1, { 0 }
		};
	message = arena_fmt(&c->mem,
			    "beads: repaired\n\nThe commit before could not be used; it "
			    "is kept as refs/beads/backup/" STR_FMT ".\n",
			    STR_ARG(commit));
	if (e || (e = repo_tree(c, s->repo, files, SNAPSHOT_FILES, &tree)))
		return e;
	return repo_commit_tree(c, s->repo, tree, commit, message, &r->made);
}

static enum err repair_commit(struct repair *r, struct str commit, const char *where)
{
	struct sync *s = r->s;
	struct call *c = s->c;
	struct state *all = state_new(&c->mem);
	struct snapshot raw;
	enum err e;

	if (!commit.p)
		return ERR_OK;
	if ((e = commit_read_raw(c, s->repo, commit, &raw)))
		return e;
	if (foreign_files(&c->mem, &raw)) {
		if (!(e = commit_read(c, s->repo, commit, &raw)) ||
		    e != ERR_REMOTE_DAMAGED)
			return e;
		return call_step(c, "Another program wrote it, and only that can mend "
				    "it. 'bd init --ref REF' publishes to another ref "
				    "meanwhile.");
	}
	if (sound(s, &raw))
		return ERR_OK;
	r->damaged++;
	json_object(r->reply);
	json_put_str(r->reply, "commit", commit);
	json_put_str(r->reply, "where", str_of(where));
	json_put_array(r->reply, "lines");
	r->aside += (int64_t)salvage(&c->mem, &raw, all, r->reply);
	json_end(r->reply);
	json_end(r->reply);
	snapshot_read_meta(c, &raw, all);
	c->code = ERR_OK; /* the prefix is known here, if it is not known there */
	if ((e = join_known(s, commit, all)) || !r->apply)
		return e;
	return publish_repaired(r, commit, all);
}

static enum err repair_all(struct repair *r)
{
	struct sync *s = r->s;
	bool moved = true;
	enum err e;

	if ((e = fetch(s)) || (e = repo_ref(s->c, s->repo, s->ref, &s->here)) ||
	    (e = repair_commit(r, s->there, "remote")))
		return e;
	if (!str_eq(s->here, s->there) && (e = repair_commit(r, s->here, "here")))
		return e;
	if (!r->made.p)
		return ERR_OK;
	if ((e = move_here(s, r->made, &moved)))
		return e;
	if (moved && s->remote.url.p &&
	    (e = remote_push(s->c, &s->remote, s->ref, r->made, s->there, &moved)))
		return e;
	if (moved)
		return ERR_OK;
	return call_fail(s->c, ERR_SYNC_FAILED, "another one has written meanwhile");
}

enum err sync_repair(struct call *c, const struct sync_wants *wants, bool apply,
		     struct json *reply)
{
	struct sync s = { .c = c, .wants = wants, .started_ms = clock_ms() };
	struct repair r = { .s = &s, .reply = reply, .apply = apply };
	struct pending pending;
	AUTO_LOCK alone = LOCK_NONE;
	enum err e = beads_home(c, &s.b);

	if (e || (e = wait_alone(&s, &alone)) || (e = beads_pending(c, &s.b, &pending)) ||
	    (e = open_all(&s)))
		return e;
	s.base = pending.base;
	json_object(reply);
	json_put_array(reply, "commits");
	e = repair_all(&r);
	json_end(reply);
	json_put_int(reply, "damaged", r.damaged);
	json_put_int(reply, "set_aside", r.aside);
	json_put_bool(reply, "applied", apply && r.made.p);
	json_put_str(reply, "commit", r.made);
	json_end(reply);
	repo_close(s.repo);
	return e;
}

/* --- packing --- */

/* All of it, or only what is new? All, each time there is twice as much. */
static enum err pack_some(struct sync *s, struct sync_state *known, int64_t new)
{
	struct call *c = s->c;
	bool all = !known->packed.p || new >= known->packed_commits ||
		   !repo_reaches(s->repo, s->here, known->packed);
	struct str before = all ? (struct str){ 0 } : known->packed, pack, old;
	bool ours = known->packed.p && repo_reaches(s->repo, s->here, known->packed);
	enum err e;

	if ((e = repo_pack(c, s->repo, s->here, before, &pack)) ||
	    (e = repo_tidy(c, s->repo, s->here,
			   ours ? known->packed : (struct str){ 0 })))
		return e;
	if (all) {
		struct str rest = known->packs;

		while (!e && ours && rest.n && str_next(&rest, ' ', &old))
			if (!str_eq(old, pack))
				e = repo_drop_pack(c, s->repo, old);
		known->packs = pack;
		known->packed_commits =
			repo_distance(s->repo, (struct str){ 0 }, s->here, INT64_MAX);
	} else {
		known->packs = arena_fmt(&c->mem, STR_FMT " " STR_FMT,
					 STR_ARG(known->packs), STR_ARG(pack));
	}
	known->packed = s->here;
	return e;
}

enum err sync_pack(struct call *c)
{
	struct sync s = { .c = c, .wants = &(const struct sync_wants){ 0 } };
	AUTO_LOCK alone = LOCK_NONE;
	struct sync_state known, now;
	int64_t new;
	enum err e = beads_home(c, &s.b);

	if (e ||
	    (e = lock_take(c, path_join(&c->mem, s.b.home, STR("pack.lock")), 0,
			   &alone)) ||
	    (e = open_all(&s)) || (e = repo_ref(c, s.repo, s.ref, &s.here)) || !s.here.p)
		return e;
	known = sync_state_read(c, s.b.home);
	new = repo_distance(s.repo, known.packed, s.here, PACK_LOOK);
	if (new < 0) /* history was replaced */
		new = repo_distance(s.repo, (struct str){ 0 }, s.here, PACK_LOOK);
	if (new >= PACK_AFTER && !(e = pack_some(&s, &known, new))) {
		now = sync_state_read(c, s.b.home);
		now.packed = known.packed;
		now.packs = known.packs;
		now.packed_commits = known.packed_commits;
		e = sync_state_write(c, s.b.home, &now);
	}
	repo_close(s.repo);
	return e;
}

/* Every so many commits, as a process that nobody waits for. */
static void pack_later(struct sync *s, struct str commit)
{
	struct call *c = s->c;
	struct str packed = sync_state_read(c, s->b.home).packed;
	const char *argv[] = { arena_cstr(&c->mem, spawn_self(&c->mem)), "pack",
			       arena_cstr(&c->mem, s->b.repo.tree), NULL };
	int64_t new = commit.p ? repo_distance(s->repo, packed, commit, PACK_AFTER) : 0;

	if (new < 0 || new >= PACK_AFTER)
		spawn_away(argv);
}
