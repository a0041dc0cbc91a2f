#include "machines/apply.h"

#include "agents/registry.h"
#include "base/number.h"

struct str apply_machine(struct applying *k, struct str id)
{
	for (const struct machine_row *r = k->rows; r; r = r->next)
		if (str_eq(r->id, id))
			return identity_shown(k->c, k->rows, k->m->me.self.name, r);
	return STR_NONE;
}

enum err apply_facts(struct applying *k, struct str kind, struct str subject, bool open,
		     struct fact **out)
{
	struct fact_filter filter = { .kind = kind, .subject = subject, .open = open };
	struct fact_row *row;
	enum err e = fact_row_each(k->c, &k->m->db, &filter, &row);

	*out = NULL;
	for (; !e && row; row = row->next) {
		struct fact *f = arena_new(&k->c->mem, struct fact);

		if (fact_parse(&k->c->mem, row->machine, row->line, f) != FACT_KNOWN)
			continue;
		f->done = row->done;
		*out = f;
		out = &f->next;
		*out = NULL;
	}
	return e;
}

const struct fact *apply_last(struct applying *k, struct fact *list, apply_fits *fits)
{
	struct fact *valid = NULL, *next;

	for (; list; list = next) {
		next = list->next;
		if (!fits(k, list))
			continue;
		list->next = valid;
		valid = list;
	}
	return fact_last(&k->c->mem, valid);
}

/* If this machine wrote the value, it is stored already. */
static enum err apply_register_put(struct applying *k, struct str kind, struct str subject,
				   const struct apply_register *of)
{
	const struct fact *last;
	struct fact *all;
	enum err e = apply_facts(k, of->by_kind ? kind : STR_NONE, subject, false, &all);

	if (e || !(last = apply_last(k, all, of->fits)) || str_eq(last->machine, k->m->me.self.id))
		return e;
	return of->put(k, of->arg, last);
}

enum err apply_registers(struct applying *k, const char *kind, const struct apply_register *of)
{
	struct map postponed = { .mem = &k->c->mem };
	struct fact *open;
	enum err e = apply_facts(k, str_of(kind), STR_NONE, true, &open);

	for (; !e && open; open = open->next) {
		size_t known = postponed.count;
		void **at = map_put(&postponed, open->subject);

		if (postponed.count > known) {
			k->postponed = false;
			e = apply_register_put(k, str_of(kind), open->subject, of);
			*at = k->postponed ? k : NULL;
		}
		if (!*at)
			apply_done(k, open);
	}
	return e;
}

/* A value that is remembered but no longer stored was deleted here. */
static enum err apply_is_known(struct applying *k, struct str kind, struct str key, struct str here,
			       bool *out)
{
	struct value_row *v;
	enum err e;

	if (here.p)
		return value_row_find(k->c, &k->m->db, kind, key, here, out);
	if ((e = value_row_each(k->c, &k->m->db, kind, &v)))
		return e;
	while (v && !str_eq(v->key, key))
		v = v->next;
	*out = !v;
	return ERR_OK;
}

enum err apply_know(struct applying *k, const char *kind, struct str key, struct str here,
		    struct str value)
{
	struct str of = str_of(kind);
	bool known;
	enum err e = apply_is_known(k, of, key, here, &known);

	k->postponed = !e && !known;
	if (e || k->postponed)
		return e;
	if ((e = value_row_drop(k->c, &k->m->db, of, key)) || !value.p)
		return e;
	return value_row_put(k->c, &k->m->db, of, key, value);
}

enum err apply_has_open(struct applying *k, const char *kind, bool *out)
{
	struct fact_filter filter = { .kind = str_of(kind), .open = true, .limit = 1 };
	struct fact_row *row;
	enum err e = fact_row_each(k->c, &k->m->db, &filter, &row);

	*out = row;
	return e;
}

void apply_done(struct applying *k, const struct fact *f)
{
	struct str key = fact_global(&k->c->mem, f->machine, f->seq);
	struct fact_row *row = arena_new(&k->c->mem, struct fact_row);

	if (map_find(&k->done, key))
		return;
	*row = (struct fact_row){ .machine = f->machine, .seq = f->seq };
	*map_put(&k->done, key) = row;
}

/* A warning that would be too long is left for a later round. */
enum err apply_leave_out(struct applying *k, struct str place, const char *what, struct str machine,
			 struct str key)
{
	enum { WARNING_MOST = 2000 };
	struct str kind = STR("left out"), name, before = k->m->left_out;
	bool said;
	enum err e = value_row_find(k->c, &k->m->db, kind, machine, key, &said);

