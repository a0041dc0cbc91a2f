#include "store/slots.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/system/file.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "store/exposed.h"
#include "store/user_folder.h"

enum {
	RECORD = 512,  /* bytes of a slot's text, which says who holds it */
	TURN = 20,     /* digits of the counter of tickets */
	PAUSE_MS = 10, /* between two looks of a waiting process */
	TICKETS = 1,   /* the first ticket's byte; byte 0 is the lock of the counter */
	COMMAND_MOST = 200,
};

/* --- files --- */

/* The folder of this user's resources: they belong to the machine, not to a project. */
static enum err slots_folder(struct call *c, struct str *out)
{
	return user_folder_state(c, STR("slots"), out);
}

bool slots_name_valid(struct str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char ch = name.p[i], lower = (char)(ch | 0x20);

		if (!(lower >= 'a' && lower <= 'z') && !(ch >= '0' && ch <= '9') && ch != '-' &&
		    ch != '_')
			return false;
	}
	return name.n && name.n <= SLOT_NAME_MOST;
}

static struct str slots_path(struct call *c, struct str folder, struct str name, const char *end)
{
	return arena_fmt(&c->mem, STR_FMT "/" STR_FMT "%s", STR_ARG(folder), STR_ARG(name), end);
}

/* How many slots a resource has; 0: there is no such resource. */
static enum err slots_count(struct call *c, struct str folder, struct str name, int64_t *out)
{
	struct str text;
	enum err e = exposed_read(c, slots_path(c, folder, name, ".count"), &text);

	*out = 0;
	if (!e && text.p && (!number_int(str_trim(text), out) || *out < 0 || *out > SLOTS_MOST))
		*out = 0;
	return e;
}

enum err slots_set(struct call *c, struct str name, int64_t count)
{
	struct str folder, path;
	enum err e = slots_folder(c, &folder);

	if (e || (e = file_make_dir(c, folder, 0700)))
		return e;
	path = slots_path(c, folder, name, ".count");
	return count ? file_own_replace(c, path, arena_fmt(&c->mem, "%lld\n", (long long)count),
					0600) :
		       file_remove(c, path);
}

/* --- locked bytes --- */

/* False: another process has the byte. */
static bool slot_lock(int fd, off_t byte, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1 };
	int done;

	do
		done = fcntl(fd, F_SETLK, &lock);
	while (done && errno == EINTR);
	return !done;
}

/* A byte from `from` up to, but not including, `to` (0: without end) that another process has
 * locked; -1: none. `pid` is set to the process. */
static off_t slot_locked(int fd, off_t from, off_t to, int64_t *pid)
{
	struct flock lock = { .l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = from,
			      .l_len = to ? to - from : 0 };

	if ((to && to <= from) || fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK)
		return -1;
	if (pid)
		*pid = lock.l_pid;
	return lock.l_start;
}

static int64_t slot_count_locked(int fd, off_t from, off_t to, int depth)
{
	off_t at = slot_locked(fd, from, to, NULL);

	if (at < 0 || depth > SLOTS_MOST)
		return 0;
	return 1 + slot_count_locked(fd, from, at, depth + 1) +
	       slot_count_locked(fd, at + 1, to, depth + 1);
}

/* Without O_CLOEXEC: the command that the process becomes keeps the locks. */
static enum err slot_open(struct call *c, struct str path, int *fd)
{
	enum err e;

