#include "live/search.h"
#include "base/text/json.h"
#include "op/op.h"
#include "ops/ops.h"

/* abacus search: finds texts in all stores. */

struct body {
	struct str query;
	int64_t limit;
};

static const struct field fields[] = {
	{ "query", &kind_str, offsetof(struct body, query), FIELD_REQUIRED | FIELD_PLACE,
	  .arg = "WORDS", .min = 1, .max = 500, .help = "words to find; each has to occur" },
	{ "limit", &kind_int, offsetof(struct body, limit), .role = ROLE_LIMIT, .letter = 'n',
	  .min = 1, .max = 1000, .preset = "10", .help = "maximum number of results of each kind" },
	{ 0 },
};

static const struct prop props[] = {
	{ "kind text bead_id|null by|null key|null at|null", NULL },
	{ 0 },
};

static enum err project_search_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;

	(void)s;
	return search_encode(c, in->query, (size_t)in->limit, reply);
}

const struct op op_project_search = {
	.name = "search",
	.help = "Search beads, comments, mail, posts, notes and memory",
	.more = "Each word has to occur, at least as the beginning of a word, in either case. The "
		"newest results of each kind come first; of beads, those whose title matches.",
	.examples = "abacus search mandate",
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "findings[]", props },
	.run = project_search_run,
};
