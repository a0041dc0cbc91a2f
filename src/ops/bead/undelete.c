#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/line.h"
#include "beads/repair/restamp.h"
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

struct undeleting {
	struct call *c;
	struct beads *b;
	const struct guard *guard;
	struct state *change; /* beads that keep their ids */
	struct str *id;       /* all ids, in the order given */
	struct str *copied;   /* beads that come back as copies */
	size_t copies;
};

static enum err undelete_nothing_left(struct call *c, struct str id)
{
	call_fail(c, ERR_NOT_FOUND, "of '" STR_FMT "' nothing is left but that it was deleted",
		  STR_ARG(id));
	return call_step(c, "The program that deleted the bead did not keep its content. Create "
			    "the bead again under another id.");
}

/* Writes the bead again, unchanged, with a later mark than the deletion. */
static void undelete_restore(struct undeleting *u, struct edit *edit, struct mark deleted)
{
	edit_after(edit, deleted);
	for (int m = 0; m < MEMBERS; m++)
		if (member_reg((enum member)m) == REG_STATUS)
			edit->change.member[m] = edit->now.member[m];
	edit->change.mark[REG_STATUS] = edit->mark;
	state_put_bead(u->change, &edit->change);
}

static enum err undelete_one(struct undeleting *u, struct str text, struct str *id)
{
	const struct value *bead, *tombstone;
	struct mark deleted;
	struct bead_row row = { 0 };
	struct edit edit;
	struct str line;
	enum err e = find_buried(u->c, u->b, text, id, &line);

	if (e)
		return e;
	tombstone = value_read(&u->c->mem, line);
	bead = value_find(tombstone, "bead");
	if (!bead || !stamp_decode_deletion(value_find(tombstone, "deleted_at"), &deleted.at))
		return undelete_nothing_left(u->c, *id);
	row.id = *id;
	row.line = canonical(&u->c->mem, bead);
	if ((e = edit_begin(u->c, u->b, &row, &edit)) || (e = edit_guard(&edit, u->guard)))
		return e;
	deleted.by = value_str(tombstone, "deleted_by");
	if (stamp_has_later(deleted.at))
		undelete_restore(u, &edit, deleted);
	else
		u->copied[u->copies++] = *id;
	return ERR_OK;
}

/* No write can be later than this deletion, so the bead is restored as a copy with another id. */
static enum err undelete_copy(struct undeleting *u, size_t count)
{
	struct restamped *one;
	enum err e = restamp_undelete(u->c, u->b, u->copied, u->copies, &one);

	for (; !e && one; one = one->next) {
		call_warn(u->c,
			  "'" STR_FMT "' was deleted at the end of time, so it cannot have its id "
			  "again: it is '" STR_FMT "' now",
			  STR_ARG(one->id), STR_ARG(one->copy));
		for (size_t i = 0; i < count; i++)
			if (str_eq(u->id[i], one->id))
				u->id[i] = one->copy;
	}
	return e;
}

static enum err undelete_run(struct call *c, struct stores *s, const void *body, struct json *reply)
{
	const struct undelete_body *in = body;
	const struct str *text = in->ids.item;
	struct undeleting u = { .c = c,
				.b = s->beads,
				.guard = &in->guard,
				.change = state_new(&c->mem),
				.id = arena_array(&c->mem, in->ids.n + 1, sizeof(struct str)),
				.copied = arena_array(&c->mem, in->ids.n + 1, sizeof(struct str)) };
	struct shape shape = { .brief = c->terse };
	struct bead_row *row;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < in->ids.n; i++)
		e = undelete_one(&u, text[i], &u.id[i]);
	if (e || (e = beads_put(c, s->beads, u.change)) ||
	    (u.copies && (e = undelete_copy(&u, in->ids.n))))
		return e;
	json_array(reply);
	for (size_t i = 0; !e && i < in->ids.n; i++)
		if (!(e = cache_find_bead(c, &s->beads->cache, u.id[i], &row)) && row)
			public_encode(reply, row, &shape);
	json_end(reply);
	return e;
}

const struct op op_bead_undelete = {
	.name = "bead undelete",
	.help = "Restore deleted beads",
	.more = "A bead that was deleted with the highest possible stamp cannot be written to "
		"any more. It is restored as a copy under another id, with its dependencies; a "
		"warning names both ids.",
	.flags = BEAD_WRITE,
	.body_size = sizeof(struct undelete_body),
	.fields = undelete_fields,
	.reply = &beads_reply,
	.run = undelete_run,
};
