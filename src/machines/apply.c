#include "machines/apply.h"

#include "agents/registry.h"
#include "base/number.h"
#include "base/text/value.h"
#include "machines/log.h"

struct str apply_machine(struct applying *k, struct str id)
{
	for (const struct machine_row *r = k->rows; r; r = r->next)
		if (str_eq(r->id, id))
			return identity_shown(k->c, k->rows, k->m->me.self.name, r);
	return STR_NONE;
}

struct apply_visiting {
	struct applying *k;
	apply_visit *visit;
	void *arg;
};

static enum err apply_visit_row(const struct fact_row *row, struct arena *scratch, void *arg)
{
	const struct apply_visiting *v = arg;
	struct applying *k = v->k;
	struct call *c = k->c, part;
	struct fact f;
	enum err e;

	if (fact_parse(scratch, row->machine, row->line, &f) != FACT_KNOWN)
		return ERR_OK;
	f.done = row->done;
	part = call_part(c);
	k->c = &part;
	e = v->visit(k, v->arg, &f);
	k->c = c;
	return call_part_end(c, &part, e);
}

enum err apply_each(struct applying *k, const struct fact_filter *filter, apply_visit *visit,
		    void *arg)
{
	struct apply_visiting visiting = { k, visit, arg };

	return fact_row_visit_each(k->c, &k->m->db, filter, apply_visit_row, &visiting);
}

enum err apply_again(struct applying *k, const struct fact *f, apply_visit *visit, void *arg)
{
	struct fact_filter one = { .machine = f->machine, .seq = f->seq };

	return apply_each(k, &one, visit, arg);
}

int64_t apply_time_of(const struct applying *k, int64_t ms)
{
	const int64_t most = k->c->now_ms + LOG_CURRENT_DAYS * INT64_C(86400000);

	return ms > most ? k->c->now_ms : ms;
}

bool apply_time(const struct applying *k, const struct fact *f, const char *member, int64_t *out)
{
	if (!value_int(f->data, member, out) || *out <= 0)
		return false;
	*out = apply_time_of(k, *out);
	return true;
}

/* --- registers --- */

struct apply_lasts {
	apply_fits *fits;
	void *arg;
	struct map machines; /* by machine: struct fact, with the number of its last valid fact */
	struct fact *list;   /* those facts, as they are kept */
};

static enum err apply_last_note(struct applying *k, void *arg, const struct fact *f)
{
	struct apply_lasts *l = arg;
	struct arena *mem = l->machines.mem;
	struct fact *last;
	void **at;

	if (!l->fits(k, l->arg, f))
		return ERR_OK;
	if (!(at = map_find(&l->machines, f->machine))) {
		last = arena_new(mem, struct fact);
		last->machine = arena_copy(mem, f->machine);
		at = map_put(&l->machines, last->machine);
		*at = last;
	}
	last = *at;
	if (last->seq < f->seq)
		last->seq = f->seq;
	return ERR_OK;
}

static enum err apply_last_keep(struct applying *k, void *arg, const struct fact *f)
{
	static const char *const none[] = { NULL };
	struct apply_lasts *l = arg;
	struct fact *kept = fact_keep(l->machines.mem, f, none);

	(void)k;
	kept->next = l->list;
	l->list = kept;
	return ERR_OK;
}

enum err apply_last(struct applying *k, const struct fact_filter *filters, size_t count,
		    apply_fits *fits, void *arg, const struct fact **out)
{
	struct apply_lasts l = { .fits = fits, .arg = arg, .machines.mem = &k->c->mem };
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < count; i++)
		e = apply_each(k, &filters[i], apply_last_note, &l);
	for (size_t i = 0; !e && i < l.machines.count; i++)
		e = apply_again(k, l.machines.entry[i].value, apply_last_keep, &l);
	*out = fact_last(&k->c->mem, l.list);
	return e;
}

/* If this machine wrote the value, it is stored already. */
static enum err apply_register_put(struct applying *k, const struct fact *open,
				   const struct apply_register *of)
{
	struct str kind = str_of(names_word(&fact_kinds, (int)open->kind));
	struct fact_filter all = { .kind = of->by_kind ? kind : STR_NONE,
				   .subject = open->subject };
	const struct fact *last;
	enum err e = apply_last(k, &all, 1, of->fits, of->arg, &last);

	if (e || !last || str_eq(last->machine, k->m->me.self.id))
		return e;
	return apply_again(k, last, of->put, of->arg);
}

struct apply_registering {
	const struct apply_register *of;
	struct map postponed; /* by subject; NULL: the register is stored */
};

static enum err apply_register_see(struct applying *k, void *arg, const struct fact *open)
{
	struct apply_registering *r = arg;
	void **at = map_find(&r->postponed, open->subject);
	enum err e = ERR_OK;

	if (!at) {
		at = map_put(&r->postponed, arena_copy(r->postponed.mem, open->subject));
		k->postponed = false;
		e = apply_register_put(k, open, r->of);
		*at = k->postponed ? k : NULL;
	}
	if (!*at)
		apply_done(k, open);
	return e;
}

enum err apply_registers(struct applying *k, const char *kind, const struct apply_register *of)
{
	struct apply_registering r = { .of = of, .postponed.mem = &k->c->mem };
	struct fact_filter open = { .kind = str_of(kind), .open = true };

	return apply_each(k, &open, apply_register_see, &r);
}

/* A value that is remembered but no longer stored was deleted here. */
static enum err apply_is_known(struct applying *k, struct str kind, struct str key, struct str here,
			       bool *out)
{
	enum err e;

	if (here.p)
		return value_row_find(k->c, &k->m->db, kind, key, here, out);
	e = value_row_find_any(k->c, &k->m->db, kind, key, out);
	*out = !*out;
	return e;
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
	struct arena *mem = k->done.mem;
	struct str key = fact_global(mem, f->machine, f->seq);
	struct fact_row *row;

	if (map_find(&k->done, key))
		return;
	row = arena_new(mem, struct fact_row);
	*row = (struct fact_row){ .machine = arena_copy(mem, f->machine), .seq = f->seq };
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
	struct applying k = { .round = c, .m = m, .changed.mem = &c->mem, .rejoin.mem = &c->mem };
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
