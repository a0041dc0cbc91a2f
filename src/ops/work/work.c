/*
 * 'abacus work': the bead that an agent works on. It is made of other operations, each of which is
 * safe to repeat, so a command that was interrupted is completed by running it again.
 */
#include "agents/current.h"
#include "agents/reservation.h"
#include "base/moment.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/git_process.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "store/agent_files.h"
#include "store/db/bead_ready.h"
#include "store/output.h"

struct body {
	struct str id, path, reason;
	int64_t lease;
	bool worktree, no_branch;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "id", &kind_bead, AT(id), FIELD_PLACE, .help = "bead to work on (default: show yours)" },
	{ "worktree", &kind_bool, AT(worktree), FIELD_CLI,
	  .help = "make a linked worktree for the bead" },
	{ "path", &kind_path, AT(path), FIELD_CLI, .min = 1,
	  .help = "folder of that worktree (default: beside the repository)" },
	{ "no_branch", &kind_bool, AT(no_branch), FIELD_CLI, .help = "make no branch" },
	{ "lease", &kind_duration, AT(lease), .help = "lease duration of the claim" },
	{ 0 },
};

static const struct field done_fields[] = {
	{ "reason", &kind_str, AT(reason), FIELD_STDIN, .letter = 'r', .max = MAX_TEXT,
	  .help = "reason: what was done" },
	{ 0 },
};

static const struct prop props[] = {
	{ "bead|null title|null? begun:bool? since? branch|null? worktree|null?", NULL },
	{ "reserved[]? epoch:any? result?", NULL },
	{ 0 },
};
static const struct prop work_reply = { "work", props };

/* --- parts: other operations, in the name of the actor --- */

struct work {
	struct call *c;
	struct beads b; /* only where they are */
	struct str title;
	struct str *touches;
	size_t touch_count;
	struct current now;
	struct str *made; /* scopes that this command has reserved */
	size_t made_count;
	const struct value *claimed;
	bool held; /* claimed by the actor before this command */
	struct str note;
};

struct work_argument {
	const char *name;
	struct str value;
};

/* Runs an operation with these arguments; the last has no name. */
static enum err work_run(struct call *c, const struct op *op, const struct work_argument *args,
			 struct str *out)
{
	struct request r = request_new(c, op);
	struct str id = c->request_id, meta = c->meta;
	struct json reply = json_new(&c->mem);
	enum err e = ERR_OK;

	c->request_id = STR_NONE;
	for (; !e && args->name; args++)
		if (args->value.p)
			e = request_set_named(c, &r, args->name, args->value);
	if (!e && !(e = request_check(c, &r)))
		e = request_run(c, &r, &reply);
	c->request_id = id;
	c->meta = meta;
	if (!e && out)
		*out = json_text(&reply);
	return e;
}

static enum err work_claim(struct work *w, int64_t lease)
{
	struct str span = lease == ABSENT ? STR_NONE :
					    arena_fmt(&w->c->mem, "%llds", (long long)lease / 1000),
		   text;
	const struct value *reply;
	enum err e = work_run(
		w->c, &op_bead_claim,
		(const struct work_argument[]){ { "ids", w->now.bead }, { "lease", span }, { 0 } },
		&text);

	if (e)
		return e;
	reply = value_read(&w->c->mem, text);
	w->claimed = reply && reply->count ? &reply->item[0] : NULL;
	return ERR_OK;
}

static enum err work_unclaim(struct work *w)
{
	if (w->held)
		return ERR_OK;
	return work_run(w->c, &op_bead_unclaim,
			(const struct work_argument[]){ { "ids", w->now.bead }, { 0 } }, NULL);
}

static enum err work_release_scope(struct work *w, struct str scope)
{
	return work_run(w->c, &op_agent_release,
			(const struct work_argument[]){ { "scope", scope }, { 0 } }, NULL);
}

/* Undoes what was done. A failure of the undo does not replace the first failure. */
static void work_undo(struct work *w)
{
	struct call before = call_save(w->c);
	bool undone = true;

	for (size_t i = 0; i < w->made_count; i++)
		if (work_release_scope(w, w->made[i])) {
			call_forgive(w->c);
			undone = false;
		}
	if (work_unclaim(w))
		undone = false;
	call_restore(w->c, &before);
	if (undone && w->c->stored == STORED_PART)
		w->c->stored = STORED_UNDONE;
}

