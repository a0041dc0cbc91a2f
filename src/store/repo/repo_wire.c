/*
 * Connections through libgit2's transports: credentials, the messages of servers, and the refs that
 * they list.
 */
#if __has_include(<git2/sys/errors.h>)
#include <git2/sys/errors.h>
#endif
#include <git2/sys/transport.h>

#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/url.h"
#include "store/db/machine_db.h"
#include "store/repo/repo_remote_parts.h"

enum { WORDS_MOST = 2000, HELPER_MS = 60000 };

static struct str repo_wire_member(struct str text, const char *key)
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
	*user = repo_wire_member(git.out, "username");
	*password = repo_wire_member(git.out, "password");
	return user->p && password->p;
}

static int repo_wire_credentials(git_credential **out, const char *url, const char *user,
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

static int repo_wire_hear(const char *text, int n, void *arg)
{
	struct talk *t = arg;

	for (int i = 0; i < n && t->said.n < WORDS_MOST; i++)
		buf_char(&t->said, (unsigned char)text[i] < ' ' ? ' ' : text[i]);
	return 0;
}

static int repo_wire_judged(const char *ref, const char *why, void *arg)
{
	struct talk *t = arg;

	(void)ref;
	if (why)
		t->refused = arena_copy(&t->c->mem, str_of(why));
	return 0;
}

/*
 * Before libgit2 determines which objects the remote lacks, it walks back from every ref that both
 * sides have, including branches that have nothing to do with beads and may contain a commit that
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

static int repo_wire_transport(git_transport **out, git_remote *owner, void *arg)
{
	const char *url = git_remote_url(owner);

	(void)arg;
	if (ssh_address(str_of(url)))
		return ssh_transport(out, owner, NULL);
	return git_transport_new(out, owner, url);
}

git_remote_callbacks remote_callbacks(struct talk *t)
{
	git_remote_callbacks all;

	git_remote_init_callbacks(&all, GIT_REMOTE_CALLBACKS_VERSION);
	all.credentials = repo_wire_credentials;
	all.sideband_progress = repo_wire_hear;
	all.push_update_reference = repo_wire_judged;
	all.push_negotiation = forget_heads;
	all.transport = repo_wire_transport;
	all.payload = t;
	return all;
}

bool remote_text_has(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strstr(text, *words))
			return true;
	return false;
}

static struct str repo_wire_replace(struct call *c, struct str text, struct str word, struct str by)
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

struct str remote_shown(struct call *c, const struct remote *m, struct str text)
{
	const struct str addresses[] = { m->address, m->push_address };

	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
		struct str secret = url_secret(addresses[i]), stars = STR("***");

		text = repo_wire_replace(c, text, addresses[i], url_shown(&c->mem, addresses[i]));
		text = repo_wire_replace(c, text, secret, stars);
		text = repo_wire_replace(c, text, url_decode(&c->mem, secret), stars);
	}
	return url_hide(&c->mem, text);
}

enum err remote_unreachable(struct call *c, const struct remote *m, int code, const char *doing)
{
	static const char *const refusals[] = { "status code: 401",  "status code: 403",
						"authentication re", "Authentication",
						"Permission denied", "publickey",
						"Host key",          NULL };
	const git_error *error = git_error_last();
	const char *why = error && error->message ? error->message : "no reason given",
		   *ssh = ssh_complaint();
	bool refused = code == GIT_EAUTH || remote_text_has(why, refusals) ||
		       remote_text_has(ssh, refusals);
	struct str text = str_of(*ssh ? ssh : why);

	if (str_is(text, "unsupported URL protocol") && !str_has(m->url, STR("://")))
		text = STR("there is no Git repository");
	text = remote_shown(c, m, text);
	return call_fail(c, refused ? ERR_AUTH_FAILED : ERR_SYNC_FAILED,
			 "cannot %s '" STR_FMT "' (" STR_FMT "): " STR_FMT, doing, STR_ARG(m->name),
			 STR_ARG(m->url), STR_ARG(text));
}

enum err remote_connect(struct call *c, struct remote *m, git_direction direction,
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
		return remote_unreachable(c, m, code, "use");
	code = git_remote_connect(*out, direction, calls, &proxy, NULL);
	if (code && to.n && !ssh_address(to) && !str_has(to, STR("://")) &&
	    !path_real(&c->mem, to).p)
		git_error_set_str(GIT_ERROR_NET, "there is no such folder");
	if (!code)
		return ERR_OK;
	git_remote_free(*out);
	*out = NULL;
	return remote_unreachable(c, m, code, "reach");
}

/* A server may list a ref that it cannot read with a hash of zeros. */
static enum err check_listed(struct call *c, struct remote *m, struct str ref, struct str commit)
{
	return commit.p && str_count(commit, '0') == commit.n ?
		       remote_refuse_broken(c, m, ref, STR_NONE,
					    STR("cannot be read by the server")) :
		       ERR_OK;
}

/*
 * Another ref, outside refs/beads/, at the same object. Servers do not say which refs are symbolic,
 * except HEAD; but the target of a symbolic ref is listed with the same object.
 */
static struct str repo_wire_shared(struct call *c, const git_remote_head **heads, size_t count,
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

enum err remote_find(struct call *c, struct remote *m, git_remote *remote, struct str ref,
		     struct str *commit)
{
	const git_remote_head **heads;
	size_t count;
	int code = git_remote_ls(&heads, &count, remote);

	*commit = m->shared = STR_NONE;
	if (code)
		return remote_unreachable(c, m, code, "list the refs of");
	m->machines = false;
	for (size_t i = 0; i < count; i++) {
		m->machines = m->machines || str_starts(str_of(heads[i]->name), STR(LOG_REFS));
		if (str_is(ref, heads[i]->name)) {
			*commit = repo_hex(&c->mem, &heads[i]->oid);
			m->shared = repo_wire_shared(c, heads, count, &heads[i]->oid);
		}
	}
	return check_listed(c, m, ref, *commit);
}

bool remote_unreadable(void)
{
	return repo_error_is(GIT_ERROR_INVALID) || repo_error_is(GIT_ERROR_OBJECT) ||
	       repo_error_is(GIT_ERROR_ODB);
}
