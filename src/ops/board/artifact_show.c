#include "base/text/json.h"
#include "board/artifacts.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"

struct body {
	struct str path;
};

static const struct field fields[] = {
	{ "path", &kind_path, offsetof(struct body, path), FIELD_REQUIRED | FIELD_PLACE, .min = 1,
	  .max = MAX_PATH, .help = "file, relative to the project's root" },
	{ 0 },
};

static enum err board_artifact_show_run(struct call *c, struct stores *s, const void *body,
					struct json *reply)
{
	const struct body *in = body;
	struct artifact *a;
	enum err e = artifact_get(c, s->board, in->path, &a);

	if (!e)
		artifact_encode(reply, a);
	return e;
}

const struct op op_board_artifact_show = {
	.name = "board artifact show",
	.help = "Show an artifact",
	.examples = "bb artifact show doc/api.md",
	.flags = OP_BOARD,
	OP_BODY(struct body, fields),
	.reply = &artifact_reply,
	.run = board_artifact_show_run,
};
