/* The names in a plan, and its beads as a change. */
#include "base/map.h"
#include "beads/find.h"
#include "beads/plan/plan_parts.h"

struct plan_names {
	struct call *c;
	struct beads *b;
	struct map titles, refs; /* by lower-case title, or number: struct plan_bead */
	struct map twice;        /* by lower-case title: the second bead with that title */
};

static void plan_learn(struct plan_names *n, const struct bead_plan *plan)
{
	n->titles.mem = n->refs.mem = n->twice.mem = &n->c->mem;
	for (struct plan_bead *b = plan->first; b; b = b->next) {
		struct str title = plan_lower(n->c, b->draft.text[MEMBER_TITLE]);
		void **at = map_put(&n->titles, title);

		if (*at && !map_find(&n->twice, title))
			*map_put(&n->twice, title) = b;
		*at = *at ? *at : b;
		if (b->ref.p)
			*map_put(&n->refs, b->ref) = b;
	}
}

static struct plan_bead *plan_find_here(const struct plan_names *n, struct str name)
{
	void **at = map_find(&n->titles, plan_lower(n->c, name));

	at = at ? at : map_find(&n->refs, name);
	return at ? *at : NULL;
}

static enum err plan_ambiguous(struct plan_names *n, const struct plan_need *need,
			       const struct plan_bead *one, const struct plan_bead *other)
{
	call_fail(n->c, ERR_AMBIGUOUS_ID, "'" STR_FMT "' is the title of line %zu and of line %zu",
		  STR_ARG(need->name), one->line, other->line);
	return call_step(n->c, "Give the beads of the plan different titles.");
}

static enum err plan_unknown(struct plan_names *n, const struct plan_need *need)
{
	call_fail(n->c, ERR_NOT_FOUND,
		  "there is no title '" STR_FMT "' in this file, and no bead with that id",
		  STR_ARG(need->name));
	return call_step(n->c, "Write the title of another bead of the file, or a bead's id; "
			       "'bd list' shows ids.");
}

/* A title of the file, a number of a task list, or the id of a bead of the store. */
static enum err plan_resolve(struct plan_names *n, struct plan_need *need)
{
	struct bead_row *row;
	void **other;
	enum err e;

	if (need->bead)
		return ERR_OK;
	need->bead = plan_find_here(n, need->name);
	if (need->bead) {
		other = map_find(&n->twice, plan_lower(n->c, need->name));
		return other ? plan_ambiguous(n, need, need->bead, *other) : ERR_OK;
	}
	if (!bead_id_starts(need->name))
		return plan_unknown(n, need);
	if ((e = find_bead(n->c, n->b, need->name, &row)) == ERR_NOT_FOUND) {
		call_forgive(n->c);
		return plan_unknown(n, need);
	}
	if (!e)
		need->name = row->id;
	return e;
}

/* "needs: A, B" names two beads, unless there is a bead with that very title. */
static enum err plan_split(struct plan_names *n, struct bead_plan *plan, struct plan_bead *b)
{
	struct plan_need *all = b->needs, *next;
	enum err e = ERR_OK;

	b->needs = NULL;
	for (; !e && all; all = next) {
		bool names = !all->kind.p && !plan_find_here(n, all->name);
		struct str rest = all->name, name;

		next = all->next;
		if (!all->kind.p)
			all->kind = str_of(names_word(&edge_kinds, EDGE_BLOCKS));
		plan->needs--;
		if (!names)
			plan_need(n->c, plan, b, *all);
		while (names && !e && str_next(&rest, ',', &name)) {
			if (!(all->name = str_trim(name)).n)
				continue;
			plan_need(n->c, plan, b, *all);
			e = plan_located(n->c, all->line, plan_check_size(n->c, plan));
		}
	}
	return e;
}

static bool plan_is_above(const struct plan_bead *above, const struct plan_bead *b)
{
	for (b = b->parent; b; b = b->parent)
		if (b == above)
			return true;
	return false;
}

