#include "machines/registrations.h"

#include <stdlib.h>

#include "base/moment.h"
#include "base/text/value.h"
#include "machines/log.h"

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

struct str registrations_before(const struct registrations *r, struct str shown)
{
	const struct registration *one = registrations_at(&r->renamed, shown);

	return one ? one->name : STR_NONE;
}

/* The machine may know the agent by its first name, or by the one that it was given later. */
struct registration *registrations_find(const struct registrations *r, struct str name,
					int64_t created_ms)
{
	struct str key = registration_key(r, created_ms, name);
	struct registration *one = registrations_at(&r->made, key);

	return one ? one : registrations_at(&r->shown, key);
}

/* The earliest fact of a registration names its machine; if not, it is the machine of that fact. */
static void registrations_add(struct call *c, struct registrations *r, const struct fact *f)
{
	struct str machine = value_str(f->data, "machine");
	struct registration *one, **first;
	int64_t created;

	if (!value_int(f->data, "created", &created) || created <= 0 || created > MOMENT_LAST)
		return;
	if (!log_id_valid(machine))
		machine = f->machine;
	one = registrations_find(r, f->subject, created);
	if (!one) {
		first = (struct registration **)map_put(&r->names, f->subject);
		one = arena_new(&c->mem, struct registration);
		*one = (struct registration){ .name = f->subject,
					      .machine = machine,
					      .created_ms = created,
					      .last = *f,
					      .at = f->at,
					      .next = *first };
		*first = one;
		registrations_index(&r->made, registration_key(r, created, one->name), one);
		return;
	}
	if (stamp_cmp(f->at, one->at) < 0 ||
	    (!stamp_cmp(f->at, one->at) && str_cmp(machine, one->machine) < 0)) {
		one->at = f->at;
		one->machine = machine;
	}
	if (fact_cmp(f, &one->last) > 0)
		one->last = *f;
}

/* No two registrations of one name were made at the same time: they would be the same one. */
static int registration_cmp(const void *a, const void *b)
{
	int64_t x = (*(struct registration *const *)a)->created_ms,
		y = (*(struct registration *const *)b)->created_ms;

	return x < y ? -1 : x > y;
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
	while ((one = one->next)) {
		one->shown =
			arena_fmt(&c->mem, STR_FMT "-%.4s", STR_ARG(one->name), one->machine.p);
		registrations_index(&r->shown, registration_key(r, one->created_ms, one->shown),
				    one);
		registrations_index(&r->renamed, one->shown, one);
	}
}

/* An agent that was changed after it was renamed has facts under both names. */
static void registrations_unite(const struct registrations *r, struct registration *one)
{
	struct registration *first = registrations_at(&r->renamed, one->name);

	if (!first || first->created_ms != one->created_ms)
		return;
	if (fact_cmp(&one->last, &first->last) > 0)
		first->last = one->last;
	one->last = first->last;
	one->machine = first->machine;
	one->at = first->at;
}

static void registrations_settle(struct call *c, struct registrations *r)
{
	for (size_t i = 0; i < r->names.count; i++) {
		struct registration **list = (struct registration **)&r->names.entry[i].value;

		registrations_sort(c, list);
		registrations_show(c, r, *list);
	}
	for (size_t i = 0; i < r->names.count; i++)
		registrations_unite(r, r->names.entry[i].value);
	for (size_t i = 0; i < r->names.count; i++)
		for (struct registration *one = r->names.entry[i].value; one; one = one->next)
			registrations_index(
				&r->own, registration_of_machine(r, one->machine, one->name), one);
}

enum err registrations_read(struct call *c, struct machine_db *db, struct registrations *out)
{
	struct fact_filter filter = { .kind = STR("agent.registered") };
	struct map none = { .mem = &c->mem };
	struct fact_row *row;
	enum err e = fact_row_each(c, db, &filter, &row);

	*out = (struct registrations){ none, none, none, none, none };
	for (; !e && row; row = row->next) {
		struct fact f;

		if (fact_parse(&c->mem, row->machine, row->line, &f) == FACT_KNOWN)
			registrations_add(c, out, &f);
	}
	registrations_settle(c, out);
	return e;
}

struct str registrations_name(const struct registrations *r, struct str machine, struct str name,
			      int64_t created_ms)
{
	const struct registration *one =
		created_ms ? registrations_find(r, name, created_ms) : NULL;

	if (!one)
		one = registrations_at(&r->own, registration_of_machine(r, machine, name));
	return one ? one->shown : name;
}
