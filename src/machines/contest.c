/*
 * The scopes form a tree: each scope is below those that contain it. A reservation overlaps the
 * reservations of its own scope, of the scopes above it and of the scopes below it, so no pairs are
 * compared.
 */
#include "machines/contest.h"

#include "base/map.h"

/*
 * The earliest contenders of a set, as many as are needed to find the earliest one that contests
 * any other contender. If two agents of one machine are kept, a third is not needed: whatever it
 * contests, one of the two contests too. The same holds for one agent on two machines. So at most
 * two of those kept have the machine of a given contender, and at most two its agent: of five, at
 * least one contests it.
 */
enum { EARLIEST = 5 };

struct earliest {
	const struct contender *one[EARLIEST];
	size_t count;
};

struct contest_scope {
	struct str name; /* the scope with a slash at its end, so that it begins those below */
	struct contest_scope *above; /* the next scope that contains this one; or NULL */
	struct earliest here;        /* of exactly this scope */
	struct earliest within;      /* of this scope and those below */
};

static void earliest_add(struct earliest *e, const struct contender *one)
{
	size_t machine = 0, agent = 0;

	for (size_t i = 0; i < e->count; i++) {
		bool same_machine = str_eq(e->one[i]->machine, one->machine),
		     same_agent = str_eq(e->one[i]->agent, one->agent);

		if (same_machine && same_agent)
			return;
		machine += same_machine;
		agent += same_agent;
	}
	if (e->count < EARLIEST && machine < 2 && agent < 2)
		e->one[e->count++] = one;
}

/* The earlier one of `found`, which may be NULL, and the first of `e` that contests `one`. */
static const struct contender *earliest_find(const struct earliest *e, const struct contender *one,
					     const struct contender *found)
{
	for (size_t i = 0; i < e->count && (!found || e->one[i] < found); i++)
		if (!str_eq(e->one[i]->machine, one->machine) &&
		    !str_eq(e->one[i]->agent, one->agent))
			return e->one[i];
	return found;
}

/* The scope of each contender, in the tree. */
static struct contest_scope **scopes_build(struct arena *mem, const struct contender *list,
					   size_t count)
{
	struct contest_scope **of = arena_array(mem, count + 1, sizeof *of), *last = NULL;
	struct map all = { .mem = mem };
	const struct map_entry **sorted;

	for (size_t i = 0; i < count; i++) {
		struct str scope = list[i].scope,
			   name = scope.n ? arena_fmt(mem, STR_FMT "/", STR_ARG(scope)) : scope;
		void **at = map_put(&all, name);

		if (!*at)
			*at = arena_new(mem, struct contest_scope);
		of[i] = *at;
		of[i]->name = name;
	}
	sorted = map_sorted(&all, mem);
	for (size_t i = 0; i < all.count; i++) {
		struct contest_scope *p = sorted[i]->value;

		while (last && !str_starts(p->name, last->name))
			last = last->above;
		p->above = last;
		last = p;
	}
	return of;
}

void contest_decide(struct arena *mem, struct contender *list, size_t count)
{
	struct contest_scope **of = scopes_build(mem, list, count), *p;

	for (size_t i = 0; i < count; i++) {
		struct contender *one = &list[i];

		one->by = earliest_find(&of[i]->within, one, NULL);
		for (p = of[i]->above; p; p = p->above)
			one->by = earliest_find(&p->here, one, one->by);
		if (one->by)
			continue;
		earliest_add(&of[i]->here, one);
		for (p = of[i]; p; p = p->above)
			earliest_add(&p->within, one);
	}
}
