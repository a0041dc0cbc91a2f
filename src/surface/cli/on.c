/*
 * The runner of rules. It holds the lock of each rule that it runs. Every rule reads the changes
 * into a queue of its own. When the commands for all changes before a place have ended, that place
 * is stored. So if a runner is killed, the next one continues from the stored place: no change is
 * missed, but some commands may run twice.
 */
#include "surface/cli/on.h"

#include <sys/wait.h>
#include <unistd.h>

#include "agents/stuck.h"
#include "base/moment.h"
#include "base/system/child.h"
#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/system/watch.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "live/feed.h"
#include "live/line_act.h"
#include "live/open.h"
#include "live/rule.h"
#include "store/db/bead_query.h"
#include "store/db/db.h"
#include "store/exposed.h"
#include "surface/cli/out.h"
#include "surface/cli/stopping.h"

enum {
	LOOK_MS = 1000,       /* a rule may have been added, or a lock released */
	BUSY_MS = 20,         /* while a command runs */
	FINISH_MS = 10000,    /* for running commands, when the runner is stopped */
	STUCK_MS = 60 * 1000, /* between two looks for stuck agents */
	PLACE_MS = 5000,      /* a place without new commands is stored this often */
};

/* A change that was read: with a command to run, or only with the place after it. */
struct on_entry {
	struct rule_event event; /* without a name: no command */
	struct str learn;        /* the data with the place after it; or absent */
	int pid;                 /* 0: not started */
	bool done;
	struct on_entry *next;
};

struct on_rule {
	struct rule rule;
	struct arena mem;   /* of `rule` */
	struct arena batch; /* of the queue */
	struct lock lock;
	struct sources known, done; /* read up to here; commands have ended up to here */
	int64_t read_ms, done_ms;   /* everything before was read; its commands have ended */
	int64_t stored_ms;          /* ticks, when the place was stored last */
	struct on_entry *first, **last;
	bool dirty,
		refused; /* the place has moved; another process runs the rule, which was said */
	bool gone;       /* it was removed */
	struct on_rule *next;
};

struct on_runner {
	struct call *c; /* of the round */
	struct str folder, dir;
	struct on_rule *rules;
	int64_t jobs, running, told_ms;
	int input; /* the service that started this process holds the other end; -1: none */
};

/* --- reading --- */

static struct on_entry *on_push(struct on_rule *r)
{
	struct on_entry *one = arena_new(&r->batch, struct on_entry);

	*r->last = one;
	r->last = &one->next;
	return one;
}

struct on_reading {
	struct on_runner *run;
	struct on_rule *r;
	bool reset;
};

/* Does the bead have all labels of the rule now? A deleted bead has none. */
static bool on_labelled(struct call *c, const struct rule *r, struct str bead)
{
	struct str id[] = { bead };
	struct bead_filter with = { .labels = r->labels,
				    .label_count = r->label_count,
				    .ids = id,
				    .id_count = 1,
				    .lean = true };
	struct bead_row *row = NULL;
	struct beads b;
	bool there;

	if (!r->label_count)
		return true;
	if (bead.p && !live_open_beads(c, &b, &there) && there) {
		query_each(c, &b.cache, &with, &row);
		beads_close(&b);
	}
	call_forgive(c);
	return row;
}

static void on_matched(void *arg, const struct rule_event *event)
{
	struct on_reading *g = arg;
	struct on_entry *one;

	if (!on_labelled(g->run->c, &g->r->rule, event->bead))
		return;
	one = on_push(g->r);
	one->event = (struct rule_event){ arena_copy(&g->r->batch, event->name),
					  arena_copy(&g->r->batch, event->bead),
					  arena_copy(&g->r->batch, event->by),
					  arena_copy(&g->r->batch, event->data) };
}

static void on_read(void *arg, const char *type, struct str data)
{
	struct on_reading *g = arg;
	const struct value *v = value_read(&g->run->c->mem, data), *all = value_find(v, "all");

	g->reset = g->reset || !strcmp(type, "reset") || (all && all->yes);
	rule_match_each(g->run->c, &g->r->rule, type, data, on_matched, g);
	on_push(g->r)->learn = arena_copy(&g->r->batch, data);
}

/*
 * The journal no longer has the records, or has too many. So the last change is read from each
 * bead.
 */
static void on_catch_up(struct on_reading *g)
{
	struct call *c = g->run->c;
	struct bead_filter since = { .updated_after = { true, g->r->read_ms } };
	struct bead_row *row = NULL;
	struct beads b;
	bool there;

	if (!live_open_beads(c, &b, &there) && there) {
		query_each(c, &b.cache, &since, &row);
		beads_close(&b);
	}
	out_say("rule %lld: the records since %s are gone; it runs for the last change of each bead "
		"since then",
		(long long)g->r->rule.n, moment_format(&c->mem, g->r->read_ms).p);
	for (; row; row = row->next) {
		const struct value *line = value_read(&c->mem, row->line);
		struct json j = json_new(&c->mem);

		json_object(&j);
		json_put_array(&j, "acts");
		json_object(&j);
		json_put_str(&j, "id", row->id);
		json_put_str(&j, "what", line_act(line));
		json_put_str(&j, "by", value_str(line, "_by"));
		json_end(&j);
		json_end(&j);
		json_end(&j);
		rule_match_each(c, &g->r->rule, "bead", json_text(&j), on_matched, g);
	}
	call_forgive(c);
}

