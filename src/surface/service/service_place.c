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
#include "base/system/peer.h"
#include "store/home.h"
#include "store/place.h"
#include "store/user_folder.h"
#include "surface/service/service.h"

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
 * The private folder of the socket: the service's own if the path is short enough, otherwise one
 * below XDG_RUNTIME_DIR or /tmp.
 */
static struct str service_socket_folder(struct call *c, const struct service_place *p)
{
	const char *run = getenv("XDG_RUNTIME_DIR");

	if (p->dir.n + sizeof "/socket" - 1 <= SOCKET_MOST)
		return p->dir;
	if (run && *run == '/' && strlen(run) < SOCKET_MOST - 40)
		return path_join(&c->mem, str_of(run), STR("abacus"));
	return arena_fmt(&c->mem, "/tmp/abacus-%lu", (unsigned long)geteuid());
}

static struct str service_socket(struct call *c, const struct service_place *p)
{
	struct str dir = service_socket_folder(c, p);

	if (str_eq(dir, p->dir))
		return path_join(&c->mem, dir, STR("socket"));
	return path_join(&c->mem, dir, str_head(sha256_hex(&c->mem, p->dir), 16));
}

/*
 * Not in the store: a program in a sandbox that may write there could replace the file before the
 * browser reads it. A browser installed as a snap can read neither hidden folders nor /tmp. Where
 * snaps are installed, the file is in the home folder.
 */
static void place_page(struct call *c, struct service_place *p)
{
	const char *home = getenv("HOME");
	struct call before = call_save(c);
	struct str name = str_head(sha256_hex(&c->mem, p->dir), 12), dir;
	struct stat st;

	if (!user_folder_state(c, STR("open"), &dir))
		p->page = path_join(&c->mem, dir, name);
	call_restore(c, &before);
	if (home && *home == '/' && !stat(home, &st) && st.st_uid == geteuid() &&
	    !(st.st_mode & 022) &&
	    file_is_dir(&c->mem, path_join(&c->mem, str_of(home), STR("snap"))))
		p->page = arena_fmt(&c->mem, "%s/abacus-open-" STR_FMT, home, STR_ARG(name));
}

/* The project's folder, and the repository around it. */
static enum err service_project(struct call *c, struct str *root, struct repository *repo)
{
	enum err e = place_new(c, STR(".beadboard"), root);

	return e ? e : place_repository(c, *root, repo);
}

static void service_name(struct call *c, struct str home, struct str root,
			 const struct repository *repo, struct service_place *out)
{
	out->dir = path_join(&c->mem, home, STR("serve"));
	if (!repo->common.p || !str_eq(root, repo->main)) /* one of several projects there */
		out->dir = arena_fmt(&c->mem, STR_FMT "-%.12s", STR_ARG(out->dir),
				     sha256_hex(&c->mem, root).p);
	out->lock = path_join(&c->mem, out->dir, STR("lock"));
	out->address = path_join(&c->mem, out->dir, STR("address.json"));
	out->socket = service_socket(c, out);
}

enum err service_find(struct call *c, struct service_place *out)
{
	struct repository repo;
	struct str root;
	struct str home;
	enum err e = service_project(c, &root, &repo);

	if (e)
		return e;
	home = repo.common.p ? home_find(c, repo.common) : STR_NONE;
	if ((e = home.p ? home_check(c, home) : user_folder_data(c, STR_NONE, &home)))
		return e;
	service_name(c, home, root, &repo, out);
	return ERR_OK;
}

enum err service_place(struct call *c, struct service_place *out)
{
	struct str root, dir, home;
	struct repository repo;
	enum err e;

	if ((e = service_project(c, &root, &repo)) ||
	    (e = repo.common.p ? home_make(c, repo.common, HOME_ANY, &home) :
				 user_folder_data(c, STR_NONE, &home)) ||
	    (repo.common.p && (e = home_check(c, home))) || (e = file_make_dir(c, home, 0700)))
		return e;
	service_name(c, home, root, &repo, out);
	place_page(c, out);
	dir = service_socket_folder(c, out);
	if ((e = service_make_private(c, out->dir, "Check who made it, and remove it.")) ||
	    str_eq(dir, out->dir))
		return e;
	return service_make_private(c, dir,
				    "Set XDG_RUNTIME_DIR to a folder of your own, or check who "
				    "made this one and remove it.");
}

/* --- sending requests --- */

/* Another user may have made the folder of the socket, and listen in it. */
static int service_place_connected(struct str path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 || path.n >= sizeof at.sun_path)
		return fd;
	memcpy(at.sun_path, path.p, path.n);
	if (connect(fd, (struct sockaddr *)&at, sizeof at) || !peer_is_us(fd))
		file_close(&fd);
	return fd;
}

/* The body of the response; absent: the service has closed the connection, or is late. */
static struct str service_receive(struct call *c, int fd)
{
	enum { CHUNK = 4096 };
	struct buf b = { .mem = &c->mem };
	const char *body;
	ssize_t got;

	while ((got = file_some(fd, buf_room(&b, CHUNK), CHUNK)) > 0)
		b.n += (size_t)got;
	body = got < 0 ? NULL : str_find(buf_str(&b), STR("\r\n\r\n"));
	return body ? str_skip(buf_str(&b), (size_t)(body + 4 - b.p)) : STR_NONE;
}

bool service_send(struct call *c, const struct service_place *at, const struct service_message *m,
		  struct str *reply)
{
	struct timeval patience = { .tv_sec = m->patience_s };
	AUTO_FD fd = lock_held(c, at->lock) ? service_place_connected(at->socket) : -1;

	*reply = STR_NONE;
	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (!file_write(fd, arena_fmt(&c->mem,
				      "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
				      "application/json\r\nContent-Length: %zu\r\nConnection: "
				      "close\r\n\r\n",
				      m->path, m->body.n)) ||
	    !file_write(fd, m->body))
		return false;
	*reply = service_receive(c, fd);
	return true;
}

enum err service_ask(struct call *c, const struct service_place *at, const char *path,
		     struct str *reply)
{
	service_send(c, at, &(struct service_message){ path, STR("{}"), 10 }, reply);
	return ERR_OK;
}
