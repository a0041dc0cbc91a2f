#include "beads/model/edge.h"

#include "base/map.h"
#include "base/names.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/bead.h"
#include "beads/model/limits.h"

/* No byte of an id is below '-', so this sorts as (from, to, kind). */
struct str edge_key(struct arena *mem, const struct edge *e)
{
	return arena_fmt(mem, STR_FMT " " STR_FMT " " STR_FMT, STR_ARG(e->from), STR_ARG(e->to),
			 STR_ARG(e->kind));
}

bool edge_key_touches(struct str key, const struct map *ids)
{
	struct str from, to;

	str_next(&key, ' ', &from);
	str_next(&key, ' ', &to);
	return map_find(ids, from) || map_find(ids, to);
}

void edge_own(struct arena *mem, struct edge *e)
{
	e->from = arena_copy(mem, e->from);
	e->to = arena_copy(mem, e->to);
	e->kind = arena_copy(mem, e->kind);
	e->created.by = arena_copy(mem, e->created.by);
	e->life.by = arena_copy(mem, e->life.by);
	e->more = arena_copy(mem, e->more);
}

/* If both have the same mark, the deleted edge wins, then the greater text. */
static bool edge_outlives(const struct edge *a, const struct edge *b)
{
	int order = mark_cmp(a->life, b->life);

	if (order)
		return order > 0;
	if (a->deleted != b->deleted)
		return a->deleted;
	return str_cmp(a->more, b->more) >= 0;
}

struct edge edge_join(struct edge a, struct edge b)
{
	struct edge out = edge_outlives(&a, &b) ? a : b;

	out.created = mark_cmp(a.created, b.created) < 0 ? a.created : b.created;
	return out;
}

static const struct names own_names = NAMES_OF("_at", "_by", "created_at", "created_by",
					       "deleted_at", "deleted_by", "from", "kind", "to");

static struct str edge_unknown(struct arena *mem, const struct value *v)
{
	struct value rest = { .type = VALUE_OBJECT };

	rest.item = arena_array(mem, v->count + 1, sizeof *rest.item);
	for (size_t i = 0; i < v->count; i++)
		if (names_exact(&own_names, v->item[i].key) < 0)
			rest.item[rest.count++] = v->item[i];
	return rest.count ? json_canonical_text(mem, &rest) : STR_NONE;
}

static bool edge_given(const struct value *v, const char *key)
{
	const struct value *member = value_find(v, key);

	return member && member->type != VALUE_NULL;
}

static bool edge_decode_mark(const struct value *v, const char *at, const char *by,
			     struct mark *out)
{
	out->by = value_str(v, by);
	return out->by.n && out->by.n <= LIMIT_NAME && stamp_decode(value_find(v, at), &out->at);
}

static bool edge_kind_valid(struct str kind)
{
	for (size_t i = 0; i < kind.n; i++)
		if ((unsigned char)kind.p[i] <= ' ' || kind.p[i] == 0x7f)
			return false;
	return kind.n > 0 && kind.n <= LIMIT_NAME;
}

bool edge_decode(struct arena *mem, const struct value *v, struct edge *out, struct str *why)
{
	struct mark deleted = { 0 };
	int known;

	*out = (struct edge){ .from = value_str(v, "from"),
			      .to = value_str(v, "to"),
			      .kind = value_str(v, "kind") };
	known = out->kind.p ? names_value(&edge_kinds, out->kind) : -1;
	if (known >= 0)
		out->kind = str_of(names_word(&edge_kinds, known));
	*why = v->type != VALUE_OBJECT      ? STR("it is not an object") :
	       value_depth(v) > LIMIT_DEPTH ? STR("it is nested too deep") :
	       v->count > LIMIT_MEMBERS     ? STR("it has too many members") :
	       !bead_id_valid(out->from)    ? STR("\"from\" is not an id") :
	       !bead_id_valid(out->to)      ? STR("\"to\" is not an id") :
	       !edge_kind_valid(out->kind) ?
					 STR("\"kind\" is not a word") :
	       !edge_decode_mark(v, "created_at", "created_by", &out->created) ?
					 STR("\"created_at\" and \"created_by\" are not a mark") :
	       edge_given(v, "_at") && !edge_decode_mark(v, "_at", "_by", &out->life) ?
					 STR("\"_at\" and \"_by\" are not a mark") :
	       edge_given(v, "deleted_at") &&
			       !edge_decode_mark(v, "deleted_at", "deleted_by", &deleted) ?
					 STR("\"deleted_at\" and \"deleted_by\" are not a mark") :
					 STR_NONE;
	if (why->p)
		return false;
	if (!out->life.by.p)
		out->life = out->created;
	out->deleted = deleted.by.p && mark_cmp(deleted, out->life) >= 0;
	if (out->deleted)
		out->life = deleted;
	out->more = edge_unknown(mem, v);
	return true;
}

/* Writes the unknown members, each at its place in the order of keys. */
static void edge_encode_unknown(struct json *j, const struct value *more, struct json *plain)
{
	const struct value *known = value_read(j->out.mem, json_text(plain));
	struct value both = { .type = VALUE_OBJECT };

	both.item = arena_array(j->out.mem, known->count + more->count, sizeof *both.item);
	memcpy(both.item, known->item, known->count * sizeof *both.item);
	memcpy(both.item + known->count, more->item, more->count * sizeof *both.item);
	both.count = known->count + more->count;
	json_canonical(j, &both);
}

static void edge_encode_known(struct json *j, const struct edge *e)
{
	json_object(j);
	json_key(j, STR("_at"));
	stamp_encode(j, e->life.at);
	json_put_str(j, "_by", e->life.by);
	json_key(j, STR("created_at"));
	stamp_encode(j, e->created.at);
	json_put_str(j, "created_by", e->created.by);
	if (e->deleted) {
		json_key(j, STR("deleted_at"));
		stamp_encode(j, e->life.at);
		json_put_str(j, "deleted_by", e->life.by);
	}
	json_put_str(j, "from", e->from);
	json_put_str(j, "kind", e->kind);
	json_put_str(j, "to", e->to);
	json_end(j);
}

void edge_encode(struct json *j, const struct edge *e)
{
	struct json plain = json_new(j->out.mem);

	if (!e->more.p) {
		edge_encode_known(j, e);
		return;
	}
	edge_encode_known(&plain, e);
	edge_encode_unknown(j, value_read(j->out.mem, e->more), &plain);
}

struct str edge_text(struct arena *mem, const struct edge *e)
{
	struct json j = json_new(mem);

	edge_encode(&j, e);
	return json_text(&j);
}
