/*
 * Checks the folders of this program before they are used. A folder must be a real folder of the
 * user that no other user can write to, and Git must not track anything in it: otherwise a cloned
 * repository could supply its content. Whether it is tracked is read from the index of every
 * worktree around the folder, after a checkout in progress has ended.
 */
#include "store/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "base/system/spawn.h"
#include "store/git/git_index.h"
#include "store/git/git_tool.h"
#include "store/owner.h"
#include "store/place_parts.h"

enum { WAIT_MS = 2000, LOOK_MS = 10 }; /* wait for a checkout to finish */

static enum err refuse_link(struct call *c, struct str path)
{
	call_fail(c, ERR_UNSAFE_PATH,
		  "'" STR_FMT
		  "' is a symbolic link; this program only uses a folder of its own there",
		  STR_ARG(path));
	return call_step(c,
			 "If you did not make it, move it away and run the command again. This "
			 "shows where it leads: ls -ld " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, path)));
}

/* The command that moves another user's folder away. */
static struct str move_away(struct call *c, struct str path)
{
	struct str to = path_unused(&c->mem, path, "theirs");

	return arena_fmt(&c->mem, "mv " STR_FMT " " STR_FMT, STR_ARG(spawn_word(&c->mem, path)),
			 STR_ARG(spawn_word(&c->mem, to)));
}

static enum err refuse_file(struct call *c, struct str path)
{
	struct str command = move_away(c, path);

	call_fail(c, ERR_UNSAFE_PATH,
		  "'" STR_FMT "' is not a folder; this program keeps its files in one there",
		  STR_ARG(path));
	return call_step(c, "Move it away, then run the command again: " STR_FMT, STR_ARG(command));
}

static void folder_note_name(void *arg, struct str name)
{
	bool *some = arg;

	*some = *some || (!str_is(name, ".") && !str_is(name, ".."));
}

/*
 * Codex mounts an empty folder over the ".git" of every folder that its sandbox may write to, and
 * makes an empty folder to mount it on, which other processes see meanwhile. Git has something in
 * each ".git".
 */
static bool folder_has_git(struct call *c, struct str path)
{
	struct str git = path_join(&c->mem, path, STR(".git"));
	struct stat st;
	bool some = false;

	if (lstat(git.p, &st))
		return false;
	if (!S_ISDIR(st.st_mode) || file_each(c, git, folder_note_name, &some)) {
		call_forgive(c);
		return true;
	}
	return some;
}

/*
 * A ".git" in the folder shows that the folder is or was a submodule, whose content comes from Git;
 * neither Git nor this program creates one there otherwise.
 */
static enum err refuse_submodule(struct call *c, struct str path)
{
	struct str command = move_away(c, path);

	call_fail(c, ERR_UNSAFE_PATH,
		  "'" STR_FMT "' is a Git repository itself, or was a submodule of one: other "
		  "people decide what it says",
		  STR_ARG(path));
	return call_step(c, "Move it away, then run the command again: " STR_FMT, STR_ARG(command));
}

static enum err refuse_writable(struct call *c, struct str path)
{
	call_fail(c, ERR_UNSAFE_PATH, "other users may write to '" STR_FMT "'", STR_ARG(path));
	return call_step(
		c, "Take that permission away, then run the command again: chmod 700 " STR_FMT,
		STR_ARG(spawn_word(&c->mem, path)));
}

/*
 * The folder must belong to the user. If the user has allowed a parent folder of another user
 * (safe.directory, GIT_DIR), that user's folders in it are allowed, too.
 */
static enum err folder_check_owner(struct call *c, struct str path, uid_t owner)
{
	struct str parent = path_parent(path);
	struct stat st;

	if (owner_is_user(owner) ||
	    (!stat(arena_cstr(&c->mem, parent), &st) && st.st_uid == owner) ||
	    owner_listed_safe(c, parent))
		return ERR_OK;
	return owner_refuse_inside(c, path, owner);
}

/*
 * Sets `private` to false if the folder does not exist, or other users may still read it
 * afterwards.
 */
static enum err folder_look(struct call *c, struct str path, enum folder_use use, bool *private)
{
	const char *z = arena_cstr(&c->mem, path);
	struct stat st;
	enum err e;

