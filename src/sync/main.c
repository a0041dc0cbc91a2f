/*
 * abacus-sync: the part of Abacus that uses libgit2. It is not meant for people: `bd` starts it
 * with an action, a Git directory and options, and reads its reply (beads/git_process.h). It uses
 * exactly that Git directory: the program that started it has already found the right one and
 * decided whether to trust it.
 *
 *	read GITDIR …           the files of a commit
 *	history GITDIR …        the changes of a bead
 *	commits GITDIR …        the published commits
 *	blame GITDIR …          who wrote each member of a bead
 *	diff GITDIR …           the differences between two commits
 *	sync GITDIR [OPTION]…   fetch, merge, commit, push
 *	lease GITDIR …          make an exclusive reservation, which standard input has
 *	exclusive GITDIR …      carry out a request, which standard input has, at the remote first
 *	repair GITDIR …         repair damaged commits
 *	diagnose GITDIR         list problems that would stop a sync
 *	branch GITDIR …         make a branch, and perhaps a worktree, for a bead
 *	learn GITDIR …          read which files the new commits changed
 *	files GITDIR            the files of HEAD, and the last commits
 *	pack GITDIR             pack the objects, if there are enough new ones
 *	autosync GITDIR         sync whenever there are changes to publish
 *	mirror GITDIR [--wait]  write .beads/issues.jsonl
 *	share GITDIR [OPTION]   exchange logs with other machines, once or while somebody works
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "agents/mail.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/system/path.h"
#include "base/system/signals.h"
#include "base/text/json.h"
#include "beads/autosync.h"
#include "beads/exchange/mirror.h"
#include "op/exclusive.h"
#include "op/run.h"
#include "ops/exchange/exchange_ops.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"
#include "store/repo/repo.h"
#include "surface/cli/out.h"
#include "surface/cli/settings.h"
#include "sync/commits.h"
#include "sync/history.h"
#include "sync/learn.h"
#include "sync/leases.h"
#include "sync/share.h"
#include "sync/sync.h"
#include "sync/tree.h"

struct sync_main_request {
	struct call *c;
	struct repo *repo; /* only for actions that read history; else NULL */
	char **words;      /* the arguments after the action, ending with NULL */
	struct json reply;
	struct str rest[SNAPSHOT_FILES]; /* file contents written after the reply */
};

/* --- arguments --- */

static bool sync_main_has(struct sync_main_request *r, const char *word)
{
	for (char **w = r->words; *w; w++)
		if (!strcmp(*w, word))
			return true;
	return false;
}

/* The argument after an option; absent if the option is not given. */
static struct str sync_main_after(struct sync_main_request *r, const char *word)
{
	for (char **w = r->words; *w; w++)
		if (!strcmp(*w, word))
			return str_of(w[1]);
	return STR_NONE;
}

static int64_t number_after(struct sync_main_request *r, const char *word, int64_t otherwise)
{
	struct str text = sync_main_after(r, word);
	int64_t n;

	return text.p && number_int(text, &n) ? n : otherwise;
}

/* --- actions --- */

static enum err open_repo(struct sync_main_request *r)
{
	return commits_open(r->c, str_of(r->words[0]), &r->repo);
}

/* Finds the commit named by the time option `at` or the option `spec`. */
static enum err find_commit(struct sync_main_request *r, const char *at, const char *spec,
			    struct str *commit)
{
	return history_find(r->c, r->repo, sync_main_after(r, "--ref"), number_after(r, at, 0),
			    sync_main_after(r, spec), commit);
}

/*
 * Moves `commit` forward to the tip of the ref, if the tip descends from it or no commit is known.
 */
static enum err find_latest(struct sync_main_request *r, struct str *commit)
{
	struct str tip;
	enum err e = repo_ref(r->c, r->repo, sync_main_after(r, "--latest"), &tip);

	if (e && commit->p) /* the ref is broken, but the known commit is enough */
		return call_forgive(r->c);
	if (!e && tip.p && (!commit->p || repo_reaches(r->repo, tip, *commit)))
		*commit = tip;
	return e;
}

static enum err sync_main_read_commit(struct sync_main_request *r)
{
	struct call *c = r->c;
	struct str commit = sync_main_after(r, "--commit");
	struct snapshot files;
	enum err e = open_repo(r);

