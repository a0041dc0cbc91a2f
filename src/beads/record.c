#include "beads/record.h"

#include "base/id.h"
#include "base/json.h"
#include "base/value.h"
#include "beads/line.h"
#include "beads/state.h"
#include "store/bead_cache.h"

bool record_empty(const struct state *change)
{
	return !change->slots.count && !change->edges.count && !change->prefix_mark.by.p;
}

static void put_beads(struct json *j, const struct state *s)
{
	json_put_array(j, "beads");
	for (size_t i = 0; i < s->slots.count; i++) {
		const struct slot *slot = s->slots.entry[i].value;

		if (slot_live(slot))
			line_encode(j, slot->bead);
	}
	json_end(j);
}

static void put_tombstones(struct json *j, const struct state *s)
{
	json_put_array(j, "tombstones");
	for (size_t i = 0; i < s->slots.count; i++) {
		const struct slot *slot = s->slots.entry[i].value;

		if (slot_has_tombstone(slot))
			tombstone_encode(j, slot);
	}
	json_end(j);
}

static void put_edges(struct json *j, const struct state *s)
{
	json_put_array(j, "deps");
	for (size_t i = 0; i < s->edges.count; i++)
		edge_encode(j, s->edges.entry[i].value);
	json_end(j);
}

static void put_receipt(struct json *j, const struct receipt *r)
{
	json_put_object(j, "receipt");
	json_put_str(j, "actor", r->actor);
	json_put_str(j, "args", r->args);
	json_put_int(j, "at", r->at);
	json_put_str(j, "id", r->id);
	json_put_str(j, "op", r->op);
	json_put_str(j, "reply", r->reply);
	json_end(j);
}

struct str record_encode(struct call *c, const struct state *change,
			 const struct receipt *receipt)
{
	struct json j = { .out.mem = &c->mem };
	bool buried = false;

	for (size_t i = 0; i < change->slots.count; i++)
		buried = buried || slot_has_tombstone(change->slots.entry[i].value);
	json_object(&j);
	if (change->slots.count)
		put_beads(&j, change);
	if (change->edges.count)
		put_edges(&j, change);
	if (change->prefix_mark.by.p) {
		json_put_str(&j, "nonce",
			     id_random(&c->mem, 16)); /* no two begin alike */
		json_put_object(&j, "prefix");
		json_key(&j, STR("mark"));
		mark_encode(&j, change->prefix_mark);
		json_put_str(&j, "value", change->prefix);
		json_end(&j);
	}
	if (receipt)
		put_receipt(&j, receipt);
	if (buried)
		put_tombstones(&j, change);
	json_end(&j);
	return json_text(&j);
}

typedef bool read_line(struct state *s, const struct value *line, struct str *why);

static bool read_lines(struct state *s, const struct value *list, read_line *read,
		       struct str *why)
{
	for (size_t i = 0; list && i < list->count; i++)
		if (!read(s, &list->item[i], why))
			return false;
	return true;
}

static bool read_prefix(struct state *s, const struct value *v, struct str *why)
{
	struct mark mark;

	if (!v)
		return true;
	if (!mark_decode(value_find(v, "mark"), &mark) || !value_str(v, "value").n) {
		*why = STR("\"prefix\" is not a word and its mark");
		return false;
	}
	state_put_prefix(s, value_str(v, "value"), mark);
	return true;
}

bool record_decode(struct str json, struct state *change, struct receipt *receipt,
		   struct str *why)
{
	struct value_error error;
	const struct value *v = value_parse(change->mem, json, &error);
	const struct value *r = value_find(v, "receipt");

	*receipt = (struct receipt){ 0 };
	if (!v || v->type != VALUE_OBJECT) {
		*why = v ? STR("it is not an object") : str_of(error.why);
		return false;
	}
	if (r) {
		*receipt = (struct receipt){ .actor = value_str(r, "actor"),
					     .id = value_str(r, "id"),
					     .op = value_str(r, "op"),
					     .args = value_str(r, "args"),
					     .reply = value_str(r, "reply") };
		value_int(r, "at", &receipt->at);
	}
	return read_lines(change, value_find(v, "tombstones"), state_read_tombstone,
			  why) &&
	       read_lines(change, value_find(v, "beads"), state_read_bead, why) &&
	       read_lines(change, value_find(v, "deps"), state_read_edge, why) &&
	       read_prefix(change, value_find(v, "prefix"), why);
}
