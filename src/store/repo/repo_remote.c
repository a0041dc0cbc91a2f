/*
 * Which remote is meant, and what to say if its ref cannot be used. Each reason needs another next
 * step.
 */
#include "store/repo/repo_remote.h"

#include <sys/stat.h>

#include "base/number.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/url.h"
#include "store/owner.h"
#include "store/repo/repo_remote_parts.h"

/* The path that an address names; absent if the address is of another kind. */
static struct str repo_remote_path(struct call *c, struct repo *r, struct str url)
{
	const char *root = git_repository_commondir(repo_git(r));
	struct str dir;

	if (str_starts(url, STR("file://localhost/")))
		url = arena_fmt(&c->mem, "file://" STR_FMT, STR_ARG(str_skip(url, 16)));
	if (str_starts(url, STR("file://")))
		return url_decode(&c->mem, str_skip(url, 7));
	if (ssh_address(url) || strstr(arena_cstr(&c->mem, url), "://"))
		return STR_NONE;
	dir = git_repository_is_bare(repo_git(r)) ? str_of(root) :
						    path_parent(path_real(&c->mem, str_of(root)));
	return path_resolve(&c->mem, path_real(&c->mem, dir), url);
}

/* The local folder of an address, without links; absent: none. A link of another user is refused,
 * because it could lead to any repository of the user. */
static enum err repo_remote_folder(struct call *c, struct repo *r, struct str url, struct str *out)
{
	struct str path = repo_remote_path(c, r, url);

	*out = path.p ? path_real(&c->mem, path) : STR_NONE;
	for (struct str at = path; out->p && at.n > 1; at = path_parent(at)) {
		struct stat st;

		if (!lstat(arena_cstr(&c->mem, at), &st) && S_ISLNK(st.st_mode) &&
		    !owner_is_user(st.st_uid) && !owner_is_system(st.st_uid) &&
		    !owner_listed_safe(c, path))
			return owner_refuse(c, at, st.st_uid, path);
	}
	return ERR_OK;
}

static bool repo_remote_is_mirror(struct call *c, struct repo *r, struct str name)
{
	git_config *config = NULL;
	int yes = 0;

	if (!git_repository_config_snapshot(&config, repo_git(r)))
		git_config_get_bool(
			&yes, config,
			arena_fmt(&c->mem, "remote." STR_FMT ".mirror", STR_ARG(name)).p);
	git_config_free(config);
	return yes;
}

enum err remote_open(struct call *c, struct repo *r, struct str name, struct remote *out)
{
	git_remote *remote = NULL;
	const char *url;
	int code = git_remote_lookup(&remote, repo_git(r), arena_cstr(&c->mem, name));
	enum err e;

	*out = (struct remote){ .repo = r, .name = name };
	if (code == GIT_ENOTFOUND || code == GIT_EINVALIDSPEC)
		return ERR_OK;
	if (code)
		return repo_fail(c, ERR_SYNC_FAILED, "read the remote", name);
	url = git_remote_url(remote);
	out->address = arena_copy(&c->mem, str_of(url ? url : ""));
	url = git_remote_pushurl(remote);
	out->push_address = url ? arena_copy(&c->mem, str_of(url)) : out->address;
	git_remote_free(remote);
	out->url = url_shown(&c->mem, out->address);
	out->mirror = repo_remote_is_mirror(c, r, name);
	if ((e = repo_remote_folder(c, r, out->push_address, &out->to)) ||
	    (e = repo_remote_folder(c, r, out->address, &out->from)))
		return e;
	if (out->from.p) /* an absolute path, independent of the current folder */
		out->address = out->from;
	return ERR_OK;
}

enum err remote_missing(struct call *c, const struct remote *m, const char *advice)
{
	call_fail(c, ERR_SYNC_FAILED, "this repository has no Git remote '" STR_FMT "'",
		  STR_ARG(m->name));
	return call_step(c, "%s: git remote add " STR_FMT " URL", advice,
			 STR_ARG(spawn_word(&c->mem, m->name)));
}

bool remote_is_folder(struct call *c, const struct remote *m)
{
	const char *address = arena_cstr(&c->mem, m->address);

	return m->url.p && (str_starts(m->address, STR("file://")) ||
			    (!ssh_address(m->address) && !strstr(address, "://")));
}

/*
 * A "git push" command that accepts refs also for a mirror; then the option, if any, and the
 * remote.
 */
static struct str repo_remote_push_command(struct call *c, const struct remote *m,
					   const char *option)
{
	struct str name = spawn_word(&c->mem, m->name),
		   mirror =
			   arena_fmt(&c->mem, "-c remote." STR_FMT ".mirror=false ", STR_ARG(name));

	return arena_fmt(&c->mem, "git " STR_FMT "push %s" STR_FMT,
			 STR_ARG(m->mirror ? mirror : STR("")), option, STR_ARG(name));
}

struct str remote_force_command(struct call *c, const struct remote *m, struct str ref)
{
	return arena_fmt(&c->mem, STR_FMT " " STR_FMT,
			 STR_ARG(repo_remote_push_command(c, m, "--force ")),
			 STR_ARG(spawn_word(&c->mem, ref)));
}

/*
 * The command, run only if the server reports no symbolic ref: a push to a symbolic ref changes the
 * ref that it points to.
 */
static struct str remote_unless_symbolic(struct call *c, const struct remote *m, struct str ref,
					 struct str command)
{
	return arena_fmt(&c->mem,
			 "refs=$(git ls-remote --symref " STR_FMT " " STR_FMT
			 ") && ! echo \"$refs\" | grep ^ref: && " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, m->name)), STR_ARG(spawn_word(&c->mem, ref)),
			 STR_ARG(command));
}