static void on_collect(struct on_runner *run, struct on_rule *r)
{
	struct on_reading g = { .run = run, .r = r };
	int64_t now = moment_now();

	arena_release(&r->batch);
	r->first = NULL;
	r->last = &r->first;
	sources_collect(run->c, &r->known, on_read, &g);
	if (g.reset)
		on_catch_up(&g);
	r->read_ms = now;
}

/* --- running --- */

static struct str on_named(struct call *c, const struct on_rule *r, const struct on_entry *one)
{
	return arena_fmt(&c->mem, "rule %lld: " STR_FMT "%s" STR_FMT, (long long)r->rule.n,
			 STR_ARG(one->event.name), one->event.bead.p ? " " : "",
			 STR_ARG(one->event.bead));
}

static void on_start(struct on_runner *run, struct on_rule *r, struct on_entry *one)
{
	struct call *c = run->c;
	const char **argv = arena_array(&c->mem, r->rule.words + 1, sizeof *argv);
	const char *env[4] = {
		arena_fmt(&c->mem, "ABACUS_EVENT=" STR_FMT, STR_ARG(one->event.name)).p,
		arena_fmt(&c->mem, "ABACUS_BEAD=" STR_FMT, STR_ARG(one->event.bead)).p,
		arena_fmt(&c->mem, "ABACUS_BY=" STR_FMT, STR_ARG(one->event.by)).p,
	};

	for (size_t i = 0; i < r->rule.words; i++)
		argv[i] = arena_cstr(&c->mem, r->rule.command[i]);
	if (child_start(c, argv, env, rule_input(c, &r->rule, &one->event), run->dir, &one->pid)) {
		out_say("%s: %s; it is tried again", on_named(c, r, one).p, c->message.p);
		one->pid = 0;
		call_forgive(c);
		return;
	}
	run->running++;
	out_say("%s: runs %s", on_named(c, r, one).p, argv[0]);
}

/* Moves the place past the entries at the head of the queue that are done. */
static void on_advance(struct on_runner *run, struct on_rule *r)
{
	for (; r->first && r->first->done; r->first = r->first->next) {
		if (r->first->learn.p)
			sources_learn(run->c, &r->done, r->first->learn);
		r->dirty = true;
	}
	if (r->first)
		return;
	r->last = &r->first;
	r->done_ms = r->read_ms;
}

static void on_store(struct on_runner *run, struct on_rule *r, bool at_once)
{
	int64_t now = moment_ticks();

	if (r->gone || !r->dirty || (!at_once && now - r->stored_ms < PLACE_MS))
		return;
	if (rule_put_place(run->c, run->folder, r->rule.n, &r->done, r->done_ms)) {
		out_say("rule %lld: its place cannot be stored: %s", (long long)r->rule.n,
			run->c->message.p);
		call_forgive(run->c);
	}
	r->dirty = false;
	r->stored_ms = now;
}

