#include <errno.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "op/op.h"
#include "serve/http.h"
#include "surface/cli/pipe.h"
#include "surface/docs/openapi.h"

/* Operations: turns a request into a line for a worker, and the worker's line into a response. */

bool is_api(const char *path)
{
	return !strncmp(path, "/api/", 5);
}

/* The values of one query parameter, in the order they were sent. */
struct api_argument {
	struct str value;
	struct api_argument *next;
	struct api_argument *last; /* only in the first one */
};

static enum MHD_Result api_add_argument(void *arg, enum MHD_ValueKind kind, const char *key,
					const char *value)
{
	struct map *arguments = arg;
	struct api_argument *one = arena_new(arguments->mem, struct api_argument), *first;
	void **at = map_put(arguments, str_of(key));

	(void)kind;
	one->value = str_of(value ? value : "true");
	first = *at ? *at : (*at = one);
	if (first != one)
		first->last->next = one;
	first->last = one;
	return MHD_YES;
}

/* A parameter that was sent more than once is a list. */
static void api_put_arguments(struct json *j, struct arena *mem, struct MHD_Connection *connection)
{
	struct map arguments = { .mem = mem };

	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, api_add_argument, &arguments);
	for (size_t i = 0; i < arguments.count; i++) {
		const struct api_argument *one = arguments.entry[i].value;
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
static bool api_take_bead(struct str *op, struct str *bead)
{
	struct str head = STR("sessions/"), tail = STR("/conversation");

	if (!str_starts(*op, head) || !str_ends(*op, tail) || op->n <= head.n + tail.n)
		return false;
	*bead = (struct str){ op->p + head.n, op->n - head.n - tail.n };
	*op = STR("conversation");
	return true;
}

/* The line for a worker; absent: the body is not JSON. */
static struct str api_line_of(struct http_request *r, struct MHD_Connection *connection,
			      const char *path, bool post)
{
	struct json j = json_new(&r->mem);
	struct str op = str_of(path + sizeof "/api/" - 1), bead;
	const struct value *body;

	json_object(&j);
	if (api_take_bead(&op, &bead)) {
		json_put_str(&j, "op", op);
		json_put_object(&j, "args");
		json_put_str(&j, "bead", bead);
		json_end(&j);
	} else if (post) {
		body = value_read(&r->mem, r->n ? (struct str){ r->body, r->n } : STR("{}"));
		if (!body)
			return STR_NONE;
		json_put_str(&j, "op", op);
		json_name(&j, STR("params"));
		json_value(&j, body);
	} else {
		json_put_str(&j, "op", op);
		json_put_object(&j, "args");
		api_put_arguments(&j, &r->mem, connection);
		json_end(&j);
	}
	json_end(&j);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

/* A blocking request must not occupy a worker of short ones. A claim may wait for the remote. */
static bool api_waits(const struct http_request *r, const struct op *op, bool post)
{
	struct str body = { r->body, r->n };

	return op &&
	       ((op->flags & OP_WAITS) ||
		(post && ((op->flags & OP_CLAIMS) || (r->n && str_has(body, STR("\"claim"))))));
}

static struct workers *api_workers(const struct http_request *r, const struct op *op, bool post)
{
	return api_waits(r, op, post)        ? r->h->with.waiters :
	       post && op && pipe_groups(op) ? r->h->with.writers :
					       r->h->with.workers;
}

/* Gives the line of the job to a worker. */
static enum MHD_Result api_put_job(struct http_request *r, struct MHD_Connection *connection,
				   struct workers *workers)
{
	r->job.connection = connection;
	r->begun = true;
	MHD_suspend_connection(connection);
	if (!workers_put(workers, &r->job)) {
		r->job.refused = true;
		MHD_resume_connection(connection);
	}
	return MHD_YES;
}

static enum MHD_Result api_not_json(struct http_request *r, struct MHD_Connection *connection)
{
	return answer_refuse(r, connection,
			     &(const struct refusal){ MHD_HTTP_BAD_REQUEST, "INVALID_INPUT",
						      "the body is not JSON",
						      "Send one JSON object." });
}

enum MHD_Result begin_handed_over(struct http_request *r, struct MHD_Connection *connection)
{
	const struct value *body = value_read(&r->mem, (struct str){ r->body, r->n });
	const struct op *op = pipe_find(value_str(body, "op"));
	struct json j = json_new(&r->mem);

	if (!body || body->type != VALUE_OBJECT)
		return api_not_json(r, connection);
	json_value(&j, body);
	buf_char(&j.out, '\n');
	r->job.line = buf_str(&j.out);
	return api_put_job(r, connection, api_workers(r, op, true));
}

enum MHD_Result begin_job(struct http_request *r, struct MHD_Connection *connection,
			  const char *path, bool post)
{
	const struct op *op = pipe_find(str_of(path + sizeof "/api/" - 1));
	bool markdown = post && !strcmp(path, "/api/markdown");

	if (op && (op->flags & OP_WRITE) && !post)
		return answer_refuse(
			r, connection,
			&(const struct refusal){ MHD_HTTP_METHOD_NOT_ALLOWED, "INVALID_INPUT",
						 "this operation writes", "Send it with POST." });

	r->job.line = api_line_of(r, connection, path, post);
	if (!r->job.line.p)
		return api_not_json(r, connection);
	r->job.mem = post && !r->nonce[0] ? NULL : &r->mem;
	r->plain = !strcmp(path, "/api/" OPENAPI);
	return api_put_job(r, connection,
			   markdown ? r->h->with.markdown : api_workers(r, op, post));
}

static unsigned api_status_of(struct http_request *r, struct str reply)
{
	struct value_error error;
	int64_t status = MHD_HTTP_INTERNAL_SERVER_ERROR;

	if (str_starts(reply, STR("{\"data\":")))
		return MHD_HTTP_OK;
	value_int(value_find(value_parse(&r->mem, reply, &error), "error"), "status", &status);
	return (unsigned)status;
}

static struct str api_bare_data(char *reply, size_t n)
{
	size_t head = sizeof "{\"data\":" - 1;

	memmove(reply, reply + head, n - head - 1);
	return (struct str){ reply, n - head - 1 };
}

static enum MHD_Result api_no_process(struct http_request *r, struct MHD_Connection *connection)
{
	bool files = r->job.reason == EMFILE || r->job.reason == ENFILE;

	return answer_refuse(
		r, connection,
		&(const struct refusal){
			MHD_HTTP_SERVICE_UNAVAILABLE, "BUSY",
			arena_fmt(&r->mem, "the service cannot start a worker process: %s",
				  strerror(r->job.reason))
				.p,
			files ? "Nothing was changed. Close pages that you do not need, or start "
				"the service where more open files are allowed ('ulimit -n' shows "
				"the limit), then send the request again." :
				"Nothing was changed. Send the request again in a moment." });
}

enum MHD_Result send_reply(struct http_request *r, struct MHD_Connection *connection, bool get)
{
	struct str reply = { r->job.reply, r->job.n };
	struct MHD_Response *response;
	unsigned status;

	if (r->job.refused)
		return answer_refuse(
			r, connection,
			&(const struct refusal){ MHD_HTTP_SERVICE_UNAVAILABLE, "BUSY",
						 "too many requests are waiting, or the service is "
						 "stopping",
						 "Nothing was changed. Send the request again in a "
						 "moment." });
	if (!reply.p && r->job.reason)
		return api_no_process(r, connection);
	if (!reply.p)
		return answer_refuse(
			r, connection,
			&(const struct refusal){
				MHD_HTTP_INTERNAL_SERVER_ERROR, "INTERNAL_ERROR",
				"the worker process ended before it answered",
				"Check whether it was done. With a request_id, it is safe to "
				"send it again." });
	status = api_status_of(r, reply);
	if (r->plain && status == MHD_HTTP_OK) {
		reply = api_bare_data(r->job.reply, r->job.n);
		r->job.tag = sha256_hex(&r->mem, reply);
	}
	r->job.reply = NULL; /* the response frees it */
	response = MHD_create_response_from_buffer(reply.n, (void *)reply.p, MHD_RESPMEM_MUST_FREE);
	sign_answer(r, response, status, r->job.tag);
	if (get && status == MHD_HTTP_OK)
		return send_tagged(r, connection, response, str_head(r->job.tag, 32), json_type);
	if (response) /* a browser would cache a 410 */
		MHD_add_response_header(response, "Cache-Control", "no-store");
	return send_off(r, connection, status, response, json_type);
}
