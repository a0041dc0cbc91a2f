#include "store/folder.h"

#include <sys/stat.h>

#include "base/file.h"
#include "base/path.h"
#include "base/spawn.h"
#include "store/git_index.h"
#include "store/git_tool.h"
#include "store/place_parts.h"

static enum err refuse_link(struct call *c, struct str path)
{
	call_fail(c, ERR_UNSAFE_PATH,
		  "'" STR_FMT "' is a symbolic link; this program only uses a folder of "
		  "its own there",
		  STR_ARG(path));
	return call_step(c,
			 "See where it leads with 'ls -ld " STR_FMT
			 "'; if you did not make it, move it away and run the command "
			 "again.",
			 STR_ARG(path));
}

static enum err refuse_writable(struct call *c, struct str path)
{
	call_fail(c, ERR_UNSAFE_PATH, "other users may write to '" STR_FMT "'",
		  STR_ARG(path));
	return call_step(c, "Run 'chmod 700 " STR_FMT "', then the command again.",
			 STR_ARG(path));
}

enum err folder_check(struct call *c, struct str path, enum folder_use use)
{
	const char *z = arena_cstr(&c->mem, path);
	struct stat st;

	if (lstat(z, &st))
		return ERR_OK; /* whoever opens it says why that fails */
	if (S_ISLNK(st.st_mode))
		return refuse_link(c, path);
	if (!S_ISDIR(st.st_mode))
		return ERR_OK;
	if (st.st_mode & 022)
		return refuse_writable(c, path);
	if (use == FOLDER_WRITE && (st.st_mode & 077))
		(void)!chmod(z, 0700); /* it fails where nothing can be written */
	return ERR_OK;
}

enum err folder_check_git(struct call *c, struct str gitdir)
{
	static const char *const names[] = { "", "refs", "objects" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct str path =
			i ? path_join(&c->mem, gitdir, str_of(names[i])) : gitdir;
		struct stat st;

		if (stat(arena_cstr(&c->mem, path), &st) || !(st.st_mode & S_IWOTH))
			continue;
		call_fail(c, ERR_UNSAFE_PATH, "every user may write to '" STR_FMT "'",
			  STR_ARG(path));
		return call_step(c, "Take that permission away: chmod -R o-w " STR_FMT,
				 STR_ARG(spawn_quoted(&c->mem, gitdir)));
	}
	return ERR_OK;
}

enum err folder_check_all(struct call *c, struct str dir, const char *const *names,
			  size_t count, enum folder_use use)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < count; i++)
		e = folder_check(c, path_join(&c->mem, dir, str_of(names[i])), use);
	return e;
}

static void note_shared(void *arg, struct str name)
{
	bool *shared = arg;

	*shared = *shared || str_starts(name, STR("sharedindex."));
}

/* A checkout that failed, or was killed, has left files and no index that names them. */
static enum err refuse_unknown(struct call *c, const struct repository *repo,
			       struct str name)
{
	call_fail(c, ERR_UNSAFE_PATH,
		  "it cannot be told whether '" STR_FMT "/" STR_FMT
		  "' comes from the repository: Git's index is missing or damaged",
		  STR_ARG(repo->tree), STR_ARG(name));
	return call_step(c,
			 "Run 'git -C " STR_FMT " status' to see what is wrong with the "
			 "checkout, and mend that first.",
			 STR_ARG(repo->tree));
}

/* Is HEAD at a commit? Where it is not, there never was a checkout. */
static bool has_commits(struct call *c, const struct repository *repo)
{
	struct str head, ref;

	if (file_own_read(c, path_join(&c->mem, repo->gitdir, STR("HEAD")), &head)) {
		c->code = ERR_OK;
		return false;
	}
	head = str_trim(head);
	if (!str_starts(head, STR("ref: ")))
		return head.n > 0;
	ref = str_skip(head, 5);
	return place_ref(c, repo, ref).p;
}

/*
 * A split index keeps most of its entries in a second file. It is rare, and so is an
 * index that cannot be parsed here: then the user's own Git is asked, if there is one.
 */
static enum err is_tracked(struct call *c, const struct repository *repo, struct str name,
			   bool *yes)
{
	struct str index = path_join(&c->mem, repo->gitdir, STR("index"));
	enum tracked tracked = git_index_look(&c->mem, index, name);
	bool shared = false;
	enum err e;

	*yes = tracked == TRACKED_YES;
	if (*yes)
		return ERR_OK;
	if ((e = file_each(c, repo->gitdir, note_shared, &shared)))
		return e;
	if ((tracked == TRACKED_UNKNOWN || shared) && git_tracks(c, repo, name, yes))
		return refuse_unknown(c, repo, name);
	if (!file_exists(&c->mem, index) && has_commits(c, repo))
		return refuse_unknown(c, repo, name);
	return ERR_OK;
}

/*
 * The worktree that the folder is in, whatever GIT_DIR says; false: there is none, or it
 * is another user's, whose Git cannot have made a folder of this user's. A look that
 * fails means the same: the user's own Git could not get there either.
 */
static bool find_worktree(struct call *c, struct str dir, struct repository *out)
{
	struct candidate around;
	enum err e = candidate_around(c, dir, &around);

	*out = around.repo;
	c->code = ERR_OK;
	return !e && out->tree.p && around.usable && !around.foreign.path.p;
}

enum err folder_check_tracked(struct call *c, struct str path)
{
	struct repository repo;
	struct str name;
	bool tracked;
	enum err e;

	if (str_eq(c->untracked, path)) /* a call opens some stores more than once */
		return ERR_OK;
	if (!find_worktree(c, path_parent(path), &repo))
		return ERR_OK;
	name = str_skip(path, repo.tree.n + (repo.tree.n > 1));
	if ((e = is_tracked(c, &repo, name, &tracked)))
		return e;
	if (!tracked) {
		c->untracked = arena_copy(&c->mem, path);
		return ERR_OK;
	}
	call_fail(c, ERR_UNSAFE_PATH,
		  "'" STR_FMT "' comes from the repository: Git tracks what is in it, so "
		  "other people decide what it says",
		  STR_ARG(path));
	return call_step(c,
			 "Run 'git -C " STR_FMT " ls-files " STR_FMT
			 "' to see what is in it, and have it taken out of the "
			 "repository; until then, choose another project with --dir.",
			 STR_ARG(repo.tree), STR_ARG(name));
}
