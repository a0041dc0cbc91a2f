/*
 * One sync attempt fetches the remote's ref, seals the journal, takes the commits of other clones
 * into the base, commits the local changes on top, pushes, and verifies that the remote has the
 * commit. If another clone pushed first, the attempt is repeated after a random wait. In the end
 * the journal drops the records that the commit contains.
 */
#include "sync/sync.h"

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "beads/autosync.h"
#include "beads/config.h"
#include "beads/model/record.h"
#include "beads/sync_state.h"
#include "machines/share.h"
#include "sync/commits.h"
#include "sync/sync_parts.h"

enum {
	STUCK_MOST = 8, /* lost races in a row without the ref moving */
};

void sync_doing(struct sync *s, const char *what)
{
	if (s->wants->doing)
		s->wants->doing(what, s->remote.name);
}

void sync_warn(struct sync *s, struct str text)
{
	if (s->warning.p && str_has(s->warning, text))
		return;
	s->warning = s->warning.p ? arena_fmt(&s->c->mem, STR_FMT "; " STR_FMT, STR_ARG(s->warning),
					      STR_ARG(text)) :
				    text;
}

/* --- reporting --- */

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

void sync_report_remaps(struct sync *s, const struct state *now, const struct state *known)
{
	for (size_t i = 0; i < now->slots.count; i++) {
		const struct slot *slot = now->slots.entry[i].value,
				  *old = known ? state_find(known, slot->id) : NULL;

		for (size_t k = 0; k < slot->remaps; k++) {
			const struct slot *moved = state_find(now, slot->remap[k].to);
			bool new = moved && moved->bead;

			for (size_t n = 0; old && n < old->remaps; n++)
				new = new && !str_eq(old->remap[n].to, slot->remap[k].to);
			if (new)
				report_remap(s, slot->id, &slot->remap[k]);
		}
	}
}

/* --- refs --- */

enum err sync_move_here(struct sync *s, struct str commit, bool *moved)
{
	enum err e;

	*moved = true;
	if (str_eq(s->here, commit))
		return ERR_OK;
	if (!(e = repo_ref_move(s->c, s->repo, s->ref, s->here, commit, moved)) && *moved)
		s->here = commit;
	return e;
}

struct str sync_parent(const struct sync *s)
{
	if (!s->remote.url.p)
		return s->base;
	if (s->seen.p && (!s->there.p || repo_reaches(s->repo, s->seen, s->there)))
		return s->seen;
	return s->there;
}

/* --- publishing --- */

enum err sync_look_back(struct sync *s, struct str commit, bool *has)
{
	struct call *c = s->c;
	struct str there;
	enum err e;

	*has = false;
	sync_doing(s, "reading back from");
	if ((e = remote_look(c, &s->remote, s->ref, &there)))
		return e;
	if (!str_eq(there, commit) && (e = remote_fetch(c, &s->remote, s->ref, commit, &there)))
		return e;
	*has = there.p && repo_reaches(s->repo, there, commit);
	repo_quarantine_drop(
		s->repo); /* drop the unchecked fetch; the next sync fetches and checks it */
	return ERR_OK;
}

/* The remote has reported success for this commit. */
static enum err sync_confirm(struct sync *s, struct str commit)
{
	bool has;
	enum err e = repo_ref_put(s->c, s->repo, s->tracking, commit);

	if (e || (e = sync_look_back(s, commit, &has)) || has)
		return e;
	return remote_not_kept(s->c, &s->remote);
}

static enum err sync_publish(struct sync *s, struct str commit, bool *lost)
{
	struct call *c = s->c;
	bool moved;
	enum err e;

	*lost = false;
	if ((e = sync_move_here(s, commit, &moved)) || !moved) {
		*lost = !moved;
		return e;
	}
	if (!s->remote.url.p || !s->wants->push)
		return ERR_OK;
	s->published = str_eq(s->there, commit);
	if (s->published)
		return str_eq(s->seen, commit) ? ERR_OK :
						 repo_ref_put(c, s->repo, s->tracking, commit);
	sync_doing(s, "pushing to");
	if ((e = remote_push(c, &s->remote, s->ref, s->ref, commit, s->there, &moved)))
		return e;
	if (!moved && !s->wants->pull)
		return call_fail(c, ERR_SYNC_FAILED,
				 "'" STR_FMT
				 "' has changes that are not here, and --no-pull prevents "
				 "pulling them",
				 STR_ARG(s->remote.name));
	*lost = !moved;
	if (*lost)
		return ERR_OK;
	if ((e = sync_confirm(s, commit)))
		return e;
	s->published = true;
	return ERR_OK;
}

