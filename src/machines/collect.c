#include "machines/collect.h"

#include "base/number.h"
#include "base/text/json.h"

void collect_add(struct collecting *k, enum fact_kind kind, int64_t act_ms, struct str by,
		 struct json *data)
{
	struct fact_draft *d = arena_new(&k->c->mem, struct fact_draft);

	*d = (struct fact_draft){ .kind = kind,
				  .act_ms = act_ms,
				  .by = arena_copy(&k->c->mem, by),
				  .data = json_text(data) };
	*k->tail = d;
	k->tail = &d->next;
}

enum err collect_place(struct collecting *k, struct str source, int64_t *out)
{
	struct str text;
	enum err e = place_row_find(k->c, &k->m->db, source, &text);

	if (e || !text.p || !number_int(text, out))
		*out = 0;
	return e;
}

enum err collect_set_place(struct collecting *k, struct str source, int64_t at)
{
	k->moved = true;
	return place_row_put(k->c, &k->m->db, source, arena_fmt(&k->c->mem, "%lld", (long long)at));
}

enum err collect_is_known(struct collecting *k, const char *kind, struct str key, struct str value,
			  bool *out)
{
	struct machine_db *db = &k->m->db;
	enum err e = value_row_find(k->c, db, str_of(kind), key, value, out);

	if (e || *out)
		return e;
	k->moved = true;
	if ((e = value_row_drop(k->c, db, str_of(kind), key)))
		return e;
	return value_row_put(k->c, db, str_of(kind), key, value);
}

/* The next round renames the rows that were written under the old name of a renamed agent. */
static enum err collect_note_aliases(struct collecting *k)
{
	bool some = false;
	enum err e = ERR_OK;

	for (const struct fact_draft *d = k->first; d && !e && !some; d = d->next)
		if (d->kind == FACT_POST || d->kind == FACT_STATUS)
			e = value_row_find_any(k->c, &k->m->db, STR("renamed"), d->by, &some);
	return !e && some ? collect_set_place(k, STR("aliased"), 1) : e;
}

static enum err collect_all(struct collecting *k)
{
	struct machines *m = k->m;
	enum err e;

	if ((e = collect_agents(k)) || (e = collect_board(k)) || (e = collect_vybe(k)) ||
	    (e = collect_seen(k)))
		return e;
	if ((m->reserved && (e = collect_set_place(k, STR("contested until"), 1))) ||
	    (e = collect_note_aliases(k)))
		return e;
	if (k->first && (e = log_append(k->c, &m->db, &m->me.self, k->first)))
		return e;
	return k->first ? machine_self_put(k->c, &m->db, &m->me.self) : ERR_OK;
}

enum err machines_collect(struct call *c, struct machines *m)
{
	struct collecting k = { .c = c,
				.m = m,
				.since_ms = c->now_ms - LOG_CURRENT_DAYS * INT64_C(86400000) };
	struct machine_self before = m->me.self;
	enum err e = machine_db_begin(c, &m->db);

	k.tail = &k.first;
	if (!e && !(e = collect_all(&k)) && (k.first || k.moved))
		return machine_db_commit(c, &m->db);
	machine_db_rollback(&m->db);
	m->me.self = before;
	return e;
}
