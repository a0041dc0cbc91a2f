/*
 * Serves operations as JSON lines. "params" is an object of typed values; "args" has texts instead,
 * as they come from a query string, and is limited to operations that do not write.
 */
#include "surface/cli/pipe.h"

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "ops/ops.h"
#include "store/db/db.h"
#include "surface/cli/face.h"
#include "surface/docs/openapi.h"
#include "surface/mcp/rpc.h"
#include "surface/service/service.h"

static char pipe_plain(char ch)
{
	return ch == '/' || ch == '_' || ch == '-' ? ' ' : ch;
}

static bool same_words(struct str a, struct str b)
{
	bool same = a.n == b.n;

	for (size_t i = 0; same && i < a.n; i++)
		same = pipe_plain(a.p[i]) == pipe_plain(b.p[i]);
	return same;
}

bool pipe_serves(const struct op *op)
{
	return !(op->flags & OP_HOST);
}

static const struct op *pipe_named(struct str name)
{
	for (const struct op *const *op = ops; *op; op++)
		if (same_words(str_of((*op)->name), name))
			return *op;
	return NULL;
}

const struct op *pipe_find(struct str name)
{
	const struct op *op = pipe_named(name);

	return op && pipe_serves(op) ? op : NULL;
}

static void pipe_put_error(struct json *j, struct call *c, enum dialect dialect)
{
	json_put_object(j, "error");
	json_put_str(j, "code", str_of(err_code(c->code, dialect)));
	json_put_str(j, "reason", str_of(err_name(c->code)));
	json_put_str(j, "message", c->message);
	json_put_str(j, "hint", call_next_step(c));
	json_put_bool(j, "retryable", err_retryable(c->code));
	json_put_int(j, "status", err_http(c->code));
	json_put_raw(j, "details", c->details.p ? c->details : STR("{}"));
	json_end(j);
}

static void put_success(struct json *j, const struct call *c, struct str data)
{
	json_put_raw(j, "data", data);
	if (c->replayed)
		json_put_bool(j, "replayed", true);
	if (c->meta.p)
		json_put_raw(j, "meta", c->meta);
	if (c->warning.p)
		json_put_str(j, "warning", c->warning);
}

/*
 * Refuses repeated parameters, because programs differ in whether the first or the last value wins.
 */
static enum err pipe_fail_repeated(struct call *c, struct str name)
{
	return call_fail(c, ERR_INVALID_INPUT,
			 "the parameter '" STR_FMT "' is given more than once", STR_ARG(name));
}

/* Sets a field from text, as it comes from a query string. */
static enum err set_text(struct call *c, struct request *r, const struct value *arg, bool repeated)
{
	const struct field *fields = r->op->fields;

	for (size_t i = 0; fields && fields[i].name; i++) {
		if (!str_is(arg->key, fields[i].name) || !field_on_wire(&fields[i]))
			continue;
		if (repeated && !(fields[i].flags & FIELD_LIST))
			return pipe_fail_repeated(c, arg->key);
		return request_set(c, r, i, arg->text);
	}
	if (str_is(arg->key, "agent") && (r->op->flags & (OP_ACTOR | OP_READER)))
		return repeated ? pipe_fail_repeated(c, arg->key) : ERR_OK;
	return call_fail(c, ERR_USAGE, "'%s' has no parameter '" STR_FMT "'", r->op->name,
			 STR_ARG(arg->key));
}

static enum err pipe_set_texts(struct call *c, struct request *r, const struct value *args)
{
	enum err e = ERR_OK;

	c->wire = true;
	for (size_t i = 0; !e && args && i < args->count; i++) {
		const struct value *arg = &args->item[i];

		for (size_t k = 0; !e && arg->type == VALUE_ARRAY && k < arg->count; k++) {
			struct value one = arg->item[k];

			one.key = arg->key;
			e = set_text(c, r, &one, arg->count > 1);
		}
		if (arg->type != VALUE_ARRAY)
			e = set_text(c, r, arg, false);
	}
	return e;
}

