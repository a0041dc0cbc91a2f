/* Remotes that are folders: they are opened as repositories. */
#include <sys/stat.h>

#include "base/system/path.h"
#include "store/owner.h"
#include "store/repo/repo_remote_parts.h"

/*
 * The same owner check that Git makes before it serves a folder. For a worktree, safe.directory may
 * list its root as well.
 */
static enum err repo_folder_check_owner(struct call *c, struct str gitdir)
{
	struct stat st;
	bool inner = str_is(path_name(gitdir), ".git");

	if (lstat(arena_cstr(&c->mem, gitdir), &st) || owner_is_user(st.st_uid) ||
	    owner_listed_safe(c, gitdir) || (inner && owner_listed_safe(c, path_parent(gitdir))))
		return ERR_OK;
	return owner_refuse(c, gitdir, st.st_uid, gitdir);
}

/* libgit2 would block for ever on a FIFO. */
static enum err repo_folder_check_file(struct call *c, const struct remote *m, struct str path)
{
	struct stat st;

	if (stat(arena_cstr(&c->mem, path), &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return ERR_OK; /* libgit2 reports other problems */
	call_fail(c, ERR_REMOTE_DAMAGED, "'" STR_FMT "' of '" STR_FMT "' is not a file",
		  STR_ARG(path), STR_ARG(m->name));
	return call_step(c, "Your own work is safe. Check it with 'ls -l', and remove it if it "
			    "is not needed.");
}

static enum err repo_folder_check_files(struct call *c, const struct remote *m, struct str folder,
					struct str ref)
{
	const struct str names[] = { STR("HEAD"),
				     STR("config"),
				     STR("packed-refs"),
				     STR("shallow"),
				     STR("commondir"),
				     STR("objects/info/alternates"),
				     STR("objects/pack/multi-pack-index"),
				     ref };
	struct str inner = path_join(&c->mem, folder, STR(".git"));
	enum err e = repo_folder_check_file(c, m, inner);

	for (size_t i = 0; !e && i < sizeof names / sizeof *names; i++)
		if (!(e = repo_folder_check_file(c, m, path_join(&c->mem, folder, names[i]))))
			e = repo_folder_check_file(c, m, path_join(&c->mem, inner, names[i]));
	return e;
}

enum err remote_open_folder(struct call *c, const struct remote *m, struct str path, struct str ref,
			    struct repo **out)
{
	struct stat st;
	bool bare = !stat(arena_cstr(&c->mem, path_join(&c->mem, path, STR("HEAD"))), &st);
	struct str gitdir = bare ? path : path_join(&c->mem, path, STR(".git")), real;
	enum err e;

	if ((e = repo_folder_check_files(c, m, path, ref)) ||
	    (e = repo_folder_check_owner(c, gitdir)))
		return e;
	if (repo_open(c, gitdir, out))
		return remote_unreachable(c, m, 0, "reach");
	(*out)->elsewhere = true;
	/* `.git` may be a file that names another folder */
	real = path_real(&c->mem, str_of(git_repository_path(repo_git(*out))));
	if (real.p && (e = repo_folder_check_owner(c, real)))
		repo_close(*out);
	return e;
}

enum err remote_check_packs(struct call *c, struct remote *m, struct str ref)
{
	struct repo *there;
	enum err e;

	if (!m->from.p || remote_open_folder(c, m, m->from, ref, &there))
		return call_forgive(c); /* the fetch reports it */
	e = repo_check_packs(c, there);
	repo_close(there);
	return e;
}

/* A repair may be able to continue from the commit that a tag leads to. */
static void repo_folder_fetch_tagged(struct call *c, struct remote *m, struct repo *there,
				     struct str tag)
{
	const struct str haves[REPO_HAVES] = { 0 };
	struct str commit = repo_peel(c, there, tag);
	struct call before = call_save(c);

	if (commit.p && !repo_quarantine_begin(c, m->repo, haves) &&
	    !repo_copy_from(there, m->repo, commit, NULL, 0))
		m->leads_to = commit;
	call_restore(c, &before);
}

enum err remote_look_at_folder(struct call *c, struct remote *m, struct str ref, bool fetch,
			       struct str *commit, struct repo **there)
{
	struct str fault;
	enum err e;

	*there = NULL;
	if (!m->from.p)
		return ERR_OK;
	if ((e = remote_open_folder(c, m, m->from, ref, there))) {
		*there = NULL;
		return e == ERR_DUBIOUS_OWNERSHIP || e == ERR_REMOTE_DAMAGED ? e : call_forgive(c);
	}
	repo_set_umask(*there); /* a killed sync may have left a private ref */
	repo_sweep_locks(c, *there, ref);
	repo_set_umask(m->repo);
	if ((e = repo_ref_fault(c, *there, ref, commit, &fault)))
		e = c->code = ERR_SYNC_FAILED;
	else if (fault.p)
		e = remote_refuse_broken(c, m, ref, *commit, fault);
	if (!e)
		return ERR_OK;
	if (fetch && commit->p)
		repo_folder_fetch_tagged(c, m, *there, *commit);
	repo_close(*there);
	*there = NULL;
	return e;
}

bool remote_ref_locked(struct call *c, struct remote *m, struct str ref, struct lock_found *found,
		       struct str *fix)
{
	struct repo *there;
	bool locked;

	if (!m->to.p)
		return false;
	if (remote_open_folder(c, m, m->to, ref, &there)) {
		call_forgive(c);
		return false;
	}
	locked = repo_ref_locked(c, there, ref, found, fix);
	repo_close(there);
	return locked;
}
