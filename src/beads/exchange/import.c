#include "beads/exchange/import.h"

#include "base/text/value.h"
#include "beads/autosync.h"
#include "beads/beads.h"
#include "beads/exchange/import_parts.h"
#include "beads/exchange/upstream.h"
#include "beads/graph.h"
#include "beads/model/limits.h"
#include "beads/setup.h"

/* --- the first reading --- */

static void import_refuse(struct import_run *r, const char *code, const char *why)
{
	r->out->refused++;
	import_find(&r->out->findings, STR_NONE, code, "the line was refused: %s", why);
}

static void import_add_memory(struct import_run *r, const struct value *v)
{
	struct str key = value_str(v, "key"), value = value_str(v, "value");
	struct import_memory *m, **tail = r->memories ? &r->memories->next : &r->out->memory;

	if (!key.n || !value.p) {
		import_refuse(r, "bad_memory", "a memory has a key and a value");
		return;
	}
	m = arena_new(&r->c->mem, struct import_memory);
	*m = (struct import_memory){ .file = r->out->findings.file,
				     .line = r->out->findings.line,
				     .key = arena_copy(&r->c->mem, key),
				     .value = arena_copy(&r->c->mem, value) };
	*tail = r->memories = m;
}

/* Counts how often each prefix is used: the part of an id before its last dash. */
static void import_count_prefix(struct import_run *r, struct str id)
{
	size_t n = id.n;
	void **at;

	while (n && id.p[n - 1] != '-')
		n--;
	if (n < 2)
		return;
	at = map_put(&r->prefixes, str_head(id, n - 1));
	*at = (void *)((uintptr_t)*at + 1);
}

static void import_choose_prefix(struct import_run *r)
{
	uintptr_t most = 0;

	for (size_t i = 0; i < r->prefixes.count; i++) {
		const struct map_entry *e = &r->prefixes.entry[i];

		if ((uintptr_t)e->value <= most || !bead_prefix_valid(e->key))
			continue;
		most = (uintptr_t)e->value;
		r->out->prefix = e->key;
	}
}

static void import_add_issue(struct import_run *r, struct str text, const struct value *v)
{
	struct import_line *one = arena_new(&r->c->mem, struct import_line);

	*one = (struct import_line){ .file = r->out->findings.file,
				     .line = r->out->findings.line,
				     .id = arena_copy(&r->c->mem, value_str(v, "id")),
				     .text = text };
	moment_parse(value_str(v, "updated_at"), &one->ms);
	import_count_prefix(r, one->id);
	r->lines = arena_room(&r->c->mem, r->lines, r->count, sizeof(*r->lines));
	r->lines[r->count++] = one;
}

static bool import_is_header(const struct value *v)
{
	return !value_find(v, "id") && (value_find(v, "_schema") || value_find(v, "_type"));
}

/* Is this the deletion of an unknown bead, as the export writes it? */
static bool import_is_deletion(const struct value *v)
{
	return str_is(value_str(v, "status"), "tombstone") && !value_find(v, "title") &&
	       !value_find(v, "created_at");
}

/* Every command that follows dependencies reads their lines, so they must stay small. */
static bool import_has_large_edge(struct import_run *r, struct str text, const struct value *v)
{
	const struct value *list = value_find(v, "dependencies");
	struct str *part;

	if (text.n <= LIMIT_OWN_EDGE || !list || list->type != VALUE_ARRAY)
		return false;
	part = upstream_parts(&r->scratch, text, v);
	part = upstream_parts(&r->scratch, part[list - v->item], list);
	for (size_t i = 0; i < list->count; i++)
		if (part[i].n > LIMIT_OWN_EDGE)
			return true;
	return false;
}

static void import_scan_line(struct import_run *r, struct str text, bool deletions)
{
	struct value_error error = { 0 };
	const struct value *v = NULL;

	arena_reset(&r->scratch);
	if (text.n > LIMIT_OWN_LINE)
		error.why = "it is longer than 8 MiB";
	else
		v = value_parse_bounded(&r->scratch, text, LIMIT_OWN_VALUES, &error);
	if (!v || v->type != VALUE_OBJECT)
		import_refuse(r, "not_json", v ? "it is not an object" : error.why);
	else if (str_is(value_str(v, "_type"), "memory"))
		import_add_memory(r, v);
	else if (import_is_header(v))
		import_find(&r->out->findings, STR_NONE, "header", "the line describes the file");
	else if (!value_find(v, "id"))
		import_refuse(r, "no_id", "it has no id");
	else if (!bead_id_valid(value_str(v, "id")))
		import_refuse(r, "bad_id",
			      "its id is not made of letters, digits, '-', '_' and '.'");
	else if (import_has_large_edge(r, text, v))
		import_refuse(r, "too_large", "a dependency has more than 16 KiB");
	else if (deletions || import_is_deletion(v))
		import_add_deletion(r, text, value_str(v, "id"));
	else
		import_add_issue(r, text, v);
}