	if (lstat(z, &st)) {
		*private = false;
		return ERR_OK; /* opening it will report the reason */
	}
	if (S_ISLNK(st.st_mode))
		return refuse_link(c, path);
	if ((e = folder_check_owner(c, path, st.st_uid)))
		return e;
	if (!S_ISDIR(st.st_mode))
		return refuse_file(c, path);
	if (st.st_mode & 022)
		return refuse_writable(c, path);
	if (folder_has_git(c, path))
		return refuse_submodule(c, path);
	if (st.st_mode & 077) /* chmod() fails on a read-only file system */
		*private = use == FOLDER_WRITE && !chmod(z, 0700) && *private;
	return ERR_OK;
}

enum err folder_check(struct call *c, struct str path, enum folder_use use)
{
	bool private = true;

	return folder_look(c, path, use, &private);
}

/* A folder whose folders are checked. */
struct folder_inside {
	struct call *c;
	struct str path;
	enum err e;
};

static void folder_check_one(void *arg, struct str name)
{
	struct folder_inside *in = arg;
	struct str path = path_join(&in->c->mem, in->path, name);

	if (!in->e && !str_is(name, ".") && !str_is(name, "..") &&
	    !str_has(name, STR(".theirs-")) &&
	    (file_is_dir(&in->c->mem, path) || path_is_link(&in->c->mem, path)))
		in->e = folder_check(in->c, path, FOLDER_READ);
}

/* What the command of a refusal moved away is never used. */
enum err folder_check_inside(struct call *c, struct str path)
{
	struct folder_inside in = { c, path, ERR_OK };
	enum err e = file_each(c, path, folder_check_one, &in);

	return in.e ? in.e : e;
}

enum err folder_check_git(struct call *c, struct str gitdir)
{
	static const char *const names[] = { "", "refs", "objects" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct str path = i ? path_join(&c->mem, gitdir, str_of(names[i])) : gitdir;
		struct stat st;

		if (stat(arena_cstr(&c->mem, path), &st) || !(st.st_mode & S_IWOTH))
			continue;
		call_fail(c, ERR_UNSAFE_PATH, "every user may write to '" STR_FMT "'",
			  STR_ARG(path));
		return call_step(c, "Remove that permission: chmod -R o-w " STR_FMT,
				 STR_ARG(spawn_word(&c->mem, gitdir)));
	}
	return ERR_OK;
}

enum err folder_check_all(struct call *c, struct str dir, const char *const *names, size_t count,
			  enum folder_use use, bool *private)
{
	enum err e = folder_look(c, dir, use, private);

	if (!e)
		e = folder_check_tracked(c, dir);
	for (size_t i = 0; !e && i < count; i++)
		e = folder_look(c, path_join(&c->mem, dir, str_of(names[i])), use, private);
	return e;
}

static void note_shared(void *arg, struct str name)
{
	bool *shared = arg;

	*shared = *shared || str_starts(name, STR("sharedindex."));
}

/* A checkout that failed or was killed has left files without an index that lists them. */
static enum err refuse_unknown(struct call *c, const struct repository *repo, struct str name)
{
	call_fail(c, ERR_UNSAFE_PATH,
		  "it cannot be told whether '" STR_FMT "/" STR_FMT
		  "' comes from the repository: Git's index is missing or damaged",
		  STR_ARG(repo->tree), STR_ARG(name));
	return call_step(
		c,
		"See what is wrong with the checkout, and repair that first: git -C " STR_FMT
		" status",
		STR_ARG(spawn_word(&c->mem, repo->tree)));
}

/* The files exist, but Git cannot say which of them are tracked. */
static enum err refuse_broken(struct call *c, struct str path, struct str tree)
{
	call_fail(c, ERR_UNSAFE_PATH,
		  "it cannot be told whether '" STR_FMT "' comes from a repository: '" STR_FMT
		  "/.git' is not one that Git can use",
		  STR_ARG(path), STR_ARG(tree));
	return call_step(
		c, "See what is wrong with it, and repair that first: git -C " STR_FMT " status",
		STR_ARG(spawn_word(&c->mem, tree)));
}

