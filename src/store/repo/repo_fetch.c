/*
 * Fetches our ref. The objects of a folder are copied directly; those of any other remote come
 * through libgit2's transports.
 */
#include "base/system/fault.h"
#include "store/db/machine_db.h"
#include "store/repo/repo_remote_parts.h"

static struct str unreadable_commit(struct call *c, const struct remote *m, struct str commit)
{
	return arena_fmt(&c->mem, "is at " STR_FMT ", which cannot be read: " STR_FMT,
			 STR_ARG(commit), STR_ARG(remote_shown(c, m, str_of(repo_error_text()))));
}

/*
 * A full disk here is no damage there: nothing may advise to set the ref of the remote.
 *
 * A server that lacks an object closes the connection without a message, like a server that is
 * stopped.
 */
static enum err fetch_failed(struct call *c, struct remote *m, int code, struct str ref,
			     struct str commit)
{
	if (repo_disk_error())
		return repo_fail(c, ERR_INTERNAL_ERROR, "store what is fetched from", m->name);
	if (remote_unreadable())
		return remote_refuse_broken(c, m, ref, commit, unreadable_commit(c, m, commit));
	if (remote_unreachable(
		    c, m, code,
		    arena_fmt(&c->mem, "fetch '" STR_FMT "' (%.10s…) from", STR_ARG(ref), commit.p)
			    .p) != ERR_SYNC_FAILED)
		return c->code;
	m->cut_short = true;
	if (!m->known)
		return call_step(c, "Nothing was lost. Run 'bd sync' again. If it fails in the "
				    "same way each time, run 'git fsck' in the repository there, "
				    "and 'bd repair --apply' in a clone that has its beads.");
	return call_step(
		c,
		"Nothing was lost: your changes are on this disk. Run 'bd sync' again. If "
		"it fails in the same way each time, the repository there lacks an object. "
		"This sets the ref to the last commit of this clone: " STR_FMT,
		STR_ARG(remote_force_command(c, m, ref)));
}

/* Updates no local ref: the caller decides what to keep. */
static int repo_fetch_download(struct call *c, struct remote *m, git_remote *remote,
			       git_remote_callbacks *calls, struct str ref, const struct str *haves,
			       size_t count)
{
	char *spec = (char *)arena_cstr(&c->mem, ref);
	git_strarray specs = { &spec, 1 };
	git_repository *git = repo_git(m->repo);
	git_refdb *refs = NULL;
	git_fetch_options options;
	int code;

	git_fetch_options_init(&options, GIT_FETCH_OPTIONS_VERSION);
	options.callbacks = *calls;
	options.update_fetchhead = 0;
	options.download_tags = GIT_REMOTE_DOWNLOAD_TAGS_NONE;
	fault_point();
	if (!(code = repo_show_only(git, haves, count, &refs)))
		code = git_remote_download(remote, &specs, &options);
	repo_show_all(git, refs);
	return code;
}

/*
 * If the fetch fails because an object cannot be read, it is retried without haves: the unreadable
 * object may be one of ours.
 */
static enum err repo_fetch_fetch(struct call *c, struct remote *m, git_remote **remote,
				 git_remote_callbacks *calls, struct str ref,
				 const struct str haves[REPO_HAVES], struct str *commit)
{
	int code = repo_fetch_download(c, m, *remote, calls, ref, haves, REPO_HAVES);
	enum err e;

	if (code && remote_unreadable()) {
		git_remote_disconnect(*remote);
		git_remote_free(*remote);
		if ((e = remote_connect(c, m, GIT_DIRECTION_FETCH, calls, remote)) ||
		    (e = remote_find(c, m, *remote, ref, commit)) || !commit->p)
			return e;
		code = repo_fetch_download(c, m, *remote, calls, ref, NULL, 0);
	}
	return code ? fetch_failed(c, m, code, ref, *commit) : ERR_OK;
}

static enum err repo_fetch_check_commit(struct call *c, struct remote *m, struct str ref,
					struct str name)
{
	const char *kind = repo_kind(m->repo, name);
	enum err e;

