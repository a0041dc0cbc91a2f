#include "store/owner.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/number.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "base/system/spawn.h"
#include "store/git/git_config.h"

/* The user who ran sudo; false: not run by sudo. */
static bool sudo_user(uid_t *out)
{
	const char *text = getenv("SUDO_UID");
	int64_t uid;

	if (!text || !number_int(str_of(text), &uid) || uid < 0 || uid != (uid_t)uid)
		return false;
	*out = (uid_t)uid;
	return true;
}

bool owner_is_user(uid_t uid)
{
	uid_t me = geteuid(), meant;

	return uid == me || (me == 0 && sudo_user(&meant) && uid == meant);
}

bool owner_is_system(uid_t uid)
{
	return !uid || platform_is_unmapped(uid);
}

struct safe_search {
	struct call *c;
	struct str dir; /* with symbolic links resolved */
	bool found;
};

/* A pattern that ends with a slash and a star covers every folder below it. */
static bool owner_is_below(struct call *c, struct str dir, struct str pattern)
{
	struct str parent = path_real(&c->mem, path_parent(pattern));

	return parent.p && dir.n > parent.n && path_within(parent, dir);
}

static bool is_listed(struct call *c, struct str dir, struct str value)
{
	struct str path = git_config_path(&c->mem, value);

	if (str_is(path, "*"))
		return true;
	if (str_is(path, "."))
		return str_eq(dir, path_real(&c->mem, c->dir));
	if (!path.n || path.p[0] != '/')
		return false;
	if (str_ends(path, STR("/*")))
		return owner_is_below(c, dir, path);
	return str_eq(dir, path_real(&c->mem, path));
}

/* An empty value clears all values before it. */
static void see_safe(void *arg, struct str name, struct str value)
{
	struct safe_search *s = arg;

	if (!str_is(name, "safe.directory"))
		return;
	if (!value.n)
		s->found = false;
	else if (is_listed(s->c, s->dir, value))
		s->found = true;
}

bool owner_listed_safe(struct call *c, struct str dir)
{
	struct safe_search s = { .c = c, .dir = path_real(&c->mem, dir) };

	if (s.dir.p)
		git_config_protected(c, see_safe, &s);
	return s.found;
}

/*
 * A user's name; absent: unknown. Reads /etc/passwd itself, because getpwuid() loads shared
 * libraries, which a statically linked program should avoid.
 */
static struct str owner_name_of(struct call *c, uid_t uid)
{
	struct str text, line, name, secret, number;
	int64_t n;

	if (file_read(c, STR("/etc/passwd"), &text) || !text.p)
		return STR_NONE;
	while (text.n && str_next(&text, '\n', &line))
		if (str_next(&line, ':', &name) && str_next(&line, ':', &secret) &&
		    str_next(&line, ':', &number) && number_int(number, &n) && n == uid)
			return name;
	return STR_NONE;
}

static void owner_fail(struct call *c, struct str path, uid_t uid)
{
	struct str name = owner_name_of(c, uid);

	call_fail(c, ERR_DUBIOUS_OWNERSHIP,
		  "'" STR_FMT "' belongs to another user%s" STR_FMT " (uid %lu)", STR_ARG(path),
		  name.n ? ", " : "", STR_ARG(name), (unsigned long)uid);
}

enum err owner_refuse_inside(struct call *c, struct str path, uid_t uid)
{
	struct str to = path_unused(&c->mem, path, "theirs");

	owner_fail(c, path, uid);
	if (uid == 0) /* only root itself can have made it; it holds the user's own data */
		return call_step(c,
				 "If you ran a command as root here, give the file back to "
				 "yourself: sudo chown -h %lu " STR_FMT,
				 (unsigned long)geteuid(), STR_ARG(spawn_word(&c->mem, path)));
	return call_step(c, "Move it away, then run the command again: mv " STR_FMT " " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, path)), STR_ARG(spawn_word(&c->mem, to)));
}

enum err owner_refuse_folder(struct call *c, struct str path, uid_t uid)
{
	owner_fail(c, path, uid);
	return call_step(c, "That user can replace it while a command runs: choose a path in a "
			    "folder of your own.");
}

enum err owner_refuse_user(struct call *c, struct str path, uid_t uid, const char *variable)
{
	owner_fail(c, path, uid);
	return call_step(c, "Set HOME, or %s, to a folder of your own, then run the command again.",
			 variable);
}

/* A container may have a home directory that cannot be written. */
static bool owner_may_configure(struct call *c)
{
	const char *count = getenv("GIT_CONFIG_COUNT");

	return (count && *count) || !path_home_known() ||
	       !access(arena_cstr(&c->mem, path_home()), W_OK) || !file_denied();
}

enum err owner_refuse(struct call *c, struct str path, uid_t uid, struct str dir)
{
	struct str real = path_real(&c->mem, dir), word = spawn_word(&c->mem, real.p ? real : dir);

	owner_fail(c, path, uid);
	if (str_is(path_name(real.p ? real : dir), "*")) /* to Git: all folders there */
		return call_step(c, "If you trust that user, rename the folder first: Git cannot "
				    "trust a folder of this name alone.");
	if (owner_may_configure(c))
		return call_step(c,
				 "If you trust that user, run: git config --global --add "
				 "safe.directory " STR_FMT,
				 STR_ARG(word));
	return call_step(c,
			 "If you trust that user, run this, which needs no file in your home "
			 "directory: export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory "
			 "GIT_CONFIG_VALUE_0=" STR_FMT,
			 STR_ARG(word));
}
