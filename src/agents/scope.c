#include "agents/scope.h"

#include "base/system/path.h"
#include "base/text/utf8.h"
#include "store/place.h"

const struct names overlaps = NAMES_OF([OVERLAP_DISJOINT] = "disjoint",
				       [OVERLAP_PARTIAL] = "partial", [OVERLAP_EXACT] = "exact");

/* "*" and "**" as the last name stand for the content of the folder. */
static struct str without_stars(struct str text)
{
	struct str name = path_name(text);

	if (!str_is(name, "*") && !str_is(name, "**"))
		return text;
	text = str_head(text, text.n - name.n);
	return text.n > 1 ? str_head(text, text.n - 1) : text.n ? text : STR(".");
}

/* Whether the path has no empty name, and none that begins with a dot: it is normalised then. */
static bool scope_plain(struct str path)
{
	size_t start = 0;

	for (size_t i = 0; i <= path.n; i++) {
		if (i < path.n && path.p[i] != '/')
			continue;
		if (i == start || path.p[start] == '.')
			return false;
		start = i + 1;
	}
	return true;
}

/* Windows separates names with backslashes. */
static struct str with_slashes(struct arena *mem, struct str text)
{
	char *copy;

	if (!text.n || !memchr(text.p, '\\', text.n))
		return text;
	copy = arena_alloc(mem, text.n);
	for (size_t i = 0; i < text.n; i++)
		copy[i] = text.p[i] == '\\' ? '/' : text.p[i];
	return (struct str){ copy, text.n };
}

enum scope_fault scope_parse(struct arena *mem, struct str root, struct str text, struct str *out)
{
	struct str bare = without_stars(with_slashes(mem, text)), path;

	if (!text.n || !utf8_valid(text) || utf8_has_control(text))
		return SCOPE_NO_TEXT;
	if (memchr(bare.p, '*', bare.n))
		return SCOPE_STAR;
	*out = bare;
	if (scope_plain(bare))
		return SCOPE_FINE;
	*out = STR("");
	if (str_is(bare, "/"))
		return SCOPE_FINE;
	path = path_resolve(mem, root, bare);
	if (!path_within(root, path))
		return SCOPE_OUTSIDE;
	path = str_skip(path, root.n < path.n ? root.n : path.n);
	*out = path.n && path.p[0] == '/' ? str_skip(path, 1) : path;
	return SCOPE_FINE;
}

static struct str from_root(struct str root, struct str path)
{
	path = str_skip(path, root.n);
	return path.n && path.p[0] == '/' ? str_skip(path, 1) : path;
}

bool scope_of_path(struct arena *mem, struct str root, struct str tree, struct str path,
		   struct str *out)
{
	struct str full = path_resolve(mem, root, path), real;

	for (int i = 0; i < 2; i++) {
		struct str top = i ? root : tree;

		if (path_within(top, full)) {
			*out = from_root(top, full);
			return true;
		}
	}
	real = path_real_part(mem, full);
	if (str_eq(real, full))
		return false;
	return scope_of_path(mem, root, tree, real, out);
}

/* An absolute path may pass through a link, or lie in another worktree, which may itself lie in the
 * main one. */
static bool is_whole_path(struct call *c, struct str root, struct str text, struct str *out)
{
	struct str tree, path = without_stars(with_slashes(&c->mem, text));
	bool found = path.n > 1 && path.p[0] == '/' && !place_tree(c, root, &tree) &&
		     scope_of_path(&c->mem, root, tree, path, out);

	call_forgive(c);
	return found;
}

enum err scope_normalise(struct call *c, struct str root, struct str text, struct str *out)
{
	static const char *const why[] = {
		[SCOPE_NO_TEXT] = "cannot be a scope",
		[SCOPE_STAR] = "has a '*' that is not its whole last part",
		[SCOPE_OUTSIDE] = "is outside the project",
	};
	enum scope_fault fault = scope_parse(&c->mem, root, text, out);

	if ((fault == SCOPE_FINE || fault == SCOPE_OUTSIDE) && is_whole_path(c, root, text, out))
		return ERR_OK;
	if (fault == SCOPE_FINE)
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' %s", STR_ARG(text), why[fault]);
	return call_step(c, "Name a file or a folder of the project, such as src/lib, src/lib/* or "
			    "README.md; / is all of it.");
}

/* Whether `b` is in the folder `a`. */
static bool scope_holds(struct str a, struct str b)
{
	return !a.n || (b.n > a.n && b.p[a.n] == '/' && str_starts(b, a));
}

enum overlap scope_overlap(struct str a, struct str b)
{
	if (str_eq(a, b))
		return OVERLAP_EXACT;
	return scope_holds(a, b) || scope_holds(b, a) ? OVERLAP_PARTIAL : OVERLAP_DISJOINT;
}
