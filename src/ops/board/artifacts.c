#include "board/artifacts.h"
#include "base/text/json.h"
#include "board/ref.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"

struct body {
	struct str produced_by, ref_part[3];
	struct ref ref;
	int64_t limit;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "produced_by", &kind_str, AT(produced_by), .flag = "by", .arg = "AGENT",
	  .help = "agent that registered the artifact" },
	{ "ref", &kind_ref, AT(ref), FIELD_CLI, .help = "reference, such as tt:issue:42" },
	{ "ref_where", &kind_str, AT(ref_part[0]), FIELD_WIRE,
	  .help = "first part of a reference" },
	{ "ref_what", &kind_str, AT(ref_part[1]), FIELD_WIRE, .help = "second" },
	{ "ref_ref", &kind_ref_part, AT(ref_part[2]), FIELD_WIRE, .help = "third" },
	{ "limit", &kind_int, AT(limit), FIELD_CLAMP, .role = ROLE_LIMIT, .letter = 'n', .min = 1,
	  .max = MAX_PAGE, .preset = "50", .help = "maximum number of results" },
	{ 0 },
};

static enum err board_artifacts_run(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;
	struct artifact_filter filter = { .produced_by = in->produced_by, .limit = in->limit };
	struct artifact *list;
	struct ref ref;
	enum err e = ref_choose(c, &in->ref, in->ref_part, &ref);

	if (e)
		return e;
	if (ref.where.p)
		filter.ref = &ref;
	if (!(e = artifact_each(c, s->board, &filter, &list)))
		artifact_encode_all(reply, list);
	return e;
}

const struct op op_board_artifacts = {
	.name = "board artifacts",
	.help = "List artifacts",
	.examples = "bb artifacts --by kimi-01",
	.flags = OP_BOARD | OP_READER,
	OP_BODY(struct body, fields),
	.reply = &artifacts_reply,
	.run = board_artifacts_run,
};
