#include "machines/registrations.h"

#include "base/text/value.h"
#include "machines/log.h"

static int registration_cmp(const struct registration *a, const struct registration *b)
{
	if (a->created_ms != b->created_ms)
		return a->created_ms < b->created_ms ? -1 : 1;
	return str_cmp(a->machine, b->machine);
}

/* Searches for the name that a registration has now: its machine may use that already. */
static struct registration *registrations_find_shown(const struct registrations *r, struct str name,
						     int64_t created_ms)
{
	for (size_t i = 0; i < r->names.count; i++)
		for (struct registration *one = r->names.entry[i].value; one; one = one->next)
			if (one->created_ms == created_ms && str_eq(one->shown, name))
				return one;
	return NULL;
}

static struct registration *registrations_renamed(const struct registrations *r, struct str shown)
{
	for (size_t i = 0; i < r->names.count; i++) {
		struct registration *one = r->names.entry[i].value;

		while ((one = one->next))
			if (str_eq(one->shown, shown))
				return one;
	}
	return NULL;
}

struct str registrations_before(const struct registrations *r, struct str shown)
{
	const struct registration *one = registrations_renamed(r, shown);

	return one ? one->name : STR_NONE;
}

struct registration *registrations_find(const struct registrations *r, struct str name,
					int64_t created_ms)
{
	void **at = map_find(&r->names, name);
	struct registration *one = at ? *at : NULL;

	while (one && one->created_ms != created_ms)
		one = one->next;
	return one ? one : registrations_find_shown(r, name, created_ms);
}

static void registrations_insert(struct registrations *r, struct registration *one)
{
	struct registration **at = (struct registration **)map_put(&r->names, one->name);

	while (*at && registration_cmp(*at, one) < 0)
		at = &(*at)->next;
	one->next = *at;
	*at = one;
}

/* The machine of a registration is the one that its earliest fact names, or else is from. */
static void registrations_add(struct call *c, struct registrations *r, const struct fact *f)
{
	struct str machine = value_str(f->data, "machine");
	struct registration *one;
	int64_t created;

	if (!value_int(f->data, "created", &created) || created <= 0)
		return;
	if (!log_id_valid(machine))
		machine = f->machine;
	one = registrations_find(r, f->subject, created);
	if (!one) {
		one = arena_new(&c->mem, struct registration);
		*one = (struct registration){ .name = f->subject,
					      .machine = machine,
					      .created_ms = created,
					      .last = *f,
					      .at = f->at };
		registrations_insert(r, one);
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

static void registrations_show(struct call *c, struct registration *one)
{
	one->shown = one->name;
	for (one = one->next; one; one = one->next)
		one->shown =
			arena_fmt(&c->mem, STR_FMT "-%.4s", STR_ARG(one->name), one->machine.p);
}

/* An agent that was changed after it was renamed has facts under both names. */
static void registrations_unite(const struct registrations *r, struct registration *one)
{
	struct registration *first = registrations_renamed(r, one->name);

	if (!first || first->created_ms != one->created_ms)
		return;
	if (fact_cmp(&one->last, &first->last) > 0)
		first->last = one->last;
	one->last = first->last;
	one->machine = first->machine;
	one->at = first->at;
}

enum err registrations_read(struct call *c, struct machine_db *db, struct registrations *out)
{
	struct fact_filter filter = { .kind = STR("agent.registered") };
	struct fact_row *row;
	enum err e = fact_row_each(c, db, &filter, &row);

	*out = (struct registrations){ .names.mem = &c->mem };
	for (; !e && row; row = row->next) {
		struct fact f;

		if (fact_parse(&c->mem, row->machine, row->line, &f) == FACT_KNOWN)
			registrations_add(c, out, &f);
	}
	for (size_t i = 0; i < out->names.count; i++)
		registrations_show(c, out->names.entry[i].value);
	for (size_t i = 0; i < out->names.count; i++)
		registrations_unite(out, out->names.entry[i].value);
	return e;
}

struct str registrations_name(const struct registrations *r, struct str machine, struct str name,
			      int64_t created_ms)
{
	void **at = map_find(&r->names, name);
	const struct registration *one =
		created_ms ? registrations_find(r, name, created_ms) : NULL;

	if (one)
		return one->shown;
	for (one = at ? *at : NULL; one; one = one->next)
		if (str_eq(one->machine, machine))
			return one->shown;
	return name;
}
