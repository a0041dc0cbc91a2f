#include "machines/registrations.h"

#include <stdlib.h>

#include "base/moment.h"
#include "base/text/value.h"

/*
 * Anybody who can push may register any number of names, any number of times. So every question is
 * answered by one lookup in a map, and no list is walked for each of its items.
 */

static struct str registration_key(const struct registrations *r, int64_t number, struct str name)
{
	return arena_fmt(r->names.mem, "%lld " STR_FMT, (long long)number, STR_ARG(name));
}

static struct str registration_of_machine(const struct registrations *r, struct str machine,
					  struct str name)
{
	return arena_fmt(r->names.mem, STR_FMT " " STR_FMT, STR_ARG(machine), STR_ARG(name));
}

static struct registration *registrations_at(const struct map *in, struct str key)
{
	void **at = map_find(in, key);

	return at ? *at : NULL;
}

static void registrations_index(struct map *in, struct str key, struct registration *one)
{
	void **at = map_put(in, key);

	if (!*at)
		*at = one;
}

static void registrations_index_exact(struct registrations *r, struct registration *one,
				      struct str name)
{
	struct str key = registration_key(r, one->created_ms, name);

	registrations_index(&r->exact, registration_of_machine(r, one->machine, key), one);
}

struct str registrations_before(const struct registrations *r, struct str shown)
{
	const struct registration *one = registrations_at(&r->renamed, shown);

	return one ? one->name : STR_NONE;
}

/* The machine may know the agent by its first name, or by the one that it was given later. */
struct registration *registrations_find(const struct registrations *r, struct str machine,
					struct str name, int64_t created_ms)
{
	struct str key = registration_key(r, created_ms, name);
	struct registration *one;

	if (machine.p)
		return registrations_at(&r->exact, registration_of_machine(r, machine, key));
	one = registrations_at(&r->made, key);
	return one ? one : registrations_at(&r->shown, key);
}

static void registrations_add(struct call *c, struct registrations *r, struct fact *f,
			      int64_t created_ms)
{
	struct registration *one = registrations_find(r, f->machine, f->subject, created_ms);

	if (!one) {
		void **first = map_put(&r->names, f->subject);

		one = arena_new(&c->mem, struct registration);
		*one = (struct registration){ .name = f->subject,
					      .machine = f->machine,
					      .created_ms = created_ms,
					      .next = *first };
		*first = one;
		registrations_index_exact(r, one, one->name);
	}
	f->next = one->facts;
	one->facts = f;
}

/* If two machines registered a name at the same time, any order will do that all machines have. */
static int registration_cmp(const void *a, const void *b)
{
	const struct registration *x = *(struct registration *const *)a,
				  *y = *(struct registration *const *)b;

	if (x->created_ms != y->created_ms)
		return x->created_ms < y->created_ms ? -1 : 1;
	return str_cmp(x->machine, y->machine);
}

static void registrations_sort(struct call *c, struct registration **list)
{
	struct registration **order = NULL;
	size_t count = 0;

	for (struct registration *one = *list; one; one = one->next) {
		order = arena_room(&c->mem, order, count, sizeof *order);
		order[count++] = one;
	}
	qsort(order, count, sizeof *order, registration_cmp);
	for (size_t i = 0; i < count; i++) {
		*list = order[i];
		list = &order[i]->next;
	}
	*list = NULL;
}

static void registrations_show(struct call *c, struct registrations *r, struct registration *one)
{
	one->shown = one->name;
	for (struct registration *each = one; each; each = each->next)
		registrations_index(&r->made, registration_key(r, each->created_ms, each->name),
				    each);
	while ((one = one->next)) {
		one->shown =
			arena_fmt(&c->mem, STR_FMT "-%.4s", STR_ARG(one->name), one->machine.p);
		registrations_index(&r->shown, registration_key(r, one->created_ms, one->shown),
				    one);
		registrations_index(&r->renamed, one->shown, one);
		registrations_index_exact(r, one, one->shown);
	}
}

/* If its facts name each other, none of them is the last. */
static const struct fact *registration_last(struct call *c, const struct registration *one)
{
	const struct fact *last = fact_last(&c->mem, one->facts);

	return last ? last : one->facts;
}

/* An agent that was changed after it was renamed has facts under both names. */
static void registrations_unite(struct call *c, const struct registrations *r,
				struct registration *one)
{
	struct registration *first = registrations_at(&r->renamed, one->name);
	struct fact **tail;

	if (!first || first->created_ms != one->created_ms || !str_eq(first->machine, one->machine))
		return;
	for (tail = &first->facts; *tail; tail = &(*tail)->next)
		;
	*tail = one->facts;
	one->last = first->last = *registration_last(c, first);
}

/* Another machine's change counts only if the agent's own machine has registered the agent. */
static void registrations_change(struct registrations *r, struct fact *changes)
{
	struct fact *next;

	for (; changes; changes = next) {
		struct registration *one;
		int64_t created = 0;

		next = changes->next;
		value_int(changes->data, "created", &created);
		one = registrations_find(r, value_str(changes->data, "machine"), changes->subject,
					 created);
		if (!one)
			continue;
		changes->next = one->facts;
		one->facts = changes;
	}
}

static void registrations_settle(struct call *c, struct registrations *r, struct fact *changes)
{
	for (size_t i = 0; i < r->names.count; i++) {
		struct registration **list = (struct registration **)&r->names.entry[i].value;

		registrations_sort(c, list);
		registrations_show(c, r, *list);
	}
	registrations_change(r, changes);
	for (size_t i = 0; i < r->names.count; i++)
		for (struct registration *one = r->names.entry[i].value; one; one = one->next)
			one->last = *registration_last(c, one);
	for (size_t i = 0; i < r->names.count; i++)
		registrations_unite(c, r, r->names.entry[i].value);
	for (size_t i = 0; i < r->names.count; i++)
		for (struct registration *one = r->names.entry[i].value; one; one = one->next)
			registrations_index(
				&r->own, registration_of_machine(r, one->machine, one->name), one);
}

enum err registrations_read(struct call *c, struct machine_db *db, struct registrations *out)
{
	struct fact_filter filter = { .kind = STR("agent.registered") };
	struct map none = { .mem = &c->mem };
	struct fact *changes = NULL;
	struct fact_row *row;
	enum err e = fact_row_each(c, db, &filter, &row);

	*out = (struct registrations){ none, none, none, none, none, none };
	for (; !e && row; row = row->next) {
		struct fact *f = arena_new(&c->mem, struct fact);
		struct str machine;
		int64_t created;

		if (fact_parse(&c->mem, row->machine, row->line, f) != FACT_KNOWN ||
		    !value_int(f->data, "created", &created) || created <= 0 ||
		    created > MOMENT_LAST)
			continue;
		machine = value_str(f->data, "machine");
		if (!machine.n || str_eq(machine, f->machine)) {
			registrations_add(c, out, f, created);
		} else {
			f->next = changes;
			changes = f;
		}
	}
	registrations_settle(c, out, changes);
	return e;
}

struct str registrations_name(const struct registrations *r, struct str machine, struct str name)
{
	const struct registration *one =
		registrations_at(&r->own, registration_of_machine(r, machine, name));

	return one ? one->shown : name;
}
