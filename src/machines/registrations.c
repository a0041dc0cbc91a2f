#include "machines/registrations.h"

#include <stdlib.h>

#include "agents/agent_names.h"
#include "agents/registry.h"
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

struct registration *registrations_renamed(const struct registrations *r, struct str name)
{
	return registrations_at(&r->renamed, name);
}

struct registration *registrations_of_record(const struct registrations *r, struct str name)
{
	return registrations_at(&r->records, name);
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
		one->alias[0] =
			agent_name_of_machine(&c->mem, one->name, one->machine, AGENT_NAME_DIGITS);
		one->alias[1] = agent_name_of_machine(&c->mem, one->name, one->machine,
						      AGENT_NAME_DIGITS_ALL);
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

/* --- names --- */

/*
 * Names are decided in this order, the shortest first. An alias is longer than the name that it is
 * made of, so when a name is decided, it is known whether it was given to an agent as an alias.
 * Aliases of long names are an exception: see registrations_reserve().
 */
static int registrations_cmp_names(const void *a, const void *b)
{
	struct str x = (*(struct map_entry *const *)a)->key,
		   y = (*(struct map_entry *const *)b)->key;

	return x.n != y.n ? (x.n < y.n ? -1 : 1) : str_cmp(x, y);
}

static struct map_entry **registrations_order(struct call *c, const struct registrations *r)
{
	struct map_entry **order = arena_array(&c->mem, r->names.count + 1, sizeof *order);

