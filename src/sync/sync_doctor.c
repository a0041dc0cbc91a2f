/*
 * Finds problems that would stop a sync, without running one: unreadable refs, stale lock files
 * beside refs, and a remote that is a local folder and cannot be used. Servers are not contacted,
 * because that may take long; 'bd sync' reports their problems.
 */
#include "base/system/spawn.h"
#include "store/git/git_lock.h"
#include "sync/commits.h"
#include "sync/sync_parts.h"

struct diagnosis {
	struct sync *s;
	struct json *reply; /* an open list */
};

static void sync_doctor_tell_as(struct diagnosis *d, const char *code, const char *status,
				struct str message, struct str fix)
{
	json_object(d->reply);
	json_put_str(d->reply, "code", str_of(code));
	json_put_str(d->reply, "status", str_of(status));
	json_put_str(d->reply, "message", message);
	json_put_str(d->reply, "fix", fix);
	json_end(d->reply);
}

static void sync_doctor_tell(struct diagnosis *d, const char *code, struct str message,
			     struct str fix)
{
	sync_doctor_tell_as(d, code, "error", message, fix);
}

/* Reports the failure of the call as a finding, and clears it. */
static void tell_failure(struct diagnosis *d, const char *code)
{
	struct call *c = d->s->c;

	sync_doctor_tell(d, code, c->message, call_next_step(c));
	call_forgive(c);
}

static void tell_lock(struct diagnosis *d, struct str ref, const struct lock_found *found,
		      struct str fix)
{
	const char *why = found->recent ?
				  "is a few minutes old at most. If no Git program runs here, a "
				  "dead process left it behind" :
				  "was left behind by a dead process";

	sync_doctor_tell_as(d, "lock", found->recent ? "warning" : "error",
			    arena_fmt(&d->s->c->mem,
				      "the lock '" STR_FMT
				      "' %s: until it is removed, no sync can move '" STR_FMT "'",
				      STR_ARG(found->lock), why, STR_ARG(ref)),
			    fix);
}

/*
 * The command that fetches missing objects again from the remote, or without a remote lists them.
 */
static struct str fetch_again(struct sync *s)
{
	struct call *c = s->c;
	const char *root = arena_cstr(&c->mem, s->b.repo.common);

	return s->remote.url.p ?
		       arena_fmt(&c->mem, "git -C " STR_FMT " fetch --refetch " STR_FMT " " STR_FMT,
				 STR_ARG(spawn_word(&c->mem, str_of(root))),
				 STR_ARG(spawn_word(&c->mem, s->remote.name)),
				 STR_ARG(spawn_word(&c->mem, s->ref))) :
		       arena_fmt(&c->mem, "git -C " STR_FMT " fsck",
				 STR_ARG(spawn_word(&c->mem, str_of(root))));
}

static void check_ref(struct diagnosis *d, struct str ref)
{
	struct sync *s = d->s;
	struct str commit, fix;
	struct lock_found found;
	struct snapshot files;

	if (repo_ref(s->c, s->repo, ref, &commit) || repo_ref_movable(s->c, s->repo, ref)) {
		tell_failure(d, "ref");
	} else if (commit.p && commit_read_raw(s->c, s->repo, commit, &files)) {
		sync_doctor_tell(d, "ref",
				 arena_fmt(&s->c->mem, "the commit of '" STR_FMT "': " STR_FMT,
					   STR_ARG(ref), STR_ARG(s->c->message)),
				 fetch_again(s));
		call_forgive(s->c);
	}
	if (repo_ref_locked(s->c, s->repo, ref, &found, &fix))
		tell_lock(d, ref, &found, fix);
}

static void check_remote(struct diagnosis *d)
{
	struct sync *s = d->s;
	struct str commit, fix;
	struct lock_found found;

	if (remote_is_folder(s->c, &s->remote) && remote_look(s->c, &s->remote, s->ref, &commit))
		tell_failure(d, "remote");
	if (remote_ref_locked(s->c, &s->remote, s->ref, &found, &fix))
		tell_lock(d, s->ref, &found, fix);
}

enum err sync_diagnose(struct call *c, struct json *reply)
{
	struct sync_wants wants = { .pull = true };
	struct sync s = { .c = c, .wants = &wants };
	struct diagnosis d = { &s, reply };
	enum err e = beads_home(c, &s.b);

	if (e)
		return e;
	json_array(reply);
	if (sync_open(&s)) {
		tell_failure(&d, "sync");
	} else {
		check_ref(&d, s.ref);
		if (s.remote.url.p)
			check_ref(&d, s.tracking);
		check_remote(&d);
	}
	json_end(reply);
	if (s.repo)
		repo_close(s.repo);
	return ERR_OK;
}