static enum err refuse_unfinished(struct call *c, struct str path, struct str lock)
{
	call_fail(c, ERR_UNSAFE_PATH,
		  "'" STR_FMT "' may come from a Git command that is still running: '" STR_FMT
		  "' is there, and the folder is not older",
		  STR_ARG(path), STR_ARG(lock));
	return call_step(c, "Run the command again when Git has finished. If no Git command is "
			    "running, one has died, and has left that file.");
}

/* Does HEAD point to a commit? If not, there never was a checkout. A HEAD that cannot be read may
 * point to one. */
static bool may_have_commits(struct call *c, const struct repository *repo)
{
	struct str head, ref;

	if (file_own_read(c, path_join(&c->mem, repo->gitdir, STR("HEAD")), &head)) {
		call_forgive(c);
		return true;
	}
	head = str_trim(head);
	if (!str_starts(head, STR("ref: ")))
		return head.n > 0;
	ref = str_skip(head, 5);
	return place_ref(c, repo, ref).p;
}

static bool is_tracking(enum tracked tracked)
{
	return tracked == TRACKED_YES || tracked == TRACKED_ABOVE;
}

/*
 * A split index keeps most of its entries in a second file. It is rare, and so is an index that
 * cannot be parsed here: in these cases the user's own Git is asked, if it is installed. A long
 * index may be a split one without being recognized, because its extensions are not read; usually
 * the second file is beside it.
 */
static enum err ask_index(struct call *c, const struct repository *repo, struct str name,
			  enum tracked *tracked)
{
	struct str index = path_join(&c->mem, repo->gitdir, STR("index"));
	bool shared = false, absent, unread;
	AUTO_FD fd = -1;
	enum err e;

	*tracked = git_index_look(&c->mem, index, name);
	absent = *tracked == TRACKED_ABSENT;
	unread = absent || *tracked == TRACKED_EARLY;
	if (!unread && *tracked != TRACKED_SPLIT && *tracked != TRACKED_UNKNOWN)
		return ERR_OK;
	if (unread && (e = file_each(c, repo->gitdir, note_shared, &shared)))
		return e;
	if ((unread && !shared) || !git_tracks(c, repo, index, name, tracked)) {
		if (absent && !is_tracking(*tracked))
			*tracked = TRACKED_ABSENT;
		return ERR_OK;
	}
	fd = open(arena_cstr(&c->mem, index), O_RDONLY | O_CLOEXEC);
	return fd < 0 && (errno == EMFILE || errno == ENFILE) ? file_fail(c, "open", index) :
								refuse_unknown(c, repo, name);
}

/* --- checkout in progress --- */

static bool is_younger(struct call *c, struct str path, const struct stat *lock)
{
	struct stat st;

	return !lstat(arena_cstr(&c->mem, path), &st) &&
	       platform_changed_ns(&st) >= platform_written_ns(lock);
}

/*
 * Git first creates the files and at the end writes the new index into its lock file. While the
 * lock file is empty, a folder that is older than the lock cannot come from that checkout. Once it
 * has content, it lists what will be tracked.
 */
static bool is_in_doubt(struct call *c, const struct repository *repo, struct str path,
			struct str lock, struct str name)
{
	enum tracked tracked;
	struct stat st;

	if (lstat(arena_cstr(&c->mem, lock), &st))
		return false;
	if (!st.st_size)
		return is_younger(c, path, &st);
	tracked = git_index_look(&c->mem, lock, name);
	if (tracked != TRACKED_SPLIT || !git_tracks(c, repo, lock, name, &tracked))
		return is_tracking(tracked) || tracked == TRACKED_UNKNOWN;
	call_forgive(c); /* the lock file may be gone by now */
	return true;
}

/*
 * Waits for a checkout that may have created the folder. The caller reads the index afterwards, so
 * that the index includes every finished checkout.
 */
static enum err await_checkout(struct call *c, const struct repository *repo, struct str path,
			       struct str name)
{
	struct str lock = path_join(&c->mem, repo->gitdir, STR("index.lock"));
	int64_t end = 0;

	while (is_in_doubt(c, repo, path, lock, name)) {
		end = end ? end : moment_ticks() + WAIT_MS;
		if (moment_ticks() >= end)
			return refuse_unfinished(c, path, lock);
		moment_sleep(LOOK_MS);
	}
	return ERR_OK;
}

