#include "agents/stuck.h"
#include "base/id.h"
#include "base/moment.h"
#include "base/system/child.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "continuity/brief.h"
#include "hosts/rate_limit.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"

/* vybe loop: runs an agent's command for one task after the other. */

struct body {
	struct str dir, command, post, project;
	int64_t tasks, fails, timeout, cooldown, wait, last;
	bool dry;
};

#define AT(member) offsetof(struct body, member)

static const struct field loop_fields[] = {
	{ "project_dir", &kind_path, AT(dir), .min = 1, .max = 4096,
	  .help = "folder whose tasks to run (default: the repository)" },
	{ "max_tasks", &kind_int, AT(tasks), .min = 1, .max = 100000, .preset = "10",
	  .help = "maximum number of tasks" },
	{ "max_fails", &kind_int, AT(fails), .min = 1, .max = 100000, .preset = "3",
	  .help = "maximum number of consecutive failures" },
	{ "task_timeout", &kind_duration, AT(timeout), .min = 1, .preset = "10m",
	  .help = "time limit of one task" },
	{ "cooldown", &kind_duration, AT(cooldown), .min = 0, .preset = "5s",
	  .help = "pause between two tasks" },
	{ "max_wait", &kind_duration, AT(wait), .min = 0, .preset = "1d",
	  .help = "maximum time to wait for the reset of the host's rate limit" },
	{ "dry_run", &kind_bool, AT(dry), .role = ROLE_DRY_RUN,
	  .help = "list the tasks without running them" },
	{ "command", &kind_str, AT(command), .arg = "COMMAND", .min = 1, .max = 65536,
	  .help = "shell command to run; it reads the prompt from standard input and "
		  "VYBE_TASK_ID from the environment" },
	{ "post_hook", &kind_str, AT(post), .arg = "COMMAND", .min = 1, .max = 65536,
	  .help = "shell command to run after each task, with VYBE_TASK_STATUS in its environment" },
	{ 0 },
};

static const struct field stats_fields[] = {
	{ "last", &kind_int, AT(last), .min = 1, .max = 100000, .preset = "7",
	  .help = "maximum number of runs" },
	{ "project_id", &kind_str, AT(project), .arg = "ID", .max = 4096, .help = "project id" },
	{ 0 },
};

static const struct prop result_props[] = {
	{ "task_id task_title status duration:int", NULL },
	{ 0 },
};
static const struct prop loop_props[] = {
	{ "completed:int failed:int total:int duration_sec:int stopped_by", NULL },
	{ "results[]", result_props },
	{ 0 },
};
static const struct prop stats_props[] = {
	{ "runs:int avg_completed:any avg_failed:any blocked_rate:any", NULL },
	{ "avg_duration_sec:any history:object[]", NULL },
	{ 0 },
};

/* --- one task --- */

struct vybe_loop_run {
	const struct body *in;
	struct str project;
	struct json results;
	struct run_row sum;
	int64_t in_a_row; /* failures in a row */
	const char *why;  /* why the loop ended */
	bool limited;     /* the host's rate limit ends too late */
};

/* Runs another operation. */
static enum err vybe_loop_call_op(struct call *c, const struct op *op, const char *const *pairs,
				  struct json *reply)
{
	struct request r = request_new(c, op);
	enum err e = ERR_OK;

	c->request_id = arena_fmt(&c->mem, "loop_%s", id_random(&c->mem, 24).p);
	for (; !e && pairs[0]; pairs += 2)
		e = request_set_named(c, &r, pairs[0], str_of(pairs[1]));
	if (!e && !(e = request_check(c, &r)))
		e = request_run(c, &r, reply);
	c->request_id = STR_NONE;
	return e;
}

/* Another agent's pending task. A task in progress whose lease ended is free. */
static bool vybe_loop_is_anothers(struct call *c, const struct task *t)
{
	return t->assignee.n && !str_eq(t->assignee, c->actor) && t->status != TASK_IN_PROGRESS;
}

