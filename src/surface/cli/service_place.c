#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/system/path.h"
#include "store/home.h"
#include "store/place.h"
#include "surface/cli/service.h"

enum { SOCKET_MOST = 100 }; /* bytes of a socket's path; macOS allows 103 */

/*
 * Refuses a folder that another user made or may write to, because that user could read or replace
 * its files.
 */
static enum err check_private(struct call *c, struct str dir, const char *step)
{
	struct stat st;

	if (!lstat(arena_cstr(&c->mem, dir), &st) && S_ISDIR(st.st_mode) &&
	    st.st_uid == geteuid() && !(st.st_mode & 077))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is a folder that other users can change",
		  STR_ARG(dir));
	return call_step(c, "%s", step);
}

/* Makes a private folder; if the path exists already, it has to be such a folder. */
static enum err service_make_private(struct call *c, struct str dir, const char *step)
{
	struct stat st;
	enum err e = lstat(arena_cstr(&c->mem, dir), &st) ? file_make_folder(c, dir, 0700) : ERR_OK;

	return e ? e : check_private(c, dir, step);
}

/*
 * Puts the socket into the service's folder if its path is short enough, otherwise into a private
 * folder below XDG_RUNTIME_DIR or /tmp.
 */
static enum err place_socket(struct call *c, struct service_place *p)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	struct str name = str_head(sha256_hex(&c->mem, p->dir), 16), dir;
	enum err e;

	p->socket = path_join(&c->mem, p->dir, STR("socket"));
	if (p->socket.n <= SOCKET_MOST)
		return ERR_OK;
	if (run && *run == '/' && strlen(run) < SOCKET_MOST - 40)
		dir = path_join(&c->mem, str_of(run), STR("abacus"));
	else
		dir = arena_fmt(&c->mem, "/tmp/abacus-%lu", (unsigned long)geteuid());
	if ((e = service_make_private(c, dir,
				      "Set XDG_RUNTIME_DIR to a folder of your own, or check who "
				      "made this one and remove it.")))
		return e;
	p->socket = path_join(&c->mem, dir, name);
	return ERR_OK;
}

/*
 * A browser installed as a snap can read neither hidden folders such as '.git' nor /tmp. Where
 * snaps are installed, the file is in the home folder.
 */
static void place_page(struct call *c, struct service_place *p)
{
	const char *home = getenv("HOME");
	struct str name = str_head(sha256_hex(&c->mem, p->dir), 12);
	struct stat st;

	p->page = path_join(&c->mem, p->dir, STR("open"));
	if (home && *home == '/' && !stat(home, &st) && st.st_uid == geteuid() &&
	    !(st.st_mode & 022) &&
	    file_is_dir(&c->mem, path_join(&c->mem, str_of(home), STR("snap"))))
		p->page = arena_fmt(&c->mem, "%s/abacus-open-" STR_FMT, home, STR_ARG(name));
}

enum err service_place(struct call *c, struct service_place *out)
{
	struct repository repo;
	struct str root, home;
	enum err e;

	if ((e = place_new(c, STR(".beadboard"), &root)) || (e = place_repository(c, root, &repo)))
		return e;
	home = path_join(&c->mem, path_data(&c->mem), STR("abacus"));
	if ((e = repo.common.p ? home_make(c, repo.common, HOME_ANY, &home) :
				 file_make_dir(c, home, 0700)))
		return e;
	out->dir = path_join(&c->mem, home, STR("serve"));
	if (!repo.common.p || !str_eq(root, repo.main)) /* one of several projects there */
		out->dir = arena_fmt(&c->mem, STR_FMT "-%.12s", STR_ARG(out->dir),
				     sha256_hex(&c->mem, root).p);
	out->lock = path_join(&c->mem, out->dir, STR("lock"));
	out->address = path_join(&c->mem, out->dir, STR("address.json"));
	if ((e = service_make_private(c, out->dir, "Check who made it, and remove it.")))
		return e;
	place_page(c, out);
	return place_socket(c, out);
}

/* --- sending requests --- */

static int service_place_connected(struct str path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || path.n >= sizeof at.sun_path)
		return fd;
	memcpy(at.sun_path, path.p, path.n);
	if (connect(fd, (struct sockaddr *)&at, sizeof at))
		file_close(&fd);
	return fd;
}

enum err service_ask(struct call *c, const struct service_place *at, const char *path,
		     struct str *reply)
{
	enum { CHUNK = 4096 };
	struct timeval patience = { .tv_sec = 10 };
	struct buf b = { .mem = &c->mem };
	ssize_t got = 1;
	const char *body;
	AUTO_FD fd = lock_held(c, at->lock) ? service_place_connected(at->socket) : -1;

	*reply = STR_NONE;
	if (fd < 0)
		return ERR_OK;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (!file_write(
		    fd,
		    arena_fmt(
			    &c->mem,
			    "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
			    "application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
			    path)))
		return ERR_OK;
	while ((got = file_some(fd, buf_room(&b, CHUNK), CHUNK)) > 0)
		b.n += (size_t)got;
	body = str_find(buf_str(&b), STR("\r\n\r\n"));
	if (body)
		*reply = str_skip(buf_str(&b), (size_t)(body + 4 - b.p));
	return ERR_OK;
}