/*
 * Sets the actor: the one that the request names; for beads, otherwise the user who runs this
 * process.
 */
static void pipe_identify(struct call *c, const struct op *op, const struct value *said)
{
	struct str person = c->actor, agent = value_str(said, "agent");
	bool personal = (op->flags & OP_PERSON) ||
			((op->flags & OP_BEADS) && (op->flags & (OP_ACTOR | OP_READER)));

	c->actor = agent.p ? agent : personal ? person : STR_NONE;
	c->anonymous = !c->actor.p;
}

/*
 * A command that was handed over (handoff.h) ran in another folder of this project. A process in a
 * sandbox must not reach another project this way.
 */
static enum err pipe_change_folder(struct call *c, struct str dir, struct str project)
{
	struct service_place here, there;
	enum err e = service_find(c, &here);

	c->seen = (struct call_seen){ 0 };
	c->dir = c->real = path_real(&c->mem, dir);
	c->project = project;
	if (e || !c->dir.p || (e = service_find(c, &there)))
		return e ? e : file_fail(c, "look at", dir);
	if (str_eq(here.dir, there.dir))
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' belongs to another project",
			 STR_ARG(dir));
}

static enum err pipe_run(struct call *c, const struct op *op, const struct value *v,
			 struct json *data)
{
	const struct value *params = value_find(v, "params"), *args = value_find(v, "args");
	struct str dir = value_str(v, "dir");
	struct request r;
	enum err e;

	if (dir.p && (e = pipe_change_folder(c, dir, value_str(v, "project"))))
		return e;
	if (params && params->type != VALUE_OBJECT)
		return call_fail(c, ERR_INVALID_INPUT, "the parameters of '%s' are not an object",
				 op->name);
	r = request_new(c, op);
	pipe_identify(c, op, args ? args : params);
	e = args  ? pipe_set_texts(c, &r, args) :
	    dir.p ? request_decode_handed(c, &r, params) :
		    request_decode(c, &r, params);
	if (!e && args && request_writes(&r))
		e = call_fail(c, ERR_INVALID_INPUT, "'%s' may write, so it requires POST",
			      op->name);
	if (!e)
		e = request_check(c, &r);
	return e ? e : request_run(c, &r, data);
}

static enum err pipe_find_op(struct call *c, struct str name, const struct op **op)
{
	*op = pipe_named(name);
	if (*op && pipe_serves(*op))
		return ERR_OK;
	if (*op) {
		call_fail(c, ERR_NOT_FOUND,
			  "only the command line has '%s': it changes more than the stores of this "
			  "project, or needs a terminal",
			  (*op)->name);
		return call_step(c, "Run it in a terminal, outside of a sandbox.");
	}
	call_fail(c, ERR_NOT_FOUND, "there is no operation '" STR_FMT "'", STR_ARG(name));
	return call_step(c, "Run 'abacus schema' to list the operations.");
}

/* The line of the reply. `op` is NULL if the request names none, `data` absent if it failed. */
static struct str pipe_encode(struct call *c, const struct rpc_message *m, const struct op *op,
			      struct str data)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	if (!data.p)
		pipe_put_error(&j, c, op ? op_dialect(op) : DIALECT_BOARD);
	else
		put_success(&j, c, data);
	if (value_find(m->value, "id")) {
		json_key(&j, STR("id"));
		json_value(&j, value_find(m->value, "id"));
	}
	json_end(&j);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

static struct str pipe_answer(struct call *c, const struct rpc_message *m)
{
	struct json data = json_new(&c->mem);
	struct str name = value_str(m->value, "op");
	const struct op *op = NULL;
	enum err e;

	if (!m->value)
		e = call_fail(c, ERR_INVALID_INPUT, "not JSON: %s", m->why);
	else if (str_is(name, OPENAPI))
		e = openapi_put(&data);
	else if (!(e = pipe_find_op(c, name, &op)))
		e = pipe_run(c, op, m->value, &data);
	return pipe_encode(c, m, op, e ? STR_NONE : json_text(&data));
}