/* The ready tasks that are not another agent's. The loop takes the first; a dry run lists all. */
static enum err vybe_loop_next_task(struct call *c, const struct vybe_loop_run *run,
				    struct task **out)
{
	struct continuity k;
	struct beads *b;
	enum err e = continuity_open(c, VYBE_READ, &k);

	if (e)
		return e;
	if (!(e = continuity_tasks(c, &k, &b)))
		e = task_next(c, b, run->project, 0, out);
	continuity_close(&k);
	while (!e && *out) {
		if (vybe_loop_is_anothers(c, *out))
			*out = (*out)->next;
		else
			out = &(*out)->next;
	}
	return e;
}

static enum err vybe_loop_look_again(struct call *c, struct task *t)
{
	struct continuity k;
	struct beads *b;
	enum err e = continuity_open(c, VYBE_READ, &k);

	if (e)
		return e;
	if (!(e = continuity_tasks(c, &k, &b)))
		e = task_find(c, b, t->id, t);
	continuity_close(&k);
	return e;
}

static enum err vybe_loop_prompt(struct call *c, const struct vybe_loop_run *run, struct task *t,
				 struct str *out)
{
	struct brief b = { .task = t, .project = run->project };
	struct continuity k;
	enum err e = continuity_open(c, VYBE_READ, &k);

	if (e)
		return e;
	if (!(e = brief_read(c, &k, &b)))
		*out = brief_prompt(c, &b);
	continuity_close(&k);
	return e;
}

static void vybe_loop_add_env(struct call *c, const char **env, const char *name, struct str value)
{
	while (*env)
		env++;
	*env = arena_fmt(&c->mem, "%s=" STR_FMT, name, STR_ARG(value)).p;
}

/* The status of the task decides about success, not the exit code of the command. */
static enum err vybe_loop_outcome(struct call *c, const struct child *child, struct task *t,
				  const char **status)
{
	const char *reason =
		child->timed_out ? "failure: time limit exceeded" :
		child_stopped()  ? "failure: the loop was stopped" :
		child->status    ? "failure: the command failed" :
				   "failure: the command ended without completing the task";
	const char *id = arena_cstr(&c->mem, t->id);
	const char *blocked[] = { "id", id, "outcome", "blocked", "summary", reason, NULL };
	struct json reply = json_new(&c->mem);
	enum err e = vybe_loop_look_again(c, t);

	*status = child->timed_out ? "timeout" : "failed";
	if (e == ERR_DELETED || e == ERR_NOT_FOUND) {
		*status = "deleted";
		return call_forgive(c);
	}
	if (e)
		return e;
	if (t->status == TASK_COMPLETED || t->status == TASK_BLOCKED) {
		*status = names_word(&task_statuses, (int)t->status);
		return ERR_OK;
	}
	if (t->status != TASK_IN_PROGRESS || !str_eq(t->assignee, c->actor))
		return ERR_OK;
	return vybe_loop_call_op(c, &op_vybe_task_complete, blocked, &reply);
}

/* --- rate limits --- */

enum { WAITS_MOST = 20 }; /* per task; a host that reports a limit more often counts as failed */

static void vybe_loop_pause(int64_t ms)
{
	for (int64_t end = moment_ticks() + ms; moment_ticks() < end && !child_stopped();)
		moment_sleep(20);
}

/* Records why the agent reports nothing, so that it does not count as stuck. */
static enum err vybe_loop_note_wait(struct call *c, const struct task *t, int64_t until_ms)
{
	struct event_note note = {
		.kind = names_word(&reports, REPORT_WAITS),
		.task = t->id,
		.message = arena_fmt(&c->mem, "waits for the reset of the host's rate limit at %s",
				     moment_format(&c->mem, until_ms).p),
		.metadata = stuck_wait(c, until_ms),
	};
	struct continuity k;
	enum err e = continuity_open(c, VYBE_WRITE, &k);