/* --- tracked folders --- */

/* A worktree that may contain the folder. */
struct worktree {
	struct repository repo;
	/* named by a variable or a setting: no ".git" in the worktree leads to the repository,
	 * which may look like a bare one */
	bool named;
};

/* The path relative to the root of the worktree. */
static struct str name_in(const struct repository *repo, struct str path)
{
	return str_skip(path, repo->tree.n + (repo->tree.n > 1));
}

/* Files that a store can create again need not be kept: moving them away loses nothing. */
static bool is_worth_keeping(struct str path)
{
	struct str name = path_name(path);

	return !str_is(name, "lock") && !str_is(name, ".gitignore") &&
	       !str_ends(name, STR("-wal")) && !str_ends(name, STR("-shm"));
}

/*
 * Does the folder contain files of the user that no commit created? `as` is the spelling of its
 * name in the index. False if Git cannot tell.
 */
static bool has_own_files(struct call *c, const struct worktree *w, struct str path, struct str *as)
{
	struct git_folder folder;
	struct git_path *own;
	enum err e = git_folder(c, &w->repo, name_in(&w->repo, path), &folder);

	call_forgive(c);
	if (e || !folder.name.p)
		return false;
	for (own = folder.untracked; own && !is_worth_keeping(own->path);)
		own = own->next;
	*as = folder.name;
	return own;
}

/* The command that removes only the tracked files. Git refuses if that would lose a change. */
static struct str remove_tracked(struct call *c, const struct worktree *w, struct str name)
{
	struct str tree = spawn_word(&c->mem, w->repo.tree),
		   gitdir = spawn_word(&c->mem, w->repo.gitdir);
	bool pattern = name.p[0] == ':' || strpbrk(arena_cstr(&c->mem, name), "*?[\\");

	name = arena_fmt(&c->mem, "%s" STR_FMT, pattern ? ":(literal)" : "", STR_ARG(name));
	name = spawn_word(&c->mem, name);
	if (!w->named && !getenv("GIT_DIR") && !getenv("GIT_WORK_TREE"))
		return arena_fmt(&c->mem, "git -C " STR_FMT " rm -r -- " STR_FMT, STR_ARG(tree),
				 STR_ARG(name));
	return arena_fmt(&c->mem,
			 "git -C " STR_FMT " --git-dir=" STR_FMT " --work-tree=" STR_FMT
			 " rm -r -- " STR_FMT,
			 STR_ARG(tree), STR_ARG(gitdir), STR_ARG(tree), STR_ARG(name));
}

static enum err refuse_tracked(struct call *c, const struct worktree *w, struct str path)
{
	struct str name = { 0 }, command;
	bool own = has_own_files(c, w, path, &name);

	call_fail(c, ERR_UNSAFE_PATH,
		  "'" STR_FMT "' comes from the repository: Git tracks %s in it, so other people "
		  "decide what it says",
		  STR_ARG(path), own ? "some of what is" : "what is");
	command = own ? remove_tracked(c, w, name) : move_away(c, path);
	if (own)
		return call_step(
			c,
			"Other files in it are your own. Remove only those that Git "
			"tracks, then run the command again, and commit the removal: " STR_FMT,
			STR_ARG(command));
	if (name.p && !file_exists(&c->mem, path)) /* Git spells the name differently */
		return call_step(c,
				 "Remove it from the repository, then run the command again, and "
				 "commit the removal: " STR_FMT,
				 STR_ARG(remove_tracked(c, w, name)));
	return call_step(c,
			 "Remove it from the repository; until that is committed, choose "
			 "another project with --dir. Move it away first: " STR_FMT,
			 STR_ARG(command));
}

/* --- checks --- */

/*
 * The worktree around the folder, regardless of GIT_DIR; absent: there is none, or it belongs to
 * another user, whose Git cannot have created a folder owned by this user. A failed search also
 * means none: the user's own Git could not read the worktree either.
 */
static enum err folder_find_worktree(struct call *c, struct str path, struct repository *out)
{
	struct candidate around;
	enum err e = candidate_around(c, path_parent(path), &around);
	struct str broken = around.dangling;

