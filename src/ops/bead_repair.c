#include "base/json.h"
#include "base/moment.h"
#include "beads/courier.h"
#include "beads/helper.h"
#include "beads/restamp.h"
#include "ops/bead_ops.h"
#include "ops/ops.h"

struct body {
	bool apply, stamps;
	int64_t timeout;
};

static const struct field fields[] = {
	{ "apply", &kind_bool, offsetof(struct body, apply),
	  .help = "publish what can be read, on top of what cannot" },
	{ "stamps", &kind_bool, offsetof(struct body, stamps),
	  .help = "list beads whose stamps are ahead of time; with --apply, copy each to "
		  "a "
		  "new bead and delete the old one" },
	{ "timeout", &kind_duration, offsetof(struct body, timeout), .min = 1000,
	  .max = 3600000, .preset = "30s", .help = "give up after so long" },
	{ 0 },
};

static const struct prop line_props[] = {
	{ "file", PROP_STR, 0, NULL },   { "line", PROP_INT, 0, NULL },
	{ "action", PROP_STR, 0, NULL }, { "why", PROP_STR, 0, NULL },
	{ "text", PROP_STR, 0, NULL },   { 0 },
};

static const struct prop commit_props[] = {
	{ "commit", PROP_STR, 0, NULL },
	{ "where", PROP_STR, 0, NULL },
	{ "lines", PROP_OBJECT, PROP_LIST, line_props },
	{ 0 },
};

static const struct prop stamp_props[] = {
	{ "id", PROP_STR, 0, NULL },
	{ "title", PROP_STR, 0, NULL },
	{ "at", PROP_STR, 0, NULL },
	{ "copy", PROP_STR, PROP_NULL, NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "commits", PROP_OBJECT, PROP_LIST, commit_props },
	{ "damaged", PROP_INT, 0, NULL },
	{ "set_aside", PROP_INT, 0, NULL },
	{ "applied", PROP_BOOL, 0, NULL },
	{ "commit", PROP_STR, PROP_NULL, NULL },
	{ "stamps", PROP_OBJECT, PROP_LIST | PROP_OPTIONAL, stamp_props },
	{ 0 },
};

static void put_stamps(struct json *reply, const struct restamped *one, bool applied)
{
	json_object(reply);
	json_put_array(reply, "commits");
	json_end(reply);
	json_put_int(reply, "damaged", 0);
	json_put_int(reply, "set_aside", 0);
	json_put_bool(reply, "applied", applied);
	json_put_str(reply, "commit", (struct str){ 0 });
	json_put_array(reply, "stamps");
	for (; one; one = one->next) {
		json_object(reply);
		json_put_str(reply, "id", one->id);
		json_put_str(reply, "title", one->title);
		json_put_moment(reply, "at", one->at_ms);
		json_put_str(reply, "copy", one->copy);
		json_end(reply);
	}
	json_end(reply);
	json_end(reply);
}

static enum err repair_stamps(struct call *c, bool apply, struct json *reply)
{
	struct restamped *found;
	struct beads b;
	enum err e = beads_open(c, apply ? BEADS_WRITE : BEADS_READ, &b);

	if (e)
		return e;
	if (!(e = restamp_all(c, &b, apply, &found))) {
		put_stamps(reply, found, apply && found);
		e = apply ? beads_commit(c, &b) : ERR_OK;
	}
	beads_close(&b);
	if (!e && apply)
		courier_call(c, &b);
	return e;
}

static enum err run(struct call *c, struct stores *s, const void *body,
		    struct json *reply)
{
	const struct body *in = body;
	struct helper h = { .timeout_ms = in->timeout };
	struct beads b;
	enum err e;

	(void)s;
	if (in->stamps)
		return repair_stamps(c, in->apply, reply);
	if ((e = beads_open(c, BEADS_READ, &b)))
		return e;
	beads_close(&b);
	h.words[0] = "repair";
	h.words[1] = arena_cstr(&c->mem, b.repo.common);
	h.words[2] = in->apply ? "--apply" : NULL;
	if (!(e = helper_run(c, &h)))
		json_raw(reply, h.reply);
	return e;
}

const struct op op_bead_repair = {
	.name = "bead repair",
	.help = "Find damaged commits, or stamps ahead of time; with --apply, repair "
		"them",
	.more = "Without --apply it only tells what it would do. With it, a commit of "
		"all "
		"that can be read, joined with what is known here, goes on top of the "
		"damaged one, which is kept as a backup ref; nothing is deleted. Every "
		"line "
		"that is not kept as it was is listed.\n"
		"A stamp that is more than a day ahead wins over everything that is "
		"written later, and cannot be taken back. --stamps is the way out.",
	.flags = OP_WRITE | OP_ACTOR,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &(const struct prop){ "repair", PROP_OBJECT, 0, props },
	.run = run,
};