	if (e)
		return e;
	if (!(e = continuity_note(c, &k, &note, NULL)))
		e = continuity_commit(c, &k);
	continuity_close(&k);
	if (c->progress)
		c->progress(c, arena_fmt(&c->mem, STR_FMT ": " STR_FMT, STR_ARG(t->id),
					 STR_ARG(note.message)));
	return e;
}

/* Waits, and renews the claim whenever half of the lease is over. */
static enum err vybe_loop_wait(struct call *c, struct task *t, int64_t until_ms)
{
	enum { LEAST_MS = 200 };
	int64_t begun = c->now_ms, start = moment_ticks();
	enum err e = vybe_loop_note_wait(c, t, until_ms);

	while (!e && !child_stopped()) {
		int64_t now = begun + moment_ticks() - start, half = (t->lease - now) / 2,
			left = until_ms - now;

		if (left <= 0)
			break;
		half = t->lease ? half : left;
		vybe_loop_pause(left < half ? left : half > LEAST_MS ? half : LEAST_MS);
		if (!c->still)
			c->now_ms = moment_now();
		c->request_id = STR_NONE;
		if (left > half && t->lease)
			e = task_renew(c, t->id, t);
	}
	return e;
}

/* Was the command stopped by the host's rate limit before it finished the task? Then waits for the
 * end of the limit. */
static enum err vybe_loop_limited(struct call *c, struct vybe_loop_run *run, struct task *t,
				  const struct child *child, bool *again)
{
	const char *id = arena_cstr(&c->mem, t->id);
	const char *give[] = { "id", id, "status", "pending", NULL };
	struct json reply = json_new(&c->mem);
	int64_t until_ms;
	enum err e;

	*again = false;
	if (child_stopped() || child->timed_out ||
	    !rate_limit_find(c, buf_str(child->tail), child->status, &until_ms))
		return ERR_OK;
	if ((e = vybe_loop_look_again(c, t)))
		return e == ERR_DELETED || e == ERR_NOT_FOUND ? call_forgive(c) : e;
	if (t->status != TASK_IN_PROGRESS || !str_eq(t->assignee, c->actor))
		return ERR_OK;
	if ((run->limited = until_ms - c->now_ms > run->in->wait))
		return vybe_loop_call_op(c, &op_vybe_task_set_status, give, &reply);
	*again = true;
	return vybe_loop_wait(c, t, until_ms);
}

static enum err vybe_loop_work_on(struct call *c, struct vybe_loop_run *run, struct task *t,
				  const char **status)
{
	const char *env[7] = { NULL }, *id = arena_cstr(&c->mem, t->id);
	const char *begin[] = { "id", id, NULL };
	struct json reply = json_new(&c->mem);
	struct buf tail = { .mem = &c->mem };
	struct child child = { .command = arena_cstr(&c->mem, run->in->command),
			       .env = env,
			       .timeout_ms = run->in->timeout,
			       .tail = &tail };
	bool again = true;
	enum err e;

	if ((e = vybe_loop_call_op(c, &op_vybe_task_begin, begin, &reply)) ||
	    (e = vybe_loop_prompt(c, run, t, &child.input)))
		return e;
	vybe_loop_add_env(c, env, "VYBE_TASK_ID", t->id);
	vybe_loop_add_env(c, env, "VYBE_TASK_TITLE", t->title);
	vybe_loop_add_env(c, env, "VYBE_AGENT", c->actor);
	if (c->store.p)
		vybe_loop_add_env(c, env, "VYBE_DB_PATH", path_resolve(&c->mem, c->dir, c->store));
	if (c->progress)
		c->progress(c, arena_fmt(&c->mem, STR_FMT ": " STR_FMT, STR_ARG(t->id),
					 STR_ARG(t->title)));
	for (int i = 0; again && i < WAITS_MOST; i++) {
		if (!c->still)
			c->now_ms = moment_now();
		tail.n = 0;
		if ((e = child_run(c, &child)) ||
		    (e = vybe_loop_limited(c, run, t, &child, &again)))
			return e;
	}
	if (run->limited)
		*status = "rate_limited";
	else if ((e = vybe_loop_outcome(c, &child, t, status)))
		return e;
	child.tail = NULL;
	if (run->in->post.p) {
		vybe_loop_add_env(c, env, "VYBE_TASK_STATUS", str_of(*status));
		child.command = arena_cstr(&c->mem, run->in->post);
		child.input = STR("");
		e = child_run(c, &child);
	}
	return e;
}

