#include <stdio.h>

#include "base/hash.h"
#include "base/text/json.h"
#include "serve/http.h"

struct str answer_header(struct MHD_Connection *connection, const char *name)
{
	return str_of(MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name));
}

struct str answer_argument(struct MHD_Connection *connection, const char *name)
{
	return str_of(MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name));
}

static const char *const headers[][2] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
	  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "X-Frame-Options", "DENY" },
};

enum MHD_Result send_off(struct http_request *r, struct MHD_Connection *connection, unsigned status,
			 struct MHD_Response *response, const char *type)
{
	enum MHD_Result sent;

	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
		MHD_add_response_header(response, headers[i][0], headers[i][1]);
	MHD_add_response_header(response, "Content-Type", type);
	if (r->closes)
		MHD_add_response_header(response, "Connection", "close");
	sent = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return sent;
}

const char json_type[] = "application/json; charset=utf-8";
const char html_type[] = "text/html; charset=utf-8";

enum MHD_Result send_text(struct http_request *r, struct MHD_Connection *connection,
			  unsigned status, struct str text, const char *type)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(text.n, (void *)text.p, MHD_RESPMEM_MUST_COPY);

	if (response)
		MHD_add_response_header(response, "Cache-Control", "no-store");
	sign_answer(r, response, status, sha256_hex(&r->mem, text));
	return send_off(r, connection, status, response, type);
}

enum MHD_Result answer_refuse(struct http_request *r, struct MHD_Connection *connection,
			      const struct refusal *why)
{
	struct json j = json_new(&r->mem);

	json_object(&j);
	json_put_object(&j, "error");
	json_put_str(&j, "code", str_of(why->code));
	json_put_str(&j, "reason", str_of(why->code));
	json_put_str(&j, "message", str_of(why->message));
	json_put_str(&j, "hint", str_of(why->hint));
	json_put_bool(&j, "retryable", why->status == MHD_HTTP_SERVICE_UNAVAILABLE);
	json_put_int(&j, "status", why->status);
	json_put_object(&j, "details");
	json_end(&j);
	json_end(&j);
	json_end(&j);
	return send_text(r, connection, why->status, json_text(&j), json_type);
}

static bool same_tag(struct MHD_Connection *connection, struct str tag)
{
	return str_has(answer_header(connection, "If-None-Match"), tag);
}

enum MHD_Result send_tagged(struct http_request *r, struct MHD_Connection *connection,
			    struct MHD_Response *response, struct str tag, const char *type)
{
	char quoted[96];
	bool known = same_tag(connection, tag);

	snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)tag.n, tag.p);
	if (known && response) {
		MHD_destroy_response(response);
		response = MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
	}
	if (response) {
		MHD_add_response_header(response, "ETag", quoted);
		MHD_add_response_header(response, "Cache-Control", "no-cache");
	}
	return send_off(r, connection, known ? MHD_HTTP_NOT_MODIFIED : MHD_HTTP_OK, response, type);
}