	if (e || said || before.n > WARNING_MOST)
		return e;
	name = apply_machine(k, machine);
	k->m->left_out =
		arena_fmt(&k->round->mem,
			  STR_FMT "%s" STR_FMT " has no room for more %s from the machine '" STR_FMT
				  "': they are left out",
			  STR_ARG(before), before.n ? "; " : "", STR_ARG(place), what,
			  STR_ARG(name.p ? name : machine));
	return value_row_put(k->c, &k->m->db, kind, machine, key);
}

static enum err apply_settle(struct applying *k)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < k->done.count; i++) {
		const struct fact_row *row = k->done.entry[i].value;

		e = fact_row_done(k->c, &k->m->db, row->machine, row->seq);
	}
	k->applied = (int64_t)k->done.count;
	return e;
}

static enum err apply_to_agents(struct applying *k)
{
	enum err e = agent_files_open(k->c, AGENTS_WRITE, &k->files);

	if (e)
		return e;
	if (!(e = agent_files_begin(k->c, &k->files)) &&
	    !(e = registry_read_history(k->round, &k->files, &k->history)) &&
	    !(e = apply_names(k)) && !(e = apply_registry(k)) && !(e = apply_mail(k)) &&
	    !(e = apply_events(k)))
		e = apply_reservations(k);
	agent_files_close(&k->files);
	return e;
}

enum err apply_place(struct call *c, struct machines *m, struct str source, int64_t *out)
{
	struct str text;
	enum err e = place_row_find(c, &m->db, source, &text);

	*out = 0;
	if (!e && text.p)
		number_int(text, out);
	return e;
}

/* All other facts are joined in the first pass. */
static enum err apply_all(struct applying *k)
{
	struct call *c = k->c;
	int64_t aliased;
	enum err e = apply_place(c, k->m, STR("aliased"), &aliased);

	if (e)
		return e;
	k->renamed = aliased;
	if ((e = apply_to_agents(k)) || (e = apply_board(k)) || (e = apply_vybe(k)))
		return e;
	return aliased ? place_row_put(c, &k->m->db, STR("aliased"), STR("0")) : ERR_OK;
}

static enum err apply_more(struct applying *k)
{
	enum err e = agent_files_open(k->c, AGENTS_WRITE, &k->files);

	if (e)
		return e;
	if (!(e = agent_files_begin(k->c, &k->files)) && !(e = apply_registry_next(k)))
		e = apply_mail_next(k);
	agent_files_close(&k->files);
	return e;
}

/*
 * Is there anything to do: new facts, new local reservations, or the end of a reservation that
 * contests another? If the clock was set back, reservations that had ended are valid again.
 */
static enum err apply_is_due(struct call *c, struct machines *m, bool *out)
{
	struct fact_filter open = { .open = true, .limit = 1 };
	struct fact_row *any;
	int64_t until, judged, aliased;
	enum err e = fact_row_each(c, &m->db, &open, &any);

	if (e || (e = apply_place(c, m, STR("contested until"), &until)) ||
	    (e = apply_place(c, m, STR("reservations at"), &judged)) ||
	    (e = apply_place(c, m, STR("aliased"), &aliased)))
		return e;
	m->reserved = m->reserved || (until && until <= c->now_ms) || c->now_ms < judged;
	*out = any || m->reserved || aliased;
	return ERR_OK;
}

/*
 * If the process dies in this transaction, some facts are in the stores already. They are joined
 * again, with the same result.
 */
static enum err apply_pass(struct applying *k, bool first)
{
	enum err e = machine_db_begin(k->c, &k->m->db);

	if (e)
		return e;
	if ((e = first ? apply_all(k) : apply_more(k)) || (e = apply_settle(k)) ||
	    (e = machine_db_commit(k->c, &k->m->db)))
		machine_db_rollback(&k->m->db);
	return e;
}

/* The memory of a pass is freed after it. */
static enum err apply_part(struct applying *k, bool first)
{
	struct call part = call_part(k->round);
	struct map none = { .mem = &part.mem };

	k->c = &part;
	k->done = k->again = none;
	return call_part_end(k->round, &part, apply_pass(k, first));
}

/* Between two passes, commands that wait for the lock of the agents' files get it. */
enum err machines_apply(struct call *c, struct machines *m, int64_t *applied)
{
	struct applying k = { .round = c, .m = m, .changed.mem = &c->mem };
	bool due, first = true;
	enum err e = apply_is_due(c, m, &due);

	*applied = 0;
	if (e || !due || (e = machine_row_each(c, &m->db, &k.rows)) ||
	    (e = registrations_read(c, &m->db, &k.agents)))
		return e;
	for (; !e && (first || k.roster.next < k.roster.count || k.mail.next < k.mail.count);
	     first = false)
		if (!(e = apply_part(&k, first)))
			*applied += k.applied;
	return e;
}
