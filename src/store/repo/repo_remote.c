/*
 * Fetches and pushes our ref. A remote that is a folder is opened as a repository, and its objects
 * are copied directly; any other remote is reached through libgit2's transports. Failures are
 * sorted into those of the network, of the credentials, of the remote's ref and of our own history,
 * because each needs another next step.
 */
#include "store/repo/repo_remote.h"

#include <git2.h>
#if __has_include(<git2/sys/errors.h>)
#include <git2/sys/errors.h>
#endif
#include <git2/sys/transport.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/number.h"
#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/url.h"
#include "store/owner.h"
#include "store/repo/repo_parts.h"

/* --- which remote --- */

/* The local folder that an address names; absent if the address is of another kind. */
static struct str repo_remote_folder(struct call *c, struct repo *r, struct str url)
{
	const char *root = git_repository_commondir(repo_git(r));
	struct str dir;

	if (str_starts(url, STR("file://localhost/")))
		url = arena_fmt(&c->mem, "file://" STR_FMT, STR_ARG(str_skip(url, 16)));
	if (str_starts(url, STR("file://")))
		return path_real(&c->mem, url_decode(&c->mem, str_skip(url, 7)));
	if (ssh_address(url) || strstr(arena_cstr(&c->mem, url), "://"))
		return STR_NONE;
	dir = git_repository_is_bare(repo_git(r)) ? str_of(root) :
						    path_parent(path_real(&c->mem, str_of(root)));
	return path_real(&c->mem, path_resolve(&c->mem, path_real(&c->mem, dir), url));
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
	out->to = repo_remote_folder(c, r, out->push_address);
	out->from = repo_remote_folder(c, r, out->address);
	if (out->from.p) /* an absolute path, independent of the current folder */
		out->address = out->from;
	return ERR_OK;
}

bool remote_is_folder(struct call *c, const struct remote *m)
{
	const char *address = arena_cstr(&c->mem, m->address);

	return m->url.p && (str_starts(m->address, STR("file://")) ||
			    (!ssh_address(m->address) && !strstr(address, "://")));
}

/* --- credentials --- */

struct talk {
	struct call *c;
	struct remote *remote;
	git_remote *wire;
	struct str old; /* the value of our ref that a push expects at the remote */
	int tries;
	struct str refused; /* the remote's status for our ref */
	struct buf said;    /* output of the remote's hooks, as one line */
};

enum { WORDS_MOST = 2000, HELPER_MS = 60000 };

static struct str repo_remote_member(struct str text, const char *key)
{
	struct str line, name;

	while (str_next(&text, '\n', &line))
		if (str_next(&line, '=', &name) && str_is(name, key))
			return line;
	return STR_NONE;
}

/*
 * Asks the user's Git credential helpers, if `git` is installed. The address goes through a pipe,
 * because other users can see command lines.
 */
static bool ask_git(struct call *c, const struct remote *m, struct str url, struct str *user,
		    struct str *password)
{
	struct str dir =
		arena_fmt(&c->mem, "--git-dir=%s", git_repository_commondir(repo_git(m->repo)));
	const char *argv[] = { "/usr/bin/env",
			       "GIT_TERMINAL_PROMPT=0",
			       "GIT_ASKPASS=",
			       "SSH_ASKPASS=",
			       "git",
			       dir.p,
			       "credential",
			       "fill",
			       NULL };
	struct spawn git = { .argv = argv, .timeout_ms = HELPER_MS, .tied = true };

	if (memchr(url.p, '\n', url.n))
		return false;
	/* the password of the URL was already tried */
	url = url_drop_password(&c->mem, url);
	git.input = arena_fmt(&c->mem, "url=" STR_FMT "\n\n", STR_ARG(url));
	if (spawn_run(c, &git) || git.status) {
		call_forgive(c);
		return false;
	}
	*user = repo_remote_member(git.out, "username");
	*password = repo_remote_member(git.out, "password");
	return user->p && password->p;
}