	if (kind && repo_is_commit(m->repo, name))
		return ERR_OK;
	if (repo_disk_error())
		return repo_fail(c, ERR_INTERNAL_ERROR, "read the commit", name);
	if ((e = repo_check_loose(c, m->repo)))
		return e;
	if (!kind)
		return repo_fail(c, ERR_SYNC_FAILED, "read the commit", name);
	if (str_is(str_of(kind), "commit"))
		return remote_refuse_broken(c, m, ref, name, unreadable_commit(c, m, name));
	return remote_refuse_broken(c, m, ref, name,
				    arena_fmt(&c->mem,
					      "is at the %s " STR_FMT ", and not at a commit", kind,
					      STR_ARG(name)));
}

static bool repo_fetch_has(const struct remote *m, struct str commit)
{
	return !commit.p || repo_has(m->repo, commit);
}

static enum err fetch_from_folder(struct call *c, struct remote *m, struct repo *there,
				  struct str ref, const struct str haves[REPO_HAVES],
				  struct str commit)
{
	enum err e = repo_quarantine_begin(c, m->repo, haves);
	int code;

	if (e)
		return e;
	fault_point();
	git_error_clear();
	code = repo_copy_from(there, m->repo, commit, haves, REPO_HAVES);
	return code ? fetch_failed(c, m, code, ref, commit) : ERR_OK;
}

static enum err fetch_by_wire(struct call *c, struct remote *m, struct str ref,
			      const struct str haves[REPO_HAVES], struct str *commit)
{
	struct talk t = { .c = c, .remote = m, .said.mem = &c->mem };
	git_remote_callbacks calls = remote_callbacks(&t);
	git_remote *remote = NULL;
	enum err e = remote_connect(c, m, GIT_DIRECTION_FETCH, &calls, &remote);

	if (e)
		return e;
	if (!(e = remote_find(c, m, remote, ref, commit)) && !repo_fetch_has(m, *commit) &&
	    !(e = repo_quarantine_begin(c, m->repo, haves)))
		e = repo_fetch_fetch(c, m, &remote, &calls, ref, haves, commit);
	if (remote)
		git_remote_disconnect(remote);
	git_remote_free(remote);
	return e;
}

enum err remote_fetch(struct call *c, struct remote *m, struct str ref, struct str known,
		      struct str *commit)
{
	struct str haves[REPO_HAVES] = { known }, fault;
	struct repo *there;
	enum err e;

	m->known = known.p;
	m->broken = m->cut_short = false;
	m->unusable = m->why = m->shared = m->leads_to = STR_NONE;
	e = remote_look_at_folder(c, m, ref, true, commit, &there);
	if (e || (e = repo_ref_fault(c, m->repo, ref, &haves[1], &fault)))
		return e;
	if (fault.p || !repo_fetch_has(m, haves[1]))
		haves[1] = STR_NONE;
	if (!there)
		e = fetch_by_wire(c, m, ref, haves, commit);
	else if (!repo_fetch_has(m, *commit))
		e = fetch_from_folder(c, m, there, ref, haves, *commit);
	if (there) {
		m->machines = repo_has_refs(there, LOG_REFS "*");
		repo_close(there);
	}
	return !e && commit->p ? repo_fetch_check_commit(c, m, ref, *commit) : e;
}

enum err remote_fetch_whole(struct call *c, struct remote *m, struct str ref, struct str *commit)
{
	const struct str none[REPO_HAVES] = { 0 };
	struct repo *there;
	enum err e = remote_look_at_folder(c, m, ref, false, commit, &there);

	if (e || (e = repo_quarantine_begin_whole(c, m->repo)))
		*commit = STR_NONE;
	else if (!there)
		e = fetch_by_wire(c, m, ref, none, commit);
	else if (commit->p)
		e = fetch_from_folder(c, m, there, ref, none, *commit);
	if (there)
		repo_close(there);
	return e ? e : repo_quarantine_end_whole(c, m->repo);
}

enum err remote_look(struct call *c, struct remote *m, struct str ref, struct str *commit)
{
	struct talk t = { .c = c, .remote = m, .said.mem = &c->mem };
	git_remote_callbacks calls = remote_callbacks(&t);
	git_remote *remote = NULL;
	struct repo *there;
	enum err e = remote_look_at_folder(c, m, ref, false, commit, &there);

	if (there)
		repo_close(there);
	if (e || there || (e = remote_connect(c, m, GIT_DIRECTION_FETCH, &calls, &remote)))
		return e;
	e = remote_find(c, m, remote, ref, commit);
	git_remote_disconnect(remote);
	git_remote_free(remote);
	return e;
}