/* --- reservations --- */

static enum err work_reserved(struct call *c, struct str agent, struct str bead,
			      struct reservation **out)
{
	struct agent_files files;
	enum err e = agent_files_open(c, AGENTS_READ, &files);

	*out = NULL;
	if (e)
		return e;
	if (files.home.p)
		e = reservation_each(c, &files, agent, bead, out);
	agent_files_close(&files);
	return e;
}

static bool work_has_scope(const struct reservation *list, struct str scope)
{
	for (; list; list = list->next)
		if (str_eq(list->scope, scope))
			return true;
	return false;
}

/* An agent has to be registered to reserve files. */
static enum err work_register(struct work *w)
{
	struct registered *agent;
	struct agent_files files;
	enum err e = agent_files_open(w->c, AGENTS_WRITE, &files);

	if (!e && (e = registry_find(w->c, &files, w->c->actor, &agent)) == ERR_AGENT_NOT_FOUND) {
		call_forgive(w->c);
		e = registry_add(w->c, &files, w->c->actor, STR_NONE, STR("agent"), false, &agent);
	}
	agent_files_close(&files);
	return e;
}

static enum err work_reserve(struct work *w)
{
	struct reservation *have;
	enum err e;

	if (!w->touch_count)
		return ERR_OK;
	if ((e = work_register(w)) || (e = work_reserved(w->c, w->c->actor, STR_NONE, &have)))
		return e;
	w->made = arena_array(&w->c->mem, w->touch_count, sizeof *w->made);
	for (size_t i = 0; i < w->touch_count; i++) {
		if ((e = work_run(w->c, &op_agent_reserve,
				  (const struct work_argument[]){ { "scope", w->touches[i] },
								  { "bead", w->now.bead },
								  { "strict", STR("true") },
								  { 0 } },
				  NULL)))
			return e;
		if (!work_has_scope(have, w->touches[i]))
			w->made[w->made_count++] = w->touches[i];
	}
	return ERR_OK;
}

/* The bead's reservations name the id that it had when the work began. */
static enum err work_reservations(struct work *w, struct reservation **out)
{
	return work_reserved(w->c, w->c->actor, w->now.was.p ? w->now.was : w->now.bead, out);
}

/* --- the branch --- */

/* HEAD of a worktree is moved only if no other agent works there. */
static enum err work_alone(struct work *w, bool *alone)
{
	struct current *all;
	enum err e = current_each(w->c, w->b.home, &all);

	*alone = true;
	for (; !e && all; all = all->next)
		if (str_eq(all->tree, w->now.tree) && !str_eq(all->agent, w->c->actor))
			*alone = false;
	return e;
}

/* The files of a worktree come from other people, and can be any number of them. */
enum { BRANCH_MOST_MS = 10 * 60 * 1000 };

static enum err work_branch(struct work *w)
{
	struct str dir = w->now.linked ? w->b.repo.common : w->b.repo.gitdir;
	struct git_process h = { .words = { "branch", arena_cstr(&w->c->mem, dir), "--name" },
				 .doing = STR("making the branch"),
				 .timeout_ms = BRANCH_MOST_MS };
	int n = 3;
	bool alone;
	enum err e = work_alone(w, &alone);

	if (e || !w->now.branch.p)
		return e;
	h.words[n++] = arena_cstr(&w->c->mem, w->now.branch);
	if (w->now.linked) {
		h.words[n++] = "--worktree";
		h.words[n++] = arena_cstr(&w->c->mem, w->now.tree);
	} else if (alone) {
		h.words[n++] = "--checkout";
	} else {
		call_warn(w->c, "another agent works in this worktree, so HEAD was not moved; use "
				"--worktree");
	}
	if ((e = git_process_run(w->c, &h)) == ERR_SYNC_TIMEOUT)
		return call_step(w->c, "Make the worktree with Git, then run the command again: "
				       "git worktree add FOLDER BRANCH");
	if (e)
		return e;
	w->note = value_str(value_read(&w->c->mem, h.reply), "note");
	if (w->note.p)
		call_warn(w->c, STR_FMT, STR_ARG(w->note));
	return ERR_OK;
}

/* --- beginning --- */

/* Without a text: the current bead. */
static enum err work_read_bead(struct work *w, struct str text)
{
	struct bead_row *row;
	struct edit edit;
	struct beads b;
	enum err e = beads_open(w->c, BEADS_READ, &b);