	*fd = open(arena_cstr(&c->mem, path), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (*fd < 0)
		return call_fail(c, ERR_INTERNAL_ERROR, "cannot open '" STR_FMT "': %s",
				 STR_ARG(path), strerror(errno));
	if ((e = exposed_check_open(c, path, *fd)))
		file_close(fd);
	return e;
}

/* --- taking --- */

struct slot_turn {
	struct call *c;
	struct str folder, what;
	int64_t deadline; /* ms of the monotonic clock; 0: none */
};

static int64_t slot_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static enum err slot_pause(const struct slot_turn *turn, const struct slot_need *need)
{
	if (turn->deadline && slot_clock() >= turn->deadline) {
		call_fail(turn->c, ERR_DATABASE_BUSY,
			  "%lld slot%s of '" STR_FMT "' did not become free in time",
			  (long long)need->count, need->count == 1 ? "" : "s", STR_ARG(need->name));
		return call_step(turn->c, "'abacus slots' shows who holds them.");
	}
	poll(NULL, 0, PAUSE_MS);
	return ERR_OK;
}

/*
 * The number of the next ticket. If the counter is damaged, it continues at the current time in
 * milliseconds. No counter gets that far by counting, so the ticket is behind all waiting
 * processes.
 */
static off_t slot_next_ticket(const struct slot_turn *turn, int fd)
{
	char text[TURN + 1];
	ssize_t got = pread(fd, text, sizeof text, 0);
	int64_t n = 0;

	if (got && (got < 0 || !number_int(str_trim((struct str){ text, (size_t)got }), &n) ||
		    n < 0 || n > INT64_MAX / 2))
		n = turn->c->now_ms;
	return TICKETS + (off_t)n;
}

/* Takes a number, in the order of arrival; its byte is locked as long as the process waits. */
static enum err slot_ticket(const struct slot_turn *turn, const struct slot_need *need, int fd,
			    off_t *ticket)
{
	struct call *c = turn->c;
	struct str next;
	bool written;
	enum err e = ERR_OK;

	while (!e && !slot_lock(fd, 0, F_WRLCK))
		e = errno == EAGAIN || errno == EACCES ?
			    slot_pause(turn, need) :
			    call_fail(c, ERR_INTERNAL_ERROR, "cannot lock: %s", strerror(errno));
	if (e)
		return e;
	*ticket = slot_next_ticket(turn, fd);
	next = arena_fmt(&c->mem, "%0*lld\n", TURN, (long long)(*ticket - TICKETS + 1));
	written =
		slot_lock(fd, *ticket, F_WRLCK) && pwrite(fd, next.p, next.n, 0) == (ssize_t)next.n;
	slot_lock(fd, 0, F_UNLCK);
	return written ? ERR_OK :
			 call_fail(c, ERR_INTERNAL_ERROR, "cannot take a ticket: %s",
				   strerror(errno));
}

static void slot_write_holder(const struct slot_turn *turn, int fd, int64_t slot)
{
	struct json j = json_new(&turn->c->mem);
	struct str text;

	json_object(&j);
	json_put_int(&j, "pid", getpid());
	json_put_int(&j, "since", turn->c->now_ms);
	json_put_str(&j, "agent", turn->c->actor);
	json_put_str(&j, "command", str_head(turn->what, COMMAND_MOST));
	json_end(&j);
	text = json_text(&j);
	if (text.n < RECORD) {
		text = arena_fmt(&turn->c->mem, "%-*s\n", RECORD - 1, text.p);
		if (pwrite(fd, text.p, RECORD, (off_t)slot * RECORD) != RECORD)
			return; /* only shown to people */
	}
}

/* A process can lock its own bytes again, so it has to remember them. */
static bool slot_mine(const int64_t *mine, int64_t count, int64_t slot)
{
	for (int64_t i = 0; i < count; i++)
		if (mine[i] == slot)
			return true;
	return false;
}

/* The first in the queue takes slots as they become free. The descriptor stays open: with it, the
 * locks would end. */
static enum err slot_take_free(const struct slot_turn *turn, const struct slot_need *need)
{
	int64_t *mine = arena_array(&turn->c->mem, (size_t)need->count, sizeof *mine);
	int64_t have = 0, count = 0;
	int fd;
	enum err e =
		slot_open(turn->c, slots_path(turn->c, turn->folder, need->name, ".held"), &fd);

	if (e)
		return e;
	while (!e && have < need->count) {
		e = slots_count(turn->c, turn->folder, need->name, &count);
		for (int64_t slot = 0; !e && slot < count && have < need->count; slot++)
			if (!slot_mine(mine, have, slot) && slot_lock(fd, slot, F_WRLCK)) {
				slot_write_holder(turn, fd, slot);
				mine[have++] = slot;
			}
		if (!e && have < need->count)
			e = slot_pause(turn, need);
	}
	if (e)
		close(fd);
	return e;
}

static enum err slot_wait_turn(const struct slot_turn *turn, const struct slot_need *need)
{
	off_t ticket = 0;
	int fd;
	enum err e =
		slot_open(turn->c, slots_path(turn->c, turn->folder, need->name, ".queue"), &fd);

	if (e)
		return e;
	e = slot_ticket(turn, need, fd, &ticket);
	while (!e && slot_locked(fd, TICKETS, ticket, NULL) >= 0)
		e = slot_pause(turn, need);
	if (!e)
		e = slot_take_free(turn, need);
	close(fd);
	return e;
}

static int slot_need_cmp(const void *a, const void *b)
{
	return str_cmp(((const struct slot_need *)a)->name, ((const struct slot_need *)b)->name);
}

static enum err slot_check(struct call *c, struct str folder, const struct slot_need *need)
{
	int64_t count;
	enum err e = slots_count(c, folder, need->name, &count);

