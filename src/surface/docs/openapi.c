#include "surface/docs/openapi.h"

#include <string.h>

#include "base/text/json.h"
#include "op/op.h"
#include "ops/ops.h"
#include "surface/cli/pipe.h"

static struct str openapi_address(struct arena *mem, const char *name)
{
	struct buf b = { .mem = mem };

	buf_put(&b, STR("/api/"));
	for (; *name; name++)
		buf_char(&b, *name == ' ' ? '/' : *name);
	return buf_str(&b);
}

static void put_content(struct json *j)
{
	json_put_object(j, "content");
	json_put_object(j, "application/json");
	json_put_object(j, "schema");
}

static void end_content(struct json *j)
{
	for (int i = 0; i < 3; i++)
		json_end(j);
}

static void put_responses(struct json *j, const struct op *op)
{
	json_put_object(j, "responses");
	json_put_object(j, "200");
	json_put_str(j, "description", STR("Success."));
	put_content(j);
	json_put_str(j, "type", STR("object"));
	json_put_object(j, "properties");
	json_key(j, STR("data"));
	op_reply_schema(j, op);
	json_end(j);
	json_put_array(j, "required");
	json_str(j, STR("data"));
	json_end(j);
	end_content(j);
	json_end(j);
	json_put_object(j, "default");
	json_put_str(j, "$ref", STR("#/components/responses/Error"));
	json_end(j);
	json_end(j);
}

static void put_post(struct json *j, const struct op *op)
{
	json_put_object(j, "post");
	json_put_str(j, "operationId", str_of(op->name));
	json_put_str(j, "summary", str_of(op->help));
	json_put_object(j, "requestBody");
	json_put_object(j, "content");
	json_put_object(j, "application/json");
	json_key(j, STR("schema"));
	op_input_schema(j, op, FOR_PROGRAMS);
	for (int i = 0; i < 3; i++)
		json_end(j);
	put_responses(j, op);
	json_end(j);
}

static void put_parameter(struct json *j, const char *name, const char *in, bool required)
{
	json_object(j);
	json_put_str(j, "name", str_of(name));
	json_put_str(j, "in", str_of(in));
	json_put_bool(j, "required", required);
}

static void put_parameters(struct json *j, const struct op *op, const char *placed)
{
	json_put_array(j, "parameters");
	for (const struct field *f = op->fields; f && f->name; f++) {
		bool path = placed && !strcmp(placed, f->name);

		if (!field_on_wire(f))
			continue;
		put_parameter(j, f->name, path ? "path" : "query", path || field_required(f));
		json_key(j, STR("schema"));
		field_schema(j, f);
		json_end(j);
	}
	json_end(j);
}

/* Operations that only read are available with GET too. */
static void put_get(struct json *j, const struct op *op, const char *placed)
{
	json_put_object(j, "get");
	json_put_str(j, "operationId",
		     arena_fmt(j->out.mem, "%s %s", placed ? "look at" : "get", op->name));
	json_put_str(j, "summary", str_of(op->help));
	put_parameters(j, op, placed);
	put_responses(j, op);
	json_end(j);
}

static void put_plain(struct json *j, const char *path, const char *id, const char *help,
		      const char *type, bool cursor)
{
	json_put_object(j, path);
	json_put_object(j, "get");
	json_put_str(j, "operationId", str_of(id));
	json_put_str(j, "summary", str_of(help));
	json_put_array(j, "parameters");
	for (int i = 0; cursor && i < 2; i++) {
		put_parameter(j, i ? "Last-Event-ID" : "after", i ? "header" : "query", false);
		json_put_object(j, "schema");
		json_put_str(j, "type", STR("string"));
		json_end(j);
		json_end(j);
	}
	json_end(j);
	json_put_object(j, "responses");
	json_put_object(j, "200");
	json_put_str(j, "description", STR("Success."));
	json_put_object(j, "content");
	json_put_object(j, type);
	for (int i = 0; i < 6; i++)
		json_end(j);
}

static void put_error_response(struct json *j)
{
	static const char *const members[] = { "code", "reason", "message", "hint" };

	json_put_object(j, "components");
	json_put_object(j, "responses");
	json_put_object(j, "Error");
	json_put_str(j, "description", STR("What is wrong, the value, and the next step."));
	put_content(j);
	json_put_str(j, "type", STR("object"));
	json_put_object(j, "properties");
	json_put_object(j, "error");
	json_put_str(j, "type", STR("object"));
	json_put_object(j, "properties");
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		json_put_object(j, members[i]);
		json_put_str(j, "type", STR("string"));
		json_end(j);
	}
	json_put_object(j, "retryable");
	json_put_str(j, "type", STR("boolean"));
	json_end(j);
	json_put_object(j, "details");
	json_put_str(j, "type", STR("object"));
	for (int i = 0; i < 4; i++)
		json_end(j);
	end_content(j);
	for (int i = 0; i < 3; i++)
		json_end(j);
}

enum err openapi_put(struct json *j)
{
	json_object(j);
	json_put_str(j, "openapi", STR("3.1.0"));
	json_put_object(j, "info");
	json_put_str(j, "title", STR("Abacus, the local service"));
	json_put_str(j, "version", STR(ABACUS_VERSION));
	json_end(j);
	json_put_object(j, "paths");
	for (const struct op *const *op = ops; *op; op++) {
		if (!pipe_serves(*op))
			continue;
		json_key(j, openapi_address(j->out.mem, (*op)->name));
		json_object(j);
		if (!((*op)->flags & OP_WRITE))
			put_get(j, *op, NULL);
		put_post(j, *op);
		json_end(j);
	}
	json_put_object(j, "/api/sessions/{bead}/conversation");
	put_get(j, &op_conversation, "bead");
	json_end(j);
	put_plain(j, "/api/events", "events", "Follow events as server-sent events",
		  "text/event-stream", true);
	put_plain(j, "/api/openapi.json", "openapi", "This OpenAPI description", "application/json",
		  false);
	json_end(j);
	put_error_response(j);
	json_end(j);
	return ERR_OK;
}