	if (e)
		return e;
	if (text.p)
		w->now.bead = text;
	else
		e = current_follow(w->c, &b, &w->now);
	if (!e && !(e = find_bead(w->c, &b, w->now.bead, &row)) &&
	    !(e = edit_begin(w->c, &b, row, &edit))) {
		w->now.bead = row->id;
		w->now.created = edit.now.created;
		w->title = row->title;
		w->held = bead_row_claimed(row, w->c->now_ms) && str_eq(row->assignee, w->c->actor);
		w->touches = bead_touches(&w->c->mem, &edit.now, &w->touch_count);
	}
	w->b.home = b.home;
	w->b.repo = b.repo;
	beads_close(&b);
	return e;
}

/* The agent has one current bead at a time. */
static enum err work_check_other(struct work *w)
{
	struct current old;
	enum err e = current_find(w->c, w->b.home, w->c->actor, &old);

	if (e || !old.bead.p)
		return e;
	if (str_eq(old.bead, w->now.bead)) {
		w->held = w->held && old.begun; /* otherwise the claim belongs to the unfinished
						 * command */
		return ERR_OK;
	}
	call_fail(w->c, ERR_ALREADY_CLAIMED, "you work on '" STR_FMT "' already",
		  STR_ARG(old.bead));
	return call_step(w->c, "Finish it with 'abacus work done', or give it back with 'abacus "
			       "work stop'.");
}

static struct str work_tree_path(struct work *w, const struct body *in)
{
	if (in->path.p)
		return path_resolve(&w->c->mem, w->c->dir, in->path);
	return arena_fmt(&w->c->mem, STR_FMT "-" STR_FMT, STR_ARG(w->b.repo.main),
			 STR_ARG(w->now.bead));
}

static enum err work_do(struct work *w, const struct body *in)
{
	enum err e = work_claim(w, in->lease);

	if (!e && ((e = work_reserve(w)) || (e = work_branch(w))))
		work_undo(w);
	return e;
}

static void work_put(struct work *w, const char *result, struct json *reply)
{
	struct reservation *r;

	if (work_reservations(w, &r))
		call_forgive(w->c);
	json_object(reply);
	json_put_str(reply, "bead", w->now.bead);
	json_put_str(reply, "title", w->title);
	json_put_bool(reply, "begun", w->now.begun);
	json_put_moment(reply, "since", w->now.since_ms);
	json_put_str(reply, "branch", w->now.branch);
	json_put_str(reply, "worktree", w->now.tree);
	json_put_array(reply, "reserved");
	for (; r; r = r->next)
		json_str(reply, r->scope);
	json_end(reply);
	if (w->claimed && value_find(w->claimed, "epoch")) {
		json_key(reply, STR("epoch"));
		json_value(reply, value_find(w->claimed, "epoch"));
	}
	json_put_str(reply, "result", str_of(result));
	json_end(reply);
}

static enum err work_begin(struct call *c, const struct body *in, struct json *reply)
{
	struct work w = { .c = c };
	enum err e;

	if (in->no_branch && in->worktree)
		return call_fail(c, ERR_INVALID_INPUT, TWO_PLACES, "--no-branch", "--worktree");
	if ((e = work_read_bead(&w, in->id)) || (e = work_check_other(&w)))
		return e;
	w.now.agent = c->actor;
	w.now.since_ms = c->now_ms;
	w.now.linked = in->worktree || in->path.p;
	w.now.tree = w.now.linked ? work_tree_path(&w, in) : w.b.repo.tree;
	if (!in->no_branch)
		w.now.branch = arena_fmt(&c->mem, "work/" STR_FMT, STR_ARG(w.now.bead));
	if ((in->path.p && (e = output_check(c, w.now.tree, OUTPUT_REFUSE_MISSING))) ||
	    (e = current_put(c, w.b.home, &w.now)))
		return e;
	if ((e = work_do(&w, in))) {
		struct call before = call_save(c);

		current_drop(c, w.b.home, c->actor);
		call_restore(c, &before);
		return e;
	}
	w.now.begun = true;
	if ((e = current_put(c, w.b.home, &w.now)))
		return e;
	work_put(&w, "begun", reply);
	return ERR_OK;
}

/* --- the current bead --- */

static enum err work_open(struct work *w)
{
	enum err e;

