/*
 * Refs are read through libgit2 but written here: a lock file that a dead libgit2 process left
 * behind cannot be told from the lock of a running program, while ours can (store/git/git_lock.h).
 */
#include <git2.h>

#include "base/buf.h"
#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "store/git/git_lock.h"
#include "store/repo/repo.h"
#include "store/repo/repo_parts.h"

static struct str repo_refs_folder(struct repo *r)
{
	return str_of(git_repository_commondir(repo_git(r)));
}

static struct str repo_refs_path_of(struct call *c, struct repo *r, struct str name)
{
	return path_join(&c->mem, repo_refs_folder(r), name);
}

/* --- reading --- */

/* The ref cannot be used, and a retry would not help. */
static enum err repo_refs_broken(struct call *c, struct repo *r, struct str name, struct str fault)
{
	struct str file = repo_refs_path_of(c, r, name);

	call_fail(c, ERR_DAMAGED, "the ref '" STR_FMT "' of '" STR_FMT "' " STR_FMT, STR_ARG(name),
		  STR_ARG(repo_refs_folder(r)), STR_ARG(fault));
	if (file_exists(&c->mem, file))
		return call_step(c,
				 "Nothing was changed. Move the file '" STR_FMT
				 "' aside, then run 'bd sync': it creates the ref again, from the "
				 "journal and the remote.",
				 STR_ARG(file));
	return call_step(c,
			 "Nothing was changed. Set the ref to its commit again: git -C " STR_FMT
			 " update-ref " STR_FMT " COMMIT",
			 STR_ARG(spawn_word(&c->mem, repo_refs_folder(r))),
			 STR_ARG(spawn_word(&c->mem, name)));
}

/* An I/O error is not reported as damage: the data itself may be intact. */
static bool disk_failed(void)
{
	return repo_error_is(GIT_ERROR_OS) || repo_error_is(GIT_ERROR_NOMEMORY);
}

static enum err repo_refs_unreadable(struct call *c, struct str name, struct str *fault)
{
	if (disk_failed())
		return repo_fail(c, ERR_INTERNAL_ERROR, "read the ref", name);
	*fault = arena_fmt(&c->mem, "cannot be read: %s", repo_error_text());
	return ERR_OK;
}

/* The target of a symbolic ref; absent: not symbolic. */
static struct str target_of(struct call *c, git_reference *ref)
{
	return git_reference_type(ref) == GIT_REFERENCE_SYMBOLIC ?
		       arena_copy(&c->mem, str_of(git_reference_symbolic_target(ref))) :
		       STR_NONE;
}

static enum err repo_refs_check_commit(struct call *c, struct repo *r, struct str name,
				       struct str *fault)
{
	const char *kind = repo_kind(r, name);
	enum err e;

	/*
	 * libgit2 also reports an object that it failed to open as missing, so a failure is retried
	 * once
	 */
	git_error_clear();
	if (!kind)
		kind = repo_kind(r, name);
	if (!kind && disk_failed())
		return repo_fail(c, ERR_INTERNAL_ERROR, "read the commit", name);
	if (!kind && ((e = repo_check_loose(c, r)) || (e = repo_check_packs(c, r))))
		return e;
	if (!kind)
		*fault = arena_fmt(&c->mem, "is at " STR_FMT ", which %s", STR_ARG(name),
				   r->damaged.p ? "cannot be read" : "does not exist");
	else if (!str_is(str_of(kind), "commit"))
		*fault = arena_fmt(&c->mem, "is at the %s " STR_FMT ", and not at a commit", kind,
				   STR_ARG(name));
	return ERR_OK;
}

enum err repo_ref_fault(struct call *c, struct repo *r, struct str name, struct str *commit,
			struct str *fault)
{
	const char *ref = arena_cstr(&c->mem, name);
	git_reference *found = NULL;
	struct str target;
	git_oid oid;
	int code = git_reference_lookup(&found, repo_git(r), ref);