static void vybe_loop_note(struct vybe_loop_run *run, const struct task *t, const char *status,
			   int64_t began_ms)
{
	bool done = !strcmp(status, "completed"), blocked = !strcmp(status, "blocked");

	run->sum.total++;
	run->sum.completed += done;
	run->sum.blocked += blocked;
	run->sum.failed += !done && !blocked && !run->limited && strcmp(status, "deleted") != 0;
	run->in_a_row = done ? 0 : run->in_a_row + 1;
	json_object(&run->results);
	json_put_str(&run->results, "task_id", t->id);
	json_put_str(&run->results, "task_title", t->title);
	json_put_str(&run->results, "status", str_of(status));
	json_put_int(&run->results, "duration", (moment_ticks() - began_ms) / 1000);
	json_end(&run->results);
}

/* --- all of them --- */

static enum err vybe_loop_rounds(struct call *c, struct vybe_loop_run *run)
{
	const struct body *in = run->in;
	struct task *t;
	enum err e;

	run->why = "max_tasks";
	while (run->sum.total < in->tasks) {
		const char *status = "pending";
		int64_t began = moment_ticks();

		if (child_stopped()) {
			run->why = "signal";
			break;
		}
		if (!c->still)
			c->now_ms = moment_now();
		if ((e = vybe_loop_next_task(c, run, &t)))
			return e;
		if (!t) {
			run->why = "no_tasks";
			break;
		}
		e = vybe_loop_work_on(c, run, t, &status);
		if (e == ERR_ALREADY_CLAIMED || e == ERR_BLOCKED || e == ERR_CLOSED ||
		    e == ERR_DELETED || e == ERR_NOT_FOUND) {
			call_forgive(c); /* another agent took it; try the next task */
			continue;
		}
		if (e)
			return e;
		vybe_loop_note(run, t, status, began);
		if (run->limited) {
			run->why = "rate_limit";
			break;
		}
		if (run->in_a_row >= in->fails) {
			run->why = "max_fails";
			break;
		}
		if (run->sum.total < in->tasks)
			vybe_loop_pause(in->cooldown);
	}
	return ERR_OK;
}

static enum err vybe_loop_preview(struct call *c, struct vybe_loop_run *run)
{
	struct task *t;
	enum err e = vybe_loop_next_task(c, run, &t);

	run->why = "dry_run";
	for (; !e && t && run->sum.total < run->in->tasks; t = t->next)
		vybe_loop_note(run, t, "pending", moment_ticks());
	run->sum.failed = 0;
	return e;
}

static enum err vybe_loop_keep(struct call *c, const struct vybe_loop_run *run)
{
	struct continuity k;
	enum err e = continuity_open(c, VYBE_WRITE, &k);

	if (e)
		return e;
	if (!(e = vybe_run_put(c, &k.db, &run->sum)))
		e = continuity_commit(c, &k);
	continuity_close(&k);
	return e;
}