	for (size_t i = 0; i < r->names.count; i++)
		order[i] = &r->names.entry[i];
	qsort(order, r->names.count, sizeof *order, registrations_cmp_names);
	return order;
}

/*
 * An agent that was changed after it was renamed has facts under both names: they are about one
 * registration, which keeps the facts of both.
 */
static void registrations_unite(struct registrations *r, struct registration *one)
{
	struct registration *first = one->first ? one->first : one;

	for (size_t i = 0; i < 2; i++) {
		struct str key = registration_key(r, one->created_ms, one->alias[i]);
		void **at = map_find(&r->exact, registration_of_machine(r, one->machine, key));
		struct registration *same = at ? *at : NULL;
		struct fact **tail;

		if (!same || same == first || same->first)
			continue;
		same->first = first;
		*at = first;
		for (tail = &same->facts; *tail; tail = &(*tail)->next)
			;
		*tail = first->facts;
		first->facts = same->facts;
		registrations_index(&r->renamed, same->name, first);
		registrations_index(&r->own, registration_of_machine(r, one->machine, same->name),
				    first);
	}
}

static void registrations_drop_united(struct registration **list)
{
	while (*list)
		if ((*list)->first)
			*list = (*list)->next;
		else
			list = &(*list)->next;
}

/*
 * A shortened alias is not longer than its name. So it belongs to its machine from the start, even
 * while the agent has its own name.
 */
static void registrations_reserve(struct registrations *r, struct registration *one)
{
	for (; one; one = one->next)
		for (size_t i = 0; i < 2; i++)
			if (!str_starts(one->alias[i], one->name))
				registrations_index(&r->given, one->alias[i], one);
}

/* No other machine can be given the alias with all digits. */
static void registration_rename(struct registrations *r, struct registration *one)
{
	for (size_t i = 0; i < 2 && !one->shown.p; i++) {
		registrations_index(&r->given, one->alias[i], one);
		registrations_index_exact(r, one, one->alias[i]);
		if (str_eq(registrations_at(&r->given, one->alias[i])->machine, one->machine))
			one->shown = one->alias[i];
	}
	if (!one->shown.p)
		one->shown = one->alias[1];
	registrations_index(&r->shown, registration_key(r, one->created_ms, one->shown), one);
	registrations_index(&r->renamed, one->shown, one);
}

static void registrations_show(struct registrations *r, struct registration *list)
{
	const struct registration *owner = list ? registrations_at(&r->given, list->name) : NULL,
				  *keeps = NULL;

	for (struct registration *one = list; one; one = one->next) {
		registrations_index(&r->made, registration_key(r, one->created_ms, one->name), one);
		if (keeps || (owner && !str_eq(owner->machine, one->machine))) {
			registration_rename(r, one);
			continue;
		}
		keeps = one;
		one->shown = one->name;
	}
}

static void registrations_name_all(struct call *c, struct registrations *r)
{
	struct map_entry **order = registrations_order(c, r);
	size_t count = r->names.count;

	for (size_t i = 0; i < count; i++)
		for (struct registration *one = order[i]->value; one; one = one->next)
			registrations_unite(r, one);
	for (size_t i = 0; i < count; i++) {
		struct registration **list = (struct registration **)&order[i]->value;

		registrations_drop_united(list);
		registrations_sort(c, list);
		registrations_reserve(r, *list);
	}
	for (size_t i = 0; i < count; i++)
		registrations_show(r, order[i]->value);
}

/* A machine may call a renamed agent by any name that the agent has had. */
static void registrations_index_own(struct registrations *r, struct registration *one)
{
	if (!registration_is_renamed(one))
		return;
	registrations_index(&r->own, registration_of_machine(r, one->machine, one->alias[0]), one);
	registrations_index(&r->own, registration_of_machine(r, one->machine, one->shown), one);
}

/* --- fields --- */

/* If its facts replace each other, fact_last() returns none. */
static const struct fact *registration_last(struct call *c, const struct registration *one)
{
	const struct fact *last = fact_last(&c->mem, one->facts);

	return last ? last : one->facts;
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

/* Several registrations of one machine may have the same name now. */
static void registrations_index_record(struct registrations *r, struct registration *one)
{
	void **at = map_put(&r->records, one->shown);

	if (!*at || registration_cmp(&one, at) < 0)
		*at = one;
}

static void registrations_settle(struct call *c, struct registrations *r, struct fact *changes)
{
	registrations_name_all(c, r);
	registrations_change(r, changes);
	for (size_t i = 0; i < r->names.count; i++)
		for (struct registration *one = r->names.entry[i].value; one; one = one->next) {
			one->last = *registration_last(c, one);
			registrations_index_record(r, one);
			registrations_index(
				&r->own, registration_of_machine(r, one->machine, one->name), one);
		}
	for (size_t i = 0; i < r->names.count; i++)
		for (struct registration *one = r->names.entry[i].value; one; one = one->next)
			registrations_index_own(r, one);
}

struct registrations_reading {
	struct call *c;
	struct registrations *out;
	struct fact *changes; /* of agents of other machines */
};

static enum err registrations_see(const struct fact_row *row, struct arena *scratch, void *arg)
{
	static const char *const members[] = { "created", "display", "machine", "role", NULL };
	struct registrations_reading *r = arg;
	struct fact f, *kept;
	struct str machine;
	int64_t created;

	if (fact_parse(scratch, row->machine, row->line, &f) != FACT_KNOWN ||
	    !value_int(f.data, "created", &created) || created <= 0 || created > MOMENT_LAST)
		return ERR_OK;
	machine = value_str(f.data, "machine");
	if (!registry_words_valid(value_str(f.data, "display"), value_str(f.data, "role")))
		return ERR_OK; /* no command registers such an agent */
	kept = fact_keep(&r->c->mem, &f, members);
	if (!machine.n || str_eq(machine, f.machine)) {
		registrations_add(r->c, r->out, kept, created);
	} else {
		kept->next = r->changes;
		r->changes = kept;
	}
	return ERR_OK;
}

enum err registrations_read(struct call *c, struct machine_db *db, struct registrations *out)
{
	struct fact_filter filter = { .kind = STR("agent.registered") };
	struct map none = { .mem = &c->mem };
	struct registrations_reading r = { .c = c, .out = out };
	enum err e;

	*out = (struct registrations){ none, none, none, none, none, none, none, none };
	e = fact_row_visit_each(c, db, &filter, registrations_see, &r);
	registrations_settle(c, out, r.changes);
	return e;
}

struct registration *registrations_own(const struct registrations *r, struct str machine,
				       struct str name)
{
	return registrations_at(&r->own, registration_of_machine(r, machine, name));
}

struct str registrations_name(const struct registrations *r, struct str machine, struct str name)
{
	const struct registration *one = registrations_own(r, machine, name);

	return one ? one->shown : name;
}
