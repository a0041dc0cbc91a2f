#include <sodium/utils.h>
#include <stdio.h>

#include "base/hash.h"
#include "serve/http.h"

/*
 * Authentication. Over the Unix socket, processes of this user are admitted. Over the loopback, the
 * API answers programs that send the token, and the page. Token and key are new at every start,
 * because another user's server may take the port once the service has ended, and would receive
 * what clients still send.
 *
 * The page gets its key once, with its invitation, and the key is not sent again: the page signs
 * each request with it, and the service signs each response, so each side knows that the other has
 * the key. The page's files are public and need no key.
 */
enum { NAMES = 4 };

/* Refuses other names that resolve to the loopback (DNS rebinding). */
static bool host_is_ours(const struct http *h, struct str host)
{
	const char *names[NAMES] = { h->name, "127.0.0.1", "localhost", "[::1]" };
	char text[96];

	for (size_t i = 0; i < NAMES; i++) {
		snprintf(text, sizeof text, "%s:%d", names[i], h->port);
		if (str_is(host, text))
			return true;
	}
	return false;
}

static bool origin_is_ours(const struct http *h, struct str origin)
{
	return str_starts(origin, STR("http://")) &&
	       host_is_ours(h, str_skip(origin, sizeof "http://" - 1));
}

bool auth_same_secret(struct str given, const char *secret)
{
	return given.n == TOKEN && !sodium_memcmp(given.p, secret, TOKEN);
}

/* --- signatures --- */

static struct str auth_mac(struct http_request *r, struct str text)
{
	return hmac_sha256_hex(&r->mem, str_of(r->h->key), text);
}

/* "Authorization: Abacus NONCE:HASH:MAC", where HASH is the SHA-256 of the body. */
static bool is_signed(struct http_request *r, struct str given, const char *method)
{
	struct str nonce, hash, text;

	if (!str_next(&given, ':', &nonce) || !str_next(&given, ':', &hash) || nonce.n != NONCE ||
	    hash.n != TOKEN)
		return false;
	text = arena_fmt(&r->mem, "abacus ask\n%s\n%s\n" STR_FMT "\n" STR_FMT, method, r->target.p,
			 STR_ARG(nonce), STR_ARG(hash));
	if (!auth_same_secret(given, auth_mac(r, text).p))
		return false;
	memcpy(r->nonce, nonce.p, NONCE);
	memcpy(r->body_hash, hash.p, TOKEN);
	return true;
}

bool body_is_signed(struct http_request *r)
{
	return !r->nonce[0] ||
	       auth_same_secret(sha256_hex(&r->mem, (struct str){ r->body, r->n }), r->body_hash);
}

void sign_answer(struct http_request *r, struct MHD_Response *response, unsigned status,
		 struct str hash)
{
	struct str text;

	if (!r->nonce[0] || !response)
		return;
	text = arena_fmt(&r->mem, "abacus answer\n%s\n%u\n" STR_FMT, r->nonce, status,
			 STR_ARG(hash));
	MHD_add_response_header(response, "X-Abacus-Proof", auth_mac(r, text).p);
}

/* --- checks --- */

static bool has_access(struct http_request *r, struct MHD_Connection *connection,
		       const char *method)
{
	struct str given = answer_header(connection, "Authorization"), bearer = STR("Bearer "),
		   page = STR("Abacus ");

	if (str_starts(given, bearer))
		return auth_same_secret(str_skip(given, bearer.n), r->h->with.token);
	return str_starts(given, page) && is_signed(r, str_skip(given, page.n), method);
}

static struct refusal auth_local(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const struct connection *known = info ? info->socket_context : NULL;

	if (!known || known->foreign)
		return (struct refusal){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "this socket belongs to another user",
					 "Start a service of your own: 'abacus serve'." };
	if (answer_header(connection, "Origin").p)
		return (struct refusal){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "a page can't use this socket",
					 "Remove the Origin header." };
	return (struct refusal){ 0 };
}

static struct refusal auth_loopback(struct http_request *r, struct MHD_Connection *connection,
				    const char *path, const char *method)
{
	bool entering = invite_is_address(r, path);
	struct str origin = answer_header(connection, "Origin"),
		   site = answer_header(connection, "Sec-Fetch-Site");

	if (!host_is_ours(r->h, answer_header(connection, "Host")))
		return (struct refusal){ MHD_HTTP_MISDIRECTED_REQUEST, "FORBIDDEN",
					 "the Host header names another host",
					 "Use the address that 'abacus open' prints." };
	if ((origin.p && !origin_is_ours(r->h, origin)) ||
	    (site.p && !entering && !str_is(site, "same-origin") && !str_is(site, "none")))
		return (struct refusal){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "another site sent this request",
					 "Open the page itself: 'abacus open'." };
	if (is_api(path) && !has_access(r, connection, method))
		return (struct refusal){ MHD_HTTP_UNAUTHORIZED, "UNAUTHORIZED",
					 "the token is missing or wrong",
					 "Run 'abacus open' to open the page. Programs find the "
					 "token in the file that 'abacus serve' names." };
	return (struct refusal){ 0 };
}

struct refusal auth_check(struct http_request *r, struct MHD_Connection *connection,
			  const char *path, const char *method)
{
	return r->local ? auth_local(connection) : auth_loopback(r, connection, path, method);
}