static void on_ended(struct on_runner *run, struct on_rule *r, struct on_entry *one, int status)
{
	run->running--;
	one->done = true;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return;
	out_say("%s: the command %s %d; it is not repeated", on_named(run->c, r, one).p,
		WIFEXITED(status) ? "ended with status" : "was ended by signal",
		WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

static void on_reap(struct on_runner *run)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (struct on_rule *r = run->rules; r; r = r->next)
			for (struct on_entry *one = r->first; one; one = one->next)
				if (one->pid == pid && !one->done)
					on_ended(run, r, one, status);
}

/* Starts what may be started, reads on where the queue is empty, and stores places. */
static void on_work(struct on_runner *run)
{
	on_reap(run);
	for (struct on_rule *r = run->rules; r; r = r->next) {
		bool ran = false;

		if (r->lock.fd < 0)
			continue;
		if (!r->first && !r->gone)
			on_collect(run, r);
		for (struct on_entry *one = r->first; one; one = one->next) {
			if (!one->event.name.p)
				one->done = true;
			else if (!one->pid && !r->gone && run->running < run->jobs && !stopping())
				on_start(run, r, one);
			ran = ran || (one->done && one->event.name.p);
		}
		on_advance(run, r);
		on_store(run, r, ran);
	}
}

/* --- the rules --- */

static struct str *on_copy_list(struct arena *mem, const struct str *list, size_t n)
{
	struct str *copy = arena_array(mem, n + 1, sizeof *copy);

	for (size_t i = 0; i < n; i++)
		copy[i] = arena_copy(mem, list[i]);
	return copy;
}

static struct on_rule *on_add(struct on_runner *run, const struct rule *one)
{
	struct on_rule *r = calloc(1, sizeof *r);

	if (!r)
		abort();
	r->rule = *one;
	r->rule.event = arena_copy(&r->mem, one->event);
	r->rule.labels = on_copy_list(&r->mem, one->labels, one->label_count);
	r->rule.command = on_copy_list(&r->mem, one->command, one->words);
	r->lock.fd = -1;
	r->last = &r->first;
	r->next = run->rules;
	run->rules = r;
	return r;
}

static void on_drop(struct on_rule *r)
{
	lock_drop(&r->lock);
	arena_release(&r->mem);
	arena_release(&r->batch);
	arena_release(&r->known.mem);
	arena_release(&r->done.mem);
	free(r);
}

/* Takes the lock of the rule, and continues at its place. */
static void on_take(struct on_runner *run, struct on_rule *r)
{
	struct str lock = rule_lock(run->c, run->folder, r->rule.n);

	if (exposed_lock(run->c, lock, 0, &r->lock)) {
		if (!r->refused)
			out_say("rule %lld is run by another process", (long long)r->rule.n);
		r->refused = true;
		r->lock.fd = -1;
		call_forgive(run->c);
		return;
	}
	r->refused = false;
	if (!rule_place(run->c, run->folder, r->rule.n, &r->known, &r->read_ms))
		sources_begin(run->c, &r->known); /* its files were damaged: from now on */
	else
		rule_place(run->c, run->folder, r->rule.n, &r->done, &r->done_ms);
	out_say("rule %lld runs: on " STR_FMT ", " STR_FMT, (long long)r->rule.n,
		STR_ARG(r->rule.event), STR_ARG(r->rule.command[0]));
}

/* A removed rule is dropped when none of its commands runs. A number is used once. */
static void on_load(struct on_runner *run)
{
	struct on_rule **at = &run->rules, *r;
	struct rule *list;

	if (rule_each(run->c, &list)) {
		call_forgive(run->c);
		return;
	}
	for (const struct rule *one = list; one; one = one->next) {
		for (r = run->rules; r && r->rule.n != one->n;)
			r = r->next;
		r = r ? r : on_add(run, one);
		if (r->lock.fd < 0)
			on_take(run, r);
	}
	while ((r = *at)) {
		const struct rule *one = list;
		bool busy = false;

		while (one && one->n != r->rule.n)
			one = one->next;
		r->gone = !one;
		for (const struct on_entry *e = r->first; e; e = e->next)
			busy = busy || (e->pid && !e->done);
		if (r->gone && !busy) {
			*at = r->next;
			on_drop(r);
		} else {
			at = &r->next;
		}
	}
}

/* --- the loop --- */

static void on_round(const struct call *start, struct on_runner *run)
{
	struct call c = call_part(start);
	struct watch_at at[FEED_WATCHED + 1];
	AUTO_WATCH w;
	enum watch_end end;

	if (!c.still)
		c.now_ms = moment_now();
	run->c = &c;
	feed_watched(&c, at);
	at[FEED_WATCHED] = (struct watch_at){ run->folder, STR("") };
	watch_open(&w, &c.mem, at, FEED_WATCHED + 1);
	on_load(run);
	on_work(run);
	if (moment_ticks() - run->told_ms >= STUCK_MS) {
		run->told_ms = moment_ticks();
		stuck_tell(&c);
	}
	end = watch_wait(&w, run->running ? BUSY_MS : LOOK_MS, run->input);
	if (end == WATCH_INPUT && run->input >= 0 && !stopping())
		stopping_now();
	call_release(&c);
}

/* Lets the running commands end, so that their changes need not be repeated. */
static void on_finish(struct call *c, struct on_runner *run)
{
	int64_t until = moment_ticks() + FINISH_MS;
	struct on_rule *next;

	run->c = c;
	for (; run->running && moment_ticks() < until; moment_sleep(BUSY_MS))
		on_reap(run);
	for (struct on_rule *r = run->rules; r; r = next) {
		next = r->next;
		if (r->lock.fd >= 0) {
			on_advance(run, r);
			on_store(run, r, true);
		}
		on_drop(r);
	}
}

int on_follow(struct call *c, const struct request *r, bool json)
{
	struct on_runner run = { .jobs = *(const int64_t *)request_value(r, ROLE_LIMIT),
				 .input = -1 };
	struct beads b;

	(void)json;
	if (rule_folder(c, &run.folder) || file_make_dir(c, run.folder, 0700) || beads_home(c, &b))
		return -1;
	run.dir = b.repo.tree.p ? b.repo.tree : c->dir;
	if (request_bool(r, ROLE_TIED)) { /* standard output leads to the service, too */
		run.input = STDIN_FILENO;
		dup2(STDERR_FILENO, STDOUT_FILENO);
	}
	db_keep();
	stopping_hold();
	while (!stopping())
		on_round(c, &run);
	on_finish(c, &run);
	return 0;
}
