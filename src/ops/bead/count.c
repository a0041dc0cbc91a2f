#include "base/number.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct filter_body filter;
	bool by[GROUP_LABEL + 1];
};

static const struct field fields[] = {
	FILTER_FIELDS(struct body, filter, ALL_ALREADY),
	{ "by_status", &kind_bool, offsetof(struct body, by[GROUP_STATUS]),
	  .help = "count by status" },
	{ "by_priority", &kind_bool, offsetof(struct body, by[GROUP_PRIORITY]),
	  .help = "count by priority" },
	{ "by_type", &kind_bool, offsetof(struct body, by[GROUP_TYPE]), .help = "count by type" },
	{ "by_assignee", &kind_bool, offsetof(struct body, by[GROUP_ASSIGNEE]),
	  .help = "count by assignee" },
	{ "by_label", &kind_bool, offsetof(struct body, by[GROUP_LABEL]),
	  .help = "count by label" },
	{ 0 },
};

static const struct prop group_props[] = { { "group|null count:int", NULL }, { 0 } };

static const struct prop count_props[] = {
	{ "total:int count:int", NULL },
	{ "groups[]?", group_props },
	{ 0 },
};

/* Translates the numbers of the cache to words. */
static struct str group_name(enum group group, struct str key)
{
	int64_t n;

	if (!key.p || !number_int(key, &n))
		return key;
	if (group == GROUP_STATUS)
		return str_of(names_word(&bead_statuses, (int)n));
	if (group == GROUP_TYPE)
		return str_of(names_word(&bead_types, (int)n));
	return key;
}

static enum err put_groups(struct call *c, struct beads *b, const struct bead_filter *f,
			   enum group group, struct json *reply)
{
	struct tally *t;
	enum err e = query_tally(c, &b->cache, f, group, &t);

	json_put_array(reply, "groups");
	for (; !e && t; t = t->next) {
		json_object(reply);
		json_put_str(reply, "group", group_name(group, t->key));
		json_put_int(reply, "count", t->count);
		json_end(reply);
	}
	json_end(reply);
	return e;
}

static enum err bead_count_run_count(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	const struct body *in = body;
	struct bead_filter filter;
	int64_t total;
	int group = -1;
	enum err e = filter_of(c, s->beads, &in->filter, true, &filter);

	for (int i = 0; i <= GROUP_LABEL; i++) {
		if (in->by[i] && group >= 0)
			return call_fail(c, ERR_USAGE, "the --by-… options can't be combined");
		group = in->by[i] ? i : group;
	}
	if (e || (e = query_count(c, &s->beads->cache, &filter, &total)))
		return e;
	json_object(reply);
	json_put_int(reply, "total", total);
	json_put_int(reply, "count", total);
	if (group >= 0)
		e = put_groups(c, s->beads, &filter, (enum group)group, reply);
	json_end(reply);
	return e;
}

const struct op op_bead_count = {
	.name = "bead count",
	.help = "Count beads, including closed ones",
	.flags = BEAD_READ,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "count", count_props },
	.run = bead_count_run_count,
};
