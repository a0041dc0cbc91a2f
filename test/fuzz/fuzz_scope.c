/* Scopes: what was normalised is normal, lies below the root, and overlaps as folders and files
 * do. The input is two paths, and a path in a project. */
#include "agents/scope.h"
#include "base/system/path.h"
#include "fuzz.h"

static bool normalise(struct call *c, struct str text, struct str *out)
{
	struct str again, part, rest;

	if (scope_parse(&c->mem, STR("/project"), text, out) != SCOPE_FINE)
		return false;
	rule(!out->n || (out->p[0] != '/' && out->p[out->n - 1] != '/'),
	     "a scope has no slash at either end");
	for (rest = *out; rest.n && str_next(&rest, '/', &part);)
		rule(part.n && !str_is(part, ".") && !str_is(part, "..") &&
			     !memchr(part.p, '*', part.n),
		     "every part of a scope is a name");
	if (out->n)
		rule(scope_parse(&c->mem, STR("/project"), *out, &again) == SCOPE_FINE &&
			     str_eq(*out, again),
		     "a scope that was normalised stays as it is");
	return true;
}

static void check_two(struct call *c, struct str a, struct str b)
{
	enum overlap overlap = scope_overlap(a, b);
	struct str inside = arena_fmt(&c->mem, STR_FMT "%sx", STR_ARG(a), a.n ? "/" : "");

	rule(overlap == scope_overlap(b, a), "overlap is symmetric");
	rule((overlap == OVERLAP_EXACT) == str_eq(a, b), "the same scope is the same");
	rule(scope_overlap(a, inside) == OVERLAP_PARTIAL, "a file overlaps its folder");
	rule((overlap != OVERLAP_DISJOINT) == (path_within(path_resolve(&c->mem, STR("/r"), a),
							   path_resolve(&c->mem, STR("/r"), b)) ||
					       path_within(path_resolve(&c->mem, STR("/r"), b),
							   path_resolve(&c->mem, STR("/r"), a))),
	     "two scopes overlap if one path is within the other");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size), a, b;
	struct call c = fuzz_call();
	bool both = normalise(&c, fuzz_part(&text), &a) && normalise(&c, fuzz_part(&text), &b);

	if (both)
		check_two(&c, a, b);
	call_release(&c);
	return 0;
}
