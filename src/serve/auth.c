#include <sodium/utils.h>
#include <stdio.h>

#include "base/hash.h"
#include "serve/http.h"

/*
 * Who may speak to us: over our socket, this user's processes; over the loopback, a client that
 * has the token, and the page. The token and the page's key are made anew at every start, because
 * another user's server may have the port as soon as we have ended, and then gets what was meant
 * for us.
 *
 * The page shares a key with us, which it got once, with its invitation. The key never travels
 * again: the page signs each request with it, and we sign each answer to it, so that each side
 * knows that the other has the key. The page's files are in the program for everybody to read:
 * they need no key.
 */
enum { NAMES = 4 };

/* A name that leads here, and not one that somebody has made lead here. */
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

/* --- what the page signs, and what we sign for it --- */

static struct str auth_mac(struct http_request *v, struct str text)
{
	return hmac_sha256_hex(&v->mem, str_of(v->h->key), text);
}

/* "Authorization: Abacus NONCE:HASH:MAC", where HASH is that of the body. */
static bool is_signed(struct http_request *v, struct str given, const char *method)
{
	struct str nonce, hash, text;

	if (!str_next(&given, ':', &nonce) || !str_next(&given, ':', &hash) || nonce.n != NONCE ||
	    hash.n != TOKEN)
		return false;
	text = arena_fmt(&v->mem, "abacus ask\n%s\n%s\n" STR_FMT "\n" STR_FMT, method, v->target.p,
			 STR_ARG(nonce), STR_ARG(hash));
	if (!auth_same_secret(given, auth_mac(v, text).p))
		return false;
	memcpy(v->nonce, nonce.p, NONCE);
	memcpy(v->body_hash, hash.p, TOKEN);
	return true;
}

bool body_is_signed(struct http_request *v)
{
	return !v->nonce[0] ||
	       auth_same_secret(sha256_hex(&v->mem, (struct str){ v->body, v->n }), v->body_hash);
}

void sign_answer(struct http_request *v, struct MHD_Response *response, unsigned status,
		 struct str hash)
{
	struct str text;

	if (!v->nonce[0] || !response)
		return;
	text = arena_fmt(&v->mem, "abacus answer\n%s\n%u\n" STR_FMT, v->nonce, status,
			 STR_ARG(hash));
	MHD_add_response_header(response, "X-Abacus-Proof", auth_mac(v, text).p);
}

/* --- who may come in --- */

static bool has_access(struct http_request *v, struct MHD_Connection *connection,
		       const char *method)
{
	struct str given = answer_header(connection, "Authorization"), bearer = STR("Bearer "),
		   page = STR("Abacus ");

	if (str_starts(given, bearer))
		return auth_same_secret(str_skip(given, bearer.n), v->h->with.token);
	return str_starts(given, page) && is_signed(v, str_skip(given, page.n), method);
}

static struct verdict auth_local(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const struct connection *known = info ? info->socket_context : NULL;

	if (!known || known->stranger)
		return (struct verdict){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "this socket is another user's",
					 "Start a service of your own: 'abacus serve'." };
	if (answer_header(connection, "Origin").p)
		return (struct verdict){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "no page speaks over this socket",
					 "Leave the Origin header out." };
	return (struct verdict){ 0 };
}

static struct verdict auth_loopback(struct http_request *v, struct MHD_Connection *connection,
				    const char *path, const char *method)
{
	bool entering = invite_is_address(v, path);
	struct str origin = answer_header(connection, "Origin"),
		   site = answer_header(connection, "Sec-Fetch-Site");

	if (!host_is_ours(v->h, answer_header(connection, "Host")))
		return (struct verdict){ MHD_HTTP_MISDIRECTED_REQUEST, "FORBIDDEN",
					 "the Host header names somebody else",
					 "Use the address that 'abacus open' prints." };
	if ((origin.p && !origin_is_ours(v->h, origin)) ||
	    (site.p && !entering && !str_is(site, "same-origin") && !str_is(site, "none")))
		return (struct verdict){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "another site sent this request",
					 "Open the page itself: 'abacus open'." };
	if (is_api(path) && !has_access(v, connection, method))
		return (struct verdict){ MHD_HTTP_UNAUTHORIZED, "UNAUTHORIZED",
					 "the token is missing, or is not of this service",
					 "Run 'abacus open': it lets your browser in. Programs "
					 "find the token in the file that 'abacus serve' names." };
	return (struct verdict){ 0 };
}

struct verdict auth_check(struct http_request *v, struct MHD_Connection *connection,
			  const char *path, const char *method)
{
	return v->local ? auth_local(connection) : auth_loopback(v, connection, path, method);
}