enum err sync_settle(struct sync *s, struct str commit)
{
	if (str_eq(commit, s->base) && !s->pending.records)
		return ERR_OK;
	return sync_rebase(s, commit, s->sealed, &s->forgot);
}

/* --- running a sync --- */

/*
 * A remote that keeps reporting a lost race although nobody moves its ref has another problem: the
 * ref is broken, or a stale lock file is beside it.
 */
static enum err check_stuck(struct sync *s)
{
	const struct remote *m = &s->remote;
	bool same = m->refused.p && str_eq(s->lost_at, s->there);

	s->stuck = same ? s->stuck + 1 : 0;
	s->lost_at = s->there;
	if (s->stuck < STUCK_MOST)
		return ERR_OK;
	call_fail(s->c, ERR_REMOTE_REJECTED,
		  "'" STR_FMT "' (" STR_FMT ") does not move the ref '" STR_FMT
		  "', and nobody else does: " STR_FMT,
		  STR_ARG(m->name), STR_ARG(m->url), STR_ARG(s->ref), STR_ARG(m->refused));
	return call_step(s->c, "Nothing was lost. Ask the remote's administrator to check that "
			       "ref and its lock file, then run 'bd sync' again.");
}

void sync_wait(int64_t attempts)
{
	enum { FIRST_MS = 40, MOST_MS = 1000 };
	int64_t most = FIRST_MS << (attempts < 6 ? attempts : 6);
	unsigned short some;

	platform_random(&some, sizeof some);
	moment_sleep(some % (most < MOST_MS ? most : MOST_MS));
}

enum err sync_lost_again(struct sync *s)
{
	enum err e = check_stuck(s);

	if (e)
		return e;
	if (moment_ticks() - s->started_ms > s->wants->timeout_ms)
		return call_fail(s->c, ERR_SYNC_TIMEOUT,
				 "other clones pushed first, %lld times; '" STR_FMT
				 "' is very busy",
				 (long long)s->attempts, STR_ARG(s->remote.name));
	sync_wait(s->attempts);
	return ERR_OK;
}

/* Keeps a commit with a backup ref, unless its history is unreadable. */
static enum err sync_keep(struct sync *s, struct str commit, bool *kept)
{
	struct repo_fault fault;
	struct str sound = s->repairs ? STR_NONE : s->there;
	enum err e = repo_check(s->c, s->repo, commit, sound, &fault);

	*kept = !e && !fault.why.p;
	return *kept && !s->wants->dry ? sync_backup(s, commit) : e;
}

/* The published history was replaced or deleted. Warns, and keeps the old commits. */
static enum err sync_replaced(struct sync *s)
{
	bool kept;
	enum err e = sync_keep(s, s->seen, &kept);

	sync_warn(s,
		  arena_fmt(&s->c->mem, "the history at '" STR_FMT "' was %s; all of it is kept%s",
			    STR_ARG(s->remote.name), s->there.p ? "replaced" : "deleted",
			    !kept ? "" :
				    arena_fmt(&s->c->mem,
					      ", the commit it was at as refs/beads/backup/%.10s…",
					      s->seen.p)
					    .p));
	return e;
}

/*
 * Refuses a history that cannot be read, before any of it is merged or any local ref points to it:
 * neither this program nor the user's Git could continue from it.
 */
static enum err check_there(struct sync *s)
{
	struct repo_fault fault;
	enum err e;

	if (!s->there.p || str_eq(s->there, s->seen))
		return ERR_OK;
	e = repo_check(s->c, s->repo, s->there, s->seen, &fault);
	return !e && fault.why.p ? remote_refuse(s->c, &s->remote, s->ref, s->there, &fault) : e;
}

/* Checks our own ref, because 'git fetch' with a matching refspec can move it. */
static enum err check_here(struct sync *s)
{
	struct repo_fault fault;
	enum err e;

	if (!s->here.p || str_eq(s->here, s->base) || str_eq(s->here, s->seen) ||
	    str_eq(s->here, s->there))
		return ERR_OK;
	e = repo_check(s->c, s->repo, s->here, s->base.p ? s->base : s->seen, &fault);
	if (e || !fault.why.p)
		return e;
	call_fail(s->c, ERR_DAMAGED,
		  "the ref '" STR_FMT "' of this clone is at " STR_FMT
		  ", whose history cannot be used: " STR_FMT,
		  STR_ARG(s->ref), STR_ARG(s->here), STR_ARG(fault.why));
	return call_step(s->c, "Nothing was changed. 'bd repair --apply' sets the ref to a commit "
			       "whose history can be used.");
}

enum err sync_fetch(struct sync *s)
{
	struct call *c = s->c;
	enum err e;

