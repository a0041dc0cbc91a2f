#include "base/json.h"
#include "beads/courier.h"
#include "beads/helper.h"
#include "ops/bead_ops.h"
#include "ops/ops.h"

struct body {
	bool apply;
	int64_t timeout;
};

static const struct field fields[] = {
	{ "apply", &kind_bool, offsetof(struct body, apply),
	  .help = "publish what can be read, on top of what cannot" },
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

static const struct prop props[] = {
	{ "commits", PROP_OBJECT, PROP_LIST, commit_props },
	{ "damaged", PROP_INT, 0, NULL },
	{ "set_aside", PROP_INT, 0, NULL },
	{ "applied", PROP_BOOL, 0, NULL },
	{ "commit", PROP_STR, PROP_NULL, NULL },
	{ 0 },
};

static enum err run(struct call *c, struct stores *s, const void *body,
		    struct json *reply)
{
	const struct body *in = body;
	struct helper h = { .timeout_ms = in->timeout };
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	(void)s;
	if (e)
		return e;
	beads_close(&b);
	h.words[0] = "repair";
	h.words[1] = arena_cstr(&c->mem, b.repo.tree);
	h.words[2] = in->apply ? "--apply" : NULL;
	if (!(e = helper_run(c, &h)))
		json_raw(reply, h.reply);
	return e;
}

const struct op op_bead_repair = {
	.name = "bead repair",
	.help = "Look for published commits that cannot be used; with --apply, mend them",
	.more = "Without --apply it only tells what it would do. With it, a commit of "
		"all "
		"that can be read, joined with what is known here, goes on top of the "
		"damaged one, which is kept as a backup ref; nothing is deleted. Every "
		"line "
		"that is not kept as it was is listed.",
	.flags = OP_WRITE,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &(const struct prop){ "repair", PROP_OBJECT, 0, props },
	.run = run,
};
