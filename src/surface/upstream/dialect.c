#include "surface/upstream/dialect.h"

#include <stdlib.h>

#include "base/names.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/config.h"
#include "beads/model/edge.h"
#include "ops/ops.h"
#include "ops/upstream/details.h"

bool dialect_is_upstream(struct call *c)
{
	const char *wanted = getenv("BD_JSON_DIALECT");
	struct str home = c->home, value = { 0 };
	struct call before;
	struct beads b;

	if (wanted && *wanted)
		return !strcmp(wanted, "upstream");
	before = call_save(c);
	if (home.p || (!beads_home(c, &b) && (home = b.home, true)))
		config_get(c, home, CONFIG_JSON_DIALECT, &value);
	call_restore(c, &before);
	return str_is(value, "upstream");
}

/* A reply that is being rendered. */
struct rendering {
	struct call *c;
	const struct request *request;
	struct json out;
	struct map edges; /* struct detail_edges, by the id of the bead */
	struct map whole; /* struct value: the beads at the other ends of dependencies, by id */
};

/* --- a bead --- */

/* Members that upstream does not have, or that another member says already. */
static const struct names omitted_members =
	NAMES_OF("notes_text", "original_status", "original_type", "imported");

/* The status word of upstream, while the bead still has the status that it stands for. */
static struct str dialect_status(const struct value *bead)
{
	struct str status = value_str(bead, "status"), was = value_str(bead, "original_status");
	bool closed = str_is(was, "done") || str_is(was, "closed") || str_is(was, "tombstone");

	if (!was.p || str_is(status, "in_progress") || closed != str_is(status, "closed"))
		return status;
	return was;
}

static void dialect_put_bead(struct rendering *r, const struct value *bead, bool linked);

/* The bead's dependencies or dependents, with the members of the edge beside those of the bead. */
static void dialect_put_links(struct rendering *r, const struct value *list, struct str owner)
{
	bool out = str_is(list->key, "dependencies");

	json_array(&r->out);
	VALUE_EACH(one, list) {
		struct str id = value_str(one, "id"), kind = value_str(one, "dependency_type");
		void **whole = map_find(&r->whole, id);

		json_object(&r->out);
		json_put_str(&r->out, "issue_id", out ? owner : id);
		json_put_str(&r->out, "depends_on_id", out ? id : owner);
		dialect_put_bead(r, whole ? *whole : one, true);
		json_put_str(&r->out, "type", details_kind_word(kind));
		json_put_str(&r->out, "dependency_type", details_kind_word(kind));
		json_end(&r->out);
	}
	json_end(&r->out);
}

static void dialect_put_member(struct rendering *r, const struct value *bead, const struct value *v)
{
	struct json *j = &r->out;
	struct str type = value_str(bead, "original_type");

	json_key(j, v->key);
	if (str_is(v->key, "notes"))
		json_str(j,
			 value_str(bead, "notes_text").p ? value_str(bead, "notes_text") : STR(""));
	else if (str_is(v->key, "status"))
		json_str(j, dialect_status(bead));
	else if (str_is(v->key, "issue_type") && type.p)
		json_str(j, type);
	else if (str_is(v->key, "dependency_type"))
		json_str(j, details_kind_word(v->text));
	else if (str_is(v->key, "dependencies") || str_is(v->key, "dependents"))
		dialect_put_links(r, v, value_str(bead, "id"));
	else
		json_value(j, v);
}

/* Puts the members of a bead. `linked`: it is the end of a dependency, whose kind is its type. */
static void dialect_put_bead(struct rendering *r, const struct value *bead, bool linked)
{
	void **edges = map_find(&r->edges, value_str(bead, "id"));

	VALUE_EACH(v, bead) {
		if (!names_has(&omitted_members, v->key) &&
		    !(linked && (str_is(v->key, "type") || str_is(v->key, "dependency_type"))))
			dialect_put_member(r, bead, v);
	}
	if (!linked && edges && !value_find(bead, "dependencies"))
		json_put_raw(&r->out, "dependencies", ((struct detail_edges *)*edges)->text);
}

static void dialect_bead(struct rendering *r, const struct value *bead)
{
	json_object(&r->out);
	dialect_put_bead(r, bead, false);
	json_end(&r->out);
}

/* Reads the edges of the beads, unless the reply has only some of their members. */
static void dialect_read_edges(struct rendering *r, const struct value *beads)
{
	struct str *ids = arena_array(&r->c->mem, beads->count + 1, sizeof *ids);
	struct call before;
	size_t count = 0;

	VALUE_EACH(one, beads)
		if (value_find(one, "content_hash"))
			ids[count++] = value_str(one, "id");
	if (!count)
		return;
	before = call_save(r->c);
	details_edges(r->c, ids, count, &r->edges);
	call_restore(r->c, &before);
}

static void dialect_beads(struct rendering *r, const struct value *data)
{
	if (data->type == VALUE_OBJECT) {
		dialect_bead(r, data);
		return;
	}
	dialect_read_edges(r, data);
	json_array(&r->out);
	VALUE_EACH(one, data)
		dialect_bead(r, one);
	json_end(&r->out);
}

