#include "base/text/json.h"
#include "board/artifacts.h"
#include "board/ref.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"

struct body {
	struct str path, description, version;
	struct list refs;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "path", &kind_path, AT(path), FIELD_REQUIRED | FIELD_PLACE, .min = 1, .max = MAX_PATH,
	  .help = "file, relative to the project's root" },
	{ "description", &kind_str, AT(description), FIELD_REQUIRED | FIELD_PLACE,
	  .max = MAX_DESCRIPTION, .help = "description" },
	{ "version", &kind_str, AT(version), .max = MAX_VERSION, .help = "version" },
	{ "refs", &kind_ref, AT(refs), FIELD_LIST, .flag = "ref", .most = MAX_REFS,
	  .help = "references, such as tt:issue:42" },
	{ 0 },
};

static enum err board_artifact_add_run(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	const struct body *in = body;
	struct artifact draft = {
		.path = in->path,
		.description = in->description,
		.version = in->version,
		.refs = ref_encode_all(c, in->refs.item, in->refs.n),
	};
	struct artifact *a;
	enum err e = artifact_register(c, s->board, &draft, &a);

	if (!e)
		artifact_encode(reply, a);
	return e;
}

const struct op op_board_artifact_add = {
	.name = "board artifact add",
	.help = "Register a file as an artifact",
	.more = "The file must exist inside the project. Registering a path again replaces its "
		"entry.",
	.examples =
		"bb --as kimi-01 artifact add doc/api.md \"the HTTP API\" --version 2 --ref tt:issue:13",
	.flags = OP_BOARD | OP_WRITE | OP_ACTOR | OP_RECEIPT | OP_IDEMPOTENT,
	OP_BODY(struct body, fields),
	.reply = &artifact_reply,
	.run = board_artifact_add_run,
};