static int repo_remote_credentials(git_credential **out, const char *url, const char *user,
				   unsigned int allowed, void *arg)
{
	struct talk *t = arg;
	struct str name, password;

	(void)user;
	if (!(allowed & GIT_CREDENTIAL_USERPASS_PLAINTEXT) || t->tries++ ||
	    !ask_git(t->c, t->remote, str_of(url), &name, &password)) {
		git_error_set_str(GIT_ERROR_NET, "it requires a user name and a password, and "
						 "accepts none of the known ones");
		return GIT_EAUTH;
	}
	return git_credential_userpass_plaintext_new(out, arena_cstr(&t->c->mem, name),
						     arena_cstr(&t->c->mem, password));
}

static int repo_remote_hear(const char *text, int n, void *arg)
{
	struct talk *t = arg;

	for (int i = 0; i < n && t->said.n < WORDS_MOST; i++)
		buf_char(&t->said, (unsigned char)text[i] < ' ' ? ' ' : text[i]);
	return 0;
}

static int repo_remote_judged(const char *ref, const char *why, void *arg)
{
	struct talk *t = arg;

	(void)ref;
	if (why)
		t->refused = arena_copy(&t->c->mem, str_of(why));
	return 0;
}

/*
 * Before libgit2 determines which objects the remote lacks, it walks back from every ref that both
 * sides have, also from branches that have nothing to do with beads and may contain a commit that
 * cannot be parsed. It skips refs whose value is all zeros, so every ref that is not at the
 * expected commit of ours is zeroed here.
 */
static int forget_heads(const git_push_update **updates, size_t count, void *arg)
{
	struct talk *t = arg;
	const git_remote_head **heads;
	git_oid old;
	size_t n;
	bool known =
		!t->remote->replaces && t->old.p && !git_oid_fromstrn(&old, t->old.p, t->old.n);

	(void)updates;
	(void)count;
	if (git_remote_ls(&heads, &n, t->wire))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!known || !git_oid_equal(&heads[i]->oid, &old))
			memset(((git_remote_head *)heads[i])->oid.id, 0, GIT_OID_RAWSZ);
	return 0;
}

static int repo_remote_transport(git_transport **out, git_remote *owner, void *arg)
{
	const char *url = git_remote_url(owner);

	(void)arg;
	if (ssh_address(str_of(url)))
		return ssh_transport(out, owner, NULL);
	return git_transport_new(out, owner, url);
}

static git_remote_callbacks repo_remote_callbacks(struct talk *t)
{
	git_remote_callbacks all;

	git_remote_init_callbacks(&all, GIT_REMOTE_CALLBACKS_VERSION);
	all.credentials = repo_remote_credentials;
	all.sideband_progress = repo_remote_hear;
	all.push_update_reference = repo_remote_judged;
	all.push_negotiation = forget_heads;
	all.transport = repo_remote_transport;
	all.payload = t;
	return all;
}

/* --- connections --- */

static bool repo_remote_about(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strstr(text, *words))
			return true;
	return false;
}

static struct str repo_remote_replace(struct call *c, struct str text, struct str word,
				      struct str by)
{
	struct buf b = { .mem = &c->mem };
	const char *at;

	while (word.n && (at = str_find(text, word))) {
		buf_put(&b, str_head(text, (size_t)(at - text.p)));
		buf_put(&b, by);
		text = str_skip(text, (size_t)(at - text.p) + word.n);
	}
	buf_put(&b, text);
	return buf_str(&b);
}

/*
 * Messages of libgit2, of ssh and of the remote, made safe to show: they may quote the address or
 * the password.
 */
static struct str repo_remote_shown(struct call *c, const struct remote *m, struct str text)
{
	const struct str addresses[] = { m->address, m->push_address };

	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		struct str secret = url_secret(addresses[i]), stars = STR("***");