	if (e || need->count <= count)
		return e;
	if (!count) {
		call_fail(c, ERR_NOT_FOUND, "there is no resource '" STR_FMT "'",
			  STR_ARG(need->name));
		return call_step(c, "Set how many slots it has: abacus slots set " STR_FMT " %lld",
				 STR_ARG(need->name), (long long)need->count);
	}
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' has %lld slot%s, not %lld",
		  STR_ARG(need->name), (long long)count, count == 1 ? "" : "s",
		  (long long)need->count);
	return call_step(c, "Ask for fewer slots, or add some: abacus slots set " STR_FMT " %lld",
			 STR_ARG(need->name), (long long)need->count);
}

/* Adds up needs of the same resource: a process could lock its own slots a second time. */
static size_t slot_merge(struct slot_need *needs, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (kept && str_eq(needs[kept - 1].name, needs[i].name))
			needs[kept - 1].count += needs[i].count;
		else
			needs[kept++] = needs[i];
	return kept;
}

/* Resources are taken in the order of their names, so that no two processes wait for each other. */
enum err slots_take(struct call *c, struct slot_need *needs, size_t count, int64_t wait_ms,
		    struct str what)
{
	struct slot_turn turn = { .c = c,
				  .what = what,
				  .deadline = wait_ms ? slot_clock() + wait_ms : 0 };
	enum err e = slots_folder(c, &turn.folder);

	if (count)
		qsort(needs, count, sizeof *needs, slot_need_cmp);
	count = slot_merge(needs, count);
	for (size_t i = 0; !e && i < count; i++)
		e = slot_check(c, turn.folder, &needs[i]);
	for (size_t i = 0; !e && i < count; i++)
		e = slot_wait_turn(&turn, &needs[i]);
	return e;
}

/* --- looking --- */

static void slot_read_holder(struct call *c, int fd, int64_t slot, int64_t pid,
			     struct slot_resource *out)
{
	struct slot_holder *one = arena_new(&c->mem, struct slot_holder), **tail = &out->holders;
	char *text = arena_alloc(&c->mem, RECORD);
	ssize_t got = pread(fd, text, RECORD, (off_t)slot * RECORD);
	const struct value *v =
		got > 0 ? value_read(&c->mem, str_trim((struct str){ text, (size_t)got })) : NULL;
	int64_t writer = 0;

	one->slot = slot;
	one->pid = pid;
	if (value_int(v, "pid", &writer) && writer == pid) {
		one->agent = value_str(v, "agent");
		one->command = value_str(v, "command");
		value_int(v, "since", &one->since_ms);
	}
	while (*tail)
		tail = &(*tail)->next;
	*tail = one;
}

/* -1: no process has ever used the file, or it is not safe. */
static int slot_open_existing(struct call *c, struct str path)
{
	int fd = open(arena_cstr(&c->mem, path), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !exposed_safe(&st)))
		file_close(&fd);
	return fd;
}

static void slot_read_resource(struct call *c, struct str folder, struct slot_resource *out)
{
	int64_t pid = 0;
	int fd = slot_open_existing(c, slots_path(c, folder, out->name, ".held"));

	for (int64_t slot = 0; fd >= 0 && slot < SLOTS_MOST; slot++) {
		off_t at = slot_locked(fd, (off_t)slot, SLOTS_MOST, NULL);

		if (at < 0)
			break;
		if (slot_locked(fd, (off_t)slot, (off_t)slot + 1, &pid) >= 0)
			slot_read_holder(c, fd, slot, pid, out);
	}
	if (fd >= 0)
		close(fd);
	fd = slot_open_existing(c, slots_path(c, folder, out->name, ".queue"));
	if (fd < 0)
		return;
	/* the first of the queue waits for slots, the others for their turn */
	out->waiting = slot_count_locked(fd, TICKETS, 0, 0);
	close(fd);
}

struct slot_names {
	struct call *c;
	struct str *name;
	size_t count;
};

static void slot_add_name(void *arg, struct str file)
{
	struct slot_names *all = arg;
	struct str end = STR(".count"), name = str_head(file, file.n - end.n);

	if (!str_ends(file, end) || !slots_name_valid(name))
		return;
	all->name = arena_room(&all->c->mem, all->name, all->count, sizeof name);
	all->name[all->count++] = arena_copy(&all->c->mem, name);
}

enum err slots_each(struct call *c, struct slot_resource **out)
{
	struct slot_names all = { .c = c };
	struct str folder;
	enum err e = slots_folder(c, &folder);

	*out = NULL;
	if (e || (e = file_each(c, folder, slot_add_name, &all)))
		return e;
	str_sort(all.name, all.count);
	for (size_t i = 0; !e && i < all.count; i++) {
		struct slot_resource *one = arena_new(&c->mem, struct slot_resource);

		one->name = all.name[i];
		e = slots_count(c, folder, one->name, &one->count);
		slot_read_resource(c, folder, one);
		*out = one;
		out = &one->next;
	}
	return e;
}