	*commit = *fault = STR_NONE;
	if (code)
		return code == GIT_ENOTFOUND ? ERR_OK : repo_refs_unreadable(c, name, fault);
	target = target_of(c, found);
	git_reference_free(found);
	code = git_reference_name_to_id(&oid, repo_git(r), ref);
	if (code == GIT_ENOTFOUND && target.p)
		*fault = arena_fmt(&c->mem,
				   "is a symbolic ref to '" STR_FMT "', which does not exist",
				   STR_ARG(target));
	if (code) /* not found: the ref was removed in between */
		return code == GIT_ENOTFOUND ? ERR_OK : repo_refs_unreadable(c, name, fault);
	*commit = repo_hex(&c->mem, &oid);
	return repo_refs_check_commit(c, r, *commit, fault);
}

enum err repo_ref(struct call *c, struct repo *r, struct str name, struct str *commit)
{
	struct str fault;
	enum err e = repo_ref_fault(c, r, name, commit, &fault);

	if (e || !fault.p)
		return e;
	e = repo_refs_broken(c, r, name, fault);
	if (commit->p)
		call_step(c,
			  "Nothing was changed. 'bd repair --apply' keeps the target of the ref as "
			  "a backup ref; then run 'bd sync': it creates the ref again, from the "
			  "journal and the remote.");
	return e;
}

enum err repo_refs_below(struct call *c, struct repo *r, struct str prefix, struct str **names,
			 size_t *count)
{
	struct str glob = arena_fmt(&c->mem, STR_FMT "*", STR_ARG(prefix)), *list = NULL;
	git_reference_iterator *all = NULL;
	const char *name;
	size_t n = 0;

	if (git_reference_iterator_glob_new(&all, repo_git(r), arena_cstr(&c->mem, glob)))
		return repo_fail(c, ERR_INTERNAL_ERROR, "list the refs", prefix);
	while (!git_reference_next_name(&name, all)) {
		list = arena_room(&c->mem, list, n, sizeof *list);
		list[n++] = arena_copy(&c->mem, str_of(name));
	}
	git_reference_iterator_free(all);
	str_sort(list, n);
	*names = list;
	*count = n;
	return ERR_OK;
}

/* --- writing --- */

enum err repo_ref_room(struct call *c, struct repo *r, struct str name, struct str *other)
{
	struct str *below, at = name;
	git_reference *found = NULL;
	size_t count;
	enum err e = repo_refs_below(c, r, arena_fmt(&c->mem, STR_FMT "/", STR_ARG(name)), &below,
				     &count);

	*other = !e && count ? below[0] : STR_NONE;
	while (!e && !other->p && (at = path_parent(at), at.n > STR("refs").n)) {
		int code = git_reference_lookup(&found, repo_git(r), arena_cstr(&c->mem, at));

		git_reference_free(found);
		found = NULL;
		if (!code)
			*other = at;
	}
	return e;
}

static enum err check_room(struct call *c, struct repo *r, struct str name)
{
	struct str other, folder = spawn_word(&c->mem, repo_refs_folder(r));
	enum err e = repo_ref_room(c, r, name, &other);

	if (e || !other.p)
		return e;
	repo_refs_broken(
		c, r, name,
		arena_fmt(&c->mem, "cannot be made beside the ref '" STR_FMT "'", STR_ARG(other)));
	return call_step(c,
			 "Nothing was changed. Remove that ref, then run 'bd sync': git -C " STR_FMT
			 " update-ref -d " STR_FMT,
			 STR_ARG(folder), STR_ARG(spawn_word(&c->mem, other)));
}

/* Refuses names that Git does not allow, and repositories that do not store refs in files. */
static enum err check_name(struct call *c, struct repo *r, struct str name)
{
	git_config *config = NULL;
	git_buf kind = { 0 };
	int valid = 0;
	bool files;

	if (git_reference_name_is_valid(&valid, arena_cstr(&c->mem, name)) || !valid ||
	    !str_starts(name, STR("refs/")))
		return call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' cannot be the name of a ref",
				 STR_ARG(name));
	if (git_repository_config_snapshot(&config, repo_git(r)))
		return repo_fail(c, ERR_INTERNAL_ERROR, "read the settings of",
				 repo_refs_folder(r));
	files = git_config_get_string_buf(&kind, config, "extensions.refstorage") ||
		str_is(str_of(kind.ptr), "files");
	git_buf_dispose(&kind);
	git_config_free(config);
	return files ? ERR_OK : repo_refs_broken(c, r, name, STR("is not kept in a file"));
}

