/*
 * Pushes our ref: to a folder, where libgit2 would overwrite the ref without a check, or over the
 * network.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/system/fault.h"
#include "store/repo/repo_remote_parts.h"

struct copy {
	git_odb *from, *to;
	size_t count;
};

static int copy_object(struct copy *k, const git_oid *oid)
{
	git_odb_object *object = NULL;
	git_oid made;
	int code;

	if (git_odb_exists(k->to, oid))
		return 0;
	k->count++;
	fault_point();
	if (!(code = git_odb_read(&object, k->from, oid)))
		code = git_odb_write(&made, k->to, git_odb_object_data(object),
				     git_odb_object_size(object), git_odb_object_type(object));
	git_odb_object_free(object);
	return code;
}

/*
 * Other programs may have added folders beside our files. A submodule's commit is in another
 * repository, so it is skipped.
 */
static int copy_tree(struct copy *k, git_repository *git, const git_oid *oid, int depth)
{
	git_tree *tree = NULL;
	int code;

	if (git_odb_exists(k->to, oid)) /* its content was written first */
		return 0;
	code = depth > REPO_DEPTH ? -1 : git_tree_lookup(&tree, git, oid);
	for (size_t i = 0; !code && i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);

		if (git_tree_entry_type(entry) == GIT_OBJECT_TREE)
			code = copy_tree(k, git, git_tree_entry_id(entry), depth + 1);
		else if (git_tree_entry_type(entry) == GIT_OBJECT_BLOB)
			code = copy_object(k, git_tree_entry_id(entry));
	}
	if (!code)
		code = copy_object(k, oid);
	git_tree_free(tree);
	return code;
}

static int copy_commit(struct copy *k, git_repository *git, const git_oid *oid)
{
	git_commit *commit = NULL;
	int code = git_commit_lookup(&commit, git, oid);

	if (!code)
		code = copy_tree(k, git, git_commit_tree_id(commit), 0);
	if (!code)
		code = copy_object(k, oid);
	git_commit_free(commit);
	return code;
}

/* Copies the commits that the other side lacks, oldest first. */
static int copy_line(struct remote *m, git_repository *there, const git_oid *tip)
{
	git_repository *here = repo_git(m->repo);
	git_revwalk *walk = NULL;
	struct copy k = { 0 };
	git_oid *missing = NULL, at;
	size_t count = 0;
	int code;

	if (!(code = git_repository_odb(&k.from, here)) &&
	    !(code = git_repository_odb(&k.to, there)) && !(code = git_revwalk_new(&walk, here)))
		code = git_revwalk_push(walk, tip);
	while (!code && !(code = git_revwalk_next(&at, walk)) && !git_odb_exists(k.to, &at)) {
		git_oid *more = realloc(missing, (count + 1) * sizeof *more);

		if (!more)
			abort();
		missing = more;
		missing[count++] = at;
	}
	if (code == GIT_ITEROVER)
		code = 0;
	while (!code && count)
		code = copy_commit(&k, here, &missing[--count]);
	free(missing);
	git_revwalk_free(walk);
	git_odb_free(k.from);
	git_odb_free(k.to);
	return code;
}

/* The local history cannot be read; the remote is not at fault. */
static enum err broken_here(struct call *c, const struct remote *m, struct str ref)
{
	call_fail(c, ERR_DAMAGED,
		  "cannot push to '" STR_FMT "' (" STR_FMT "): the history of '" STR_FMT
		  "' in this clone cannot be read: " STR_FMT,
		  STR_ARG(m->name), STR_ARG(m->url), STR_ARG(ref),
		  STR_ARG(remote_shown(c, m, str_of(repo_error_text()))));
	return call_step(c, "Nothing was lost. 'bd repair --apply' publishes all beads again, "
			    "without that part of the history.");
}

/* Reports a failure at the remote's ref as the remote's fault. */
static enum err move_there(struct call *c, struct repo *there, struct str ref, struct str old,
			   struct str commit, bool *moved)
{
	enum err e = repo_ref_move(c, there, ref, old, commit, moved);

	if (e == ERR_INTERNAL_ERROR)
		e = c->code = ERR_REMOTE_REJECTED;
	if (e == ERR_DAMAGED)
		e = c->code = ERR_REMOTE_DAMAGED;
	return e;
}

static enum err repo_push_fail_to_write(struct call *c, const struct remote *m)
{
	int disk = repo_disk_error();
	enum err e = repo_fail(c, ERR_REMOTE_REJECTED, "write to", m->url);

	if (disk != ENOSPC && disk != EDQUOT)
		return e;
	return call_step(c,
			 "Nothing was lost: your changes are on this disk. Free some space on the "
			 "disk of '" STR_FMT "', then run 'bd sync' again.",
			 STR_ARG(m->url));
}

static enum err push_to_folder(struct call *c, struct remote *m, struct str ref, struct str commit,
			       struct str old, bool *moved)
{
	struct repo *there;
	struct str other;
	git_oid tip;
	enum err e = remote_open_folder(c, m, m->to, ref, &there);