static size_t dialect_add_ids(const struct value *list, struct str *ids)
{
	size_t count = 0;

	for (; list && count < list->count; count++)
		ids[count] = value_str(&list->item[count], "id");
	return count;
}

/* 'bd show' has little of the beads at the other ends; upstream's clients read them whole. */
static void dialect_show(struct rendering *r, const struct value *beads)
{
	struct call before = call_save(r->c);

	VALUE_EACH(one, beads) {
		const struct value *out = value_find(one, "dependencies"),
				   *in = value_find(one, "dependents");
		struct str *ids = arena_array(
			&r->c->mem, (out ? out->count : 0) + (in ? in->count : 0) + 1, sizeof *ids);
		size_t count = dialect_add_ids(out, ids);

		count += dialect_add_ids(in, ids + count);
		if (count)
			details_beads(r->c, ids, count, &r->whole);
	}
	call_restore(r->c, &before);
	dialect_beads(r, beads);
}

/* --- other replies --- */

/* The value of a parameter, as JSON; NULL: the operation has no such field. */
static const struct value *dialect_asked(struct rendering *r, const char *name)
{
	struct json j = json_new(&r->c->mem);

	for (const struct field *f = r->request->op->fields; f && f->name; f++) {
		if (strcmp(f->name, name) != 0)
			continue;
		field_to_json(&j, f, r->request->body);
		return value_read(&r->c->mem, json_text(&j));
	}
	return NULL;
}

static bool dialect_asked_bool(struct rendering *r, const char *name)
{
	const struct value *v = dialect_asked(r, name);

	return v && v->type == VALUE_BOOL && v->yes;
}

/* A plain list, or with --claim-next or --suggest-next an object of lists. */
static void dialect_close(struct rendering *r, const struct value *data)
{
	bool claim = dialect_asked_bool(r, "claim_next"),
	     suggest = dialect_asked_bool(r, "suggest_next");
	const struct value *claimed = NULL;

	if (!claim && !suggest) {
		dialect_beads(r, data);
		return;
	}
	json_object(&r->out);
	json_put_array(&r->out, "closed");
	VALUE_EACH(one, data) {
		if (str_is(value_str(one, "status"), "closed"))
			dialect_bead(r, one);
		else if (!value_find(one, "unblocked"))
			claimed = one;
	}
	json_end(&r->out);
	if (suggest) {
		json_put_array(&r->out, "unblocked");
		VALUE_EACH(one, data)
			if (value_find(one, "unblocked"))
				dialect_bead(r, one);
		json_end(&r->out);
	}
	if (claim) {
		json_key(&r->out, STR("claimed"));
		if (claimed)
			dialect_bead(r, claimed);
		else
			json_null(&r->out);
	}
	json_end(&r->out);
}

static void dialect_edge(struct rendering *r, const struct value *edge)
{
	json_object(&r->out);
	json_put_str(&r->out, "status", value_str(edge, "status"));
	json_put_str(&r->out, "issue_id", value_str(edge, "from"));
	json_put_str(&r->out, "depends_on_id", value_str(edge, "to"));
	json_put_str(&r->out, "type", details_kind_word(value_str(edge, "kind")));
	json_end(&r->out);
}

/* Upstream removes one dependency, so its reply is an object. */
static void dialect_removed(struct rendering *r, const struct value *edges)
{
	dialect_edge(r, &edges->item[0]);
}

/* One object per bead and label; on a command line the labels come last. */
static void dialect_labels(struct rendering *r, const struct value *beads)
{
	const struct value *words = dialect_asked(r, "words");
	struct str all = words && words->count ? words->item[words->count - 1].text : STR(""),
		   label;
	bool add = r->request->op == &op_bead_label_add;

	json_array(&r->out);
	VALUE_EACH(one, beads)
		for (struct str rest = all; rest.n && str_next(&rest, ',', &label);) {
			json_object(&r->out);
			json_put_str(&r->out, "status", add ? STR("added") : STR("removed"));
			json_put_str(&r->out, "issue_id", value_str(one, "id"));
			json_put_str(&r->out, "label", str_trim(label));
			json_end(&r->out);
		}
	json_end(&r->out);
}

static void dialect_epics(struct rendering *r, const struct value *epics)
{
	static const char *const counts[] = { "total_children", "closed_children",
					      "eligible_for_close" };
	struct str *ids = arena_array(&r->c->mem, epics->count + 1, sizeof *ids);
	struct map beads = { .mem = &r->c->mem };
	struct call before = call_save(r->c);

	for (size_t i = 0; i < epics->count; i++)
		ids[i] = value_str(&epics->item[i], "id");
	details_beads(r->c, ids, epics->count, &beads);
	call_restore(r->c, &before);
	json_array(&r->out);
	VALUE_EACH(one, epics) {
		void **bead = map_find(&beads, value_str(one, "id"));

		json_object(&r->out);
		json_key(&r->out, STR("epic"));
		dialect_bead(r, bead ? *bead : one);
		for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
			json_key(&r->out, str_of(counts[k]));
			json_value(&r->out, value_find(one, counts[k]));
		}
		json_end(&r->out);
	}
	json_end(&r->out);
}

