#include "base/text/json.h"
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

static enum err undelete_one(struct undeleting *u, struct str text, struct str *id)
{
	struct mark deleted;
	struct edit edit;
	struct str line;
	enum err e = find_deleted(u->c, u->b, text, id, &line);

	if (e || (e = edit_begin_deleted(u->c, u->b, *id, line, &edit, &deleted)) ||
	    (e = edit_guard(&edit, u->guard)))
		return e;
	if (stamp_has_later(deleted.at))
		edit_restore(&edit, u->change, deleted);
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
			  "'" STR_FMT
			  "' was deleted with the latest possible time stamp, so it was "
			  "restored under another id, '" STR_FMT "'",
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
	.examples = "bd undelete bd-a1b2",
	.more = "A bead that was deleted with the latest possible time stamp can't be changed any "
		"more. It is restored as a copy under another id, with its dependencies; a "
		"warning names both ids. A bead whose deletion is so old that it was removed is "
		"restored from the published commits, without its dependencies.",
	.flags = BEAD_WRITE,
	OP_BODY(struct undelete_body, undelete_fields),
	.reply = &beads_reply,
	.run = undelete_run,
};