		text = repo_remote_replace(c, text, addresses[i], url_shown(&c->mem, addresses[i]));
		text = repo_remote_replace(c, text, secret, stars);
		text = repo_remote_replace(c, text, url_decode(&c->mem, secret), stars);
	}
	return url_hide(&c->mem, text);
}

static enum err repo_remote_unreachable(struct call *c, const struct remote *m, int code,
					const char *doing)
{
	static const char *const doors[] = { "status code: 401",  "status code: 403",
					     "authentication re", "Authentication",
					     "Permission denied", "publickey",
					     "Host key",          NULL };
	const git_error *error = git_error_last();
	const char *why = error && error->message ? error->message : "no reason given",
		   *ssh = ssh_complaint();
	bool shut =
		code == GIT_EAUTH || repo_remote_about(why, doors) || repo_remote_about(ssh, doors);
	struct str text = str_of(*ssh ? ssh : why);

	if (str_is(text, "unsupported URL protocol") && !str_has(m->url, STR("://")))
		text = STR("there is no Git repository");
	text = repo_remote_shown(c, m, text);
	return call_fail(c, shut ? ERR_AUTH_FAILED : ERR_SYNC_FAILED,
			 "cannot %s '" STR_FMT "' (" STR_FMT "): " STR_FMT, doing, STR_ARG(m->name),
			 STR_ARG(m->url), STR_ARG(text));
}

/*
 * Connects to an anonymous remote, without configured refspecs, so that only our ref is
 * transferred. `url.*.insteadOf` was applied when the address was read.
 */
