/*
 * A line of tombstones.jsonl says what became of an id:
 *
 *	{"bead":{...},"deleted_at":...,"deleted_by":...,"id":...,"reason":...}
 *
 * the bead that had it was deleted, and is kept to be restored. Without "bead", and
 * without "remap", every bead of the id was deleted; beside either of them that
 * is the member "every". "remap" lists those who had to leave the id; for them alone,
 * the deletion is the creation of the last of them.
 */
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/limits.h"
#include "beads/model/line.h"
#include "beads/model/state.h"

static void tombstone_put_mark(struct json *j, struct mark m)
{
	json_key(j, STR("deleted_at"));
	stamp_encode(j, m.at);
	json_put_str(j, "deleted_by", m.by);
}

static void put_reason(struct json *j, struct str reason)
{
	if (reason.p)
		json_put_raw(j, "reason", reason);
}

static void put_remaps(struct json *j, const struct slot *slot)
{
	if (!slot->remaps)
		return;
	json_put_array(j, "remap");
	for (size_t i = 0; i < slot->remaps; i++) {
		json_object(j);
		json_key(j, STR("created_at"));
		stamp_encode(j, slot->remap[i].created.at);
		json_put_str(j, "created_by", slot->remap[i].created.by);
		json_put_str(j, "to", slot->remap[i].to);
		json_end(j);
	}
	json_end(j);
}

static void tombstone_encode(struct json *j, const struct slot *slot)
{
	const struct bead *dead = slot->bead && !bead_live(slot->bead) ? slot->bead : NULL;
	bool every = slot->every.by.p, alone = !dead && !slot->remaps;

	json_object(j);
	if (dead) {
		json_key(j, STR("bead"));
		line_encode(j, dead);
	}
	tombstone_put_mark(j, dead  ? dead->deleted :
			      alone ? slot->every :
				      slot->remap[slot->remaps - 1].created);
	if (every && !alone) {
		json_put_object(j, "every");
		tombstone_put_mark(j, slot->every);
		put_reason(j, slot->reason);
		json_end(j);
	}
	json_put_str(j, "id", slot->id);
	put_reason(j, dead ? dead->reason : alone ? slot->reason : STR_NONE);
	put_remaps(j, slot);
	json_end(j);
}

struct str tombstone_text(struct arena *mem, const struct slot *slot)
{
	struct json j = json_new(mem);

	tombstone_encode(&j, slot);
	return json_text(&j);
}

static bool tombstone_decode_mark(const struct value *v, struct mark *mark, struct str *reason,
				  struct arena *mem)
{
	const struct value *why = value_find(v, "reason");

	if (why && why->type != VALUE_STRING && why->type != VALUE_NULL)
		return false;
	if (why && why->text.n > LIMIT_TEXT)
		return false;
	mark->by = value_str(v, "deleted_by");
	*reason = why && why->type == VALUE_STRING && why->text.n ? json_canonical_text(mem, why) :
								    STR_NONE;
	return mark->by.n && mark->by.n <= LIMIT_NAME &&
	       stamp_decode_deletion(value_find(v, "deleted_at"), &mark->at);
}

static bool tombstone_refuse(struct str *why, struct str text)
{
	*why = text;
	return false;
}

static bool read_remaps(const struct value *list, struct state *made, struct str id)
{
	struct slot *slot = state_find(made, id);

	if (list->type != VALUE_ARRAY || !list->count || list->count > LIMIT_REMAPS)
		return false;
	slot->remap = arena_array(made->mem, list->count, sizeof *slot->remap);
	for (size_t i = 0; i < list->count; i++) {
		struct remap *r = &slot->remap[slot->remaps++];
		const struct value *v = &list->item[i];

		r->created.by = value_str(v, "created_by");
		r->to = value_str(v, "to");
		if (!r->created.by.n || r->created.by.n > LIMIT_NAME ||
		    !stamp_decode(value_find(v, "created_at"), &r->created.at) ||
		    !str_eq(r->to, bead_other_id(made->mem, id, r->created)))
			return false;
		if (i && mark_cmp(r[-1].created, r->created) >= 0)
			return false;
	}
	return true;
}

static bool tombstone_read_bead(struct state *made, const struct value *v, struct str id,
				struct mark deleted, struct str reason, struct str *why)
{
	struct bead dead;

	if (!line_decode(made->mem, v, &dead, why))
		return false;
	if (!str_eq(dead.id, id))
		return tombstone_refuse(why, STR("\"bead\" has another id"));
	dead.deleted = deleted;
	dead.reason = reason;
	state_put_bead(made, &dead);
	return true;
}

bool state_read_tombstone(struct state *s, const struct value *line, struct str *why)
{
	struct str id = value_str(line, "id"), reason;
	const struct value *bead = value_find(line, "bead"), *remap = value_find(line, "remap"),
			   *every = value_find(line, "every");
	struct state *made = state_new(s->mem);
	struct mark deleted;
	struct slot *slot;

	if (!bead_id_valid(id))
		return tombstone_refuse(why, STR("\"id\" is not an id"));
	if (!tombstone_decode_mark(line, &deleted, &reason, s->mem))
		return tombstone_refuse(
			why,
			STR("\"deleted_at\", \"deleted_by\" and \"reason\" are not a deletion"));
	if (bead && !tombstone_read_bead(made, bead, id, deleted, reason, why))
		return false;
	slot = state_slot(made, id);
	if (remap && !read_remaps(remap, made, id))
		return tombstone_refuse(why, STR("\"remap\" is not a list of where beads went"));
	if (every && !tombstone_decode_mark(every, &slot->every, &slot->reason, s->mem))
		return tombstone_refuse(why, STR("\"every\" is not a deletion"));
	if (!bead && !remap && mark_cmp(deleted, slot->every) >= 0) {
		slot->every = deleted;
		slot->reason = reason;
	}
	state_add(s, made);
	return true;
}

bool state_read_bead(struct state *s, const struct value *line, struct str *why)
{
	struct bead b;

	if (!line_decode(s->mem, line, &b, why))
		return false;
	state_put_bead(s, &b);
	return true;
}

bool state_read_edge(struct state *s, const struct value *line, struct str *why)
{
	struct edge e;

	if (!edge_decode(s->mem, line, &e, why))
		return false;
	state_put_edge(s, &e);
	return true;
}
