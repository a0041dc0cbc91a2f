#include "base/hash.h"
#include "base/map.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "op/op.h"
#include "serve/http.h"
#include "surface/cli/pipe.h"
#include "surface/docs/openapi.h"

/* Operations: an address and a body become a line for a worker, its answer a reply. */

bool is_api(const char *path)
{
	return !strncmp(path, "/api/", 5);
}

/* The values of one name, in the order in which they were said. */
struct said {
	struct str value;
	struct said *next, *last; /* of the first one: the end of them */
};

static enum MHD_Result add_said(void *arg, enum MHD_ValueKind kind, const char *key,
				const char *value)
{
	struct map *arguments = arg;
	struct said *one = arena_new(arguments->mem, struct said), *first;
	void **at = map_put(arguments, str_of(key));

	(void)kind;
	one->value = str_of(value ? value : "true");
	first = *at ? *at : (*at = one);
	if (first != one)
		first->last->next = one;
	first->last = one;
	return MHD_YES;
}

/* What is said more than once is a list. */
static void put_arguments(struct json *j, struct arena *mem, struct MHD_Connection *connection)
{
	struct map arguments = { .mem = mem };

	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, add_said, &arguments);
	for (size_t i = 0; i < arguments.count; i++) {
		const struct said *one = arguments.entry[i].value;
		bool list = one->next;

		json_key(j, arguments.entry[i].key);
		if (list)
			json_array(j);
		for (; one; one = one->next)
			json_str(j, one->value);
		if (list)
			json_end(j);
	}
}

/* /api/sessions/<bead>/conversation is an operation with a parameter in its address. */
static bool in_address(struct str *op, struct str *bead)
{
	struct str head = STR("sessions/"), tail = STR("/conversation");

	if (!str_starts(*op, head) || !str_ends(*op, tail) || op->n <= head.n + tail.n)
		return false;
	*bead = (struct str){ op->p + head.n, op->n - head.n - tail.n };
	*op = STR("conversation");
	return true;
}

/* The line for a worker; absent: the body is not JSON. */
static struct str api_line_of(struct http_request *v, struct MHD_Connection *connection,
			      const char *path, bool post)
{
	struct json j = json_new(&v->mem);
	struct str op = str_of(path + sizeof "/api/" - 1), bead;
	const struct value *body;

	json_object(&j);
	if (in_address(&op, &bead)) {
		json_put_str(&j, "op", op);
		json_put_object(&j, "args");
		json_put_str(&j, "bead", bead);
		json_end(&j);
	} else if (post) {
		body = value_read(&v->mem, v->n ? (struct str){ v->body, v->n } : STR("{}"));
		if (!body)
			return STR_NONE;
		json_put_str(&j, "op", op);
		json_name(&j, STR("params"));
		json_value(&j, body);
	} else {
		json_put_str(&j, "op", op);
		json_put_object(&j, "args");
		put_arguments(&j, &v->mem, connection);
		json_end(&j);
	}
	json_end(&j);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

enum MHD_Result begin_job(struct http_request *v, struct MHD_Connection *connection,
			  const char *path, bool post)
{
	const struct op *op = pipe_find(str_of(path + sizeof "/api/" - 1));
	/* a waiting request must not occupy a worker */
	bool waits = op && (op->flags & OP_WAITS);
	struct workers *workers = waits ? v->h->with.waiters : v->h->with.workers;

	if (op && (op->flags & OP_WRITE) && !post)
		return answer_refuse(
			v, connection,
			&(const struct verdict){ MHD_HTTP_METHOD_NOT_ALLOWED, "INVALID_INPUT",
						 "this operation writes", "Send it with POST." });

	v->job.line = api_line_of(v, connection, path, post);
	if (!v->job.line.p)
		return answer_refuse(v, connection,
				     &(const struct verdict){ MHD_HTTP_BAD_REQUEST, "INVALID_INPUT",
							      "the body is not JSON",
							      "Send one JSON object." });
	v->job.connection = connection;
	v->job.mem = post && !v->nonce[0] ? NULL : &v->mem;
	v->begun = true;
	v->plain = !strcmp(path, "/api/" OPENAPI);
	MHD_suspend_connection(connection);
	if (!workers_put(workers, &v->job)) {
		v->job.refused = true;
		MHD_resume_connection(connection);
	}
	return MHD_YES;
}

static unsigned api_status_of(struct http_request *v, struct str reply)
{
	struct value_error error;
	int64_t status = MHD_HTTP_INTERNAL_SERVER_ERROR;

	if (str_starts(reply, STR("{\"data\":")))
		return MHD_HTTP_OK;
	value_int(value_find(value_parse(&v->mem, reply, &error), "error"), "status", &status);
	return (unsigned)status;
}

static struct str data_alone(char *reply, size_t n)
{
	size_t head = sizeof "{\"data\":" - 1;

	memmove(reply, reply + head, n - head - 1);
	return (struct str){ reply, n - head - 1 };
}

enum MHD_Result send_reply(struct http_request *v, struct MHD_Connection *connection, bool get)
{
	struct str reply = { v->job.reply, v->job.n };
	struct MHD_Response *response;
	unsigned status;

	if (v->job.refused)
		return answer_refuse(v, connection,
				     &(const struct verdict){
					     MHD_HTTP_SERVICE_UNAVAILABLE, "BUSY",
					     "too many requests wait already, or the service ends",
					     "Nothing was changed; send it again in a moment." });
	if (!reply.p)
		return answer_refuse(
			v, connection,
			&(const struct verdict){
				MHD_HTTP_INTERNAL_SERVER_ERROR, "INTERNAL_ERROR",
				"the process that worked on it ended before it answered",
				"Look whether it was done; with a request_id it is safe to "
				"send it again." });
	status = api_status_of(v, reply);
	if (v->plain && status == MHD_HTTP_OK) {
		reply = data_alone(v->job.reply, v->job.n);
		v->job.tag = sha256_hex(&v->mem, reply);
	}
	v->job.reply = NULL; /* the response has it now */
	response = MHD_create_response_from_buffer(reply.n, (void *)reply.p, MHD_RESPMEM_MUST_FREE);
	sign_answer(v, response, status, v->job.tag);
	if (get && status == MHD_HTTP_OK)
		return send_tagged(v, connection, response, str_head(v->job.tag, 32), json_type);
	if (response) /* a browser would keep that something is gone */
		MHD_add_response_header(response, "Cache-Control", "no-store");
	return send_off(v, connection, status, response, json_type);
}
