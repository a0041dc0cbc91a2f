#include "base/buf.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "beads/exchange/jsonl_merge.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/output.h"

/* bd merge: the merge driver for issues.jsonl that upstream's bd puts into Git's configuration. */

struct body {
	struct str out, base, ours, theirs;
};

/* clang-format off */
#define PATH_FIELD(name, placeholder, text) \
	{ #name, &kind_path, offsetof(struct body, name), FIELD_PLACE | FIELD_REQUIRED, \
	  .min = 1, .max = 4096, .arg = placeholder, .help = text }
/* clang-format on */

static const struct field fields[] = {
	PATH_FIELD(out, "OUTPUT", "file for the result (%A)"),
	PATH_FIELD(base, "BASE", "version that both sides began with (%O)"),
	PATH_FIELD(ours, "LEFT", "this side (%A)"),
	PATH_FIELD(theirs, "RIGHT", "the other side (%B)"),
	{ 0 },
};

static const struct prop props[] = { { "path bytes:int", NULL }, { 0 } };

/* Git gives an empty file for a side that has none. */
static enum err merge_read(struct call *c, struct str path, struct str *out)
{
	enum err e = file_read(c, path_resolve(&c->mem, c->dir, path), out);

	if (!e && !out->p)
		return call_fail(c, ERR_INVALID_INPUT, "there is no file '" STR_FMT "'",
				 STR_ARG(path));
	return e;
}

static enum err upstream_merge_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	struct jsonl_sides sides;
	struct str merged;
	struct buf all;
	enum err e;

	(void)s;
	if ((e = merge_read(c, in->base, &sides.base)) ||
	    (e = merge_read(c, in->ours, &sides.ours)) ||
	    (e = merge_read(c, in->theirs, &sides.theirs)))
		return e;
	merged = jsonl_merge(&c->mem, &sides);
	all = buf_of(merged);
	if ((e = output_write(c, in->out, &all)))
		return e;
	json_object(reply);
	json_put_str(reply, "path", in->out);
	json_put_int(reply, "bytes", (int64_t)merged.n);
	json_end(reply);
	return ERR_OK;
}

const struct op op_upstream_merge = {
	.name = "upstream merge",
	.help = "Merge two versions of issues.jsonl, as Git's merge driver",
	.more = "Merges by id and by member, so there is never a conflict. Upstream's bd sets it "
		"up as 'bd merge %A %O %A %B'.",
	.flags = OP_WRITE | OP_HOST | OP_IDEMPOTENT,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "merged", props },
	.run = upstream_merge_run,
};
