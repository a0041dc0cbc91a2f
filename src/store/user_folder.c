#include "store/user_folder.h"

#include <sys/stat.h>

#include "base/system/path.h"
#include "base/system/spawn.h"
#include "store/folder.h"
#include "store/owner.h"

/* A symbolic link of the user is fine: people keep such folders elsewhere. */
static enum err user_folder_check(struct call *c, struct str path, const char *variable)
{
	const char *z = arena_cstr(&c->mem, path);
	struct stat link, st;

	if (lstat(z, &link) || stat(z, &st))
		return ERR_OK; /* opening or creating it will report the reason */
	if (!owner_is_user(link.st_uid) || !owner_is_user(st.st_uid))
		return owner_refuse_user(
			c, path, owner_is_user(st.st_uid) ? link.st_uid : st.st_uid, variable);
	if (!(st.st_mode & (S_IWGRP | S_IWOTH)))
		return ERR_OK;
	call_fail(c, ERR_UNSAFE_PATH, "other users may write to '" STR_FMT "'", STR_ARG(path));
	return call_step(c,
			 "Check that everything in it is yours, then remove that "
			 "permission: chmod 700 " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, path)));
}

/*
 * The home folder may be in a worktree: some people keep it in Git, and some build servers set HOME
 * to the project. What Git tracks there comes from other people.
 */
static enum err user_folder_check_tracked(struct call *c, struct str path)
{
	struct str real = path_real(&c->mem, path);

	return real.p ? folder_check_tracked(c, real) : ERR_OK;
}

static enum err user_folder_find(struct call *c, struct str base, struct str rest,
				 const char *variable, struct str *out)
{
	struct str name;
	enum err e;

	*out = path_join(&c->mem, base, STR("abacus"));
	if (!(e = user_folder_check(c, *out, variable)))
		e = user_folder_check_tracked(c, *out);
	while (!e && rest.n && str_next(&rest, '/', &name)) {
		*out = path_join(&c->mem, *out, name);
		if (!(e = user_folder_check(c, *out, variable)) && path_is_link(&c->mem, *out))
			e = user_folder_check_tracked(c, *out);
	}
	return e;
}

enum err user_folder_state(struct call *c, struct str rest, struct str *out)
{
	struct str base = path_state(&c->mem);

	if (base.p)
		return user_folder_find(c, base, rest, "XDG_STATE_HOME", out);
	call_fail(c, ERR_INVALID_INPUT, "HOME is not set to an absolute path");
	return call_step(c, "Set HOME or XDG_STATE_HOME to a folder of your own.");
}

enum err user_folder_data(struct call *c, struct str rest, struct str *out)
{
	return user_folder_find(c, path_data(&c->mem), rest, "XDG_DATA_HOME", out);
}