static void import_scan(struct import_run *r, const struct import_source *s)
{
	static const struct str mark = { "\xef\xbb\xbf", 3 }; /* of UTF-8 */
	struct str rest = str_starts(s->text, mark) ? str_skip(s->text, mark.n) : s->text, line;

	r->out->findings.file = s->file;
	r->out->findings.line = 0;
	if (s->unfit) {
		r->out->findings.line = 1;
		import_refuse(r, "not_json", s->unfit);
	}
	while (rest.n && str_next(&rest, '\n', &line)) {
		r->out->findings.line++;
		line = str_trim(line);
		if (!line.n)
			continue;
		import_scan_line(r, line, s->deletions);
	}
}

/* Chooses the line of every id: of several lines, the one that was changed last. */
static void import_index(struct import_run *r)
{
	for (size_t i = 0; i < r->deletion_count; i++)
		*map_put(&r->gone, import_renamed(&r->c->mem, &r->rename, r->deletions[i]->id)) =
			r->deletions[i];
	for (size_t i = 0; i < r->count; i++) {
		struct import_line *one = r->lines[i], *other;
		void **at;

		one->id = import_renamed(&r->c->mem, &r->rename, one->id);
		at = map_put(&r->by_id, one->id);
		other = *at;
		if (!other || other->ms <= one->ms)
			*at = one;
		if (!other)
			continue;
		other = *at == one ? other : one;
		other->superseded = true;
		r->out->findings.file = other->file;
		r->out->findings.line = other->line;
		import_find(&r->out->findings, other->id, "duplicate_id",
			    "another line has the same id, and is as new or newer");
	}
}

/* --- the store --- */

/* A store without beads, whose prefix nobody has chosen, gets that of the imported ids. */
static enum err import_adopt_prefix(struct import_run *r)
{
	struct call before = call_save(r->c);
	struct setup_ask ask = { .prefix = r->out->prefix };
	struct setup done;
	struct beads b;
	enum err e = ERR_OK;

	if (r->ask->prefix.p || !ask.prefix.p || r->ask->dry_run)
		return ERR_OK;
	if ((e = setup_run(r->c, &ask, &b, &done)) == ERR_INVALID_INPUT) { /* it is too long */
		call_restore(r->c, &before);
		return ERR_OK;
	}
	return e;
}

static enum err import_prepare(struct import_run *r)
{
	struct call *c = r->c;
	struct call before = call_save(c);
	struct setup_ask ask = { .prefix = r->ask->prefix.p ? r->ask->prefix : r->out->prefix };
	struct setup done;
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	if (!e) {
		bool unused = !b.about.beads && setup_prefix_is_default(c, &b);

		beads_close(&b);
		r->store = true;
		return unused ? import_adopt_prefix(r) : ERR_OK;
	}
	if (e != ERR_NOT_INITIALIZED)
		return e;
	call_restore(c, &before);
	if (r->ask->dry_run)
		return ERR_OK;
	if ((e = setup_run(c, &ask, &b, &done)))
		return e;
	r->store = r->out->made_store = true;
	return ERR_OK;
}

/* --- the whole file --- */

static void import_find_cycles(struct import_run *r)
{
	const struct cycle *cycle = graph_cycles(&r->c->mem, r->graph);

	for (; cycle; cycle = cycle->next) {
		void **at = cycle->count ? map_find(&r->by_id, cycle->ids[0]) : NULL;
		const struct import_line *line = at ? *at : NULL;

		if (!line)
			continue;
		r->out->findings.file = line->file;
		r->out->findings.line = line->line;
		import_find(&r->out->findings, line->id, "cycle",
			    "the %s dependencies of %zu issues form a cycle",
			    arena_cstr(&r->c->mem, cycle->kind), cycle->count);
	}
}

static enum err import_all(struct import_run *r)
{
	enum err e = import_prepare(r);

	if (!e)
		e = import_take_issues(r);
	if (!e)
		e = import_take_edges(r);
	if (!e)
		e = import_take_deletions(r);
	if (!e)
		import_find_cycles(r);
	return e;
}

enum err import_run(struct call *c, const struct import_ask *ask, struct import_report *out)
{
	struct import_run r = { .c = c, .ask = ask, .out = out };
	struct beads b;
	enum err e;

	*out = (struct import_report){ .findings.mem = &c->mem };
	r.by_id.mem = r.prefixes.mem = r.lineages.mem = r.gone.mem = &c->mem;
	for (const struct import_source *s = ask->sources; s; s = s->next)
		import_scan(&r, s);
	import_choose_prefix(&r);
	r.rename = (struct import_rename){ out->prefix, ask->prefix };
	import_index(&r);
	e = import_all(&r);
	arena_release(&r.scratch);
	for (const struct import_memory *m = out->memory; m; m = m->next)
		out->memories++;
	out->read = out->created + out->updated + out->unchanged + out->older + out->tombstones +
		    out->memories + out->refused;
	if (!e && !ask->dry_run && r.store && !beads_home(c, &b))
		autosync_start(c, &b);
	return e;
}