	if (!e && sync_main_has(r, "--latest"))
		e = find_latest(r, &commit);
	if (e || (!commit.p && (e = find_commit(r, "--at-ms", "--spec", &commit))))
		return e;
	if ((e = sync_main_has(r, "--raw")        ? commit_read_raw(c, r->repo, commit, &files) :
		 sync_main_after(r, "--commit").p ? commit_read(c, r->repo, commit, &files) :
						    history_read(c, r->repo, commit, &files)))
		return e;
	json_object(&r->reply);
	json_put_str(&r->reply, "commit", files.commit);
	json_put_int(&r->reply, "time", files.time_ms);
	json_put_object(&r->reply, "sizes");
	for (int i = 0; i < SNAPSHOT_FILES; i++)
		if (files.file[i].p)
			json_put_int(&r->reply, snapshot_name((enum snapshot_file)i),
				     (int64_t)files.file[i].n);
	json_end(&r->reply);
	json_end(&r->reply);
	memcpy(r->rest, files.file, sizeof r->rest);
	return ERR_OK;
}

static enum err tell_history(struct sync_main_request *r)
{
	enum err e = open_repo(r);

	return e ? e :
		   history_of(r->c, r->repo, sync_main_after(r, "--ref"),
			      sync_main_after(r, "--id"), number_after(r, "--limit", 0), &r->reply);
}

static enum err tell_tombstone(struct sync_main_request *r)
{
	enum err e = open_repo(r);

	return e ? e :
		   history_tombstone(r->c, r->repo, sync_main_after(r, "--ref"),
				     sync_main_after(r, "--id"), &r->reply);
}

static enum err tell_commits(struct sync_main_request *r)
{
	enum err e = open_repo(r);

	return e ? e :
		   history_commits(r->c, r->repo, sync_main_after(r, "--ref"),
				   number_after(r, "--limit", 0), &r->reply);
}

static enum err tell_blame(struct sync_main_request *r)
{
	enum err e = open_repo(r);

	return e ? e :
		   history_blame(r->c, r->repo, sync_main_after(r, "--ref"),
				 sync_main_after(r, "--id"), &r->reply);
}

static enum err tell_diff(struct sync_main_request *r)
{
	struct str from, to;
	enum err e = open_repo(r);

	if (e || (e = find_commit(r, "--from-ms", "--from", &from)) ||
	    (e = find_commit(r, "--to-ms", "--to", &to)))
		return e;
	return history_diff(r->c, r->repo, from, to, &r->reply);
}

static void sync_main_say(const char *what, struct str with)
{
	if (with.p)
		out_say("%s '" STR_FMT "'", what, STR_ARG(with));
	else
		out_say("%s", what);
}

/*
 * Sends a message to the actor that has lost a claim, if that actor is an agent registered here.
 * The request id is derived from the claim, so that repeated calls send one message.
 */
static void tell_loser(struct call *c, const struct lost_claim *lost)
{
	struct call before = call_save(c);
	struct mail_draft draft = {
		.from = STR("abacus"),
		.to = lost->holder,
		.bead = lost->id,
		.category = CATEGORY_INFO,
		.urgency = -1,
		.subject = arena_fmt(&c->mem, "Claim lost: " STR_FMT, STR_ARG(lost->id)),
		.system = true,
	};
	struct agent_files files;
	struct mail *sent;

	draft.body = arena_fmt(&c->mem,
			       STR_FMT ". Stop working on it, or agree with " STR_FMT
				       " who continues. 'bd show " STR_FMT
				       "' shows the bead, 'bd ready --claim' claims another one.",
			       STR_ARG(lost_text(&c->mem, lost)),
			       STR_ARG(lost->to.p ? lost->to : lost->by), STR_ARG(lost->id));
	c->request_id = arena_fmt(&c->mem, "lost:" STR_FMT ":%lld.%lld", STR_ARG(lost->id),
				  (long long)lost->epoch.ms, (long long)lost->epoch.n);
	if (registry_id_valid(lost->holder) && !agent_files_open(c, AGENTS_WRITE, &files)) {
		if (files.home.p)
			mail_send(c, &files, &draft, &sent);
		agent_files_close(&files);
	}
	call_restore(c, &before);
}

static enum err sync_once(struct sync_main_request *r)
{
	struct sync_wants wants = { .pull = !sync_main_has(r, "--no-pull"),
				    .push = !sync_main_has(r, "--no-push"),
				    .begin = sync_main_has(r, "--begin"),
				    .dry = sync_main_has(r, "--dry-run"),
				    .timeout_ms = number_after(r, "--timeout-ms", 30000),
				    .collect_before_ms = number_after(r, "--collect-before-ms", 0),
				    .doing = sync_main_say,
				    .lost = tell_loser };

	return sync_run(r->c, &wants, &r->reply);
}

/* A claim, and what its last run has left for `after` of the operation. */
struct claim_request {
	struct request asked;
	void *seen;
};