	if ((e = beads_home(w->c, &w->b)) ||
	    (e = current_find(w->c, w->b.home, w->c->actor, &w->now)) || !w->now.bead.p)
		return e;
	if ((e = work_read_bead(w, STR_NONE)) == ERR_NOT_FOUND || e == ERR_DELETED)
		e = call_forgive(w->c);
	return e;
}

static enum err work_show(struct call *c, struct json *reply)
{
	struct work w = { .c = c };
	enum err e = work_open(&w);

	if (e)
		return e;
	if (w.now.bead.p) {
		work_put(&w, w.now.begun ? "current" : "unfinished", reply);
		return ERR_OK;
	}
	json_object(reply);
	json_put_str(reply, "bead", STR_NONE);
	json_end(reply);
	return ERR_OK;
}

static enum err project_work_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	const struct body *in = body;

	(void)s;
	return in->id.p ? work_begin(c, in, reply) : work_show(c, reply);
}

/* --- the end --- */

static enum err work_release(struct work *w)
{
	struct reservation *r;
	enum err e = work_reservations(w, &r);

	for (; !e && r; r = r->next)
		e = work_release_scope(w, r->scope);
	return e;
}

/* The bead may have been closed, or lost to another agent, in the meantime. Its reservations are
 * released in any case. */
static enum err work_end(struct call *c, const struct op *op, struct str reason, const char *result,
			 struct json *reply)
{
	struct work w = { .c = c };
	enum err e = work_open(&w);

	if (e)
		return e;
	if (!w.now.bead.p) {
		call_fail(c, ERR_NOT_CLAIMED, "'" STR_FMT "' works on no bead", STR_ARG(c->actor));
		return call_step(c, "Begin with one: 'bd ready' lists them, and 'abacus work ID' "
				    "claims one.");
	}
	e = work_run(c, op,
		     (const struct work_argument[]){
			     { "ids", w.now.bead }, { "reason", reason }, { 0 } },
		     NULL);
	if (e == ERR_NOT_CLAIMED || e == ERR_CLOSED || e == ERR_NOT_FOUND || e == ERR_DELETED) {
		call_warn(c, STR_FMT, STR_ARG(c->message));
		e = call_forgive(c);
	}
	if (e || (e = work_release(&w)) || (e = current_drop(c, w.b.home, c->actor)))
		return e;
	work_put(&w, result, reply);
	return ERR_OK;
}

static enum err project_work_run_done(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	const struct body *in = body;

	(void)s;
	return work_end(c, &op_bead_close, in->reason, "closed", reply);
}

static enum err project_work_run_stop(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	(void)s, (void)body;
	return work_end(c, &op_bead_unclaim, STR_NONE, "given back", reply);
}

const struct op op_project_work = {
	.name = "project work",
	.help = "Work on a bead: claim it, reserve its files, make a branch",
	.more = "Claims the bead, reserves what it touches ('bd touches') so that no other agent "
		"changes it, and makes the branch work/ID at the present commit. HEAD moves to that "
		"branch, unless another agent works in the same worktree; neither index nor files "
		"change. With --worktree, the branch gets a linked worktree instead. The bead is "
		"then your current bead: the default of --bead, and of the trailer of your commits "
		"('bd config set commit.trailer true'). If a step fails, the steps before it are "
		"undone. After a crash, the same command completes what is missing. Without an id, "
		"shows your current bead. 'abacus work done' closes it and releases what was reserved "
		"for it; 'abacus work stop' gives it back.",
	.examples = "abacus work bd-a1b2 --worktree\n"
		    "abacus work done --reason \"fixed in 3f2a\"\n"
		    "abacus work stop",
	.flags = OP_WRITE | OP_ACTOR | OP_HOST,
	OP_BODY(struct body, fields),
	.reply = &work_reply,
	.run = project_work_run,
};

const struct op op_project_work_done = {
	.name = "project work done",
	.help = "Close your current bead and release its reservations",
	.more = "Branch and worktree stay, so that they can be merged.",
	.flags = OP_WRITE | OP_ACTOR,
	OP_BODY(struct body, done_fields),
	.reply = &work_reply,
	.run = project_work_run_done,
};

const struct op op_project_work_stop = {
	.name = "project work stop",
	.help = "Give your current bead back and release its reservations",
	.flags = OP_WRITE | OP_ACTOR,
	.body_size = sizeof(struct body),
	.reply = &work_reply,
	.run = project_work_run_stop,
};