static void dialect_epics_closed(struct rendering *r, const struct value *epics)
{
	if (dialect_asked_bool(r, "dry_run")) {
		dialect_epics(r, epics);
		return;
	}
	json_object(&r->out);
	json_put_array(&r->out, "closed");
	VALUE_EACH(one, epics)
		json_str(&r->out, value_str(one, "id"));
	json_end(&r->out);
	json_put_int(&r->out, "count", (int64_t)epics->count);
	json_end(&r->out);
}

static void dialect_put_count(struct rendering *r, const char *key, const struct value *data,
			      const char *from)
{
	json_key(&r->out, str_of(key));
	json_value(&r->out, value_find(data, from));
}

static void dialect_stats(struct rendering *r, const struct value *data)
{
	static const char *const same[] = { "total_issues",  "open_issues",    "in_progress_issues",
					    "closed_issues", "blocked_issues", "ready_issues" };
	struct call before = call_save(r->c);
	struct detail_stats more;

	details_stats(r->c, &more);
	call_restore(r->c, &before);
	json_object(&r->out);
	json_put_object(&r->out, "summary");
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		dialect_put_count(r, same[i], data, same[i]);
	dialect_put_count(r, "tombstone_issues", data, "deleted_issues");
	json_put_int(&r->out, "deferred_issues", more.deferred);
	json_put_raw(&r->out, "average_lead_time_hours",
		     arena_fmt(&r->c->mem, "%.2f", more.lead_hours));
	json_end(&r->out);
	json_put_raw(&r->out, "recent_activity", STR("null"));
	json_end(&r->out);
}

static void dialect_info(struct rendering *r, const struct value *data)
{
	json_object(&r->out);
	json_put_str(&r->out, "database_path", value_str(data, "store"));
	dialect_put_count(r, "issue_count", data, "beads");
	json_put_str(&r->out, "mode", STR("direct"));
	json_put_bool(&r->out, "daemon_connected", false);
	json_put_str(&r->out, "daemon_status", STR("not_needed"));
	json_put_str(&r->out, "version", STR(DIALECT_VERSION));
	json_put_object(&r->out, "config");
	json_put_str(&r->out, "issue_prefix", value_str(data, "prefix"));
	json_end(&r->out);
	json_end(&r->out);
}

static void dialect_version(struct rendering *r, const struct value *data)
{
	json_object(&r->out);
	json_put_str(&r->out, "version", STR(DIALECT_VERSION));
	json_put_str(&r->out, "build",
		     arena_fmt(&r->c->mem, "abacus " STR_FMT, STR_ARG(value_str(data, "version"))));
	json_end(&r->out);
}

/* How the reply of an operation is rendered; operations that are missing have the same shape. */
static const struct {
	const struct op *op;
	void (*render)(struct rendering *r, const struct value *data);
} rows[] = {
	{ &op_bead_create, dialect_beads },
	{ &op_bead_update, dialect_beads },
	{ &op_bead_show, dialect_show },
	{ &op_bead_list, dialect_beads },
	{ &op_bead_search, dialect_beads },
	{ &op_bead_ready, dialect_beads },
	{ &op_bead_blocked, dialect_beads },
	{ &op_bead_children, dialect_beads },
	{ &op_bead_stale, dialect_beads },
	{ &op_bead_claim, dialect_beads },
	{ &op_bead_renew, dialect_beads },
	{ &op_bead_unclaim, dialect_beads },
	{ &op_bead_reclaim, dialect_beads },
	{ &op_bead_reopen, dialect_beads },
	{ &op_bead_undelete, dialect_beads },
	{ &op_bead_dep_list, dialect_beads },
	{ &op_bead_defer, dialect_beads },
	{ &op_bead_undefer, dialect_beads },
	{ &op_upstream_query, dialect_beads },
	{ &op_upstream_supersede, dialect_beads },
	{ &op_upstream_duplicate, dialect_beads },
	{ &op_bead_close, dialect_close },
	{ &op_bead_dep_add, dialect_edge },
	{ &op_bead_dep_remove, dialect_removed },
	{ &op_bead_label_add, dialect_labels },
	{ &op_bead_label_remove, dialect_labels },
	{ &op_bead_epic_status, dialect_epics },
	{ &op_bead_epic_close_eligible, dialect_epics_closed },
	{ &op_bead_status, dialect_stats },
	{ &op_bead_info, dialect_info },
	{ &op_bead_version, dialect_version },
};

struct str dialect_render(struct call *c, const struct request *request, struct str reply)
{
	struct rendering r = {
		c, request, json_new(&c->mem), { .mem = &c->mem }, { .mem = &c->mem }
	};
	const struct value *data;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (rows[i].op != request->op)
			continue;
		if (!(data = value_read(&c->mem, reply)))
			return reply;
		rows[i].render(&r, data);
		return json_text(&r.out);
	}
	return reply;
}
