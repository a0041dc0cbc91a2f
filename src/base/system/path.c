#include "base/system/path.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/id.h"

struct str path_join(struct arena *mem, struct str dir, struct str name)
{
	size_t slash = !dir.n || dir.p[dir.n - 1] != '/', n = dir.n + slash + name.n;
	char *path = arena_text(mem, n + 1);

	if (dir.n)
		memcpy(path, dir.p, dir.n);
	path[dir.n] = '/';
	if (name.n)
		memcpy(path + dir.n + slash, name.p, name.n);
	path[n] = '\0';
	return (struct str){ path, n };
}

static size_t path_append(char *out, size_t n, struct str segment)
{
	if (!segment.n || str_is(segment, "."))
		return n;
	if (str_is(segment, "..")) {
		while (n && out[--n] != '/')
			;
		return n;
	}
	out[n++] = '/';
	memcpy(out + n, segment.p, segment.n);
	return n + segment.n;
}

struct str path_resolve(struct arena *mem, struct str base, struct str path)
{
	struct str rest = path, segment;
	char *out;
	size_t n = 0;

	if (!path.n || path.p[0] != '/')
		rest = path_join(mem, base, path);
	out = arena_alloc(mem, rest.n + 2);
	while (str_next(&rest, '/', &segment))
		n = path_append(out, n, segment);
	if (!n)
		out[n++] = '/';
	out[n] = '\0';
	return (struct str){ out, n };
}

struct str path_parent(struct str path)
{
	while (path.n && path.p[path.n - 1] != '/')
		path.n--;
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	return path.n ? path : STR(".");
}

struct str path_name(struct str path)
{
	size_t from = path.n;

	while (from && path.p[from - 1] != '/')
		from--;
	return str_skip(path, from);
}

bool path_within(struct str dir, struct str path)
{
	return str_starts(path, dir) &&
	       (path.n == dir.n || path.p[dir.n] == '/' || str_ends(dir, STR("/")));
}

bool path_is_reserved(struct str path)
{
	static const char *const names[] = { ".git", ".bb", ".beadboard", ".abacus" };
	struct str name;

	while (path.n && str_next(&path, '/', &name))
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (name.n == strlen(names[i]) && !strncasecmp(name.p, names[i], name.n))
				return true;
	return false;
}

struct str path_real(struct arena *mem, struct str path)
{
	const char *z = arena_cstr(mem, path);
	char *real = strlen(z) == path.n ? realpath(z, NULL) : NULL;
	struct str copy = { 0 };

	if (strlen(z) != path.n)
		errno = ENOENT; /* a file name cannot contain a NUL */
	if (real)
		copy = arena_copy(mem, str_of(real));
	free(real);
	return copy;
}

/* The length of the longest common prefix of two absolute paths, in whole names. */
static size_t path_shared(struct str a, struct str b)
{
	size_t n = 0, shared = 0;

	for (; n < a.n && n < b.n && a.p[n] == b.p[n]; n++)
		if (a.p[n] == '/')
			shared = n;
	if ((n == a.n || a.p[n] == '/') && (n == b.n || b.p[n] == '/'))
		shared = n;
	return shared;
}

struct str path_real_beside(struct arena *mem, struct str known, struct str path)
{
	struct str rest = str_skip(path, path_shared(known, path)), name;
	char target[1];

	if (!known.n || known.p[0] != '/' || str_ends(path, STR("/")) || !path.n ||
	    memchr(path.p, '\0', path.n))
		return path_real(mem, path);
	if (rest.n && rest.p[0] == '/')
		rest = str_skip(rest, 1);
	while (rest.n && str_next(&rest, '/', &name)) {
		struct str head = { path.p, (size_t)(name.p + name.n - path.p) };

		if (!name.n || str_is(name, ".") || str_is(name, "..") ||
		    readlink(arena_cstr(mem, head), target, sizeof target) >= 0)
			return path_real(mem, path);
		if (errno != EINVAL)
			return STR_NONE;
	}
	return arena_copy(mem, path);
}

bool path_home_known(void)
{
	const char *home = getenv("HOME");

	return home && *home == '/';
}

struct str path_home(void)
{
	return path_home_known() ? str_of(getenv("HOME")) : STR("/");
}

bool path_is_link(struct arena *mem, struct str path)
{
	struct stat st;

	return lstat(arena_cstr(mem, path), &st) == 0 && S_ISLNK(st.st_mode);
}

struct str path_unused(struct arena *mem, struct str path, const char *kind)
{
	enum { DIGITS = 12 };
	struct str digits, to;
	struct stat st;

	do {
		digits = id_random(mem, DIGITS);
		to = arena_fmt(mem, STR_FMT ".%s-" STR_FMT, STR_ARG(path), kind, STR_ARG(digits));
	} while (!lstat(to.p, &st));
	return to;
}

/*
 * Resolves name by name, as the kernel does, but continues after a missing name. So a link whose
 * target does not exist yet resolves to its target.
 */
struct str path_real_part(struct arena *mem, struct str path)
{
	enum { MOST_LINKS = 40, MOST_BYTES = 4096 };
	struct str known = path_real(mem, path), rest = path, name;
	struct buf real = { .mem = mem };
	char target[MOST_BYTES];
	int links = 0;

	if (known.p)
		return known;
	while (rest.n && str_next(&rest, '/', &name)) {
		size_t before = real.n;
		ssize_t n;

		buf_room(&real, name.n + 1);
		real.n = path_append(real.p, real.n, name);
		n = real.n > before ? readlink(buf_str(&real).p, target, sizeof target) : -1;
		if (n < 0)
			continue;
		if (++links > MOST_LINKS)
			return path;
		real.n = target[0] == '/' ? 0 : before;
		rest = path_join(mem, (struct str){ target, (size_t)n }, rest);
	}
	return real.n ? buf_str(&real) : STR("/");
}

struct str path_state(struct arena *mem)
{
	const char *xdg = getenv("XDG_STATE_HOME");

	if (xdg && *xdg == '/')
		return str_of(xdg);
	return path_home_known() ? path_join(mem, path_home(), STR(".local/state")) : STR_NONE;
}

struct str path_data(struct arena *mem)
{
	const char *xdg = getenv("XDG_DATA_HOME");

	return xdg && *xdg == '/' ? str_of(xdg) : path_join(mem, path_home(), STR(".local/share"));
}