enum err remote_not_kept(struct call *c, const struct remote *m)
{
	return call_fail(c, ERR_SYNC_FAILED,
			 "'" STR_FMT "' accepted the change but does not have it",
			 STR_ARG(m->name));
}

struct str remote_delete_command(struct call *c, const struct remote *m, struct str ref)
{
	struct str push = repo_remote_push_command(c, m, "--delete ");

	return remote_unless_symbolic(c, m, ref,
				      arena_fmt(&c->mem, STR_FMT " " STR_FMT, STR_ARG(push),
						STR_ARG(spawn_word(&c->mem, ref))));
}

enum err remote_refuse_broken(struct call *c, struct remote *m, struct str ref, struct str at,
			      struct str fault)
{
	m->broken = true;
	m->unusable = at;
	m->why = fault;
	call_fail(c, ERR_REMOTE_DAMAGED,
		  "the ref '" STR_FMT "' at '" STR_FMT "' (" STR_FMT ") " STR_FMT, STR_ARG(ref),
		  STR_ARG(m->name), STR_ARG(m->url), STR_ARG(fault));
	if (at.p)
		return call_step(c, "Your own work is safe. Run 'bd repair --apply' to set the "
				    "ref to the last usable commit.");
	return call_step(c,
			 "Your own work is safe. Set the ref to the last commit of this "
			 "clone. If that is refused, the repository there is damaged: run 'git "
			 "fsck' in it. Run: " STR_FMT,
			 STR_ARG(remote_force_command(c, m, ref)));
}

enum err remote_refuse_shared(struct call *c, const struct remote *m, struct str ref)
{
	call_fail(c, ERR_REMOTE_DAMAGED,
		  "the ref '" STR_FMT "' at '" STR_FMT "' (" STR_FMT
		  ") points to the same object as '" STR_FMT
		  "': it may be a symbolic ref, and then a push would change that one",
		  STR_ARG(ref), STR_ARG(m->name), STR_ARG(m->url), STR_ARG(m->shared));
	return call_step(
		c,
		"Your own work is safe. Check in the repository there whether "
		"that ref is symbolic; if so, remove it there. If not, replace it with "
		"this command, which stops if the server reports a symbolic ref (with "
		"Git's protocol 2; older servers do not report it): " STR_FMT,
		STR_ARG(remote_unless_symbolic(c, m, ref, remote_force_command(c, m, ref))));
}

enum err remote_refuse_room(struct call *c, struct remote *m, struct str ref, struct str other)
{
	m->broken = true;
	call_fail(c, ERR_REMOTE_DAMAGED,
		  "the ref '" STR_FMT "' at '" STR_FMT "' (" STR_FMT
		  ") cannot be made beside the ref '" STR_FMT "'",
		  STR_ARG(ref), STR_ARG(m->name), STR_ARG(m->url), STR_ARG(other));
	return call_step(
		c,
		"Your own work is safe. Remove that ref, then run 'bd sync': " STR_FMT " " STR_FMT,
		STR_ARG(repo_remote_push_command(c, m, "")),
		STR_ARG(spawn_word(&c->mem, arena_fmt(&c->mem, ":" STR_FMT, STR_ARG(other)))));
}

/* The user decides whether the file belongs there: a team may have raised the limit. */
static enum err repo_remote_too_large(struct call *c, struct remote *m, struct str ref,
				      struct str commit, const struct repo_fault *fault)
{
	const size_t EXPECTED_MOST = (size_t)1 << 40; /* nobody keeps a terabyte beside beads */

	m->broken = true;
	m->unusable = str_eq(fault->commit, commit) ? commit : STR_NONE;
	m->why = fault->why;
	call_fail(c, ERR_REMOTE_DAMAGED,
		  "the ref '" STR_FMT "' at '" STR_FMT "' (" STR_FMT ") cannot be used: " STR_FMT,
		  STR_ARG(ref), STR_ARG(m->name), STR_ARG(m->url),
		  STR_ARG(remote_shown(c, m, fault->why)));
	if (fault->size > EXPECTED_MOST)
		return call_step(c, "Your own work is safe. Run 'bd repair --apply' to leave that "
				    "commit out.");
	return call_step(c,
			 "Your own work is safe. If that size is expected, run 'bd "
			 "config set sync.max_file " STR_FMT
			 "'. If not, run 'bd repair --apply' to leave that commit out.",
			 STR_ARG(number_size(&c->mem, (int64_t)fault->size)));
}

enum err remote_refuse(struct call *c, struct remote *m, struct str ref, struct str commit,
		       const struct repo_fault *fault)
{
	struct str why = remote_shown(c, m, fault->why);

	if (fault->size)
		return repo_remote_too_large(c, m, ref, commit, fault);
	if (str_eq(fault->commit, commit))
		return remote_refuse_broken(
			c, m, ref, commit,
			arena_fmt(&c->mem, "is at " STR_FMT ", which cannot be used: " STR_FMT,
				  STR_ARG(commit), STR_ARG(why)));
	call_fail(c, ERR_REMOTE_DAMAGED,
		  "the ref '" STR_FMT "' at '" STR_FMT "' (" STR_FMT ") is at " STR_FMT
		  ", whose history cannot be used: " STR_FMT,
		  STR_ARG(ref), STR_ARG(m->name), STR_ARG(m->url), STR_ARG(commit), STR_ARG(why));
	return call_step(c, "Your own work is safe. Run 'bd repair --apply' to publish all beads "
			    "again, without that part of the history.");
}
