#include "agents/guard.h"

#include "agents/reservation_book.h"
#include "base/system/path.h"

/* Where reservations of two agents overlap, the older one counts. This is the lowest epoch of the
 * agent's own reservations around the file; INT64_MAX if it has none. */
static int64_t guard_own_epoch(const struct reservation *r, const struct guard_ask *ask,
			       struct str key, int64_t now_ms)
{
	int64_t first = INT64_MAX;

	for (; r; r = r->next)
		if (ask->agent.p && str_eq(r->agent, ask->agent) && r->expires_ms > now_ms &&
		    r->key.n <= key.n && r->epoch < first)
			first = r->epoch;
	return first;
}

static bool guard_counts(const struct reservation *r, const struct guard_ask *ask, int64_t own,
			 int64_t now_ms)
{
	return r->expires_ms > now_ms && !(ask->agent.p && str_eq(r->agent, ask->agent)) &&
	       r->epoch < own;
}

/* The path as the caller gave it; relative to the project's root if it is below that. */
static struct str guard_asked(struct call *c, const struct agent_files *f,
			      const struct guard_ask *ask, const struct guard_path *p)
{
	struct str key;

	if (!scope_of_path(&c->mem, f->root, ask->tree, path_resolve(&c->mem, f->root, p->path),
			   &key))
		return p->path;
	return key.n ? key : STR("/");
}

/* Another agent's reservation of the path, or of the file that its links lead to; NULL: none. */
static const struct reservation *guard_find_other(struct call *c, const struct agent_files *f,
						  const struct book *book,
						  const struct guard_ask *ask,
						  const struct guard_path *p, struct str *key)
{
	struct str full = path_resolve(&c->mem, f->root, p->path);

	for (int i = 0; i < 1 + p->follow; i++) {
		const struct reservation *r = NULL;
		int64_t own;

		if (scope_of_path(&c->mem, f->root, ask->tree,
				  i ? path_real_part(&c->mem, full) : full, key))
			r = book_overlapping(c, book, *key);
		own = guard_own_epoch(r, ask, *key, c->now_ms);
		while (r && !guard_counts(r, ask, own, c->now_ms))
			r = r->next;
		if (r)
			return r;
	}
	return NULL;
}

static enum err guard_check_epoch(struct call *c, struct agent_files *f,
				  const struct guard_ask *ask, bool *lost)
{
	struct reservation *r = NULL;
	enum err e = ask->agent.p ? reservation_each(c, f, ask->agent, STR_NONE, &r) : ERR_OK;

	while (r && (r->epoch != ask->epoch || r->expires_ms <= c->now_ms))
		r = r->next;
	*lost = !r;
	return e;
}

enum err guard_paths(struct call *c, struct agent_files *f, const struct guard_ask *ask,
		     struct guard_answer *out)
{
	struct guard_finding **tail = &out->denied;
	struct book book;
	struct str key;
	enum err e = book_open(c, f, false, &book);

	*out = (struct guard_answer){ 0 };
	if (e || (ask->epoch && (e = guard_check_epoch(c, f, ask, &out->lost))))
		return e;
	for (const struct guard_path *p = ask->paths; p; p = p->next) {
		const struct reservation *r = NULL;

		out->checked++;
		if (f->root.p)
			r = guard_find_other(c, f, &book, ask, p, &key);
		if (!r)
			continue;
		*tail = arena_new(&c->mem, struct guard_finding);
		**tail = (struct guard_finding){ .path = key.n ? key : STR("/"),
						 .asked = guard_asked(c, f, ask, p),
						 .held = *r,
						 .owner = reservation_owner(c, f, r) };
		tail = &(*tail)->next;
	}
	return ERR_OK;
}
