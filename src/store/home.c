#include "store/home.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "store/folder.h"

enum { WAIT_MS = 60000, LOOK_MS = 10 };

const struct names home_kinds = NAMES_OF("auto", "git", "workspace");

struct str home_of_git(struct arena *mem, struct str common)
{
	return path_join(mem, common, STR("abacus"));
}

struct str home_of_workspace(struct arena *mem, struct str common)
{
	if (!str_is(path_name(common), ".git"))
		return STR_NONE;
	return path_join(mem, path_parent(common), STR(".abacus"));
}

bool home_in_workspace(struct str home)
{
	return str_is(path_name(home), ".abacus");
}

/* If the check fails, the folder counts as existing: opening it then reports the reason. */
static bool home_is_there(struct call *c, struct str path)
{
	struct stat st;

	return path.p && (!lstat(arena_cstr(&c->mem, path), &st) || !file_missing());
}

struct str home_find(struct call *c, struct str common)
{
	struct str git = home_of_git(&c->mem, common), workspace;

	if (home_is_there(c, git))
		return git;
	workspace = home_of_workspace(&c->mem, common);
	return home_is_there(c, workspace) ? workspace : git;
}

bool home_moved(struct call *c, struct str common, struct str home)
{
	return !str_eq(home_find(c, common), home) || (c->missing && home_is_there(c, home));
}

enum err home_check(struct call *c, struct str home)
{
	enum err e = folder_check(c, home, FOLDER_READ);

	if (e || !home_in_workspace(home) || (e = folder_check_tracked(c, home)))
		return e;
	return folder_check_inside(c, home); /* one of them may have been a submodule */
}

enum err home_lock(struct call *c, struct str common, struct lock *out)
{
	struct str dir = path_parent(common);
	int64_t end = moment_ticks() + WAIT_MS;

	out->fd = open(arena_cstr(&c->mem, dir), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->fd < 0)
		return file_fail(c, "open", dir);
	while (flock(out->fd, LOCK_EX | LOCK_NB) && (errno == EWOULDBLOCK || errno == EINTR)) {
		if (moment_ticks() >= end) {
			lock_drop(out);
			return call_fail(c, ERR_DATABASE_BUSY,
					 "another process has been creating or moving the store "
					 "of '" STR_FMT "' for more than %d s",
					 STR_ARG(dir), WAIT_MS / 1000);
		}
		moment_sleep(LOOK_MS);
	}
	return ERR_OK;
}

/* A checkout may be about to create the folder, or may have created and removed it. */
static enum err home_make_workspace(struct call *c, struct str path)
{
	enum err e;

	if ((e = folder_check_tracked(c, path)) || (e = file_make_folder(c, path, 0700)))
		return e;
	return file_provide(c, path_join(&c->mem, path, STR(".gitignore")), STR("*\n"), 0600);
}

static enum err home_make_new(struct call *c, struct str common, enum home_kind kind,
			      struct str *home)
{
	struct str workspace = home_of_workspace(&c->mem, common);
	struct call failed;
	enum err e;

	if (kind != HOME_WORKSPACE) {
		*home = home_of_git(&c->mem, common);
		e = file_make_folder(c, *home, 0700);
		if (kind == HOME_GIT || e != ERR_READ_ONLY || !workspace.p)
			return e;
		failed = call_save(c);
		if ((e = home_make_workspace(c, workspace)) == ERR_READ_ONLY)
			call_restore(c, &failed); /* nothing can be written here */
		else
			*home = workspace;
		return e;
	}
	*home = workspace;
	return home_make_workspace(c, workspace);
}

enum err home_refuse_workspace(struct call *c, struct str common)
{
	call_fail(c, ERR_INVALID_INPUT,
		  "the Git directory '" STR_FMT
		  "' is not called '.git', so there is no folder in the workspace that all "
		  "worktrees find",
		  STR_ARG(common));
	return call_step(c, "Keep the store in the Git directory. 'abacus serve' lets commands in "
			    "a sandbox use it.");
}

static enum err home_refuse_other(struct call *c, struct str home)
{
	call_fail(c, ERR_ALREADY_EXISTS, "the store is in '" STR_FMT "' already", STR_ARG(home));
	return call_step(c, "Run 'abacus move-store %s' to move it.",
			 home_in_workspace(home) ? "git" : "workspace");
}

static enum err home_explain_new(struct call *c, struct str workspace)
{
	return call_step(
		c, "A sandbox or the permissions forbid it. Run this outside of the sandbox: %s",
		workspace.p ? "abacus init --store workspace" : "abacus init");
}

enum err home_make(struct call *c, struct str common, enum home_kind kind, struct str *home)
{
	struct str workspace = home_of_workspace(&c->mem, common);
	AUTO_LOCK lock = LOCK_NONE;
	enum err e;

	if (kind == HOME_WORKSPACE && !workspace.p)
		return home_refuse_workspace(c, common);
	*home = home_find(c, common);
	if (workspace.p && !home_is_there(c, *home)) { /* another process may be creating it */
		if ((e = home_lock(c, common, &lock)))
			return e;
		*home = home_find(c, common);
	}
	if (!home_is_there(c, *home)) {
		e = home_make_new(c, common, kind, home);
		return e == ERR_READ_ONLY ? home_explain_new(c, workspace) : e;
	}
	if (kind != HOME_ANY && (kind == HOME_WORKSPACE) != home_in_workspace(*home))
		return home_refuse_other(c, *home);
	return ERR_OK;
}

enum err home_explain(struct call *c, enum err e, struct str home)
{
	if (e != ERR_READ_ONLY)
		return e;
	if (!str_is(path_name(home), "abacus"))
		return call_step(
			c,
			"A sandbox or the permissions forbid it. Outside of the sandbox, run 'abacus "
			"serve': commands here use that service, if they may connect to "
			"its socket; or 'abacus install codex --sandbox --user "
			"--write': Codex may write to the store then.");
	return call_step(
		c,
		"A sandbox or the permissions forbid it. Outside of the sandbox, run 'abacus move-store "
		"workspace': the store is in the project's folder then; or 'abacus "
		"serve': commands here use that service, if they may connect to its "
		"socket; or 'abacus install codex --sandbox --user --write': Codex may "
		"write to the store then.");
}