static enum err sync_main_run_claim(struct call *c, struct beads *b, void *arg, struct json *reply)
{
	struct claim_request *r = arg;
	struct stores s = { .beads = b };
	enum err e = r->asked.op->run(c, &s, r->asked.body, reply);

	r->seen = s.seen;
	return e;
}

static enum err sync_main_exclusive(struct sync_main_request *r)
{
	enum { REQUEST_MOST = 64 << 20 };
	static const struct op *const claims[] = { &op_bead_claim,
						   &op_bead_ready,
						   &op_bead_update,
						   &op_bead_close,
						   &op_vybe_task_claim,
						   &op_bead_renew,
						   NULL };
	struct sync_wants wants = { .pull = true,
				    .push = true,
				    .timeout_ms = number_after(r, "--timeout-ms", 30000),
				    .doing = sync_main_say,
				    .lost = tell_loser };
	struct str actor = r->c->actor, text;
	struct claim_request claim = { 0 };
	struct exclusive x = { .run = sync_main_run_claim, .arg = &claim };
	enum err e;

	if ((e = file_read_input(r->c, REQUEST_MOST, &text)) ||
	    (e = exclusive_decode(r->c, text, claims, &claim.asked)))
		return e;
	x.receipt = request_receipt(r->c, &claim.asked);
	r->c->actor = actor;
	r->c->request_id = STR_NONE;
	if ((e = sync_run_exclusive(r->c, &wants, &x)))
		return e;
	json_raw(&r->reply, x.reply);
	if (claim.seen && claim.asked.op->after) {
		r->c->actor = x.receipt.actor;
		claim.asked.op->after(r->c, claim.seen);
	}
	return ERR_OK;
}

static enum err sync_main_lease(struct sync_main_request *r)
{
	enum { REQUEST_MOST = 1 << 20 };
	struct str text;
	enum err e = file_read_input(r->c, REQUEST_MOST, &text);

	return e ? e :
		   leases_reserve(r->c, text, number_after(r, "--timeout-ms", 30000), &r->reply);
}

static enum err sync_main_repair(struct sync_main_request *r)
{
	struct sync_wants wants = { .pull = true,
				    .dry = !sync_main_has(r, "--apply"),
				    .timeout_ms = number_after(r, "--timeout-ms", 30000),
				    .doing = sync_main_say };

	return sync_repair(r->c, &wants, sync_main_has(r, "--apply"), &r->reply);
}

static enum err sync_main_diagnose(struct sync_main_request *r)
{
	return sync_diagnose(r->c, &r->reply);
}

static enum err learn_commits(struct sync_main_request *r)
{
	struct beads b;
	enum err e = beads_home(r->c, &b);

	if (e || (e = open_repo(r)))
		return e;
	b.about.prefix = sync_main_after(r, "--prefix");
	return learn_history(r->c, &b, r->repo, sync_main_after(r, "--also"), &r->reply);
}

static enum err list_files(struct sync_main_request *r)
{
	enum err e = open_repo(r);

	return e ? e : tree_put(r->c, r->repo, &r->reply);
}

static enum err make_branch(struct sync_main_request *r)
{
	enum { WAIT_MS = 10 * 60 * 1000 };
	struct repo_branch branch = { .name = sync_main_after(r, "--name"),
				      .path = sync_main_after(r, "--worktree"),
				      .checkout = sync_main_has(r, "--checkout") };
	AUTO_LOCK alone =
		LOCK_NONE; /* what another process is making is not taken for unfinished */
	struct beads b;
	enum err e = repo_open(r->c, str_of(r->words[0]), &r->repo);

	if (!e && branch.path.p && !(e = beads_home(r->c, &b)))
		e = lock_take(r->c, path_join(&r->c->mem, b.home, STR("worktree.lock")), WAIT_MS,
			      &alone);
	if (e || (e = repo_branch(r->c, r->repo, &branch)))
		return e;
	json_object(&r->reply);
	json_put_str(&r->reply, "note", branch.note);
	json_end(&r->reply);
	return ERR_OK;
}

static enum err run_pack(struct sync_main_request *r)
{
	json_null(&r->reply);
	return sync_pack(r->c);
}

static enum err run_autosync(struct sync_main_request *r)
{
	struct beads b;
	enum err e = beads_home(r->c, &b);

	json_null(&r->reply);
	return e ? e : autosync_run(r->c, &b);
}

static enum err run_mirror(struct sync_main_request *r)
{
	enum { WAIT_MS = 15000 };
	static const struct mirror_others memories = { exchange_add_memories,
						       exchange_keep_memories };
	struct beads b;
	enum err e = beads_home(r->c, &b);

