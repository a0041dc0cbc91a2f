#include "base/json.h"
#include "base/value.h"
#include "beads/line.h"
#include "ops/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct list ids;
	struct guard guard;
	struct str reason;
	bool force, dry_run;
};

#define AT(member) offsetof(struct body, member)

static const struct field delete_fields[] = {
	IDS_FIELD(struct body, ids),
	{ "reason", &kind_str, AT(reason), .letter = 'r', .max = MAX_TEXT,
	  .help = "why" },
	{ "force", &kind_bool, AT(force), FIELD_CLI, .letter = 'f', .also = "yes",
	  .help = "do not ask, even on a terminal" },
	{ "dry_run", &kind_bool, AT(dry_run), FIELD_CLI,
	  .help = "show what would go, and delete nothing" },
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static const struct prop deleted_props[] = {
	{ "id", PROP_STR, 0, NULL },
	{ "title", PROP_STR, PROP_NULL, NULL },
	{ "deleted_at", PROP_STR, PROP_NULL, NULL },
	{ "deleted_by", PROP_STR, PROP_NULL, NULL },
	{ "reason", PROP_STR, PROP_NULL, NULL },
	{ "dependent_count", PROP_INT, PROP_OPTIONAL, NULL },
	{ "deleted", PROP_BOOL, PROP_OPTIONAL, NULL },
	{ 0 },
};
static const struct prop deleted_reply = { "beads", PROP_OBJECT, PROP_LIST,
					   deleted_props };

static enum err bury(struct edit *e, struct state *change, const void *body)
{
	const struct body *in = body;
	struct bead made = { 0 };

	bead_put_text(&e->c->mem, &made, MEMBER_TITLE, in->reason);
	e->change.deleted = e->mark;
	e->change.reason = made.member[MEMBER_TITLE];
	state_put_bead(change, &e->change);
	e->change.deleted = (struct mark){ 0 };
	return ERR_OK;
}

static enum err delete_run(struct call *c, struct stores *s, const void *body,
			   struct json *reply)
{
	const struct body *in = body;
	struct mark mark = beads_mark(c, s->beads);
	struct bead_row *row;
	struct state *change = state_new(&c->mem);
	enum err e = find_beads(c, s->beads, in->ids.item, in->ids.n, &row);

	if (!e && in->ids.n > 1 && (in->guard.if_hash.p || in->guard.epoch.ms != ABSENT))
		return call_fail(c, ERR_INVALID_INPUT,
				 "--if-hash and --epoch are for one bead, not for %zu",
				 in->ids.n);
	json_array(reply);
	for (; !e && row; row = row->next) {
		struct edit edit;

		if ((e = edit_begin(c, s->beads, row, &edit)) ||
		    (e = edit_guard(&edit, &in->guard)) || (e = bury(&edit, change, in)))
			return e;
		json_object(reply);
		json_put_str(reply, "id", row->id);
		json_put_str(reply, "title", row->title);
		json_put_str(reply, "deleted_at", moment_of(c, mark.at));
		json_put_str(reply, "deleted_by", mark.by);
		json_put_str(reply, "reason",
			     in->reason.n ? in->reason : (struct str){ 0 });
		json_put_int(reply, "dependent_count", row->dependents);
		json_put_bool(reply, "deleted", !in->dry_run);
		json_end(reply);
	}
	json_end(reply);
	if (e || in->dry_run)
		return e;
	return beads_put(c, s->beads, change);
}

const struct op op_bead_delete = {
	.name = "bead delete",
	.help = "Delete beads; 'bd undelete' brings them back",
	.more = "A tombstone stays, so that the deletion reaches every clone. On a "
		"terminal it shows what would go and asks, unless --force is given.",
	.flags = BEAD_WRITE,
	.body_size = sizeof(struct body),
	.fields = delete_fields,
	.reply = &deleted_reply,
	.run = delete_run,
};

/* --- undelete --- */

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
static enum err restore(struct call *c, struct beads *b, struct str text,
			const struct guard *guard, struct state *change, struct str *id)
{
	struct value_error error;
	const struct value *bead;
	struct bead_row row = { 0 };
	struct edit edit;
	struct str line;
	enum err e = find_buried(c, b, text, id, &line);

	if (e)
		return e;
	bead = value_find(value_parse(&c->mem, line, &error), "bead");
	if (!bead) {
		call_fail(c, ERR_NOT_FOUND,
			  "of '" STR_FMT "' nothing is left but that it was deleted",
			  STR_ARG(*id));
		return call_step(c, "It was deleted by a program that keeps no content; "
				    "create it anew, under another id.");
	}
	row.id = *id;
	row.line = canonical(&c->mem, bead);
	if ((e = edit_begin(c, b, &row, &edit)) || (e = edit_guard(&edit, guard)))
		return e;
	for (int m = 0; m < MEMBERS; m++)
		if (member_reg((enum member)m) == REG_STATUS)
			edit.change.member[m] = edit.now.member[m];
	edit.change.mark[REG_STATUS] = edit.mark;
	state_put_bead(change, &edit.change);
	return ERR_OK;
}

static enum err undelete_run(struct call *c, struct stores *s, const void *body,
			     struct json *reply)
{
	const struct undelete_body *in = body;
	const struct str *text = in->ids.item;
	struct str *ids = arena_array(&c->mem, in->ids.n + 1, sizeof *ids);
	struct state *change = state_new(&c->mem);
	struct shape shape = { .brief = c->wire };
	struct bead_row *row;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < in->ids.n; i++)
		e = restore(c, s->beads, text[i], &in->guard, change, &ids[i]);
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

/* --- deleted --- */

struct deleted_body {
	int64_t limit;
};

static const struct field deleted_fields[] = {
	{ "limit", &kind_int, offsetof(struct deleted_body, limit), .letter = 'n',
	  .min = 0, .preset = "50", .help = "at most so many; 0: all" },
	{ 0 },
};

static enum err deleted_run(struct call *c, struct stores *s, const void *body,
			    struct json *reply)
{
	const struct deleted_body *in = body;
	struct buried *b;
	enum err e = query_buried(c, &s->beads->cache, in->limit, &b);

	json_array(reply);
	for (; !e && b; b = b->next) {
		struct value_error error;
		const struct value *v = value_parse(&c->mem, b->line, &error);
		struct stamp at = { 0 };

		stamp_decode(value_find(v, "deleted_at"), &at);
		json_object(reply);
		json_put_str(reply, "id", b->id);
		json_put_str(reply, "title", value_str(value_find(v, "bead"), "title"));
		json_put_str(reply, "deleted_at", moment_of(c, at));
		json_put_str(reply, "deleted_by", value_str(v, "deleted_by"));
		json_put_str(reply, "reason", value_str(v, "reason"));
		if (value_find(v, "remap")) {
			json_key(reply, STR("remap"));
			json_value(reply, value_find(v, "remap"));
		}
		json_end(reply);
	}
	json_end(reply);
	return e;
}

const struct op op_bead_deleted = {
	.name = "bead deleted",
	.help = "List the tombstones, the latest first",
	.flags = BEAD_READ,
	.body_size = sizeof(struct deleted_body),
	.fields = deleted_fields,
	.reply = &deleted_reply,
	.run = deleted_run,
};
