#include "store/db/db_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "store/exposed.h"
#include "store/owner.h"

static const char *const parts[] = { "", "-wal", "-shm", "-journal" };

static struct str db_file(struct call *c, struct str path, const char *part)
{
	return arena_fmt(&c->mem, STR_FMT "%s", STR_ARG(path), part);
}

/* If the folder may be used (store/place.h), files of its owner may be used, too. */
static enum err db_file_check_owner(struct call *c, struct str path)
{
	struct str dir = path_parent(path);
	struct stat st, folder;

	if (lstat(arena_cstr(&c->mem, path), &st) || owner_is_user(st.st_uid) ||
	    (!stat(arena_cstr(&c->mem, dir), &folder) && folder.st_uid == st.st_uid) ||
	    owner_listed_safe(c, dir))
		return ERR_OK;
	return owner_refuse_inside(c, path, st.st_uid);
}

/* Does the journal end with the magic bytes that follow the name of a super-journal? */
static bool journal_names_another(struct call *c, struct str path)
{
	static const unsigned char magic[] = { 0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7 };
	AUTO_FD fd = file_own_open(&c->mem, path, O_RDONLY, 0);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	unsigned char end[sizeof magic];

	return size >= (off_t)sizeof end &&
	       pread(fd, end, sizeof end, size - (off_t)sizeof end) == (ssize_t)sizeof end &&
	       !memcmp(end, magic, sizeof magic);
}

static enum err db_file_refuse_journal(struct call *c, struct str path)
{
	struct str to = path_unused(&c->mem, path, "theirs");

	call_fail(c, ERR_UNSAFE_PATH, "'" STR_FMT "' names another file, which SQLite would delete",
		  STR_ARG(path));
	return call_step(c, "Move it away, then run the command again: mv " STR_FMT " " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, path)), STR_ARG(spawn_word(&c->mem, to)));
}

enum err db_files_check(struct call *c, struct str path, bool alone)
{
	size_t count = alone ? 1 : sizeof parts / sizeof *parts;
	struct str journal = db_file(c, path, "-journal");
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < count; i++) {
		struct str file = db_file(c, path, parts[i]);

		if (!(e = file_own_check(c, file)))
			e = db_file_check_owner(c, file);
	}
	if (e || alone)
		return e;
	return journal_names_another(c, journal) ? db_file_refuse_journal(c, journal) : ERR_OK;
}

enum err db_files_check_exposed(struct call *c, struct str path)
{
	enum err e = ERR_OK;
	struct stat st;

	for (size_t i = 0; !e && i < sizeof parts / sizeof *parts; i++) {
		struct str file = db_file(c, path, parts[i]);

		if (!lstat(arena_cstr(&c->mem, file), &st))
			e = exposed_check(c, file, &st);
	}
	return e;
}

enum err db_files_set_logs_aside(struct call *c, struct str path)
{
	static const char *const logs[] = { "-wal", "-journal" };
	enum err e = file_remove(c, db_file(c, path, "-shm"));

	for (size_t i = 0; !e && i < sizeof logs / sizeof *logs; i++) {
		struct str log = db_file(c, path, logs[i]), to = path_unused(&c->mem, log, "left");

		if (file_size(&c->mem, log) >= 0 && rename(arena_cstr(&c->mem, log), to.p))
			e = file_fail(c, "rename", log);
	}
	return e;
}
