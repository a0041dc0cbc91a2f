#include <stdio.h>

#include "base/id.h"
#include "base/moment.h"
#include "surface/serve_http.h"

/*
 * How a browser gets the page's key: 'abacus open' asks over our socket for an address
 * with a code that works once, for a minute.
 */
enum { INVITATION_MS = 60 * 1000 };

static const char entered[] =
	"<!doctype html><html data-key=%s><meta charset=utf-8><link rel=icon href=data:,>"
	"<title>Abacus</title><script src='/enter.js'></script>"
	"<noscript>This page needs JavaScript.</noscript>";
static const char expired[] =
	"<!doctype html><meta charset=utf-8><link rel=icon href=data:,>"
	"<title>Abacus</title><p>This link was used, or is too old. Run <code>abacus "
	"open</code> again.</p>";
static const char moved[] =
	"<!doctype html><meta charset=utf-8><link rel=icon href=data:,>"
	"<title>Abacus</title><p>The service was restarted. Run <code>abacus open</code> "
	"in the project to open its page again.</p>";

bool is_entrance(const struct visit *v, const char *path)
{
	return !v->local && !strcmp(path, "/enter");
}

static bool redeem(struct http *h, struct str code)
{
	int64_t now = moment_ticks();
	bool good = false;

	pthread_mutex_lock(&h->mutex);
	for (int i = 0; code.p && i < INVITATIONS; i++) {
		struct invitation *one = &h->invitation[i];

		if (!one->code[0] || one->until < now || !same_secret(code, one->code))
			continue;
		good = true;
		*one = (struct invitation){ 0 };
	}
	pthread_mutex_unlock(&h->mutex);
	return good;
}

enum MHD_Result enter(struct visit *v, struct MHD_Connection *connection)
{
	struct str code = argument(connection, "code");
	char page[sizeof entered + TOKEN];

	if (!redeem(v->h, code))
		return send_text(v, connection, MHD_HTTP_UNAUTHORIZED, str_of(expired),
				 html_type);
	snprintf(page, sizeof page, entered, v->h->key);
	return send_text(v, connection, MHD_HTTP_OK, str_of(page), html_type);
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
	snprintf(buf, size, "http://%s:%d/enter?code=%s", h->name, h->port, oldest->code);
	pthread_mutex_unlock(&h->mutex);
	arena_release(&mem);
	return str_of(buf);
}

/* A page of an earlier start that was loaded again asks for that start's name. */
enum MHD_Result turn_away(struct visit *v, struct MHD_Connection *connection,
			  const char *path, const struct verdict *why)
{
	if (why->status == MHD_HTTP_MISDIRECTED_REQUEST && !strcmp(path, "/"))
		return send_text(v, connection, why->status, str_of(moved), html_type);
	return refuse(v, connection, why);
}
