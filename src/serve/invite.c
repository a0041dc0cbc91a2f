#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/id.h"
#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "serve/http.h"

/*
 * Invitations, by which a browser gets the page's key. 'abacus open' asks over the Unix socket for
 * an address with a code that works once, for a minute. Every user of the machine can read a
 * browser's arguments, so the browser is given a file that only this user can read and that
 * redirects to the address. The file is removed with its invitation.
 */
enum { INVITATION_MS = 60 * 1000 };

/* Safari does not resolve names below .localhost to the loopback. */
static const char leading[] = "<!doctype html><meta charset=utf-8><meta name=referrer "
			      "content=no-referrer><title>Abacus</title><noscript>This page needs "
			      "JavaScript.</noscript><script>location.replace('http://' + "
			      "(navigator.vendor.startsWith('Apple') ? '127.0.0.1' : '%s') + "
			      "':%d/enter?code=%s')</script>\n";

static const char entered[] =
	"<!doctype html><html data-key=%s><meta charset=utf-8><link rel=icon "
	"href=data:,><title>Abacus</title><script src='/enter.js'></script><noscript>This page "
	"needs JavaScript.</noscript>";
static const char expired[] = "<!doctype html><meta charset=utf-8><link rel=icon "
			      "href=data:,><title>Abacus</title><p>This link was used, or is too "
			      "old. Run <code>abacus open</code> again.</p>";
static const char moved[] = "<!doctype html><meta charset=utf-8><link rel=icon "
			    "href=data:,><title>Abacus</title><p>The service was restarted. Run "
			    "<code>abacus open</code> in the project to open its page again.</p>";

bool invite_is_address(const struct http_request *r, const char *path)
{
	return !r->local && !strcmp(path, "/enter");
}

/* --- the file --- */

static const char *file_of(const struct http *h, struct arena *mem, int i)
{
	return arena_fmt(mem, "%s-%d.html", h->with.page_file, i).p;
}

static bool write_file(const char *path, struct str text)
{
	struct call c = { 0 };
	AUTO_FD fd = -1;

	file_make_dir(&c, path_parent(str_of(path)), 0700);
	call_release(&c);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd >= 0 && file_write(fd, text);
}

/* The caller holds the mutex. */
static void invite_forget(struct http *h, int i)
{
	struct arena mem = { 0 };

	if (h->invitation[i].file)
		unlink(file_of(h, &mem, i));
	h->invitation[i] = (struct invitation){ 0 };
	arena_release(&mem);
}

void invitations_open(struct http *h)
{
	struct arena mem = { 0 };

	for (int i = 0; h->with.page_file && i < INVITATIONS; i++)
		unlink(file_of(h, &mem, i));
	arena_release(&mem);
}

void invitations_close(struct http *h)
{
	for (int i = 0; i < INVITATIONS; i++)
		invite_forget(h, i);
}

void invitations_sweep(struct http *h)
{
	int64_t now = moment_ticks();

	pthread_mutex_lock(&h->mutex);
	for (int i = 0; i < INVITATIONS; i++)
		if (h->invitation[i].code[0] && h->invitation[i].until < now)
			invite_forget(h, i);
	pthread_mutex_unlock(&h->mutex);
}

/* --- the code --- */

static bool invite_redeem(struct http *h, struct str code)
{
	int64_t now = moment_ticks();
	bool good = false;

	pthread_mutex_lock(&h->mutex);
	for (int i = 0; code.p && i < INVITATIONS; i++) {
		struct invitation *one = &h->invitation[i];

		if (!one->code[0] || one->until < now || !auth_same_secret(code, one->code))
			continue;
		good = true;
		invite_forget(h, i);
	}
	pthread_mutex_unlock(&h->mutex);
	return good;
}

enum MHD_Result invite_redeem_page(struct http_request *r, struct MHD_Connection *connection)
{
	struct str code = answer_argument(connection, "code");
	char page[sizeof entered + TOKEN];

	if (!invite_redeem(r->h, code))
		return send_text(r, connection, MHD_HTTP_UNAUTHORIZED, str_of(expired), html_type);
	snprintf(page, sizeof page, entered, r->h->key);
	return send_text(r, connection, MHD_HTTP_OK, str_of(page), html_type);
}

/* Replaces the oldest invitation; returns its index. */
static int make_invitation(struct http *h, struct str code)
{
	int oldest = 0;

	for (int i = 1; i < INVITATIONS; i++)
		if (h->invitation[i].until < h->invitation[oldest].until)
			oldest = i;
	invite_forget(h, oldest);
	memcpy(h->invitation[oldest].code, code.p, TOKEN);
	h->invitation[oldest].until = moment_ticks() + INVITATION_MS;
	return oldest;
}

struct str http_invitation(struct http *h, struct arena *mem, struct str *file)
{
	struct str code = id_random(mem, TOKEN), text;
	int i;

	pthread_mutex_lock(&h->mutex);
	i = make_invitation(h, code);
	if (file && h->with.page_file) {
		*file = str_of(file_of(h, mem, i));
		text = arena_fmt(mem, leading, h->name, h->port, code.p);
		h->invitation[i].file = true;
		if (!write_file(file->p, text))
			*file = STR_NONE;
	}
	pthread_mutex_unlock(&h->mutex);
	return arena_fmt(mem, "http://%s:%d/enter?code=%s", h->name, h->port, code.p);
}

/* A page of an earlier start that is reloaded has that start's host name. */
enum MHD_Result invite_refuse(struct http_request *r, struct MHD_Connection *connection,
			      const char *path, const struct refusal *why)
{
	if (why->status == MHD_HTTP_MISDIRECTED_REQUEST && !strcmp(path, "/"))
		return send_text(r, connection, why->status, str_of(moved), html_type);
	return answer_refuse(r, connection, why);
}