/* The ref's own value, without following a symbolic ref; the caller holds the lock. */
static enum err repo_refs_read_locked(struct call *c, struct repo *r, struct str name,
				      struct str *commit)
{
	git_reference *found = NULL;
	int code = git_reference_lookup(&found, repo_git(r), arena_cstr(&c->mem, name));
	enum err e = ERR_OK;
	struct str target, fault = { 0 };

	*commit = STR_NONE;
	if (code == GIT_ENOTFOUND)
		return ERR_OK;
	if (code)
		e = repo_refs_unreadable(c, name, &fault);
	else if ((target = target_of(c, found)).p)
		fault = arena_fmt(&c->mem, "is a symbolic ref to '" STR_FMT "'", STR_ARG(target));
	else
		*commit = repo_hex(&c->mem, git_reference_target(found));
	git_reference_free(found);
	return fault.p ? repo_refs_broken(c, r, name, fault) : e;
}

enum err repo_ref_movable(struct call *c, struct repo *r, struct str name)
{
	struct str commit;

	return repo_refs_read_locked(c, r, name, &commit);
}

/* HEAD may name a branch that does not exist yet. */
static bool repo_refs_is_head(struct repo *r, const char *name)
{
	git_reference *head = NULL;
	bool is = !git_repository_is_bare(repo_git(r)) &&
		  !git_reference_lookup(&head, repo_git(r), "HEAD") &&
		  git_reference_type(head) == GIT_REFERENCE_SYMBOLIC &&
		  !strcmp(git_reference_symbolic_target(head), name);

	git_reference_free(head);
	return is;
}

bool repo_ref_is_checked_out(struct call *c, struct repo *r, struct str name)
{
	const char *wanted = arena_cstr(&c->mem, name);
	git_reference *ref = NULL;
	bool is =
		repo_refs_is_head(r, wanted) || (!git_reference_lookup(&ref, repo_git(r), wanted) &&
						 git_branch_is_checked_out(ref) == 1);

	git_reference_free(ref);
	return is;
}

/*
 * Adds an entry to the reflog if Git keeps one for this ref. Errors are ignored, because nothing
 * depends on it.
 */
static void add_to_log(struct call *c, struct repo *r, struct str name, struct str old,
		       struct str new)
{
	static const char nothing[] = "0000000000000000000000000000000000000000";
	struct str path = repo_refs_path_of(c, r, path_join(&c->mem, STR("logs"), name));
	struct call before;

	if (git_reference_has_log(repo_git(r), arena_cstr(&c->mem, name)) != 1)
		return;
	before = call_save(c);
	file_append(c, path,
		    arena_fmt(&c->mem,
			      STR_FMT " " STR_FMT " abacus <abacus@localhost> %lld +0000\tabacus\n",
			      STR_ARG(old.p ? old : str_of(nothing)), STR_ARG(new),
			      (long long)c->now_ms / 1000),
		    0666);
	call_restore(c, &before);
}

/*
 * libgit2 syncs an object and the folder that contains it, but not `objects`, in which it may have
 * created that folder. A ref must not become durable before the object that it names.
 */
static enum err repo_refs_sync_objects(struct call *c, struct repo *r)
{
	return file_sync_dir(c, path_join(&c->mem, repo_objects(c, r), STR("pack")));
}

/* `old` is the expected value of the ref; NULL: any. */
static enum err repo_refs_move(struct call *c, struct repo *r, struct str name,
			       const struct str *old, struct str new, bool *moved)
{
	struct str at, content = arena_fmt(&c->mem, STR_FMT "\n", STR_ARG(new));
	AUTO_GIT_LOCK lock = GIT_LOCK_NONE;
	enum err e = check_name(c, r, name);

	*moved = false;
	fault_point();
	if (e ||
	    (e = git_lock_take(c, repo_refs_path_of(c, r, name), content, GIT_LOCK_REMOVE_STALE,
			       &lock)) ||
	    (e = repo_refs_read_locked(c, r, name, &at)) || (!at.p && (e = check_room(c, r, name))))
		return e;
	if (old && !(str_eq(at, *old) && !at.p == !old->p))
		return ERR_OK;
	if (!str_eq(at, new) &&
	    ((e = repo_refs_sync_objects(c, r)) || (e = git_lock_commit(c, &lock))))
		return e;
	add_to_log(c, r, name, at, new);
	*moved = true;
	return ERR_OK;
}

