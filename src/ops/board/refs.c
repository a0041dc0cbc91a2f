#include "base/text/json.h"
#include "board/artifacts.h"
#include "board/posts.h"
#include "board/ref.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"

struct body {
	struct ref target;
	struct str part[3];
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "target", &kind_ref, AT(target), FIELD_CLI | FIELD_PLACE | FIELD_REQUIRED,
	  .help = "reference to look for" },
	{ "where", &kind_str, AT(part[0]), FIELD_WIRE | FIELD_REQUIRED,
	  .help = "first part of the reference, such as tt" },
	{ "what", &kind_str, AT(part[1]), FIELD_WIRE | FIELD_REQUIRED,
	  .help = "second, e.g. issue" },
	{ "ref", &kind_ref_part, AT(part[2]), FIELD_WIRE | FIELD_REQUIRED,
	  .help = "third, e.g. 42" },
	{ 0 },
};

static const struct prop props[] = {
	{ "messages[]", message_props },
	{ "artifacts[]", artifact_props },
	{ 0 },
};

static enum err board_refs_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	const struct body *in = body;
	struct message *messages;
	struct artifact *artifacts;
	struct ref ref;
	struct message_filter of_messages = { .min_priority = -1, .ref = &ref };
	struct artifact_filter of_artifacts = { .ref = &ref };
	enum err e;

	if ((e = ref_choose(c, &in->target, in->part, &ref)) ||
	    (e = message_each(c, s->board, &of_messages, &messages)) ||
	    (e = artifact_each(c, s->board, &of_artifacts, &artifacts)))
		return e;
	json_object(reply);
	json_key(reply, STR("messages"));
	message_encode_all(reply, messages);
	json_key(reply, STR("artifacts"));
	artifact_encode_all(reply, artifacts);
	json_end(reply);
	return ERR_OK;
}

const struct op op_board_refs = {
	.name = "board refs",
	.help = "Find messages and artifacts by reference",
	.examples = "bb refs tt:issue:13",
	.flags = OP_BOARD | OP_READER,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "found", props },
	.run = board_refs_run,
};
