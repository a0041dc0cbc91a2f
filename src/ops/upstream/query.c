#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "ops/upstream/expression.h"

/* bd query */

struct body {
	struct str text;
	int64_t limit;
	bool all;
};

static const struct field fields[] = {
	{ "text", &kind_str, offsetof(struct body, text), FIELD_PLACE | FIELD_REQUIRED,
	  .arg = "EXPRESSION", .min = 1, .max = 4096,
	  .help = "conditions on members, with AND, OR, NOT and parentheses" },
	{ "limit", &kind_int, offsetof(struct body, limit), .role = ROLE_LIMIT, .letter = 'n',
	  .min = 0, .preset = "50", .help = "maximum number of results; 0 shows all" },
	{ "all", &kind_bool, offsetof(struct body, all), .letter = 'a',
	  .help = "show closed beads too" },
	{ 0 },
};

struct expression_list {
	struct call *c;
	struct str text;
	struct json *reply;
	struct arena scratch;
	int64_t left;
};

static bool expression_visit(void *arg, const struct bead_row *row)
{
	struct expression_list *l = arg;
	struct json j;

	arena_reset(&l->scratch);
	j = json_new(&l->scratch);
	public_encode(&j, row, &(struct shape){ 0 });
	if (!expression_fits(l->c, l->text, value_read(&l->scratch, json_text(&j))))
		return true;
	json_raw(l->reply, json_text(&j));
	return --l->left;
}

static enum err upstream_query_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	const char *why = expression_wrong(c, in->text);
	struct expression_list l = {
		.c = c, .text = in->text, .reply = reply, .left = in->limit ? in->limit : INT64_MAX
	};
	struct bead_filter filter = { .visit = expression_visit, .arg = &l };
	struct bead_row *rows;
	enum err e;

	if (why) {
		call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not an expression: %s",
			  STR_ARG(in->text), why);
		return call_step(c, "Write an expression such as: status=open AND (priority<=1 OR "
				    "label=urgent)");
	}
	if (!in->all && !str_has(in->text, STR("closed")))
		filter.statuses = 1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS;
	json_array(reply);
	e = query_each(c, &s->beads->cache, &filter, &rows);
	json_end(reply);
	arena_release(&l.scratch);
	return e;
}

const struct op op_upstream_query = {
	.name = "upstream query",
	.help = "List beads that match an expression",
	.more = "A condition is a member, one of = != < <= > >= and a value; ':' looks for text "
		"within a member. A time is 2026-01-31, RFC 3339, or 7d for seven days ago; 'none' "
		"is a member that is not set.",
	.examples = "bd query \"status=open AND priority<=1\"\n"
		    "bd query \"(type=bug OR label=urgent) AND updated>7d\"",
	.flags = BEAD_READ,
	OP_BODY(struct body, fields),
	.reply = &beads_reply,
	.run = upstream_query_run,
};