enum err repo_ref_move(struct call *c, struct repo *r, struct str name, struct str old,
		       struct str new, bool *moved)
{
	return repo_refs_move(c, r, name, &old, new, moved);
}

enum err repo_ref_put(struct call *c, struct repo *r, struct str name, struct str commit)
{
	bool moved;

	return repo_refs_move(c, r, name, NULL, commit, &moved);
}

/* --- removing --- */

/* Removes the lines of one ref from the text of `packed-refs`; false: the ref is not there. */
static bool repo_refs_without(struct arena *mem, struct str text, struct str name, struct str *out)
{
	struct buf b = { .mem = mem };
	bool found = false, skips = false;
	struct str line;

	while (str_next(&text, '\n', &line)) {
		bool peeled = line.n && line.p[0] == '^';

		skips = peeled ? skips :
				 line.n > name.n && str_ends(line, name) &&
					 line.p[line.n - name.n - 1] == ' ';
		found = found || skips;
		if (!skips && (line.n || text.p))
			buf_fmt(&b, STR_FMT "\n", STR_ARG(line));
	}
	*out = buf_str(&b);
	return found;
}

/*
 * `packed-refs` has all of the user's refs, so a lock that may not be ours is respected, however
 * old it is. The ref then stays until it is dropped the next time.
 */
static enum err drop_packed(struct call *c, struct repo *r, struct str name)
{
	struct str path = repo_refs_path_of(c, r, STR("packed-refs")), text, rest;
	AUTO_GIT_LOCK lock = GIT_LOCK_NONE;
	enum err e = file_read(c, path, &text);

	if (e || !text.p || !repo_refs_without(&c->mem, text, name, &rest))
		return e;
	e = git_lock_take(c, path, STR(""), GIT_LOCK_RESPECT, &lock);
	if (e == ERR_SYNC_FAILED)
		return call_forgive(c);
	if (e || (e = file_read(c, path, &text)))
		return e;
	if (!text.p || !repo_refs_without(&c->mem, text, name, &rest))
		return ERR_OK;
	return (e = git_lock_write(c, &lock, rest)) ? e : git_lock_commit(c, &lock);
}

enum err repo_ref_drop(struct call *c, struct repo *r, struct str name)
{
	struct str path = repo_refs_path_of(c, r, name);
	AUTO_GIT_LOCK lock = GIT_LOCK_NONE;
	enum err e = check_name(c, r, name);

	if (e || (e = git_lock_take(c, path, STR(""), GIT_LOCK_REMOVE_STALE, &lock)) ||
	    (e = drop_packed(c, r, name)))
		return e;
	return file_remove(c, path);
}

bool repo_ref_locked(struct call *c, struct repo *r, struct str name, struct lock_found *found,
		     struct str *fix)
{
	if (!git_lock_left(c, repo_refs_path_of(c, r, name), found))
		return false;
	*fix = found->removable ? STR("bd sync --timeout 30s") :
				  git_lock_remedy(&c->mem, found->lock);
	return true;
}

void repo_sweep_locks(struct call *c, struct repo *r, struct str ref)
{
	static const char *const dirs[] = { "", "refs/beads", "refs/beads/remote",
					    "refs/beads/backup" };

	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		git_lock_sweep(c, repo_refs_path_of(c, r, str_of(dirs[i])));
	git_lock_sweep(c, path_parent(repo_refs_path_of(c, r, ref)));
}

bool repo_has_refs(struct repo *r, const char *glob)
{
	git_reference_iterator *all = NULL;
	const char *name;
	bool some = !git_reference_iterator_glob_new(&all, repo_git(r), glob) &&
		    !git_reference_next_name(&name, all);

	git_reference_iterator_free(all);
	return some;
}
