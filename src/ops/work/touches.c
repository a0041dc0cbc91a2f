#include "ops/work/touches.h"

#include "agents/scope.h"

/* Appends the normalised scopes to `out`; empty ones are left out. */
static enum err touches_normalise(struct call *c, const struct beads *b, const struct list *scopes,
				  struct str *out, size_t *n)
{
	const struct str *text = scopes->item;
	struct str scope;
	enum err e;

	for (size_t i = 0; i < scopes->n; i++) {
		if (!text[i].n)
			continue;
		if ((e = scope_normalise(c, b->repo.main, text[i], &scope)))
			return e;
		out[(*n)++] = scope.n ? scope : STR("/");
	}
	return ERR_OK;
}

enum err touches_value(struct call *c, struct beads *b, const struct list *scopes, struct str *out)
{
	struct str *scope = arena_array(&c->mem, scopes->n + 1, sizeof *scope);
	size_t n = 0;
	enum err e = touches_normalise(c, b, scopes, scope, &n);

	if (!e && n)
		*out = labels_encode(&c->mem, scope, n);
	return e;
}

static bool touches_listed(const struct str *list, size_t count, struct str scope)
{
	for (size_t i = 0; i < count; i++)
		if (str_eq(list[i], scope))
			return true;
	return false;
}

enum err touches_edit(struct edit *e, const struct touches_body *in)
{
	struct arena *mem = &e->c->mem;
	size_t have, n = 0, removed = 0, kept = 0;
	struct str *now = bead_touches(mem, &e->now, &have);
	struct str *out = arena_array(mem, have + in->set.n + in->add.n + 1, sizeof *out),
		   *remove = arena_array(mem, in->remove.n + 1, sizeof *remove);
	enum err err;

	if (!in->set.item && !in->add.item && !in->remove.item)
		return ERR_OK;
	for (size_t i = 0; !in->set.item && i < have; i++)
		out[n++] = now[i];
	if ((err = touches_normalise(e->c, e->b, &in->set, out, &n)) ||
	    (err = touches_normalise(e->c, e->b, &in->add, out, &n)) ||
	    (err = touches_normalise(e->c, e->b, &in->remove, remove, &removed)))
		return err;
	for (size_t i = 0; i < n; i++)
		if (!touches_listed(remove, removed, out[i]))
			out[kept++] = out[i];
	if (kept > MAX_TOUCHES)
		return call_fail(e->c, ERR_INVALID_INPUT,
				 "a bead touches at most %d scopes, not %zu; name folders instead",
				 MAX_TOUCHES, kept);
	edit_set(e, MEMBER_TOUCHES, labels_encode(mem, out, kept));
	return ERR_OK;
}