	json_null(&r->reply);
	return e ? e : mirror_run(r->c, &b, sync_main_has(r, "--wait") ? WAIT_MS : 0, &memories);
}

static enum err run_share(struct sync_main_request *r)
{
	const struct share_wants wants = { .begin = sync_main_has(r, "--begin"),
					   .look = sync_main_has(r, "--look") };

	if (wants.begin || wants.look || sync_main_has(r, "--once"))
		return share_round(r->c, &wants, &r->reply);
	json_null(&r->reply);
	if (sync_main_has(r, "--forget"))
		return share_forget(r->c, sync_main_after(r, "--forget"));
	return share_serve(r->c);
}

static const struct {
	const char *name;
	int words;
	enum err (*run)(struct sync_main_request *r);
} acts[] = {
	{ "read", 1, sync_main_read_commit },
	{ "history", 1, tell_history },
	{ "tombstone", 1, tell_tombstone },
	{ "commits", 1, tell_commits },
	{ "blame", 1, tell_blame },
	{ "diff", 1, tell_diff },
	{ "sync", 1, sync_once },
	{ "exclusive", 1, sync_main_exclusive },
	{ "learn", 1, learn_commits },
	{ "files", 1, list_files },
	{ "branch", 1, make_branch },
	{ "lease", 1, sync_main_lease },
	{ "pack", 1, run_pack },
	{ "autosync", 1, run_autosync },
	{ "mirror", 1, run_mirror },
	{ "repair", 1, sync_main_repair },
	{ "diagnose", 1, sync_main_diagnose },
	{ "share", 1, run_share },
};

/* --- the reply --- */

static void sync_main_put_error(struct call *c, enum err e, struct json *j)
{
	json_put_object(j, "error");
	json_put_str(j, "name", str_of(err_name(e)));
	json_put_str(j, "message", c->message);
	json_put_str(j, "step", call_next_step(c));
	json_put_str(j, "details", c->details);
	json_end(j);
}

static bool sync_main_answer(struct sync_main_request *r, enum err e)
{
	struct json j = json_new(&r->c->mem);
	struct str text;
	bool written;

	json_object(&j);
	if (e)
		sync_main_put_error(r->c, e, &j);
	else
		json_put_raw(&j, "reply", json_text(&r->reply));
	if (!e && r->c->warning.p)
		json_put_str(&j, "warning", r->c->warning);
	json_end(&j);
	text = json_text(&j);
	written = fwrite(text.p, 1, text.n, stdout) == text.n && putchar('\n') == '\n';
	for (int i = 0; !e && i < SNAPSHOT_FILES; i++)
		written = written && fwrite(r->rest[i].p ? r->rest[i].p : "", 1, r->rest[i].n,
					    stdout) == r->rest[i].n;
	return !fflush(stdout) && written;
}

static enum err sync_main_run(struct sync_main_request *r, const char *act)
{
	for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
		if (!strcmp(act, acts[i].name)) {
			for (int k = 0; k < acts[i].words; k++)
				if (!r->words[k])
					return call_fail(r->c, ERR_USAGE,
							 "'%s' needs more arguments", act);
			r->c->dir = r->c->gitdir = str_of(r->words[0]);
			return acts[i].run(r);
		}
	return call_fail(r->c, ERR_USAGE, "there is no act '%s'", act);
}

/*
 * Ends the process when the reader of standard output is gone: nothing else would stop a call that
 * hangs.
 */
static void *sync_main_watch(void *arg)
{
	struct pollfd out = { STDOUT_FILENO, 0, 0 };

	(void)arg;
	while (poll(&out, 1, -1) < 1)
		;
	if (getpgrp() == getpid())
		kill(0, SIGKILL); /* including an ssh child process */
	_exit(1);
}

static void end_with_reader(void)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* the watching thread handles no signals */
	if (!pthread_create(&thread, NULL, sync_main_watch, NULL))
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int main(int argc, char **argv)
{
	struct call c = { .actor = STR("abacus-sync"), .stored = STORED_SAFE };
	struct sync_main_request r = { .c = &c, .words = argv + 2, .reply.out.mem = &c.mem };
	enum err e;
	bool told;

	signals_ignore();
	if (argc < 2) {
		out_say("abacus-sync is started by bd; see 'bd sync --help'");
		return 2;
	}
	end_with_reader();
	settings_read(&c);
	e = settings_now(&c);
	if (!e)
		e = sync_main_run(&r, argv[1]);
	told = sync_main_answer(&r, e);
	if (r.repo)
		repo_close(r.repo);
	call_release(&c);
	return e || !told ? 1 : 0;
}
