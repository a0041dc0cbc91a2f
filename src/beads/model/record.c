#include "beads/model/record.h"

#include "base/id.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/line.h"
#include "beads/model/state.h"
#include "store/db/bead_cache.h"

bool record_empty(const struct state *change)
{
	return !change->slots.count && !change->edges.count && !change->prefix_mark.by.p;
}

static void record_put_beads(struct json *j, const struct state *s)
{
	struct arena scratch = { 0 };

	json_put_array(j, "beads");
	for (size_t i = 0; i < s->slots.count; i++) {
		const struct slot *slot = s->slots.entry[i].value;

		arena_reset(&scratch);
		if (slot_live(slot))
			json_raw(j, line_text(&scratch, slot->bead));
	}
	json_end(j);
	arena_release(&scratch);
}

static void put_tombstones(struct json *j, const struct state *s)
{
	struct arena scratch = { 0 };

	json_put_array(j, "tombstones");
	for (size_t i = 0; i < s->slots.count; i++) {
		const struct slot *slot = s->slots.entry[i].value;

		arena_reset(&scratch);
		if (slot_has_tombstone(slot))
			json_raw(j, tombstone_text(&scratch, slot));
	}
	json_end(j);
	arena_release(&scratch);
}

static void record_put_edges(struct json *j, const struct state *s)
{
	json_put_array(j, "deps");
	for (size_t i = 0; i < s->edges.count; i++)
		edge_encode(j, s->edges.entry[i].value);
	json_end(j);
}

static void put_receipt(struct json *j, const struct receipt *r)
{
	json_object(j);
	json_put_str(j, "actor", r->actor);
	json_put_str(j, "args", r->args);
	json_put_int(j, "at", r->at);
	json_put_str(j, "id", r->id);
	json_put_str(j, "op", r->op);
	json_put_str(j, "reply", r->reply);
	json_end(j);
}

static void put_base(struct json *j, const struct record *r)
{
	json_put_object(j, "base");
	json_put_present(j, "commit", r->base);
	json_put_int(j, "offset", r->offset);
	if (r->repaired)
		json_put_bool(j, "repaired", true);
	json_put_int(j, "segment", r->segment);
	if (r->whole)
		json_put_bool(j, "whole", true);
	json_end(j);
}

static void put_prefix(struct call *c, struct json *j, const struct record *r)
{
	if (!r->base.p && !r->anew)
		json_put_str(j, "nonce", id_random(&c->mem, 16)); /* no two begin alike */
	json_put_object(j, "prefix");
	json_key(j, STR("mark"));
	mark_encode(j, r->change->prefix_mark);
	json_put_str(j, "value", r->change->prefix);
	json_end(j);
}

static void put_receipts(struct json *j, const struct record *r)
{
	if (r->receipt_count == 1) {
		json_key(j, STR("receipt"));
		put_receipt(j, r->receipts);
	} else if (r->receipt_count) {
		json_put_array(j, "receipts");
		for (size_t i = 0; i < r->receipt_count; i++)
			put_receipt(j, &r->receipts[i]);
		json_end(j);
	}
}

static void put_joined(struct json *j, const struct record *r)
{
	if (!r->joined)
		return;
	json_put_object(j, "joined");
	json_put_int(j, "records", r->joined);
	json_put_int(j, "since", r->since_ms);
	json_end(j);
}

static bool record_buries(const struct state *s)
{
	for (size_t i = 0; i < s->slots.count; i++)
		if (slot_has_tombstone(s->slots.entry[i].value))
			return true;
	return false;
}

static void record_put_undo(struct json *j, const struct undo_note *undo)
{
	json_put_object(j, "undo");
	json_put_str(j, "actor", undo->actor);
	json_put_object(j, "before");
	if (undo->before->slots.count)
		record_put_beads(j, undo->before);
	if (undo->before->edges.count)
		record_put_edges(j, undo->before);
	if (record_buries(undo->before))
		put_tombstones(j, undo->before);
	json_end(j);
	if (undo->final)
		json_put_bool(j, "final", true);
	json_end(j);
}

