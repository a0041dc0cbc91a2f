#include "store/db/db_vfs.h"

#include <sqlite3.h>
#include <string.h>

#include "base/str.h"
#include "store/db/db_memory.h"

/* Our VFS objects, and the system's objects that they are copies of. */
static sqlite3_vfs *system_vfs, our_vfs;
static sqlite3_vfs *lockless_vfs, our_lockless_vfs;

static sqlite3_vfs *system_of(const sqlite3_vfs *vfs)
{
	return vfs == &our_vfs ? system_vfs : lockless_vfs;
}

/*
 * SQLite syncs the folder of every log that it may have created. Without the flag to create an
 * existing log, that sync is saved.
 */
static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
	sqlite3_vfs *system = system_of(vfs);
	int there = 0;

	if (flags & SQLITE_OPEN_SUPER_JOURNAL) {
		file->pMethods = NULL;
		return SQLITE_CANTOPEN;
	}
	if ((flags & SQLITE_OPEN_WAL) &&
	    !system->xAccess(system, name, SQLITE_ACCESS_EXISTS, &there) && there)
		flags &= ~SQLITE_OPEN_CREATE;
	return system->xOpen(system, name, file, flags, out);
}

/* SQLite may delete only the files beside a database. */
static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	sqlite3_vfs *system = system_of(vfs);
	struct str path = str_of(name);

	if (!str_ends(path, STR("-journal")) && !str_ends(path, STR("-wal")))
		return SQLITE_IOERR_DELETE;
	return system->xDelete(system, name, sync);
}

/*
 * An absolute path is used unchanged: db_open() has resolved the links above the file, and the file
 * is opened without following a link. SQLite would check each folder again, and would replace an
 * alias by the long path behind it.
 */
static int vfs_full_path(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	sqlite3_vfs *system = system_of(vfs);

	if (name[0] != '/')
		return system->xFullPathname(system, name, size, out);
	if (strlen(name) >= (size_t)size)
		return SQLITE_CANTOPEN;
	memcpy(out, name, strlen(name) + 1);
	return SQLITE_OK;
}

static void vfs_add(sqlite3_vfs *ours, const sqlite3_vfs *system, const char *name, bool first)
{
	*ours = *system;
	ours->zName = name;
	ours->xOpen = vfs_open;
	ours->xDelete = vfs_delete;
	ours->xFullPathname = vfs_full_path;
	sqlite3_vfs_register(ours, first);
}

/* Single-threaded and without memory statistics, because both would slow down every call. */
struct sqlite3_vfs *db_vfs_register(bool stays)
{
	if (system_vfs)
		return system_vfs;
	if (!stays)
		db_memory_use();
	sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	system_vfs = sqlite3_vfs_find(NULL);
	vfs_add(&our_vfs, system_vfs, "abacus", true);
	if ((lockless_vfs = sqlite3_vfs_find("unix-none")))
		vfs_add(&our_lockless_vfs, lockless_vfs, DB_VFS_LOCKLESS, false);
	return system_vfs;
}