	/* read our refs first: libgit2 would blame the remote for a broken local ref */
	if ((e = repo_ref(c, s->repo, s->ref, &s->here)) ||
	    (e = repo_ref(c, s->repo, s->tracking, &s->seen)))
		return e;
	s->there = s->seen;
	if (!s->remote.url.p || !s->wants->pull)
		return ERR_OK;
	sync_doing(s, "fetching from");
	e = remote_fetch(c, &s->remote, s->ref, s->seen, &s->there);
	if (s->remote.machines)
		share_note_others(c, s->b.home);
	if (e || (!s->repairs &&
		  ((e = check_there(s)) || (e = repo_quarantine_admit(c, s->repo, s->there)))))
		return e;
	if (s->seen.p && (!s->there.p || !repo_reaches(s->repo, s->there, s->seen)))
		return sync_replaced(s);
	return ERR_OK;
}

/*
 * Records the fetched commit as the last one seen, if it descends from the previous one. After a
 * replaced history that is recorded only once our commit is published on top of it; until then
 * `seen` says what is missing.
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

/*
 * Whether our ref is at a commit made from the current journal: such a commit has nothing new. If
 * the journal was truncated since, the commit may have records that the journal lacks.
 */
static bool made_from_journal(struct sync *s)
{
	enum journal_news news;
	bool made = str_eq(s->here, s->made) && s->made_upto.segment &&
		    !journal_compare(s->c, s->b.home, s->made_upto, &news) &&
		    (news == JOURNAL_SAME || news == JOURNAL_MORE);

	call_forgive(s->c);
	return made;
}

/* The first path of a commit that is none of the store's files; absent: there is none. */
static enum err sync_find_beside(struct sync *s, struct str commit, struct str *out)
{
	enum { LOOKED_AT = SNAPSHOT_FILES + 2 }; /* the store's files, and one more */
	struct str *path;
	size_t count = 0;
	bool more;
	enum err e =
		commit.p ? repo_list_files(s->c, s->repo, commit, LOOKED_AT, &path, &count, &more) :
			   ERR_OK;

	*out = STR_NONE;
	for (size_t i = 0; !e && i < count && !out->p; i++)
		if (!commits_is_store_file(path[i]))
			*out = path[i];
	return e;
}

/*
 * The branch of the other program has only the files of its store. A branch with other files is one
 * that people work on: a sync would publish their commits, and move the branch.
 */
static enum err sync_check_adopted(struct sync *s)
{
	struct str path, branch = str_skip(s->ref, sizeof "refs/heads/" - 1);
	enum err e;

	if (!s->adopts)
		return ERR_OK;
	if ((e = sync_find_beside(s, s->there, &path)) ||
	    (!path.p && (e = sync_find_beside(s, s->here, &path))) || !path.p)
		return e;
	if ((e = config_put(s->c, s->b.home, CONFIG_SYNC_REF, STR_NONE)))
		return e;
	call_fail(s->c, ERR_INVALID_INPUT,
		  "the branch '" STR_FMT "' has beads, but also other files, such as '" STR_FMT "'",
		  STR_ARG(branch), STR_ARG(path));
	return call_step(s->c, "Keep the beads of this project elsewhere: bd init --ref "
			       "refs/beads/store");
}

enum err sync_pull(struct sync *s)
{
	enum err e;

	s->attempts++;
	s->remote.refused = STR_NONE;
	if ((e = sync_fetch(s)) || (e = sync_check_adopted(s)) || (e = sync_seal(s)) ||
	    (e = repo_ref(s->c, s->repo, s->ref, &s->here)) ||
	    (e = sync_take_in(s, sync_parent(s))) || (e = sync_take_in(s, s->there)) ||
	    (e = sync_take_in(s, s->seen)) || (e = note_seen(s)))
		return e;
	if (!made_from_journal(s) && !(e = check_here(s)))
		e = sync_take_in(s, s->here);
	return e;
}

static enum err sync_attempt(struct sync *s, struct str *commit, bool *lost)
{
	enum err e;

	*lost = false;
	if ((e = sync_pull(s)))
		return e;
	if (!s->base.p && record_empty(s->pending.change)) /* there is no store */
		return ERR_OK;
	if ((e = sync_join(s, commit)) || s->wants->dry)
		return e;
	if (!str_eq(*commit, s->base)) {
		s->made = *commit;
		s->made_upto = s->sealed;
	}
	return sync_publish(s, *commit, lost);
}