static enum err vybe_loop_run_loop(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	struct vybe_loop_run run = { .in = in, .results.out.mem = &c->mem };
	struct continuity k;
	int64_t began = moment_ticks();
	enum err e;

	(void)s;
	if (!in->command.p && !in->dry) {
		call_fail(c, ERR_USAGE, "--command is missing");
		return call_step(c, "Pass --command with the command that works on a task, or "
				    "--dry-run.");
	}
	if ((e = continuity_locate(c, &k)) || (e = continuity_project(c, in->dir, &run.project)))
		return e;
	run.sum =
		(struct run_row){ .agent = c->actor, .project = run.project, .started = c->now_ms };
	if (!in->dry)
		child_listen();
	json_array(&run.results);
	e = in->dry ? vybe_loop_preview(c, &run) : vybe_loop_rounds(c, &run);
	json_end(&run.results);
	run.sum.duration_ms = moment_ticks() - began;
	if (e || (!in->dry && (e = vybe_loop_keep(c, &run))))
		return e;
	json_object(reply);
	json_put_int(reply, "completed", run.sum.completed);
	json_put_int(reply, "failed", run.sum.failed);
	json_put_int(reply, "total", run.sum.total);
	json_put_int(reply, "duration_sec", run.sum.duration_ms / 1000);
	json_put_str(reply, "stopped_by", str_of(run.why));
	json_put_raw(reply, "results", json_text(&run.results));
	json_end(reply);
	return ERR_OK;
}

/* With two decimal places. */
static struct str vybe_loop_ratio(struct call *c, int64_t sum, int64_t count)
{
	int64_t hundredths = count ? (sum * 100 + count / 2) / count : 0;

	return arena_fmt(&c->mem, "%lld.%02lld", (long long)(hundredths / 100),
			 (long long)(hundredths % 100));
}

static enum err vybe_loop_run_stats(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;
	struct json history = json_new(&c->mem);
	struct run_row *r, sum = { 0 };
	int64_t runs = 0;
	enum err e = vybe_run_each(c, &s->vybe->db, in->project, in->last, &r);

	json_array(&history);
	for (; !e && r; r = r->next, runs++) {
		sum.completed += r->completed;
		sum.failed += r->failed;
		sum.blocked += r->blocked;
		sum.total += r->total;
		sum.duration_ms += r->duration_ms;
		json_object(&history);
		json_put_str(&history, "agent", r->agent);
		json_put_moment(&history, "started_at", r->started);
		json_put_int(&history, "completed", r->completed);
		json_put_int(&history, "failed", r->failed);
		json_put_int(&history, "blocked", r->blocked);
		json_put_int(&history, "total", r->total);
		json_put_int(&history, "duration_sec", r->duration_ms / 1000);
		json_end(&history);
	}
	json_end(&history);
	json_object(reply);
	json_put_int(reply, "runs", runs);
	json_put_raw(reply, "avg_completed", vybe_loop_ratio(c, sum.completed, runs));
	json_put_raw(reply, "avg_failed", vybe_loop_ratio(c, sum.failed, runs));
	json_put_raw(reply, "blocked_rate", vybe_loop_ratio(c, sum.blocked, sum.total));
	json_put_raw(reply, "avg_duration_sec", vybe_loop_ratio(c, sum.duration_ms / 1000, runs));
	json_put_raw(reply, "history", json_text(&history));
	json_end(reply);
	return e;
}

const struct op op_vybe_loop = {
	.name = "vybe loop",
	.help = "Run an agent's command on one task after another",
	.examples = "vybe loop --agent worker-1 --command 'claude -p \"$(cat)\"' --max-tasks 5\n"
		    "vybe loop --agent worker-1 --dry-run",
	.more = "Begins the next ready task, runs the command with the prompt on its standard "
		"input, and continues with the next task. A task that the command did not "
		"complete is blocked, with the reason. If the command's output says that the rate "
		"limit of its host is reached, the loop keeps the claim, waits for the reset that "
		"the message names, at most --max-wait, and runs the command again; a reset later "
		"than that ends the loop, and the task is free again. SIGINT first stops the "
		"command, then the loop.",
	.flags = OP_WRITE | OP_ACTOR | OP_NAMES | OP_HOST,
	OP_BODY(struct body, loop_fields),
	.reply = &(const struct prop){ "loop", loop_props },
	.run = vybe_loop_run_loop,
};

const struct op op_vybe_loop_stats = {
	.name = "vybe loop stats",
	.help = "Show statistics of the last loops",
	.flags = VYBE_LOOKS,
	OP_BODY(struct body, stats_fields),
	.reply = &(const struct prop){ "stats", stats_props },
	.run = vybe_loop_run_stats,
};