/*
 * The replies to writes that become durable together. A write joins the group while another request
 * is waiting already, so a client that waits for each reply never waits for a group.
 */
enum { HELD_MOST = 64 };
struct pipe_held {
	struct write_group group;
	struct rpc_message *message[HELD_MOST];
	struct str reply[HELD_MOST];
	size_t count;
};

/* A claim may have to wait for the remote. */
bool pipe_groups(const struct op *op)
{
	return (op->flags & OP_GROUPED) && !(op->flags & OP_CLAIMS);
}

static bool pipe_joins(const struct rpc_message *m)
{
	const struct op *op = pipe_find(value_str(m->value, "op"));

	return op && pipe_groups(op) && !value_find(m->value, "dir");
}

static void pipe_end_message(struct rpc_message *m, struct str reply)
{
	enum { LARGE = 1024 * 1024 }; /* bytes of a request that are given back at once */
	bool large = reply.n > LARGE / 4 || arena_size(&m->call.mem) > LARGE;

	rpc_release(m);
	if (large)
		platform_give_back();
}

/* None of the writes counts, and each of them gets the reason. */
static struct str pipe_answer_unstored(struct rpc_message *m, const struct call *group)
{
	struct call *c = &m->call;

	call_fail(c, group->code, STR_FMT, STR_ARG(group->message));
	c->step = group->step;
	c->remedy = group->remedy;
	call_stored(c, group->stored);
	return pipe_encode(c, m, pipe_find(value_str(m->value, "op")), STR_NONE);
}

/* False if nobody reads the replies. */
static bool pipe_flush(struct pipe_held *held)
{
	enum err e = beads_group_end(&held->group);
	bool heard = true;

	for (size_t i = 0; i < held->count; i++) {
		struct rpc_message *m = held->message[i];
		struct str reply = e ? pipe_answer_unstored(m, &held->group.call) : held->reply[i];

		heard = heard && rpc_send(reply);
		pipe_end_message(m, reply);
	}
	beads_group_release(&held->group);
	held->count = 0;
	return heard;
}

static void pipe_begin(const struct call *start, const struct rpc_input *in, struct call *c)
{
	struct arena mem = c->mem;

	*c = *start;
	c->mem = mem;
	c->seen = (struct call_seen){ 0 };
	c->request_id = STR_NONE;
	c->listener = &in->listener;
	if (!c->still)
		c->now_ms = moment_now();
}

/* Returns false if nobody reads the replies. */
static bool pipe_take(const struct call *start, struct rpc_input *in, struct rpc_message *m,
		      struct pipe_held *held)
{
	bool joins = pipe_joins(m) && (held->count || rpc_waiting(in));

	if (held->count && !joins && !pipe_flush(held)) {
		rpc_release(m);
		return false;
	}
	pipe_begin(start, in, &m->call);
	m->call.group = joins ? &held->group : NULL;
	held->message[held->count] = m;
	held->reply[held->count++] = pipe_answer(&m->call, m);
	return held->count < HELD_MOST && joins && !beads_group_full(&held->group) &&
			       rpc_waiting(in) ?
		       true :
		       pipe_flush(held);
}

int pipe_start(struct call *c, const struct request *r)
{
	struct pipe_held held = { 0 };
	struct rpc_input in;
	struct rpc_message *m;
	bool heard = true;

	(void)r;
	c->actor = bd_actor(c);
	db_keep();
	rpc_open(&in);
	while (heard && (m = rpc_next(&in)))
		heard = pipe_take(c, &in, m, &held);
	pipe_flush(&held); /* a signal ended the input */
	rpc_close(&in);
	return 0;
}

const struct op op_pipe = {
	.name = "pipe",
	.help = "Run operations from JSON lines on standard input",
	.more = "Reads one {\"op\":…,\"params\":{…}} per line, and answers each with "
		"{\"data\":…} or {\"error\":{…}}, in order, until the input ends. 'abacus "
		"schema' lists operations and parameters; \"agent\" names the actor.",
	.examples = "echo '{\"op\":\"bead ready\",\"params\":{\"limit\":3}}' | abacus pipe",
};