/* A sync moves the ref of the beads, and no ref that is checked out may move without its files. */
static enum err sync_check_branch(struct sync *s)
{
	if (!repo_ref_is_checked_out(s->c, s->repo, s->ref))
		return ERR_OK;
	call_fail(s->c, ERR_INVALID_INPUT,
		  "the beads are kept on the branch '" STR_FMT "', and that branch is checked out",
		  STR_ARG(str_skip(s->ref, sizeof "refs/heads/" - 1)));
	return call_step(s->c, "Check out another branch. Or keep the beads of this clone "
			       "elsewhere: bd init --ref refs/beads/store");
}

/*
 * Uses refs/heads/beads/store, the ref of the program this format comes from, if only that ref has
 * a store, and remembers the choice in the settings.
 */
static enum err find_ref(struct sync *s)
{
	static const char other[] = "refs/heads/beads/store";
	struct call *c = s->c;
	struct str here, there = { 0 }, chosen;
	bool far = s->remote.url.p && s->wants->pull;
	enum err e = config_find(c, s->b.home, CONFIG_SYNC_REF, &chosen);

	if (e || chosen.p || (e = repo_ref(c, s->repo, s->ref, &here)) || here.p)
		return e;
	sync_doing(s, "looking at");
	if (far && ((e = remote_look(c, &s->remote, s->ref, &there)) || there.p))
		return e;
	if ((e = repo_ref(c, s->repo, str_of(other), &here)) ||
	    (far && (e = remote_look(c, &s->remote, str_of(other), &there))))
		return e;
	if (!here.p && !there.p)
		return ERR_OK;
	s->ref = str_of(other);
	s->adopts = true;
	e = sync_check_branch(s);
	return e ? e : config_put(c, s->b.home, CONFIG_SYNC_REF, s->ref);
}

enum err sync_open(struct sync *s)
{
	struct sync_state known;
	struct call *c = s->c;
	struct str name, chosen;
	enum err e;

	if ((e = config_get(c, s->b.home, CONFIG_SYNC_REF, &s->ref)) ||
	    (e = config_size(c, s->b.home, CONFIG_SYNC_MAX_FILE, &s->file_most)) ||
	    (e = config_get(c, s->b.home, CONFIG_SYNC_REMOTE, &name)) ||
	    (e = config_find(c, s->b.home, CONFIG_SYNC_REMOTE, &chosen)) ||
	    (e = commits_open(c, s->b.repo.common, &s->repo)) ||
	    (e = remote_open(c, s->repo, name, &s->remote)))
		return e;
	if (chosen.p && !s->remote.url.p)
		return remote_missing(c, &s->remote,
				      "Run 'git remote' to list the remotes, and 'bd config set "
				      "sync.remote NAME' to choose one. To add this one");
	if ((s->wants->begin && (e = find_ref(s))) || (e = sync_check_branch(s)))
		return e;
	s->tracking = arena_fmt(&c->mem, SYNC_TRACKING STR_FMT, STR_ARG(name));
	repo_sweep_locks(c, s->repo, s->ref);
	known = sync_state_read(c, s->b.home);
	s->made = known.made;
	s->made_upto = known.made_upto;
	return ERR_OK;
}

static void sync_put_reply(struct sync *s, struct str commit, struct json *reply)
{
	json_end(&s->remapped);
	json_object(reply);
	json_put_int(reply, "pulled", s->pulled);
	json_put_int(reply, "pushed", s->pushed);
	json_put_raw(reply, "remapped", json_text(&s->remapped));
	json_put_str(reply, "commit", commit);
	json_put_int(reply, "attempts", s->attempts);
	json_put_str(reply, "durability", s->published ? STR("remote") : STR("local"));
	json_put_str(reply, "remote", s->remote.url.p ? s->remote.name : STR_NONE);
	json_put_str(reply, "ref", s->ref);
	json_put_bool(reply, "dry_run", s->wants->dry);
	json_put_str(reply, "warning", s->warning);
	if (s->lost)
		json_put_array(reply, "lost_claims");
	for (const struct lost_claim *l = s->lost; l; l = l->next)
		lost_encode(reply, l);
	if (s->lost)
		json_end(reply);
	json_end(reply);
}

/* Remembers our last commit, which saves the next sync a merge. A failure here does not matter. */
static void sync_remember(struct sync *s)
{
	struct call before;
	struct sync_state known;

	if (s->wants->dry || !s->made.p)
		return;
	before = call_save(s->c);
	known = sync_state_read(s->c, s->b.home);
	known.made = s->made;
	known.made_upto = s->made_upto;
	sync_state_write(s->c, s->b.home, &known);
	call_restore(s->c, &before);
}

void sync_find_lost(struct sync *s)
{
	struct call before = call_save(s->c);

	if (!s->wants->dry)
		lost_check(s->c, s->b.home, s->wants->lost, &s->lost);
	call_restore(s->c, &before);
}

