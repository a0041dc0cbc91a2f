#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#include "serve/http.h"

/*
 * Refuses ambiguous requests, those that two parsers could read in two ways: a proxy in front of
 * the service, or another version of the library, must not see another request than this program
 * does. The library parses the bytes; this file checks the result.
 */

struct heads {
	unsigned seen;      /* one bit for each of `single` */
	unsigned arguments; /* one bit for each of `single_arguments` */
	bool repeated, argument_repeated, malformed;
	size_t size;     /* of all headers, written as 'Name: value' and CRLF */
	const char *end; /* of the previous line; see ends_with_lf() */
	bool bare_lf;
};

/* The library takes the first of several values; other parsers take the last. */
static const char *const single_arguments[] = { "after", "code" };

/* A second header of these could change the sender of a request, or its end. */
static const char *const single[] = {
	"Host",          "Content-Length", "Transfer-Encoding", "Content-Type",
	"Authorization", "Origin",         "Last-Event-ID",     "Sec-Fetch-Site",
};

static bool is_token(const char *name)
{
	static const char more[] = "!#$%&'*+-.^_`|~";

	for (const char *p = name; *p; p++)
		if (!(*p >= '0' && *p <= '9') && !(*p >= 'A' && *p <= 'Z') &&
		    !(*p >= 'a' && *p <= 'z') && !strchr(more, *p))
			return false;
	return *name;
}

static bool has_control(const char *text, char allowed)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != allowed) || *text == 127)
			return true;
	return false;
}

/* Versions of the library before 0.9.77 take LF for the end of a line. Asked at run time: the
 * program may be compiled with one version and run with another. */
static bool library_takes_lf(void)
{
	const char *version = MHD_get_version();

	return !strncmp(version, "0.9.", 4) && strtol(version + 4, NULL, 10) < 77;
}

/*
 * These versions put zeros in place of the line ends in their buffer: `next` follows `end` after
 * `least` bytes, if each line before it has ended with CRLF.
 */
static bool ends_with_lf(const char *end, const char *next, size_t least)
{
	uintptr_t from = (uintptr_t)end, to = (uintptr_t)next;

	return end && to > from && to - from < least && library_takes_lf();
}

static enum MHD_Result check_header(void *arg, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct heads *heads = arg;

	(void)kind;
	heads->bare_lf |= ends_with_lf(heads->end, name, 2);
	heads->end = value ? value + strlen(value) : NULL;
	heads->size += strlen(name) + (value ? strlen(value) : 0) + 4;
	if (!is_token(name) || (value && has_control(value, '\t')))
		heads->malformed = true;
	for (size_t i = 0; i < sizeof single / sizeof *single; i++) {
		if (strcasecmp(name, single[i]) != 0)
			continue;
		heads->repeated |= heads->seen >> i & 1;
		heads->seen |= 1U << i;
	}
	return MHD_YES;
}

static enum MHD_Result check_argument(void *arg, enum MHD_ValueKind kind, const char *name,
				      const char *value)
{
	struct heads *heads = arg;

	(void)kind, (void)value;
	for (size_t i = 0; i < sizeof single_arguments / sizeof *single_arguments; i++) {
		if (strcmp(name, single_arguments[i]) != 0)
			continue;
		heads->argument_repeated |= heads->arguments >> i & 1;
		heads->arguments |= 1U << i;
	}
	return MHD_YES;
}

/* A path, as the client wrote it: no absolute URL, no fragment, no NUL. */
static bool target_is_plain(struct str target)
{
	const char *text = target.p;

	return target.n && *text == '/' && !has_control(text, '\0') && !strpbrk(text, " #") &&
	       !strstr(text, "%00");
}

static bool body_is_plain(struct MHD_Connection *connection, const char *version)
{
	struct str coded = answer_header(connection, "Transfer-Encoding");

	return !coded.p ||
	       (!strcasecmp(coded.p, "chunked") && !answer_header(connection, "Content-Length").p &&
		!strcmp(version, "HTTP/1.1"));
}

/*
 * The library joins a value that continues in the next line, and cuts a value at a NUL: such a
 * request came with more bytes than its parsed headers account for.
 */
static bool has_hidden_bytes(const struct http_request *r, struct MHD_Connection *connection,
			     const char *method, size_t headers)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	size_t first = strlen(method) + r->target.n + sizeof "  HTTP/1.1\r\n" - 1;

	return info && info->header_size > first + headers + 2;
}

/* The last header is followed by its own line end and by that of an empty line. */
static bool has_bare_lf(const struct heads *heads, struct MHD_Connection *connection,
			const char *method)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

	return heads->bare_lf || (info && ends_with_lf(heads->end, method + info->header_size, 4));
}

static struct refusal bad_request(const char *message, const char *hint)
{
	return (struct refusal){ MHD_HTTP_BAD_REQUEST, "INVALID_INPUT", message, hint };
}

/* Methods are upper-case letters; the library passes on any byte before the first space. */
static bool method_is_plain(const char *method)
{
	while (*method >= 'A' && *method <= 'Z')
		method++;
	return !*method;
}

struct refusal check_request(const struct http_request *r, struct MHD_Connection *connection,
			     const char *method, const char *version)
{
	struct heads heads = { .end = version + strlen(version) };

	if (!method_is_plain(method))
		return bad_request("the method has other characters than A to Z",
				   "Send GET or POST.");
	MHD_get_connection_values(connection, MHD_HEADER_KIND, check_header, &heads);
	if (heads.malformed || has_hidden_bytes(r, connection, method, heads.size))
		return bad_request("a header has a malformed name or value",
				   "Send 'Name: value' in one line, without control characters.");
	if (has_bare_lf(&heads, connection, method))
		return bad_request("a line of the request does not end with CRLF",
				   "End each line with CRLF.");
	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, check_argument, &heads);
	if (heads.argument_repeated)
		return bad_request("a parameter that may be sent once was sent twice",
				   "Send each parameter once.");
	if (heads.repeated)
		return bad_request("a header that may be sent once was sent twice",
				   "Send each header once.");
	if (!target_is_plain(r->target))
		return bad_request("the request target is not a path",
				   "Send a path, such as '/api/bead/ready'.");
	if (!body_is_plain(connection, version))
		return bad_request("the length of the body is ambiguous",
				   "Send either Content-Length, or 'Transfer-Encoding: chunked' "
				   "with HTTP/1.1.");
	if (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)
		return (struct refusal){ MHD_HTTP_HTTP_VERSION_NOT_SUPPORTED, "INVALID_INPUT",
					 "this version of HTTP is not supported",
					 "Send HTTP/1.1." };
	return (struct refusal){ 0 };
}

struct refusal check_trailers(struct MHD_Connection *connection)
{
	if (!MHD_get_connection_values(connection, MHD_FOOTER_KIND, NULL, NULL))
		return (struct refusal){ 0 };
	return bad_request("a header follows the body", "Send all headers before the body.");
}
