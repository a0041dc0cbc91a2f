#include "store/db/db_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/db/db_files.h"
#include "store/db/db_parts.h"
#include "store/db/db_vfs.h"
#include "store/exposed.h"

static struct db *guarded; /* a list, by next_guarded */

static struct db *guard_find(const char *path)
{
	struct db *db = guarded;

	while (db && !str_starts(str_of(path), str_of(db->guard)))
		db = db->next_guarded;
	return db;
}

/* Replaces open() in SQLite. */
static int guard_open(const char *path, int flags, int mode)
{
	int fd = open(path, flags, mode);
	struct db *db = fd < 0 ? NULL : guard_find(path);
	struct stat st;

	if (!db || (!fstat(fd, &st) && exposed_safe(&st)))
		return fd;
	db->refused = true;
	close(fd);
	errno = EPERM;
	return -1;
}

int db_guard_begin(struct db *db, struct str name)
{
	struct sqlite3_vfs *vfs = db_vfs_register(db_keeps());
	int rc = vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)guard_open);

	if (rc)
		return rc;
	db->guard = strndup(name.p, name.n);
	if (!db->guard)
		abort();
	db->next_guarded = guarded;
	guarded = db;
	return SQLITE_OK;
}

void db_guard_end(struct db *db)
{
	struct db **at = &guarded;

	while (*at && *at != db)
		at = &(*at)->next_guarded;
	if (*at)
		*at = db->next_guarded;
	free(db->guard);
}

enum err db_guard_explain(struct call *c, const struct db *db)
{
	enum err e = db->refused ? db_files_check_exposed(c, db->path) : ERR_OK;

	if (e || !db->refused)
		return e;
	call_fail(c, ERR_UNSAFE_PATH,
		  "a file of '" STR_FMT "' was not safe when it was opened, and is gone now",
		  STR_ARG(db->path));
	return call_step(c, "Run the command again.");
}
