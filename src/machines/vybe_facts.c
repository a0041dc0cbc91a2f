/* Memory and events of continuity: local ones become facts, and facts of others become rows. */
#include "base/hash.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "continuity/memory.h"
#include "machines/apply.h"
#include "machines/collect.h"
#include "store/db/shared_rows.h"

enum { VALUE_MOST = 1 << 20, NAME_MOST = 500, ROUND_MOST = 1000 };

static const char event_kind[] = "event";
static const char memory_kind[] = "memory";

/* A project outside of the repository is a path on this machine, and is not shared. */
static bool vybe_travels(struct str project)
{
	return !project.n || project.p[0] != '/';
}

/* --- memory --- */

static struct json memory_data(struct call *c, const struct memory_row *m)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "scope", m->scope);
	json_put_str(&j, "scope_id", m->scope_id);
	json_put_str(&j, "key", m->key);
	json_put_str(&j, "value", m->value);
	json_put_str(&j, "type", m->type);
	json_put_str(&j, "memory_kind", m->kind);
	json_put_bool(&j, "pinned", m->pinned);
	json_put_int(&j, "expires", m->expires);
	json_put_int(&j, "created", m->created);
	json_put_int(&j, "updated", m->updated);
	json_end(&j);
	return j;
}

/* The expiry is part of the value, so that an expired entry is not taken for a deleted one. */
static struct str memory_digest(struct call *c, const struct memory_row *m)
{
	struct json j = memory_data(c, m);

	return arena_fmt(&c->mem, "%lld %.32s", (long long)m->expires,
			 sha256_hex(&c->mem, json_text(&j)).p);
}

static bool memory_travels(const struct call *c, const struct memory_row *m)
{
	return vybe_travels(m->scope_id) && (!m->expires || m->expires > c->now_ms);
}

/* An entry that was known and is not there any more was deleted here. */
static enum err collect_deleted(struct collecting *k, const struct map *present)
{
	struct value_row *v;
	enum err e = value_row_each(k->c, &k->m->db, str_of(memory_kind), &v);

	for (; !e && v; v = v->next) {
		const struct value *key = value_read(&k->c->mem, v->key);
		struct str end, rest = v->value;
		struct json j = json_new(&k->c->mem);
		int64_t expires = 0;

		if (map_find(present, v->key) || !key || key->count != 3)
			continue;
		str_next(&rest, ' ', &end);
		number_int(end, &expires);
		if ((e = value_row_drop(k->c, &k->m->db, str_of(memory_kind), v->key)))
			break;
		k->moved = true;
		if (expires && expires <= k->c->now_ms)
			continue;
		json_object(&j);
		json_put_str(&j, "scope", key->item[0].text);
		json_put_str(&j, "scope_id", key->item[1].text);
		json_put_str(&j, "key", key->item[2].text);
		json_end(&j);
		collect_add(k, FACT_MEMORY_DELETED, k->c->now_ms, STR(""), &j);
	}
	return e;
}

static enum err collect_memory(struct collecting *k, struct continuity *v)
{
	struct map present = { .mem = &k->c->mem };
	struct memory_row *m;
	enum err e = vybe_memory_all(k->c, &v->db, &m);

	for (; !e && m; m = m->next) {
		struct str key = fact_memory_key(&k->c->mem, m->scope, m->scope_id, m->key);
		struct json j = memory_data(k->c, m);
		bool known;

		map_put(&present, key);
		if (!memory_travels(k->c, m))
			continue;
		e = collect_is_known(k, memory_kind, key, memory_digest(k->c, m), &known);
		if (!e && !known)
			collect_add(k, FACT_MEMORY_SET, m->updated, STR(""), &j);
	}
	return e ? e : collect_deleted(k, &present);
}

/* --- events --- */

/*
 * Changes to tasks and memory are shared in other ways, and every machine records their events
 * itself.
 */