/* A bead can't wait for itself, or for a bead that is complete only after it. */
static enum err plan_check_need(struct plan_names *n, const struct plan_bead *b,
				const struct plan_need *need)
{
	if (need->bead == b)
		return call_fail(n->c, ERR_SELF_DEPENDENCY, "'" STR_FMT "' cannot depend on itself",
				 STR_ARG(b->draft.text[MEMBER_TITLE]));
	if (!need->bead || !plan_is_above(need->bead, b) || !edge_is(need->kind, EDGE_BLOCKS))
		return ERR_OK;
	call_fail(n->c, ERR_CYCLE, "'" STR_FMT "' cannot wait for '" STR_FMT "', which is above it",
		  STR_ARG(b->draft.text[MEMBER_TITLE]),
		  STR_ARG(need->bead->draft.text[MEMBER_TITLE]));
	return call_step(n->c, "Remove the name from the line.");
}

static enum err plan_resolve_all(struct plan_names *n, struct bead_plan *plan)
{
	enum err e = ERR_OK;

	for (struct plan_bead *b = plan->first; b; b = b->next) {
		if ((e = plan_split(n, plan, b)))
			return e;
		for (struct plan_need *need = b->needs; need; need = need->next)
			if ((e = plan_resolve(n, need)) || (e = plan_check_need(n, b, need)))
				return plan_located(n->c, need->line, e);
	}
	return e;
}

/* --- cycles --- */

enum { PLAN_NEW, PLAN_OPEN, PLAN_DONE };

/* A bead on the way of the search, and the need that is followed next. */
struct plan_step {
	struct plan_bead *bead;
	const struct plan_need *need;
};

static enum err plan_refuse_cycle(struct call *c, const struct plan_step *at)
{
	call_fail(c, ERR_CYCLE, "'" STR_FMT "' would wait for '" STR_FMT "', which waits for it",
		  STR_ARG(at->bead->draft.text[MEMBER_TITLE]),
		  STR_ARG(at->need->bead->draft.text[MEMBER_TITLE]));
	call_step(c, "Remove one of the names from the plan.");
	return plan_located(c, at->need->line, c->code);
}

/* Follows the needs of one bead, without recursion: a plan may be a chain of any length. */
static enum err plan_walk(struct call *c, struct plan_step *way, struct plan_bead *from)
{
	size_t depth = 0;

	way[depth++] = (struct plan_step){ from, from->needs };
	from->visit = PLAN_OPEN;
	while (depth) {
		struct plan_step *at = &way[depth - 1];
		struct plan_bead *to;

		if (!at->need) {
			at->bead->visit = PLAN_DONE;
			depth--;
			continue;
		}
		to = edge_is(at->need->kind, EDGE_BLOCKS) ? at->need->bead : NULL;
		if (to && to->visit == PLAN_OPEN)
			return plan_refuse_cycle(c, at);
		at->need = at->need->next;
		if (to && to->visit == PLAN_NEW) {
			to->visit = PLAN_OPEN;
			way[depth++] = (struct plan_step){ to, to->needs };
		}
	}
	return ERR_OK;
}

static enum err plan_check_cycles(struct call *c, struct bead_plan *plan)
{
	struct plan_step *way = arena_array(&c->mem, plan->count + 1, sizeof *way);
	enum err e = ERR_OK;

	for (struct plan_bead *b = plan->first; !e && b; b = b->next)
		if (b->visit == PLAN_NEW)
			e = plan_walk(c, way, b);
	return e;
}

/* --- the change --- */

static enum err plan_put_needs(struct call *c, struct beads *b, struct plan_bead *bead,
			       struct str parent, struct state *change)
{
	struct str above = bead->parent ? bead->parent->draft.id : parent;

	if (above.p)
		draft_need(c, &bead->draft, str_of(names_word(&edge_kinds, EDGE_PARENT)), above);
	for (struct plan_need *need = bead->needs; need; need = need->next)
		draft_need(c, &bead->draft, need->kind,
			   need->bead ? need->bead->draft.id : need->name);
	return plan_located(c, bead->line, draft_put_needs(c, b, &bead->draft, change));
}

enum err plan_put(struct call *c, struct beads *b, struct bead_plan *plan, struct str parent,
		  struct state *change)
{
	struct plan_names n = { .c = c, .b = b };
	enum err e;

	plan_learn(&n, plan);
	if ((e = plan_resolve_all(&n, plan)) || (e = plan_check_cycles(c, plan)))
		return e;
	for (struct plan_bead *bead = plan->first; !e && bead; bead = bead->next)
		e = plan_located(c, bead->line, draft_put_bead(c, b, &bead->draft, change));
	for (struct plan_bead *bead = plan->first; !e && bead; bead = bead->next)
		e = plan_put_needs(c, b, bead, parent, change);
	return e;
}