	*out = (struct repository){ 0 };
	call_forgive(c);
	if (e)
		return ERR_OK;
	if (!broken.p && around.repo.tree.p && !around.usable)
		broken = around.repo.tree;
	if (broken.p)
		return refuse_broken(c, path, broken);
	if (!around.foreign.path.p)
		*out = around.repo;
	return ERR_OK;
}

/*
 * Is the name tracked in the worktree? Without an index, nothing is tracked if there never was a
 * checkout.
 */
static enum err is_tracked(struct call *c, const struct worktree *w, struct str name, bool *yes)
{
	enum tracked tracked;
	bool bare = false;
	enum err e = ask_index(c, &w->repo, name, &tracked);

	*yes = !e && is_tracking(tracked);
	if (e || tracked != TRACKED_ABSENT || !may_have_commits(c, &w->repo))
		return e;
	if ((!w->named && (e = place_is_bare(c, &w->repo, &bare))) || bare)
		return e;
	return refuse_unknown(c, &w->repo, name);
}

/* Refuses a folder that is in this worktree and tracked. */
static enum err check_in(struct call *c, const struct worktree *w, struct str path)
{
	struct str name = name_in(&w->repo, path);
	bool tracked;
	enum err e;

	if (!path_within(w->repo.tree, path))
		return ERR_OK;
	if ((e = await_checkout(c, &w->repo, path, name)) || (e = is_tracked(c, w, name, &tracked)))
		return e;
	return tracked ? refuse_tracked(c, w, path) : ERR_OK;
}

/*
 * A repository may be nested in a folder of another one: files that the outer one tracks came with
 * the outer one. A submodule is in the outer index as a single entry: untracked files in it are the
 * user's.
 */
static enum err check_outside(struct call *c, struct str path, struct str tree)
{
	struct candidate around;
	struct worktree w = { 0 };
	enum tracked tracked = TRACKED_NO;

	while (tracked != TRACKED_YES && tree.n > 1) {
		if (candidate_around(c, path_parent(tree), &around) || !around.repo.tree.p)
			break;
		w.repo = around.repo;
		tree = around.repo.tree;
		if (around.usable && !around.foreign.path.p &&
		    ask_index(c, &around.repo, name_in(&around.repo, path), &tracked))
			return c->code;
	}
	call_forgive(c);
	return tracked == TRACKED_YES ? refuse_tracked(c, &w, path) : ERR_OK;
}

/*
 * Checks the worktree whose ".git" is found above the folder, and the worktree that its
 * configuration names.
 */
static enum err check_around(struct call *c, struct str path)
{
	struct worktree w = { 0 };
	struct str tree;
	enum err e;

	if ((e = folder_find_worktree(c, path, &w.repo)) || !w.repo.tree.p)
		return e;
	if ((e = check_in(c, &w, path)) || (e = check_outside(c, path, w.repo.tree)) ||
	    (e = place_of_setting(c, &w.repo, &tree)) || !tree.p || str_eq(tree, w.repo.tree))
		return e;
	w = (struct worktree){ .repo = w.repo, .named = true };
	w.repo.tree = tree;
	return check_in(c, &w, path);
}

/* Git's environment variables can make a folder without ".git" a worktree. */
static enum err check_named(struct call *c, struct str path)
{
	struct worktree w = { .named = true };

	place_of_variables(c, &w.repo);
	return w.repo.tree.p ? check_in(c, &w, path) : ERR_OK;
}

/* A link above the file may be tracked, and lead to a folder whose files are, under other names. */
enum err folder_check_tracked(struct call *c, struct str path)
{
	struct str dir, real;
	enum err e;

	if (str_eq(c->seen.untracked, path)) /* a call opens some stores more than once */
		return ERR_OK;
	dir = path_real_beside(&c->mem, c->real, path_parent(path));
	if ((e = check_around(c, path)) || (e = check_named(c, path)))
		return e;
	real = dir.p ? path_join(&c->mem, dir, path_name(path)) : path;
	if (!str_eq(real, path) && ((e = check_around(c, real)) || (e = check_named(c, real))))
		return e;
	c->seen.untracked = arena_copy(&c->mem, path);
	return ERR_OK;
}
