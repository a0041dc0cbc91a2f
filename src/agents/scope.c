#include "agents/scope.h"

#include "base/path.h"
#include "base/utf8.h"

static const char *const words[] = {
	[OVERLAP_DISJOINT] = "disjoint",
	[OVERLAP_PARTIAL] = "partial",
	[OVERLAP_EXACT] = "exact",
};
const struct names overlaps = { words, sizeof words / sizeof *words, NULL };

/* A star or two as the last name stand for all that is in the folder. */
static struct str without_stars(struct str text)
{
	struct str name = path_name(text);

	if (!str_is(name, "*") && !str_is(name, "**"))
		return text;
	text = str_head(text, text.n - name.n);
	return text.n ? text : STR(".");
}

static enum err refuse(struct call *c, struct str text, const char *why)
{
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' %s", STR_ARG(text), why);
	return call_step(c, "Name a file or a folder of the project, such as src/lib, "
			    "src/lib/* or README.md; / is all of it.");
}

enum err scope_normalise(struct call *c, struct str root, struct str text,
			 struct str *out)
{
	struct str bare = without_stars(text), path;

	if (!text.n || !utf8_valid(text) || utf8_has_control(text))
		return refuse(c, text, "cannot be a scope");
	if (memchr(bare.p, '*', bare.n))
		return refuse(c, text, "has a star that is not at its end");
	if (str_is(bare, "/")) {
		*out = STR("");
		return ERR_OK;
	}
	path = path_resolve(&c->mem, root, bare);
	if (!path_within(root, path))
		return refuse(c, text, "is outside of the project");
	path = str_skip(path, root.n < path.n ? root.n : path.n);
	*out = path.n && path.p[0] == '/' ? str_skip(path, 1) : path;
	return ERR_OK;
}

/* Is `b` in the folder `a`? */
static bool holds(struct str a, struct str b)
{
	return !a.n || (b.n > a.n && b.p[a.n] == '/' && str_starts(b, a));
}

enum overlap scope_overlap(struct str a, struct str b)
{
	if (str_eq(a, b))
		return OVERLAP_EXACT;
	return holds(a, b) || holds(b, a) ? OVERLAP_PARTIAL : OVERLAP_DISJOINT;
}
