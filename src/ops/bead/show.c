#include "agents/forecast/forecast.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct list ids;
	struct shape_body shape;
	struct when when;
	bool current, lengthy, ignored;
};

/* A bead is always shown whole, so some options of upstream's bd have nothing to add. */
#define IGNORED(name)                                                        \
	{                                                                    \
		name, &kind_bool, offsetof(struct body, ignored),            \
			FIELD_CLI | FIELD_HIDDEN | FIELD_LOOK,               \
			.help = "accepted for compatibility, without effect" \
	}

static const struct field fields[] = {
	{ "ids", &kind_bead, offsetof(struct body, ids), FIELD_LIST | FIELD_PLACE | FIELD_ASKED,
	  .flag = "id", .most = MAX_IDS, .help = "bead ids" },
	{ "current", &kind_bool, offsetof(struct body, current), FIELD_CLI,
	  .help = "show the beads that you work on" },
	IGNORED("include_dependents"),
	IGNORED("children"),
	IGNORED("refs"),
	SHAPE_FIELDS(struct body, shape),
	WHEN_FIELD(struct body, when),
	{ "long", &kind_bool, offsetof(struct body, lengthy), FIELD_CLI, .role = ROLE_LONG,
	  .help = "show exact times and the content hash" },
	{ 0 },
};

static enum err put_links(struct call *c, struct beads *b, const struct bead_row *row,
			  enum side side, struct json *reply)
{
	static const struct shape brief = { .brief = true };
	bool any = side == SIDE_OUT ? row->dependencies : row->dependents;
	struct link *links = NULL;
	enum err e = any ? query_links(c, &b->cache, row->id, side, false, &links) : ERR_OK;

	if (e)
		return e;
	json_key(reply, side == SIDE_OUT ? STR("dependencies") : STR("dependents"));
	public_encode_links(reply, links, &brief);
	return ERR_OK;
}

static enum err bead_show_remaps(struct call *c, struct beads *b, struct str id,
				 const struct value **out)
{
	struct str line;
	enum err e = cache_find_tombstone(c, &b->cache, id, &line);

	*out = !e && line.p ? value_find(value_read(&c->mem, line), "remap") : NULL;
	return e;
}

/* The bead may have moved again, because its new id was given to another bead, too. */
static enum err bead_show_follow(struct call *c, struct beads *b, const struct value *remap,
				 struct str *to)
{
	enum { HOPS_MOST = 64 };
	const struct value *next, *found = remap;
	struct stamp at, other;
	enum err e = ERR_OK;

	stamp_decode(value_find(remap, "created_at"), &at);
	for (int i = 0; !e && found && i < HOPS_MOST; i++) {
		*to = value_str(found, "to");
		found = NULL;
		e = bead_show_remaps(c, b, *to, &next);
		VALUE_EACH(one, e ? NULL : next)
			if (stamp_decode(value_find(one, "created_at"), &other) &&
			    !stamp_cmp(at, other) &&
			    str_eq(value_str(one, "created_by"), value_str(remap, "created_by")))
				found = one;
	}
	return e;
}

/* The present ids of beads that were given this id in another clone. */
static enum err bead_show_put_remap(struct call *c, struct beads *b, struct str id,
				    struct json *reply)
{
	const struct value *remap;
	struct str to;
	enum err e = bead_show_remaps(c, b, id, &remap);

	if (e || !remap)
		return e;
	json_put_array(reply, "remap");
	VALUE_EACH(one, remap) {
		if ((e = bead_show_follow(c, b, one, &to)))
			return e;
		json_object(reply);
		json_put_member(reply, value_find(one, "created_at"));
		json_put_member(reply, value_find(one, "created_by"));
		json_put_str(reply, "to", to);
		json_end(reply);
	}
	json_end(reply);
	return ERR_OK;
}

/* The commits that name the bead, if a forecast or 'bd touches' has read the history. */
static void bead_show_put_commits(struct call *c, struct beads *b, struct str id,
				  struct json *reply)
{
	enum { COMMITS_SHOWN = 20 };
	struct commit_named *one = NULL;
	struct commit_db history;

	forecast_open_known(c, b, &history);
	if (history.db && commit_db_named(c, &history, id, COMMITS_SHOWN, &one))
		call_forgive(c);
	commit_db_close(&history);
	if (!one)
		return;
	json_put_array(reply, "commits");
	for (; one; one = one->next) {
		json_object(reply);
		json_put_str(reply, "commit", one->name);
		json_put_str(reply, "author", one->author);
		json_put_str(reply, "summary", one->summary);
		json_put_moment(reply, "at", one->time_ms);
		json_end(reply);
	}
	json_end(reply);
}

static enum err bead_show_put_bead(struct call *c, struct beads *b, const struct bead_row *row,
				   const struct shape *shape, struct json *reply)
{
	const struct value *line = value_read(&c->mem, row->line);
	enum err e = ERR_OK;

	json_object(reply);
	public_put(reply, row, shape);
	put_epoch(reply, line, shape);
	if (!shape->field_count && !(e = put_links(c, b, row, SIDE_OUT, reply)) &&
	    !(e = put_links(c, b, row, SIDE_IN, reply)))
		e = bead_show_put_remap(c, b, row->id, reply);
	if (!e && !shape->field_count)
		bead_show_put_commits(c, b, row->id, reply);
	json_end(reply);
	return e;
}

/* The beads that were named, or those that the actor works on. */
static enum err bead_show_find(struct call *c, struct beads *b, const struct body *in,
			       struct bead_row **out)
{
	if (in->current && !c->actor.p)
		return call_fail(c, ERR_IDENTITY_REQUIRED, "--current requires your name");
	if (in->current)
		return find_claimed(c, b, c->actor, out);
	if (in->ids.n)
		return find_beads(c, b, in->ids.item, in->ids.n, out);
	call_fail(c, ERR_USAGE, "%s is missing", c->wire ? "ids" : "ID");
	return call_step(c, "Name a bead: 'bd list' lists them.");
}

static enum err bead_show_run(struct call *c, struct stores *s, const void *body,
			      struct json *reply)
{
	const struct body *in = body;
	struct shape shape = shape_of(c, &in->shape);
	struct bead_row *row;
	enum err e = bead_show_find(c, s->beads, in, &row);

	if (c->terse && !in->shape.fields.n)
		shape.brief = false; /* one bead is shown whole */
	json_array(reply);
	for (; !e && row; row = row->next)
		e = bead_show_put_bead(c, s->beads, row, &shape, reply);
	json_end(reply);
	return e;
}

const struct op op_bead_show = {
	.name = "bead show",
	.help = "Show beads in full",
	.examples = "bd show bd-a1b2\n"
		    "bd show a1b2 c3d4 --json",
	.flags = BEAD_READ | OP_READER,
	OP_BODY(struct body, fields),
	.reply = &beads_reply,
	.run = bead_show_run,
};