static enum err repo_remote_connect(struct call *c, struct remote *m, git_direction direction,
				    git_remote_callbacks *calls, git_remote **out)
{
	git_remote_create_options options;
	git_proxy_options proxy;
	struct str to = direction == GIT_DIRECTION_PUSH ? m->push_address : m->address;
	int code;

	git_error_clear(); /* clears an earlier error: not every failure sets a new one */
	git_proxy_options_init(&proxy, GIT_PROXY_OPTIONS_VERSION);
	proxy.type = GIT_PROXY_AUTO;
	git_remote_create_options_init(&options, GIT_REMOTE_CREATE_OPTIONS_VERSION);
	options.repository = repo_git(m->repo);
	options.flags = GIT_REMOTE_CREATE_SKIP_INSTEADOF | GIT_REMOTE_CREATE_SKIP_DEFAULT_FETCHSPEC;
	if ((code = git_remote_create_with_opts(out, arena_cstr(&c->mem, to), &options)))
		return repo_remote_unreachable(c, m, code, "use");
	code = git_remote_connect(*out, direction, calls, &proxy, NULL);
	if (code && to.n && !ssh_address(to) && !str_has(to, STR("://")) &&
	    !path_real(&c->mem, to).p)
		git_error_set_str(GIT_ERROR_NET, "there is no such folder");
	if (!code)
		return ERR_OK;
	git_remote_free(*out);
	*out = NULL;
	return repo_remote_unreachable(c, m, code, "reach");
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

static struct str repo_remote_force(struct call *c, const struct remote *m, struct str ref)
{
	return arena_fmt(&c->mem, STR_FMT " " STR_FMT,
			 STR_ARG(repo_remote_push_command(c, m, "--force ")),
			 STR_ARG(spawn_word(&c->mem, ref)));
}

/*
 * A retry would not help: the ref must be repaired at the remote. `at` is the object that the ref
 * points to; absent: unknown.
 */
static enum err repo_remote_broken(struct call *c, struct remote *m, struct str ref, struct str at,
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
	return call_step(
		c,
		"Your own work is safe and goes on. Set the ref to the last commit of this "
		"clone. If that is refused, the repository there is damaged: run 'git "
		"fsck' in it. Run: " STR_FMT,
		STR_ARG(repo_remote_force(c, m, ref)));
}

enum err remote_refuse_shared(struct call *c, const struct remote *m, struct str ref)
{
	call_fail(c, ERR_REMOTE_DAMAGED,
		  "the ref '" STR_FMT "' at '" STR_FMT "' (" STR_FMT
		  ") is at the same object as '" STR_FMT
		  "': it may be a symbolic ref, and then a push would change that one",
		  STR_ARG(ref), STR_ARG(m->name), STR_ARG(m->url), STR_ARG(m->shared));
	return call_step(
		c,
		"Your own work is safe and goes on. Check in the repository there whether "
		"that ref is symbolic; if so, remove it there. If not, replace it with "
		"this command, which stops if the server reports a symbolic ref (with "
		"Git's protocol 2; older servers do not report it): refs=$(git ls-remote --symref " STR_FMT
		" " STR_FMT ") && ! echo \"$refs\" | grep ^ref: && " STR_FMT,
		STR_ARG(spawn_word(&c->mem, m->name)), STR_ARG(spawn_word(&c->mem, ref)),
		STR_ARG(repo_remote_force(c, m, ref)));
}

/* The ref cannot be created: Git allows no ref below another. */
static enum err repo_remote_no_room(struct call *c, struct remote *m, struct str ref,
				    struct str other)
{
	m->broken = true;
	call_fail(c, ERR_REMOTE_DAMAGED,
		  "the ref '" STR_FMT "' at '" STR_FMT "' (" STR_FMT
		  ") cannot be made beside the ref '" STR_FMT "'",
		  STR_ARG(ref), STR_ARG(m->name), STR_ARG(m->url), STR_ARG(other));
	return call_step(
		c,
		"Your own work is safe and goes on. Remove that ref, then run 'bd sync': " STR_FMT
		" " STR_FMT,
		STR_ARG(repo_remote_push_command(c, m, "")),
		STR_ARG(spawn_word(&c->mem, arena_fmt(&c->mem, ":" STR_FMT, STR_ARG(other)))));
}

/* The user decides whether the file belongs there: a team may have raised the limit. */
static enum err repo_remote_too_large(struct call *c, struct remote *m, struct str ref,
				      struct str commit, const struct repo_fault *fault)
{
	m->broken = true;
	m->unusable = str_eq(fault->commit, commit) ? commit : STR_NONE;
	m->why = fault->why;
	call_fail(c, ERR_REMOTE_DAMAGED,
		  "the ref '" STR_FMT "' at '" STR_FMT "' (" STR_FMT ") cannot be used: " STR_FMT,
		  STR_ARG(ref), STR_ARG(m->name), STR_ARG(m->url),
		  STR_ARG(repo_remote_shown(c, m, fault->why)));
	return call_step(c,
			 "Your own work is safe. If a file of that size is expected, run 'bd "
			 "config set sync.max_file " STR_FMT
			 "'. If not, run 'bd repair --apply' to leave that commit out.",
			 STR_ARG(number_size(&c->mem, (int64_t)fault->size)));
}

enum err remote_refuse(struct call *c, struct remote *m, struct str ref, struct str commit,
		       const struct repo_fault *fault)
{
	struct str why = repo_remote_shown(c, m, fault->why);

	if (fault->size)
		return repo_remote_too_large(c, m, ref, commit, fault);
	if (str_eq(fault->commit, commit))
		return repo_remote_broken(
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

/*
 * The same owner check that Git makes before it serves a folder. For a worktree, safe.directory may
 * list its root as well.
 */
static enum err repo_remote_check_owner(struct call *c, struct str gitdir)
{
	struct stat st;
	bool inner = str_is(path_name(gitdir), ".git");

	if (lstat(arena_cstr(&c->mem, gitdir), &st) || owner_is_user(st.st_uid) ||
	    owner_listed_safe(c, gitdir) || (inner && owner_listed_safe(c, path_parent(gitdir))))
		return ERR_OK;
	return owner_refuse(c, gitdir, st.st_uid, gitdir);
}

/*
 * Opens a folder that is a repository, or has one in `.git`. DUBIOUS_OWNERSHIP: it belongs to
 * another user.
 */
static enum err open_folder(struct call *c, struct str path, struct repo **out)
{
	struct stat st;
	bool bare = !stat(arena_cstr(&c->mem, path_join(&c->mem, path, STR("HEAD"))), &st);
	struct str gitdir = bare ? path : path_join(&c->mem, path, STR(".git")), real;
	enum err e;

	if ((e = repo_remote_check_owner(c, gitdir)) || (e = repo_open(c, gitdir, out)))
		return e;
	/* `.git` may be a file that names another folder */
	real = path_real(&c->mem, str_of(git_repository_path(repo_git(*out))));
	if (real.p && (e = repo_remote_check_owner(c, real)))
		repo_close(*out);
	return e;
}

/* libgit2 would block for ever on a FIFO. */
static enum err repo_remote_check_file(struct call *c, const struct remote *m, struct str path)
{
	struct stat st;

	if (stat(arena_cstr(&c->mem, path), &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return ERR_OK; /* libgit2 reports other problems */
	call_fail(c, ERR_REMOTE_DAMAGED, "'" STR_FMT "' of '" STR_FMT "' is not a file",
		  STR_ARG(path), STR_ARG(m->name));
	return call_step(c, "Your own work is safe. Check it with 'ls -l', and remove it if it "
			    "is not needed.");
}

static enum err repo_remote_check_files(struct call *c, const struct remote *m, struct str folder,
					struct str ref)
{
	const struct str names[] = { STR("HEAD"),
				     STR("config"),
				     STR("packed-refs"),
				     STR("shallow"),
				     STR("commondir"),
				     STR("objects/info/alternates"),
				     ref };
	struct str inner = path_join(&c->mem, folder, STR(".git"));
	enum err e = repo_remote_check_file(c, m, inner);

	for (size_t i = 0; !e && i < sizeof names / sizeof *names; i++)
		if (!(e = repo_remote_check_file(c, m, path_join(&c->mem, folder, names[i]))))
			e = repo_remote_check_file(c, m, path_join(&c->mem, inner, names[i]));
	return e;
}

/* A repair may be able to continue from the commit that a tag leads to. */
static void repo_remote_fetch_tagged(struct call *c, struct remote *m, struct repo *there,
				     struct str tag)
{
	const struct str haves[REPO_HAVES] = { 0 };
	struct str commit = repo_peel(c, there, tag);
	struct call before = call_save(c);

	if (commit.p && !repo_keep_apart(c, m->repo, haves) &&
	    !repo_copy_from(there, m->repo, commit, NULL, 0))
		m->leads_to = commit;
	call_restore(c, &before);
}

/*
 * Reads the ref of a remote that is a folder. libgit2 would omit a ref that it cannot read from its
 * list, and would read all the other refs. The caller closes `there`; it is NULL if the remote is
 * not a folder or cannot be opened, and then connecting to it reports the problem.
 */
static enum err look_at_folder(struct call *c, struct remote *m, struct str ref, bool fetch,
			       struct str *commit, struct repo **there)
{
	struct str fault;
	enum err e;

	*there = NULL;
	if (!m->from.p)
		return ERR_OK;
	if ((e = repo_remote_check_files(c, m, m->from, ref)))
		return e;
	if ((e = open_folder(c, m->from, there))) {
		*there = NULL;
		return e == ERR_DUBIOUS_OWNERSHIP ? e : call_forgive(c);
	}
	repo_set_umask(*there); /* a killed sync may have left a private ref */
	repo_sweep_locks(c, *there, ref);
	repo_set_umask(m->repo);
	if ((e = repo_ref_fault(c, *there, ref, commit, &fault)))
		e = c->code = ERR_SYNC_FAILED;
	else if (fault.p)
		e = repo_remote_broken(c, m, ref, *commit, fault);
	if (!e)
		return ERR_OK;
	if (fetch && commit->p)
		repo_remote_fetch_tagged(c, m, *there, *commit);
	repo_close(*there);
	*there = NULL;
	return e;
}

bool remote_ref_locked(struct call *c, struct remote *m, struct str ref, struct str *lock,
		       struct str *fix)
{
	struct repo *there;
	bool locked;

	if (!m->to.p)
		return false;
	if (open_folder(c, m->to, &there)) {
		call_forgive(c);
		return false;
	}
	locked = repo_ref_locked(c, there, ref, lock, fix);
	repo_close(there);
	return locked;
}

/* A server may list a ref that it cannot read with a hash of zeros. */
static enum err check_listed(struct call *c, struct remote *m, struct str ref, struct str commit)
{
	return commit.p && str_count(commit, '0') == commit.n ?
		       repo_remote_broken(c, m, ref, STR_NONE,
					  STR("cannot be read by the server")) :
		       ERR_OK;
}

/*
 * Another ref, outside refs/beads/, at the same object. Servers do not say which refs are symbolic,
 * except HEAD; but the target of a symbolic ref is listed with the same object.
 */
static struct str repo_remote_shared(struct call *c, const git_remote_head **heads, size_t count,
				     const git_oid *oid)
{
	for (size_t i = 0; i < count; i++) {
		struct str name = str_of(heads[i]->name);

		if (git_oid_equal(&heads[i]->oid, oid) && str_starts(name, STR("refs/")) &&
		    !str_starts(name, STR("refs/beads/")) && !str_ends(name, STR("^{}")))
			return arena_copy(&c->mem, name);
	}
	return STR_NONE;
}

static enum err repo_remote_find(struct call *c, struct remote *m, git_remote *remote,
				 struct str ref, struct str *commit)
{
	const git_remote_head **heads;
	size_t count;
	int code = git_remote_ls(&heads, &count, remote);

	*commit = m->shared = STR_NONE;
	if (code)
		return repo_remote_unreachable(c, m, code, "list the refs of");
	for (size_t i = 0; i < count; i++)
		if (str_is(ref, heads[i]->name)) {
			char text[GIT_OID_HEXSZ + 1];

			git_oid_tostr(text, sizeof text, &heads[i]->oid);
			*commit = arena_copy(&c->mem, str_of(text));
			m->shared = repo_remote_shared(c, heads, count, &heads[i]->oid);
		}
	return check_listed(c, m, ref, *commit);
}

/* Can the ref be created at the remote, which does not list it yet? */
static enum err repo_remote_check_room(struct call *c, struct remote *m, git_remote *remote,
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
			return repo_remote_no_room(c, m, ref, name);
	}
	return ERR_OK;
}

/* Did libgit2 fail because an object is missing or malformed? */
static bool repo_remote_unreadable(void)
{
	const git_error *error = git_error_last();

	return error && (error->klass == GIT_ERROR_INVALID || error->klass == GIT_ERROR_OBJECT ||
			 error->klass == GIT_ERROR_ODB);
}

static struct str unreadable_commit(struct call *c, const struct remote *m, struct str commit)
{
	return arena_fmt(&c->mem, "is at " STR_FMT ", which cannot be read: " STR_FMT,
			 STR_ARG(commit),
			 STR_ARG(repo_remote_shown(c, m, str_of(git_error_last()->message))));
}

/*
 * A server that lacks an object closes the connection without a message, like a server that is
 * stopped.
 */
static enum err fetch_failed(struct call *c, struct remote *m, int code, struct str ref,
			     struct str commit)
{
	if (repo_remote_unreadable())
		return repo_remote_broken(c, m, ref, commit, unreadable_commit(c, m, commit));
	if (repo_remote_unreachable(
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
		STR_ARG(repo_remote_force(c, m, ref)));
}

/* Updates no local ref: the caller decides what to keep. */
static int repo_remote_download(struct call *c, struct remote *m, git_remote *remote,
				git_remote_callbacks *calls, struct str ref,
				const struct str *haves, size_t count)
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
static enum err repo_remote_fetch(struct call *c, struct remote *m, git_remote **remote,
				  git_remote_callbacks *calls, struct str ref,
				  const struct str haves[REPO_HAVES], struct str *commit)
{
	int code = repo_remote_download(c, m, *remote, calls, ref, haves, REPO_HAVES);
	enum err e;

	if (code && repo_remote_unreadable()) {
		git_remote_disconnect(*remote);
		git_remote_free(*remote);
		if ((e = repo_remote_connect(c, m, GIT_DIRECTION_FETCH, calls, remote)) ||
		    (e = repo_remote_find(c, m, *remote, ref, commit)) || !commit->p)
			return e;
		code = repo_remote_download(c, m, *remote, calls, ref, NULL, 0);
	}
	return code ? fetch_failed(c, m, code, ref, *commit) : ERR_OK;
}

static enum err repo_remote_check_commit(struct call *c, struct remote *m, struct str ref,
					 struct str name)
{
	const char *kind = repo_kind(m->repo, name);

	if (!kind)
		return repo_fail(c, ERR_SYNC_FAILED, "read the commit", name);
	if (repo_is_commit(m->repo, name))
		return ERR_OK;
	if (str_is(str_of(kind), "commit"))
		return repo_remote_broken(c, m, ref, name, unreadable_commit(c, m, name));
	return repo_remote_broken(c, m, ref, name,
				  arena_fmt(&c->mem,
					    "is at the %s " STR_FMT ", and not at a commit", kind,
					    STR_ARG(name)));
}

static bool repo_remote_has(const struct remote *m, struct str commit)
{
	return !commit.p || repo_has(m->repo, commit);
}

static enum err fetch_from_folder(struct call *c, struct remote *m, struct repo *there,
				  struct str ref, const struct str haves[REPO_HAVES],
				  struct str commit)
{
	enum err e = repo_keep_apart(c, m->repo, haves);
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
	git_remote_callbacks calls = repo_remote_callbacks(&t);
	git_remote *remote = NULL;
	enum err e = repo_remote_connect(c, m, GIT_DIRECTION_FETCH, &calls, &remote);

	if (e)
		return e;
	if (!(e = repo_remote_find(c, m, remote, ref, commit)) && !repo_remote_has(m, *commit) &&
	    !(e = repo_keep_apart(c, m->repo, haves)))
		e = repo_remote_fetch(c, m, &remote, &calls, ref, haves, commit);
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
	e = look_at_folder(c, m, ref, true, commit, &there);
	if (e || (e = repo_ref_fault(c, m->repo, ref, &haves[1], &fault)))
		return e;
	if (fault.p || !repo_remote_has(m, haves[1]))
		haves[1] = STR_NONE;
	if (!there)
		e = fetch_by_wire(c, m, ref, haves, commit);
	else if (!repo_remote_has(m, *commit))
		e = fetch_from_folder(c, m, there, ref, haves, *commit);
	if (there)
		repo_close(there);
	return !e && commit->p ? repo_remote_check_commit(c, m, ref, *commit) : e;
}

enum err remote_look(struct call *c, struct remote *m, struct str ref, struct str *commit)
{
	struct talk t = { .c = c, .remote = m, .said.mem = &c->mem };
	git_remote_callbacks calls = repo_remote_callbacks(&t);
	git_remote *remote = NULL;
	struct repo *there;
	enum err e = look_at_folder(c, m, ref, false, commit, &there);

	if (there)
		repo_close(there);
	if (e || there || (e = repo_remote_connect(c, m, GIT_DIRECTION_FETCH, &calls, &remote)))
		return e;
	e = repo_remote_find(c, m, remote, ref, commit);
	git_remote_disconnect(remote);
	git_remote_free(remote);
	return e;
}

/* --- pushing to a folder: libgit2 would overwrite the ref without a check --- */

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
		  STR_ARG(repo_remote_shown(c, m, str_of(git_error_last()->message))));
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

static enum err push_to_folder(struct call *c, struct remote *m, struct str ref, struct str commit,
			       struct str old, bool *moved)
{
	struct repo *there;
	struct str other;
	git_oid tip;
	enum err e = repo_remote_check_files(c, m, m->to, ref);

	if (e)
		return e;
	if ((e = open_folder(c, m->to, &there)))
		return e == ERR_DUBIOUS_OWNERSHIP ? e : repo_remote_unreachable(c, m, 0, "push to");
	repo_set_umask(there);
	git_oid_fromstrn(&tip, commit.p, commit.n);
	git_error_clear();
	if (!old.p && ((e = repo_ref_room(c, there, ref, &other)) || other.p))
		e = e ? e : repo_remote_no_room(c, m, ref, other);
	else if (!copy_line(m, repo_git(there), &tip))
		e = move_there(c, there, ref, old, commit, moved);
	else if (repo_remote_unreadable() && git_error_last()->klass != GIT_ERROR_ODB)
		e = broken_here(c, m, ref);
	else
		e = repo_fail(c, ERR_REMOTE_REJECTED, "write to", m->url);
	repo_set_umask(m->repo);
	repo_close(there);
	return e;
}

/* --- pushing over the network --- */

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

	return repo_remote_about(why, words);
}

/* The reason of the rejection: the remote's status for our ref, and the output of its hooks. */
static struct str repo_remote_words_of(struct talk *t, const git_error *error)
{
	struct str said = str_trim(buf_str(&t->said)), why = t->refused;

	if (!why.p)
		why = str_of(error && error->message ? error->message : "no reason given");
	return repo_remote_shown(t->c, t->remote,
				 arena_fmt(&t->c->mem, STR_FMT "%s" STR_FMT, STR_ARG(why),
					   said.n ? "; it said: " : "", STR_ARG(said)));
}

static enum err repo_remote_rejected(struct call *c, const struct remote *m, struct talk *t)
{
	return call_fail(c, ERR_REMOTE_REJECTED,
			 "'" STR_FMT "' (" STR_FMT ") did not take the change: " STR_FMT,
			 STR_ARG(m->name), STR_ARG(m->url), STR_ARG(repo_remote_words_of(t, NULL)));
}

static enum err repo_remote_push(struct call *c, struct remote *m, struct talk *t,
				 git_remote *remote, git_remote_callbacks *calls, struct str from,
				 struct str ref, bool *moved)
{
	char *spec = (char *)arena_fmt(&c->mem, "%s" STR_FMT ":" STR_FMT, m->replaces ? "+" : "",
				       STR_ARG(from), STR_ARG(ref))
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
		m->refused = repo_remote_words_of(t, code ? error : NULL);
	else if (t->refused.p)
		return repo_remote_rejected(c, m, t);
	else if (code && repo_remote_unreadable())
		return broken_here(c, m, ref);
	else if (code)
		return repo_remote_unreachable(c, m, code, "push to");
	return ERR_OK;
}

enum err remote_push(struct call *c, struct remote *m, struct str from, struct str ref,
		     struct str commit, struct str old, bool *moved)
{
	struct talk t = { .c = c, .remote = m, .said.mem = &c->mem };
	git_remote_callbacks calls = repo_remote_callbacks(&t);
	git_remote *remote = NULL;
	struct str at;
	enum err e;

	*moved = false;
	m->refused = STR_NONE;
	if (m->to.p)
		return push_to_folder(c, m, ref, commit, old, moved);
	if ((e = repo_remote_connect(c, m, GIT_DIRECTION_PUSH, &calls, &remote)))
		return e;
	/* the value that the remote lists now is the one that it will compare with */
	t.wire = remote;
	t.old = old;
	if (!(e = repo_remote_find(c, m, remote, ref, &at)) && str_eq(at, old) &&
	    (at.p || !(e = repo_remote_check_room(c, m, remote, ref))))
		e = repo_remote_push(c, m, &t, remote, &calls, from, ref, moved);
	git_remote_disconnect(remote);
	git_remote_free(remote);
	return e;
}
