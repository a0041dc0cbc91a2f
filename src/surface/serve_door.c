#include <sodium/utils.h>
#include <stdio.h>

#include "base/id.h"
#include "base/moment.h"
#include "surface/serve_http.h"

/*
 * Who may speak to us: over our socket, this user's processes; over the loopback, whoever
 * has the token. A browser has it in two parts: a cookie that no other site can have
 * sent, and the token itself, which the page keeps and sends with what it asks. For a
 * cookie goes to every port of this machine, also to a server of another user: it is a
 * hash of the token, and alone only good for the files of the page.
 */
enum { INVITATION_MS = 60 * 1000 };

/* A name that leads here, and not one that somebody has made lead here. */
static bool host_is_ours(const struct http *h, struct str host)
{
	static const char *const names[] = { "127.0.0.1", "localhost", "[::1]" };
	char text[64];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
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

static bool same(struct str given, const char *secret)
{
	return given.n == TOKEN && !sodium_memcmp(given.p, secret, TOKEN);
}

static bool has_key(const struct http *h, struct MHD_Connection *connection)
{
	struct str sent = header(connection, "X-Abacus-Key"),
		   said = argument(connection, "key"); /* a stream has no headers */

	return same(sent.p ? sent : said, h->with.token);
}

static bool has_token(const struct http *h, struct MHD_Connection *connection,
		      const char *path)
{
	struct str cookie = str_of(
		MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, h->cookie));
	struct str bearer = header(connection, "Authorization");

	if (str_starts(bearer, STR("Bearer ")))
		return same(str_skip(bearer, 7), h->with.token);
	return cookie.p && same(cookie, h->pass) &&
	       (!is_api(path) || has_key(h, connection));
}

static struct verdict judge_local(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const struct guest *guest = info ? info->socket_context : NULL;

	if (!guest || guest->stranger)
		return (struct verdict){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "this socket is another user's",
					 "Start a service of your own: 'abacus serve'." };
	if (header(connection, "Origin").p)
		return (struct verdict){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "no page speaks over this socket",
					 "Leave the Origin header out." };
	return (struct verdict){ 0 };
}

static struct verdict judge_loopback(const struct http *h,
				     struct MHD_Connection *connection, const char *path,
				     bool entering)
{
	struct str origin = header(connection, "Origin"),
		   site = header(connection, "Sec-Fetch-Site");

	if (!host_is_ours(h, header(connection, "Host")))
		return (struct verdict){ MHD_HTTP_MISDIRECTED_REQUEST, "FORBIDDEN",
					 "the Host header names somebody else",
					 "Use the address that 'abacus open' prints." };
	if ((origin.p && !origin_is_ours(h, origin)) ||
	    (site.p && !entering && !str_is(site, "same-origin") &&
	     !str_is(site, "none")))
		return (struct verdict){ MHD_HTTP_FORBIDDEN, "FORBIDDEN",
					 "another site sent this request",
					 "Open the page itself: 'abacus open'." };
	if (!entering && !has_token(h, connection, path))
		return (struct verdict){
			MHD_HTTP_UNAUTHORIZED, "UNAUTHORIZED",
			"the token is missing, or is not of this service",
			"Run 'abacus open': it lets your browser in. Programs find the "
			"token in the file that 'abacus serve' names."
		};
	return (struct verdict){ 0 };
}

bool is_entrance(const struct visit *v, const char *path)
{
	return !v->local && !strcmp(path, "/enter");
}

struct verdict judge(const struct visit *v, struct MHD_Connection *connection,
		     const char *path)
{
	return v->local ? judge_local(connection) :
			  judge_loopback(v->h, connection, path, is_entrance(v, path));
}

/* --- the way in --- */

static const char entered[] =
	"<!doctype html><html data-key=%s><meta charset=utf-8><link rel=icon href=data:,>"
	"<title>Abacus</title><script src='/enter.js'></script>"
	"<noscript>This page needs JavaScript.</noscript>";
static const char shut[] = "<!doctype html><meta "
			   "charset=utf-8><title>Abacus</title><p>This link was used, or "
			   "is too old. Run <code>abacus open</code> again.</p>";
static const char who_are_you[] =
	"<!doctype html><meta charset=utf-8><link rel=icon "
	"href=data:,><title>Abacus</title><p>Run <code>abacus "
	"open</code> in the project: it lets this browser in.</p>";

static bool redeem(struct http *h, struct str code)
{
	int64_t now = moment_ticks();
	bool good = false;

	pthread_mutex_lock(&h->mutex);
	for (int i = 0; code.p && i < INVITATIONS; i++) {
		struct invitation *one = &h->invitation[i];

		if (!one->code[0] || one->until < now || !same(code, one->code))
			continue;
		good = true;
		*one = (struct invitation){ 0 };
	}
	pthread_mutex_unlock(&h->mutex);
	return good;
}

/* A page, not a redirect: the cookie is then sent by a request of our own site. */
enum MHD_Result enter(struct visit *v, struct MHD_Connection *connection)
{
	struct http *h = v->h;
	struct str code = argument(connection, "code");
	struct MHD_Response *response;
	char cookie[192], page[sizeof entered + TOKEN];

	if (!redeem(h, code))
		return send_text(v, connection, MHD_HTTP_UNAUTHORIZED, str_of(shut),
				 html_type);
	snprintf(page, sizeof page, entered, h->with.token);
	response = MHD_create_response_from_buffer(strlen(page), page,
						   MHD_RESPMEM_MUST_COPY);
	snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/",
		 h->cookie, h->pass);
	if (response) {
		MHD_add_response_header(response, "Set-Cookie", cookie);
		MHD_add_response_header(response, "Cache-Control", "no-store");
	}
	return send_off(v, connection, MHD_HTTP_OK, response, html_type);
}

struct str http_invitation(struct http *h, char *buf, size_t size)
{
	struct arena mem = { 0 };
	struct str code = id_random(&mem, TOKEN);
	struct invitation *oldest = h->invitation;

	pthread_mutex_lock(&h->mutex);
	for (int i = 1; i < INVITATIONS; i++)
		if (h->invitation[i].until < oldest->until)
			oldest = &h->invitation[i];
	memcpy(oldest->code, code.p, TOKEN);
	oldest->until = moment_ticks() + INVITATION_MS;
	snprintf(buf, size, "http://127.0.0.1:%d/enter?code=%s", h->port, oldest->code);
	pthread_mutex_unlock(&h->mutex);
	arena_release(&mem);
	return str_of(buf);
}

enum MHD_Result turn_away(struct visit *v, struct MHD_Connection *connection,
			  const char *path, const struct verdict *why)
{
	if (why->status == MHD_HTTP_UNAUTHORIZED && !strcmp(path, "/"))
		return send_text(v, connection, why->status, str_of(who_are_you),
				 html_type);
	return refuse(v, connection, why);
}
