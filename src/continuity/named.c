#include "continuity/named.h"

#include <sys/stat.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "store/exposed.h"
#include "store/folder.h"
#include "store/owner.h"

static const char settings[] = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";

static enum err named_refuse(struct call *c, struct str path, const char *why)
{
	struct str to = path_unused(&c->mem, path, "theirs");

	call_fail(c, ERR_UNSAFE_PATH, "'" STR_FMT "' %s", STR_ARG(path), why);
	return call_step(c,
			 "Choose another file with --db-path, or move this one away and run the "
			 "command again: mv " STR_FMT " " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, path)), STR_ARG(spawn_word(&c->mem, to)));
}

/* The settings of a repository choose programs and addresses, so they have to be our own. */
static enum err named_check_settings(struct call *c, struct str dir)
{
	struct str text;
	enum err e = file_own_read(c, path_join(&c->mem, dir, STR("config")), &text);

	if (e)
		return e;
	if (text.p && !str_is(text, settings))
		return named_refuse(c, dir, "has settings that this program did not write");
	if (file_size(&c->mem, path_join(&c->mem, dir, STR("commondir"))) >= 0)
		return named_refuse(c, dir, "leads to another repository");
	return ERR_OK;
}

static enum err named_check_repository(struct call *c, struct str dir, bool *fresh)
{
	static const char *const folders[] = { "objects", "refs", "refs/beads", "abacus" };
	bool private = true;
	struct stat st;
	enum err e;

	*fresh = lstat(arena_cstr(&c->mem, dir), &st);
	if (*fresh)
		return file_missing() ? ERR_OK : file_fail(c, "look at", dir);
	if (!owner_is_user(st.st_uid))
		return exposed_check(c, dir, &st);
	if ((e = folder_check(c, dir, FOLDER_READ)) || (e = folder_check_tracked(c, dir)))
		return e;
	if (!S_ISDIR(st.st_mode) || (st.st_mode & 077))
		return named_refuse(c, dir, "is not a folder that this program made for you alone");
	if ((e = folder_check_all(c, dir, folders, sizeof folders / sizeof *folders, FOLDER_READ,
				  &private)))
		return e;
	return named_check_settings(c, dir);
}

enum err named_repository_create(struct call *c, struct str dir)
{
	static const char *const folders[] = { "objects", "refs/heads" };
	struct file_found head;
	bool fresh;
	enum err e = file_make_dir(c, dir, 0700);

	if (!e && c->store.p)
		e = named_check_repository(c, dir, &fresh);
	if (e || (e = file_look(c, path_join(&c->mem, dir, STR("HEAD")), &head)) ||
	    head.kind != FILE_NONE)
		return e;
	for (size_t i = 0; !e && i < sizeof folders / sizeof *folders; i++)
		e = file_make_dir(c, path_join(&c->mem, dir, str_of(folders[i])), 0700);
	if (!e)
		e = file_provide(c, path_join(&c->mem, dir, STR("config")), str_of(settings), 0600);
	if (!e)
		e = file_provide(c, path_join(&c->mem, dir, STR("HEAD")),
				 STR("ref: refs/heads/main\n"), 0600);
	return e;
}

/*
 * The user named FILE, so it may be tracked by Git; files beside it may not, because the user did
 * not name them.
 */
static enum err named_check_file(struct call *c, struct str path, bool beside)
{
	struct stat st;
	enum err e;

	if (lstat(arena_cstr(&c->mem, path), &st))
		return file_missing() ? ERR_OK : file_fail(c, "look at", path);
	if ((e = file_own_check(c, path)))
		return e;
	if ((e = exposed_check(c, path, &st)))
		return e;
	return beside ? folder_check_tracked(c, path) : ERR_OK;
}

enum err named_check(struct call *c, struct str file, struct str dir, bool *fresh)
{
	static const char *const part[] = { "", "-wal", "-shm", "-journal", ".lock" };
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < sizeof part / sizeof *part; i++)
		e = named_check_file(c, arena_fmt(&c->mem, STR_FMT "%s", STR_ARG(file), part[i]),
				     i > 0);
	return e ? e : named_check_repository(c, dir, fresh);
}