static bool event_travels(const struct event_row *row)
{
	static const char *const local[] = { "task_", "memory_", "events_summary", "agent_" };

	for (size_t i = 0; i < sizeof local / sizeof *local; i++)
		if (str_starts(row->kind, str_of(local[i])))
			return false;
	return vybe_travels(row->project);
}

static enum err collect_task_event(struct collecting *k, struct continuity *v,
				   const struct event_row *row)
{
	struct json j = json_new(&k->c->mem);
	struct str machine, name;
	int64_t number;
	enum err e =
		shared_row_origin(k->c, v->db.db, event_kind, row->id, &machine, &number, &name);

	if (e || machine.p || row->created < k->since_ms || !event_travels(row))
		return e;
	json_object(&j);
	json_put_int(&j, "id", row->id);
	json_put_str(&j, "event_kind", row->kind);
	json_put_str(&j, "agent", row->agent);
	json_put_str(&j, "project", row->project);
	json_put_str(&j, "task", row->task);
	json_put_str(&j, "message", row->message);
	json_put_str(&j, "metadata", row->metadata);
	json_put_int(&j, "created", row->created);
	json_end(&j);
	collect_add(k, FACT_TASK_EVENT, row->created, row->agent, &j);
	return ERR_OK;
}

static enum err collect_task_events(struct collecting *k, struct continuity *v)
{
	struct event_filter filter = { .ascending = true, .archived = true, .limit = ROUND_MOST };
	struct str source = STR("vybe/events");
	struct event_row *row;
	int64_t last;
	enum err e = collect_place(k, source, &filter.since);

	if (e || (e = vybe_event_each(k->c, &v->db, &filter, &row)))
		return e;
	last = filter.since;
	for (; !e && row; row = row->next) {
		e = collect_task_event(k, v, row);
		last = row->id;
	}
	return e || last == filter.since ? e : collect_set_place(k, source, last);
}

/* continuity_open() changes what the call works on. */
static enum err vybe_open(struct call *c, enum vybe_mode mode, struct continuity *out)
{
	struct str project = c->project, gitdir = c->gitdir;
	enum err e = continuity_open(c, mode, out);

	c->project = project;
	c->gitdir = gitdir;
	return e;
}

enum err collect_vybe(struct collecting *k)
{
	struct continuity v;
	int64_t last = 0, looked;
	struct str source = STR("vybe/looked");
	enum err e;

	if (vybe_open(k->c, VYBE_READ, &v))
		return call_forgive(k->c);
	if (v.db.db && !(e = vybe_event_last(k->c, &v.db, &last)) &&
	    !(e = collect_place(k, source, &looked)) && looked != last &&
	    !(e = collect_task_events(k, &v)) && !(e = collect_memory(k, &v)))
		e = collect_set_place(k, source, last); /* every change of memory has an event */
	else if (!v.db.db)
		e = ERR_OK;
	continuity_close(&v);
	return e;
}

/* --- applying --- */

static bool memory_read_key(const struct fact *f, struct memory_row *m)
{
	*m = (struct memory_row){ .scope = value_str(f->data, "scope"),
				  .scope_id = value_str(f->data, "scope_id"),
				  .key = value_str(f->data, "key"),
				  .value = value_str(f->data, "value"),
				  .type = value_str(f->data, "type"),
				  .kind = value_str(f->data, "memory_kind"),
				  .pinned = value_yes(f->data, "pinned") };
	return names_has(&memory_scopes, m->scope) && m->scope_id.p && m->scope_id.n <= NAME_MOST &&
	       vybe_travels(m->scope_id) && m->key.n && m->key.n <= NAME_MOST &&
	       !utf8_has_control(m->key);
}

static bool memory_read_value(const struct applying *k, const struct fact *f, struct memory_row *m)
{
	return m->value.p && m->value.n <= VALUE_MOST && names_has(&memory_types, m->type) &&
	       (!m->kind.p || names_has(&memory_kinds, m->kind)) &&
	       value_int(f->data, "expires", &m->expires) && m->expires >= 0 &&
	       apply_time(k, f, "created", &m->created) && apply_time(k, f, "updated", &m->updated);
}