	if (e)
		return e;
	repo_set_umask(there);
	git_oid_fromstrn(&tip, commit.p, commit.n);
	git_error_clear();
	if (!old.p && ((e = repo_ref_room(c, there, ref, &other)) || other.p))
		e = e ? e : remote_refuse_room(c, m, ref, other);
	else if (!copy_line(m, repo_git(there), &tip))
		e = move_there(c, there, ref, old, commit, moved);
	else if (remote_unreadable() && !repo_error_is(GIT_ERROR_ODB))
		e = broken_here(c, m, ref);
	else
		e = repo_push_fail_to_write(c, m);
	repo_set_umask(m->repo);
	repo_close(there);
	return e;
}

/* Can the ref be created at the remote, which does not list it yet? */
static enum err repo_push_check_room(struct call *c, struct remote *m, git_remote *remote,
				     struct str ref)
{
	struct str below = arena_fmt(&c->mem, STR_FMT "/", STR_ARG(ref));
	const git_remote_head **heads;
	size_t count;

	if (git_remote_ls(&heads, &count, remote))
		return ERR_OK; /* the push will report the error */
	for (size_t i = 0; i < count; i++) {
		struct str name = arena_copy(&c->mem, str_of(heads[i]->name));

		if (str_starts(name, below) ||
		    (str_starts(ref, name) && ref.n > name.n && ref.p[name.n] == '/'))
			return remote_refuse_room(c, m, ref, name);
	}
	return ERR_OK;
}

/* The messages by which servers say that another client has moved the ref. */
static bool lost_race(const char *why)
{
	static const char *const words[] = { "fetch first",
					     "non-fast-forward",
					     "not present locally",
					     "failed to update ref",
					     "cannot lock ref",
					     "failed to lock",
					     "incorrect old value",
					     "reference already exists",
					     "stale info",
					     "but expected",
					     NULL };

	return remote_text_has(why, words);
}

/* The reason of the rejection: the remote's status for our ref, and the output of its hooks. */
static struct str repo_push_words_of(struct talk *t, const git_error *error)
{
	struct str said = str_trim(buf_str(&t->said)), why = t->refused;

	if (!why.p)
		why = str_of(error && error->message ? error->message : "no reason given");
	return remote_shown(t->c, t->remote,
			    arena_fmt(&t->c->mem, STR_FMT "%s" STR_FMT, STR_ARG(why),
				      said.n ? "; it said: " : "", STR_ARG(said)));
}

static enum err repo_push_rejected(struct call *c, const struct remote *m, struct talk *t)
{
	return call_fail(c, ERR_REMOTE_REJECTED,
			 "'" STR_FMT "' (" STR_FMT ") did not take the change: " STR_FMT,
			 STR_ARG(m->name), STR_ARG(m->url), STR_ARG(repo_push_words_of(t, NULL)));
}

static enum err repo_push_push(struct call *c, struct remote *m, struct talk *t, git_remote *remote,
			       git_remote_callbacks *calls, struct str from, struct str ref,
			       bool *moved)
{
	char *spec =
		(char *)arena_fmt(&c->mem, "%s" STR_FMT ":" STR_FMT,
				  m->replaces || m->forced ? "+" : "", STR_ARG(from), STR_ARG(ref))
			.p;
	git_strarray specs = { &spec, 1 };
	git_push_options options;
	const git_error *error;
	int code;

	git_push_options_init(&options, GIT_PUSH_OPTIONS_VERSION);
	options.callbacks = *calls;
	options.pb_parallelism = 1;
	fault_point();
	code = git_remote_upload(remote, &specs, &options);
	error = git_error_last();
	if (!code && !t->refused.p)
		*moved = true;
	else if (code == GIT_ENONFASTFORWARD || (t->refused.p && lost_race(t->refused.p)) ||
		 (code && error && error->message && lost_race(error->message)))
		m->refused = repo_push_words_of(t, code ? error : NULL);
	else if (t->refused.p)
		return repo_push_rejected(c, m, t);
	else if (code && remote_unreadable())
		return broken_here(c, m, ref);
	else if (code)
		return remote_unreachable(c, m, code, "push to");
	return ERR_OK;
}

enum err remote_push(struct call *c, struct remote *m, struct str from, struct str ref,
		     struct str commit, struct str old, bool *moved)
{
	struct talk t = { .c = c, .remote = m, .said.mem = &c->mem };
	git_remote_callbacks calls = remote_callbacks(&t);
	git_remote *remote = NULL;
	struct str at;
	enum err e;

	*moved = false;
	m->refused = STR_NONE;
	if (m->to.p)
		return push_to_folder(c, m, ref, commit, old, moved);
	if ((e = remote_connect(c, m, GIT_DIRECTION_PUSH, &calls, &remote)))
		return e;
	/* the value that the remote lists now is the one that it will compare with */
	t.wire = remote;
	t.old = old;
	if (!(e = remote_find(c, m, remote, ref, &at)) && str_eq(at, old) &&
	    (at.p || !(e = repo_push_check_room(c, m, remote, ref))))
		e = repo_push_push(c, m, &t, remote, &calls, from, ref, moved);
	git_remote_disconnect(remote);
	git_remote_free(remote);
	return e;
}
