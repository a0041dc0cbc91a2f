#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct filter_body filter;
	struct shape_body shape;
	struct str words;
	int64_t limit;
	int sort, format;
	bool reverse, lengthy, tree, ready;
	struct when when;
};

#define AT(member) offsetof(struct body, member)

static const struct names formats = NAMES_OF("table", "ids", "lines");

#define LOOK_FIELDS                                                                                \
	{ "long",    &kind_bool,        AT(lengthy),                                               \
	  FIELD_CLI, .role = ROLE_LONG, .help = "show descriptions and dates too" },               \
		{ "tree",    &kind_bool,        AT(tree),                                          \
		  FIELD_CLI, .role = ROLE_TREE, .help = "show children below their parents" },     \
	{                                                                                          \
		"format", &kind_word, AT(format), FIELD_CLI, .role = ROLE_FORMAT,                  \
							     .words = &formats, .preset = "table", \
							     .help = "output format for people"    \
	}

static const struct field list_fields[] = {
	FILTER_FIELDS(struct body, filter, SHOW_CLOSED),
	{ "ready", &kind_bool, AT(ready), FIELD_CLI, .help = "show only beads that are ready" },
	PAGE_FIELDS(struct body, limit, sort, reverse),
	SHAPE_FIELDS(struct body, shape),
	WHEN_FIELD(struct body, when),
	LOOK_FIELDS,
	{ 0 },
};

static const struct field search_fields[] = {
	{ "query", &kind_str, AT(words), FIELD_REQUIRED | FIELD_PLACE, .flag = "query",
	  .arg = "WORDS", .min = 1, .max = MAX_TITLE,
	  .help = "words to find; each matches the beginning of a word" },
	FILTER_FIELDS(struct body, filter, ALL_ALREADY),
	PAGE_FIELDS(struct body, limit, sort, reverse),
	SHAPE_FIELDS(struct body, shape),
	WHEN_FIELD(struct body, when),
	LOOK_FIELDS,
	{ 0 },
};

static enum err bead_list_run_filter(struct call *c, struct stores *s, const struct body *in,
				     struct json *reply)
{
	struct shape shape = shape_of(c, &in->shape);
	struct bead_filter filter;
	int64_t count, total = ABSENT;
	enum err e = filter_of(c, s->beads, &in->filter, in->words.p, &filter);

	filter.words = in->words;
	filter.ready = in->ready;
	filter.limit = in->limit;
	filter.sort = (enum bead_sort)in->sort;
	filter.reverse = in->reverse;
	if (count_wanted(c, &filter) && filter.words.p && !filter.ready) {
		filter.count_most = TOTAL_MOST;
		filter.total = &total;
	}
	if (e || (e = public_encode_all(c, &s->beads->cache, filter, &shape, reply, &count)))
		return e;
	if (total == ABSENT)
		return count_all(c, s->beads, &filter, count);
	c->total = count < filter.limit ? 0 : total;
	return ERR_OK;
}

static enum err bead_list_run(struct call *c, struct stores *s, const void *body,
			      struct json *reply)
{
	return bead_list_run_filter(c, s, body, reply);
}

const struct op op_bead_list = {
	.name = "bead list",
	.help = "List beads; add --all for closed ones",
	.examples = "bd list -s open -p 0,1 -l backend\n"
		    "bd list --all --sort updated -n 10 --json --brief",
	.flags = BEAD_READ,
	OP_BODY(struct body, list_fields),
	.reply = &beads_reply,
	.run = bead_list_run,
};

const struct op op_bead_search = {
	.name = "bead search",
	.help = "Search beads by words, including closed ones",
	.more = "Searches titles, ids, descriptions, designs, acceptance criteria and comments. "
		"Beads whose title matches come first, then the newest.",
	.examples = "bd search \"login timeout\"\n"
		    "bd search pars -s open --json",
	.flags = BEAD_READ,
	OP_BODY(struct body, search_fields),
	.reply = &beads_reply,
	.run = bead_list_run,
};