enum err sync_commit_own(struct sync *s)
{
	const struct sync_wants *asked = s->wants;
	struct sync_wants own = *asked;
	struct str commit = { 0 };
	bool lost;
	enum err e;

	own.pull = own.push = own.dry = false;
	s->wants = &own;
	repo_quarantine_drop(
		s->repo); /* leave the quarantine, where new objects would not be kept */
	if (!(e = sync_attempt(s, &commit, &lost)) && !lost)
		e = sync_settle(s, commit);
	s->wants = asked;
	return e;
}

/*
 * When the remote's ref is unusable, the remedy is to publish the local data, which needs a local
 * ref. The failure of the sync stays the result of the call.
 */
static void make_ref_to_publish(struct sync *s)
{
	struct call before;

	if (!(s->remote.broken || s->remote.cut_short) || s->here.p || s->wants->begin ||
	    s->wants->dry || !s->wants->push)
		return;
	before = call_save(s->c);
	sync_commit_own(s);
	call_restore(s->c, &before);
}

static enum err sync_run_steps(struct sync *s, void *reply)
{
	struct str commit = { 0 };
	bool lost = true;
	enum err e = ERR_OK;

	while (!e && lost)
		if (!(e = sync_attempt(s, &commit, &lost)) && lost)
			e = sync_lost_again(s);
	if (e)
		make_ref_to_publish(s);
	sync_remember(s);
	if (!e && !s->wants->dry)
		e = sync_settle(s, commit);
	sync_find_lost(s);
	if (e)
		return e;
	if (!s->wants->dry)
		sync_pack_later(s, commit);
	sync_put_reply(s, commit, reply);
	return ERR_OK;
}

enum err sync_alone(struct sync *s, struct lock *lock)
{
	struct call *c = s->c;
	struct str path = path_join(&c->mem, s->b.home, STR("sync.lock"));

	if (lock_take(c, path, 0, lock) != ERR_DATABASE_BUSY)
		return home_explain(c, c->code, s->b.home);
	call_forgive(c);
	sync_doing(s, "waiting for another sync of this repository");
	return lock_take(c, path, (int)s->wants->timeout_ms, lock);
}

/* A sandbox may let processes write to the store, but not to the rest of the Git directory. */
static enum err sync_check_git(struct sync *s)
{
	struct call *c = s->c;
	struct str objects = path_join(&c->mem, s->b.repo.common, STR("objects"));

	if ((!s->wants->pull && !s->wants->push) || file_try_write(c, objects) != ERR_READ_ONLY)
		return call_forgive(c);
	call_fail(c, ERR_READ_ONLY,
		  "'" STR_FMT
		  "' cannot be written from here, so beads are neither pulled nor pushed",
		  STR_ARG(s->b.repo.common));
	return call_step(c,
			 "Nothing was lost: changes stay in '" STR_FMT
			 "' until a process outside of the sandbox syncs, by autosync after its "
			 "next change or with 'bd sync'.",
			 STR_ARG(s->b.home));
}

/* Replaces 'bd sync' by 'bd init' in the advice, because there is no store yet. */
static void advise_init(struct call *c)
{
	const struct str sync = STR("'bd sync'");
	const char *at = str_find(c->step, sync);

	if (at)
		call_step(c, "%.*s'bd init'%s", (int)(at - c->step.p), c->step.p, at + sync.n);
}

enum err sync_run_alone(struct call *c, const struct sync_wants *wants, sync_step *steps, void *arg)
{
	struct sync s = { .c = c,
			  .wants = wants,
			  .started_ms = moment_ticks(),
			  .remapped.out.mem = &c->mem,
			  .reported.mem = &c->mem };
	AUTO_LOCK alone = LOCK_NONE;
	enum err e = beads_home(c, &s.b);

	if (e || (wants->begin && (e = home_make(c, s.b.repo.common, HOME_ANY, &s.b.home))) ||
	    (e = sync_alone(&s, &alone)) || (e = sync_check_git(&s)))
		return e;
	json_array(&s.remapped);
	if (!(e = sync_open(&s))) {
		repo_sweep_fetched(c, s.repo);
		repo_sweep_objects(c, s.repo);
		e = steps(&s, arg);
	}
	if (s.repo)
		repo_close(s.repo);
	return e;
}

enum err sync_run(struct call *c, const struct sync_wants *wants, struct json *reply)
{
	enum err e = sync_run_alone(c, wants, sync_run_steps, reply);

	if (e == ERR_DAMAGED && wants->begin)
		advise_init(c);
	return e;
}
