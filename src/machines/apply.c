#include "machines/apply.h"

#include "machines/share.h"

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
		*out = f;
		out = &f->next;
		*out = NULL;
	}
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

/* The stores have the facts durably; after a crash before this, they are joined once more. */
static enum err apply_settle(struct applying *k)
{
	struct call *c = k->c;
	enum err e = machine_db_begin(c, &k->m->db);

	for (size_t i = 0; !e && i < k->done.count; i++) {
		const struct fact_row *row = k->done.entry[i].value;

		e = fact_row_done(c, &k->m->db, row->machine, row->seq);
	}
	if (!e)
		e = machine_db_commit(c, &k->m->db);
	k->applied += e ? 0 : (int64_t)k->done.count;
	return e;
}

static enum err apply_to_agents(struct applying *k)
{
	enum err e = agent_files_open(k->c, AGENTS_WRITE, &k->files);

	if (e)
		return e;
	if (!(e = agent_files_begin(k->c, &k->files)) && !(e = apply_registry(k)))
		e = apply_mail(k);
	agent_files_close(&k->files);
	return e;
}

enum err machines_apply(struct call *c, struct machines *m, int64_t *applied)
{
	struct applying k = { .c = c, .m = m, .done.mem = &c->mem };
	struct fact_filter open = { .open = true, .limit = 1 };
	struct fact_row *any;
	enum err e = fact_row_each(c, &m->db, &open, &any);

	*applied = 0;
	if (e || !any)
		return e;
	if ((e = machine_row_each(c, &m->db, &k.rows)) ||
	    (e = registrations_read(c, &m->db, &k.agents)) || (e = apply_to_agents(&k)) ||
	    (k.done.count && (e = apply_settle(&k))))
		return e;
	*applied = k.applied;
	return ERR_OK;
}
