#include "agents/guard.h"

#include "base/path.h"

/* After the symbolic links of what is there of it; the rest is text. */
static struct str real_path(struct arena *mem, struct str path)
{
	struct str dir = path, real = path_real(mem, path);

	while (!real.p && dir.n > 1) {
		dir = path_parent(dir);
		real = path_real(mem, dir);
	}
	if (!real.p)
		return path;
	return path_resolve(mem, real,
			    str_skip(path, dir.n < path.n ? dir.n + (dir.n > 1) : dir.n));
}

static struct str from_root(struct str root, struct str path)
{
	path = str_skip(path, root.n);
	return path.n && path.p[0] == '/' ? str_skip(path, 1) : path;
}

/*
 * A file as scopes are compared: from the root, the same in every worktree. False: it
 * lies outside of the project, where nobody can reserve anything.
 */
static bool key_of(struct arena *mem, struct str root, struct str tree, struct str path,
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
	real = real_path(mem, full);
	if (str_eq(real, full))
		return false;
	return key_of(mem, root, tree, real, out);
}

static bool counts(const struct reservation *r, const struct guard_ask *ask,
		   const struct guard_path *p, int64_t now_ms)
{
	return r->expires_ms > now_ms &&
	       !(ask->agent.p && str_eq(r->agent, ask->agent)) &&
	       (!p->at_ms || r->created_ms <= p->at_ms);
}

static enum err check_epoch(struct call *c, struct agent_files *f,
			    const struct guard_ask *ask, bool *lost)
{
	struct reservation *r = NULL;
	enum err e = ask->agent.p ?
			     reservation_each(c, f, ask->agent, (struct str){ 0 }, &r) :
			     ERR_OK;

	while (r && (r->epoch != ask->epoch || r->expires_ms <= c->now_ms))
		r = r->next;
	*lost = !r;
	return e;
}

enum err guard_paths(struct call *c, struct agent_files *f, const struct guard_ask *ask,
		     struct guard_answer *out)
{
	struct guard_finding **tail = &out->denied;
	struct book *book;
	struct str key;
	enum err e = reservation_open(c, f, &book);

	*out = (struct guard_answer){ 0 };
	if (e || (ask->epoch && (e = check_epoch(c, f, ask, &out->lost))))
		return e;
	for (const struct guard_path *p = ask->paths; p; p = p->next) {
		const struct reservation *r = NULL;

		out->checked++;
		if (f->root.p && key_of(&c->mem, f->root, ask->tree, p->path, &key))
			r = reservation_overlapping(c, book, key);
		while (r && !counts(r, ask, p, c->now_ms))
			r = r->next;
		if (!r)
			continue;
		*tail = arena_new(&c->mem, struct guard_finding);
		**tail = (struct guard_finding){ .path = key.n ? key : STR("/"),
						 .held = *r,
						 .owner = reservation_owner(c, f, r) };
		tail = &(*tail)->next;
	}
	return ERR_OK;
}
