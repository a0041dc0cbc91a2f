#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/line.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct undelete_body {
	struct list ids;
	struct guard guard;
};

static const struct field undelete_fields[] = {
	IDS_FIELD(struct undelete_body, ids),
	GUARD_FIELDS(struct undelete_body, guard),
	{ 0 },
};

/* Written to once more, as it was: later than the deletion, so it lives again. */
static enum err bead_undelete_restore(struct call *c, struct beads *b, struct str text,
				      const struct guard *guard, struct state *change,
				      struct str *id)
{
	const struct value *bead, *tombstone;
	struct mark deleted;
	struct bead_row row = { 0 };
	struct edit edit;
	struct str line;
	enum err e = find_buried(c, b, text, id, &line);

	if (e)
		return e;
	tombstone = value_read(&c->mem, line);
	bead = value_find(tombstone, "bead");
	if (!bead || !stamp_decode_deletion(value_find(tombstone, "deleted_at"), &deleted.at)) {
		call_fail(c, ERR_NOT_FOUND,
			  "of '" STR_FMT "' nothing is left but that it was deleted", STR_ARG(*id));
		return call_step(c, "It was deleted by a program that keeps no content; create it "
				    "anew, under another id.");
	}
	row.id = *id;
	row.line = canonical(&c->mem, bead);
	if ((e = edit_begin(c, b, &row, &edit)) || (e = edit_guard(&edit, guard)))
		return e;
	deleted.by = value_str(tombstone, "deleted_by");
	edit_after(&edit, deleted);
	for (int m = 0; m < MEMBERS; m++)
		if (member_reg((enum member)m) == REG_STATUS)
			edit.change.member[m] = edit.now.member[m];
	edit.change.mark[REG_STATUS] = edit.mark;
	state_put_bead(change, &edit.change);
	return ERR_OK;
}

static enum err undelete_run(struct call *c, struct stores *s, const void *body, struct json *reply)
{
	const struct undelete_body *in = body;
	const struct str *text = in->ids.item;
	struct str *ids = arena_array(&c->mem, in->ids.n + 1, sizeof *ids);
	struct state *change = state_new(&c->mem);
	struct shape shape = { .brief = c->terse };
	struct bead_row *row;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < in->ids.n; i++)
		e = bead_undelete_restore(c, s->beads, text[i], &in->guard, change, &ids[i]);
	if (e || (e = beads_put(c, s->beads, change)))
		return e;
	json_array(reply);
	for (size_t i = 0; !e && i < in->ids.n; i++)
		if (!(e = cache_find_bead(c, &s->beads->cache, ids[i], &row)) && row)
			public_encode(reply, row, &shape);
	json_end(reply);
	return e;
}

const struct op op_bead_undelete = {
	.name = "bead undelete",
	.help = "Bring deleted beads back, whole",
	.flags = BEAD_WRITE,
	.body_size = sizeof(struct undelete_body),
	.fields = undelete_fields,
	.reply = &beads_reply,
	.run = undelete_run,
};
