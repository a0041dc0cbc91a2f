#include "base/json.h"
#include "base/number.h"
#include "ops/bead_ops.h"
#include "ops/ops.h"

static const struct prop props[] = {
	{ "total_issues", PROP_INT, 0, NULL },
	{ "open_issues", PROP_INT, 0, NULL },
	{ "in_progress_issues", PROP_INT, 0, NULL },
	{ "closed_issues", PROP_INT, 0, NULL },
	{ "blocked_issues", PROP_INT, 0, NULL },
	{ "ready_issues", PROP_INT, 0, NULL },
	{ "expired_claims", PROP_INT, 0, NULL },
	{ "deleted_issues", PROP_INT, 0, NULL },
	{ "prefix", PROP_STR, 0, NULL },
	{ "journal_bytes", PROP_INT, 0, NULL },
	{ "clock_ahead_ms", PROP_INT, 0, NULL },
	{ 0 },
};

static enum err run(struct call *c, struct stores *s, const void *body,
		    struct json *reply)
{
	struct cache *cache = &s->beads->cache;
	const struct {
		const char *name;
		struct bead_filter filter;
	} rows[] = {
		{ "total_issues", { 0 } },
		{ "open_issues", { .statuses = 1u << BEAD_OPEN } },
		{ "in_progress_issues", { .statuses = 1u << BEAD_IN_PROGRESS } },
		{ "closed_issues", { .statuses = 1u << BEAD_CLOSED } },
		{ "blocked_issues", { .blocked = true } },
		{ "ready_issues",
		  { .ready = true, .now = c->now_ms, .actor = c->actor } },
		{ "expired_claims", { .expired = true, .now = c->now_ms } },
	};
	int64_t count, files;
	enum err e;

	(void)body;
	json_object(reply);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if ((e = query_count(c, cache, &rows[i].filter, &count)))
			return e;
		json_put_int(reply, rows[i].name, count);
	}
	if ((e = query_buried_count(c, cache, &count)))
		return e;
	json_put_int(reply, "deleted_issues", count);
	json_put_str(reply, "prefix", s->beads->about.prefix);
	if ((e = journal_size(c, s->beads->home, &count, &files)))
		return e;
	json_put_int(reply, "journal_bytes", count);
	count = s->beads->about.clock_ms - c->now_ms;
	json_put_int(reply, "clock_ahead_ms", count > 0 ? count : 0);
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_status = {
	.name = "bead status",
	.help = "Count the beads, and say how the store is",
	.flags = BEAD_READ | OP_READER,
	.reply = &(const struct prop){ "status", PROP_OBJECT, 0, props },
	.run = run,
};

/* --- count --- */

struct body {
	struct filter_body filter;
	bool by[GROUP_LABEL + 1];
};

static const struct field fields[] = {
	FILTER_FIELDS(struct body, filter),
	{ "by_status", &kind_bool, offsetof(struct body, by[GROUP_STATUS]),
	  .help = "for each state" },
	{ "by_priority", &kind_bool, offsetof(struct body, by[GROUP_PRIORITY]),
	  .help = "for each priority" },
	{ "by_type", &kind_bool, offsetof(struct body, by[GROUP_TYPE]),
	  .help = "for each type" },
	{ "by_assignee", &kind_bool, offsetof(struct body, by[GROUP_ASSIGNEE]),
	  .help = "for each assignee" },
	{ "by_label", &kind_bool, offsetof(struct body, by[GROUP_LABEL]),
	  .help = "for each label" },
	{ 0 },
};

static const struct prop group_props[] = {
	{ "group", PROP_STR, PROP_NULL, NULL },
	{ "count", PROP_INT, 0, NULL },
	{ 0 },
};

static const struct prop count_props[] = {
	{ "total", PROP_INT, 0, NULL },
	{ "count", PROP_INT, 0, NULL },
	{ "groups", PROP_OBJECT, PROP_LIST | PROP_OPTIONAL, group_props },
	{ 0 },
};

/* The cache has numbers for words. */
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

static enum err run_count(struct call *c, struct stores *s, const void *body,
			  struct json *reply)
{
	const struct body *in = body;
	struct bead_filter filter;
	int64_t total;
	int group = -1;
	enum err e = filter_of(c, s->beads, &in->filter, true, &filter);

	for (int i = 0; i <= GROUP_LABEL; i++) {
		if (in->by[i] && group >= 0)
			return call_fail(c, ERR_USAGE, "only one --by-… at a time");
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
	.help = "Count beads, closed ones too",
	.flags = BEAD_READ,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &(const struct prop){ "count", PROP_OBJECT, 0, count_props },
	.run = run_count,
};