static void record_put_undos(struct json *j, const struct record *r)
{
	if (!r->undo_count)
		return;
	json_put_array(j, "undos");
	for (size_t i = 0; i < r->undo_count; i++)
		json_raw(j, r->undos[i]);
	json_end(j);
}

struct str record_encode(struct call *c, const struct record *r)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	if (r->base.p || r->anew)
		put_base(&j, r);
	if (r->change->slots.count)
		record_put_beads(&j, r->change);
	if (r->change->edges.count)
		record_put_edges(&j, r->change);
	if (r->change->prefix_mark.by.p)
		put_prefix(c, &j, r);
	put_receipts(&j, r);
	put_joined(&j, r);
	if (record_buries(r->change))
		put_tombstones(&j, r->change);
	if (r->undo)
		record_put_undo(&j, r->undo);
	record_put_undos(&j, r);
	json_end(&j);
	return json_text(&j);
}

bool record_is_base(struct str json)
{
	return str_starts(json, STR("{\"base\":"));
}

typedef bool read_line(struct state *s, const struct value *line, struct str *why);

static bool record_read_lines(struct state *s, const struct value *list, read_line *read,
			      struct str *why)
{
	VALUE_EACH(one, list)
		if (!read(s, one, why))
			return false;
	return true;
}

static bool record_read_prefix(struct state *s, const struct value *v, struct str *why)
{
	struct mark mark;

	if (!v)
		return true;
	if (!mark_decode(value_find(v, "mark"), &mark) ||
	    !bead_prefix_valid(value_str(v, "value"))) {
		*why = STR("\"prefix\" is not a prefix of ids and its mark");
		return false;
	}
	state_put_prefix(s, value_str(v, "value"), mark);
	return true;
}

static struct receipt read_receipt(const struct value *v)
{
	struct receipt r = { .actor = value_str(v, "actor"),
			     .id = value_str(v, "id"),
			     .op = value_str(v, "op"),
			     .args = value_str(v, "args"),
			     .reply = value_str(v, "reply") };

	value_int(v, "at", &r.at);
	return r;
}

static void read_receipts(const struct value *v, struct record *r)
{
	const struct value *one = value_find(v, "receipt"), *many = value_find(v, "receipts");
	size_t count = one ? 1 : many && many->type == VALUE_ARRAY ? many->count : 0;
	struct receipt *list = arena_array(r->change->mem, count + 1, sizeof(struct receipt));

	for (size_t i = 0; i < count; i++)
		list[i] = read_receipt(one ? one : &many->item[i]);
	r->receipts = list;
	r->receipt_count = count;
}

static bool is_yes(const struct value *v)
{
	return v && v->type == VALUE_BOOL && v->yes;
}

static bool read_base(const struct value *v, struct record *r, struct str *why)
{
	const struct value *base = value_find(v, "base");

	r->base = value_str(base, "commit");
	r->anew = base && !r->base.p;
	r->whole = is_yes(value_find(base, "whole"));
	r->repaired = is_yes(value_find(base, "repaired"));
	if (!base || ((!r->base.p || r->base.n >= 40) && value_int(base, "segment", &r->segment) &&
		      value_int(base, "offset", &r->offset)))
		return true;
	*why = STR("\"base\" is not a commit and a place");
	return false;
}

bool record_decode(struct str json, struct record *r, struct str *why)
{
	struct state *change = r->change;
	struct value_error error;
	const struct value *v = value_parse(change->mem, json, &error);

	*r = (struct record){ .change = change };
	if (!v || v->type != VALUE_OBJECT) {
		*why = v ? STR("it is not an object") : str_of(error.why);
		return false;
	}
	read_receipts(v, r);
	value_int(value_find(v, "joined"), "records", &r->joined);
	value_int(value_find(v, "joined"), "since", &r->since_ms);
	return read_base(v, r, why) &&
	       record_read_lines(change, value_find(v, "tombstones"), state_read_tombstone, why) &&
	       record_read_lines(change, value_find(v, "beads"), state_read_bead, why) &&
	       record_read_lines(change, value_find(v, "deps"), state_read_edge, why) &&
	       record_read_prefix(change, value_find(v, "prefix"), why);
}
