/*
 * Several machines that share, in one process, for a model in another language to compare itself
 * with. A line of standard input is a step of one machine, at the time that its clock shows:
 *
 * 	{"dir":…,"now":ms,"op":"agent send","params":{…}}      an operation, as 'abacus pipe' has it
 * 	{"dir":…,"now":ms,"hub":…,"from":["id",…]}             a round: reads those logs, publishes
 * 	{"dir":…,"now":ms}                                     a round without a remote
 * 	{"seed":n}                                             ids and keys are made from this number
 *
 * "dies":n ends the step before the n-th time it reaches the disk. Each step is answered with a
 * line: {"data":…}, {"error":"CODE"} or {"died":true}. In the folder `hub`, a log is one file, so
 * that the rules are tested without Git. Nothing is synced to the disk: only processes die here.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agents/liveness.h"
#include "base/system/fault.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "machines/log.h"
#include "machines/machines.h"
#include "machines/share.h"
#include "surface/cli/pipe.h"

static int64_t steps_left; /* until this process dies; 0: it does not */
static uint64_t noise;     /* from which ids and keys are made */

void fault_point(void)
{
	if (steps_left && !--steps_left)
		kill(getpid(), SIGKILL);
}

int fsync(int fd)
{
	(void)fd;
	return 0;
}

int fdatasync(int fd)
{
	(void)fd;
	return 0;
}

/* SplitMix64 */
int getentropy(void *p, size_t n)
{
	unsigned char *out = p;

	for (size_t i = 0; i < n; i++) {
		uint64_t z = noise += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		out[i] = (unsigned char)(z >> 56);
	}
	return 0;
}

/* --- an operation --- */

static enum err step_run(struct call *c, const struct value *v, struct json *out)
{
	const struct value *params = value_find(v, "params");
	const struct op *op = pipe_find(value_str(v, "op"));
	struct request r;
	enum err e;

	if (!op)
		return call_fail(c, ERR_NOT_FOUND, "no such operation");
	c->actor = value_str(params, "agent");
	c->anonymous = !c->actor.p;
	r = request_new(c, op);
	if ((e = request_decode(c, &r, params)) || (e = request_check(c, &r)))
		return e;
	return request_run(c, &r, out);
}

/* --- a round --- */

static enum err hub_read(struct call *c, void *arg, const char *path, int64_t most, struct str *out)
{
	*out = value_str(arg, path);
	(void)c;
	if ((int64_t)out->n > most)
		*out = STR_NONE;
	return ERR_OK;
}

static enum err hub_publish(struct call *c, struct machines *m, struct str hub)
{
	struct machine_self *self = &m->me.self;
	struct json j = json_new(&c->mem);
	struct log_file *f;
	enum err e = log_files(c, &m->db, self, m->me.secret, &f);

	json_object(&j);
	for (; !e && f; f = f->next) {
		json_key(&j, f->path);
		json_str(&j, f->text);
	}
	json_end(&j);
	if (e ||
	    (e = file_own_replace(c, path_join(&c->mem, hub, self->id), json_text(&j), 0600)) ||
	    (e = machine_db_begin(c, &m->db)))
		return e;
	self->sent = self->count;
	self->dirty = false;
	if ((e = machine_self_put(c, &m->db, self)))
		return e;
	return machine_db_commit(c, &m->db);
}

static enum err hub_take(struct call *c, struct machines *m, struct str hub, struct str id,
			 struct json *out)
{
	struct machine_row *rows, new = { .id = id }, *row;
	struct str text;
	int64_t taken;
	enum err e = file_own_read(c, path_join(&c->mem, hub, id), &text);

	if (e || !text.p || (e = machine_row_each(c, &m->db, &rows)))
		return e;
	for (row = rows; row && !str_eq(row->id, id);)
		row = row->next;
	row = row ? row : &new;
	e = log_take(c, &m->db, &m->me.self, row, hub_read, (void *)value_read(&c->mem, text),
		     &taken);
	if (!e && row->problem.p)
		json_str(out, row->problem);
	return e;
}

static enum err round_steps(struct call *c, struct machines *m, const struct value *v,
			    struct json *out)
{
	const struct value *from = value_find(v, "from");
	struct str hub = value_str(v, "hub");
	int64_t applied;
	enum err e = machines_collect(c, m);

	if (e || !hub.p)
		return e;
	for (size_t i = 0; !e && from && i < from->count; i++)
		e = hub_take(c, m, hub, from->item[i].text, out);
	if (e || (e = machines_apply(c, m, &applied)) || (m->acted && (e = machines_collect(c, m))))
		return e;
	return hub_publish(c, m, hub);
}

/* The reply: the machine's id, and why logs were not applied. */
static enum err step_round(struct call *c, const struct value *v, struct json *out)
{
	struct json problems = json_new(&c->mem);
	struct str home, gitdir;
	struct machines m;
	bool was;
	enum err e = share_set(c, true, &was);

	if (e || (e = share_home(c, &home, &gitdir)) || (e = machines_open(c, home, &m)))
		return e;
	json_array(&problems);
	e = round_steps(c, &m, v, &problems);
	json_end(&problems);
	json_object(out);
	json_put_str(out, "machine", m.me.self.id);
	json_put_raw(out, "problems", json_text(&problems));
	json_end(out);
	machines_close(&m);
	return e;
}

/* --- steps --- */

static void step_answer(struct arena *mem, const struct value *v)
{
	struct call c = { .mem = *mem, .still = true, .stale_minutes = STALE_MINUTES };
	struct json data = json_new(&c.mem), j = json_new(&c.mem);
	struct str text;
	enum err e;

	c.dir = c.real = value_str(v, "dir");
	value_int(v, "now", &c.now_ms);
	e = value_find(v, "op") ? step_run(&c, v, &data) : step_round(&c, v, &data);
	json_object(&j);
	if (e) {
		json_put_str(&j, "error", str_of(err_name(c.code)));
		json_put_str(&j, "message", c.message);
	} else {
		json_put_raw(&j, "data", json_text(&data));
	}
	json_end(&j);
	text = json_text(&j);
	fwrite(text.p, 1, text.n, stdout);
	putchar('\n');
	*mem = c.mem;
}

/* In a process of its own, which dies. */
static void step_die(struct arena *mem, const struct value *v, int64_t at)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	if (!child) {
		steps_left = at;
		step_answer(mem, v);
		fflush(stdout);
		_exit(0);
	}
	noise += UINT64_C(1) << 40; /* an id that the child has made is not made again */
	waitpid(child, &status, 0);
	if (WIFSIGNALED(status))
		puts("{\"died\":true}");
}

int main(void)
{
	struct arena mem = { 0 };
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) > 0) {
		const struct value *v = value_read(&mem, (struct str){ line, (size_t)n - 1 });
		int64_t number;

		if (value_int(v, "seed", &number))
			noise = (uint64_t)number << 32;
		else if (value_int(v, "dies", &number))
			step_die(&mem, v, number);
		else
			step_answer(&mem, v);
		fflush(stdout);
		arena_reset(&mem);
	}
	return 0;
}