static bool memory_read_fact(const struct applying *k, const struct fact *f, struct memory_row *m)
{
	return memory_read_key(f, m) && (f->kind != FACT_MEMORY_SET || memory_read_value(k, f, m));
}

static bool memory_fact_fits(struct applying *k, void *arg, const struct fact *f)
{
	(void)arg;
	return memory_read_fact(k, f, &(struct memory_row){ 0 });
}

static enum err apply_entry(struct applying *k, void *arg, const struct fact *f)
{
	struct continuity *v = arg;
	bool sets = f->kind == FACT_MEMORY_SET;
	struct memory_row m, *here;
	enum err e;

	memory_read_fact(k, f, &m);
	if ((e = vybe_memory_find(k->c, &v->db, m.scope, m.scope_id, m.key, &here)) ||
	    (e = apply_know(k, memory_kind, f->subject, here ? memory_digest(k->c, here) : STR_NONE,
			    sets ? memory_digest(k->c, &m) : STR_NONE)) ||
	    k->postponed)
		return e;
	if (sets)
		return vybe_memory_replace(k->c, &v->db, &m);
	return here ? vybe_memory_drop(k->c, &v->db, here->id) : ERR_OK;
}

static bool event_read_fact(struct applying *k, const struct fact *f, struct event_row *row)
{
	*row = (struct event_row){ .kind = value_str(f->data, "event_kind"),
				   .agent = registrations_name(&k->agents, f->machine,
							       value_str(f->data, "agent")),
				   .project = value_str(f->data, "project"),
				   .task = value_str(f->data, "task"),
				   .message = value_str(f->data, "message"),
				   .metadata = value_str(f->data, "metadata") };
	return row->kind.n && row->kind.n <= 128 && !utf8_has_control(row->kind) &&
	       event_travels(row) && row->agent.n && row->agent.n <= NAME_MOST &&
	       !utf8_has_control(row->agent) && row->task.n <= NAME_MOST && row->message.p &&
	       row->message.n <= VALUE_MOST && row->metadata.n <= VALUE_MOST &&
	       (!row->metadata.p || value_read(&k->c->mem, row->metadata)) &&
	       apply_time(k, f, "created", &row->created);
}

static enum err apply_task_event(struct applying *k, void *arg, const struct fact *f)
{
	struct continuity *v = arg;
	struct str name = apply_machine(k, f->machine);
	int64_t number = value_count(f->data, "id"), here, now = k->c->now_ms;
	struct event_row row;
	enum err e;

	apply_done(k, f);
	if (!event_read_fact(k, f, &row) ||
	    (e = shared_row_find(k->c, v->db.db, event_kind, f->machine, number, &here)) || here)
		return k->c->code;
	k->c->now_ms = row.created; /* the time of the event */
	e = vybe_event_put(k->c, &v->db, &row);
	k->c->now_ms = now;
	return e ? e : shared_row_put(k->c, v->db.db, event_kind, f->machine, number, row.id, name);
}

enum err apply_vybe(struct applying *k)
{
	static const char *const kinds[] = { "memory.set", "memory.deleted", "task.event" };
	bool open = false;
	struct continuity v;
	const struct apply_register memory = { .fits = memory_fact_fits,
					       .put = apply_entry,
					       .arg = &v };
	struct fact_filter events = { .kind = str_of(kinds[2]), .open = true };
	enum err e = ERR_OK;

	for (size_t i = 0; !e && !open && i < 3; i++)
		e = apply_has_open(k, kinds[i], &open);
	if (e || !open || (e = vybe_open(k->c, VYBE_WRITE, &v)))
		return e;
	if (!(e = shared_rows_begin(k->c, v.db.db)) &&
	    !(e = apply_registers(k, kinds[0], &memory)) &&
	    !(e = apply_registers(k, kinds[1], &memory)) &&
	    !(e = apply_each(k, &events, apply_task_event, &v)))
		e = continuity_commit(k->c, &v);
	continuity_close(&v);
	return e;
}
