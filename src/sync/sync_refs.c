/*
 * Handles refs, local and remote, that do not point to a store. Everyone with push access can set
 * the remote's ref to any object, and 'git clone --mirror' or a fetch of all refs brings it here.
 */
#include "sync/commits.h"
#include "sync/sync_parts.h"

enum { COMMITS_MOST = 1000 }; /* maximum number of commits searched for the files of a store */

/* --- recognising a store --- */

/*
 * Whether a commit has a file of a store. An unreadable commit counts as a store, because it may be
 * one.
 */
static bool sync_refs_has_files(struct sync *s, struct str commit)
{
	size_t held = repo_held(s->repo);
	struct snapshot files;
	bool has = commit_read_raw(s->c, s->repo, commit, &files);

	for (int i = 0; !has && i < SNAPSHOT_FILES; i++)
		has = files.file[i].p;
	call_forgive(s->c);
	repo_forget_after(s->repo, held);
	return has;
}

bool sync_has_store(struct sync *s, struct str commit)
{
	struct commit about = { 0 };
	bool has = false;

	for (int n = 0; !has && commit.p && n < COMMITS_MOST; n++) {
		has = sync_refs_has_files(s, commit) || repo_commit(s->c, s->repo, commit, &about);
		commit = about.parent;
	}
	call_forgive(s->c);
	return has;
}

struct str sync_no_store(struct sync *s, struct str commit)
{
	return arena_fmt(&s->c->mem,
			 "is at commit " STR_FMT
			 ", which is not a bead store, and neither is any commit before it",
			 STR_ARG(commit));
}

static bool sync_refs_usable(struct sync *s, struct str commit)
{
	struct repo_fault fault;

	if (!commit.p || !repo_is_commit(s->repo, commit) ||
	    repo_check(s->c, s->repo, commit, STR_NONE, &fault) || fault.why.p) {
		call_forgive(s->c);
		return false;
	}
	return sync_has_store(s, commit);
}

/* --- refs of this clone --- */

enum err sync_find_stray(struct sync *s, struct str ref, struct str *object, struct str *why)
{
	struct call *c = s->c;
	enum err e = repo_ref_fault(c, s->repo, ref, object, why);

	if (e || (why->p && object->p))
		return e;
	if (why->p) /* the ref does not contain an object id */
		return repo_ref(c, s->repo, ref, object);
	if (object->p && repo_is_commit(s->repo, *object) && !sync_has_store(s, *object))
		*why = sync_no_store(s, *object);
	return ERR_OK;
}

/* Makes no backup ref to an object with missing parts, because `git gc` would fail on it. */
enum err sync_set_aside(struct sync *s, struct str ref, struct str object)
{
	struct repo_fault fault = { 0 };
	enum err e = ERR_OK;

	if (repo_is_commit(s->repo, object))
		e = repo_check(s->c, s->repo, object, STR_NONE, &fault);
	if (!e && !fault.why.p && repo_has(s->repo, object))
		e = sync_backup(s, object);
	return e ? e : repo_ref_drop(s->c, s->repo, ref);
}

/* --- the ref of the remote --- */

/* Finds the last usable commit with a store in the object's history, if there is one. */
static enum err sync_refs_last_store(struct sync *s, struct str object, struct str *commit)
{
	struct str tip =
		s->remote.leads_to.p ? s->remote.leads_to : repo_peel(s->c, s->repo, object);
	enum err e;

	*commit = STR_NONE;
	if (!tip.p)
		return ERR_OK;
	if ((e = repo_last_sound(s->c, s->repo, tip, commit)))
		return e;
	if (commit->p && !sync_has_store(s, *commit))
		*commit = STR_NONE;
	return ERR_OK;
}

/* Chooses the commit for the remote's ref: the one that keeps most of the published history. */
static enum err sync_refs_choose(struct sync *s, struct str object, struct str *commit)
{
	enum err e = sync_refs_last_store(s, object, commit);

	if (e)
		return e;
	if (sync_refs_usable(s, s->seen) && (!commit->p || repo_reaches(s->repo, s->seen, *commit)))
		*commit = s->seen;
	if (!commit->p && sync_refs_usable(s, s->here))
		*commit = s->here;
	if (!commit->p && sync_refs_usable(s, s->base))
		*commit = s->base;
	if (commit->p || !s->pending.records)
		return ERR_OK;
	e = sync_commit_own(s);
	*commit = s->here;
	return e;
}

enum err sync_reset_remote(struct sync *s, struct str object, struct str *commit)
{
	struct call *c = s->c;
	bool moved;
	enum err e;

	*commit = STR_NONE;
	if (s->remote.shared.p)
		return remote_refuse_shared(c, &s->remote, s->ref);
	if ((e = sync_refs_choose(s, object, commit)) || !commit->p ||
	    (e = repo_quarantine_admit(c, s->repo, *commit)) || (e = sync_backup(s, *commit)))
		return e;
	s->remote.replaces = true;
	e = remote_push(c, &s->remote,
			arena_fmt(&c->mem, "refs/beads/backup/" STR_FMT, STR_ARG(*commit)), s->ref,
			*commit, object, &moved);
	s->remote.replaces = false;
	if (!e && !moved)
		e = call_fail(c, ERR_SYNC_FAILED, "another process has written in the meantime");
	if (e || (e = repo_ref_put(c, s->repo, s->tracking, *commit)))
		return e;
	s->there = s->seen = *commit;
	return ERR_OK;
}
