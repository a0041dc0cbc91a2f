#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

static const struct prop props[] = {
	{ "total_issues:int open_issues:int in_progress_issues:int closed_issues:int", NULL },
	{ "blocked_issues:int ready_issues:int expired_claims:int deleted_issues:int", NULL },
	{ "prefix journal_bytes:int clock_ahead_ms:int", NULL },
	{ "sync", sync_status_props },
	{ 0 },
};

static enum err bead_status_run(struct call *c, struct stores *s, const void *body,
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
		{ "ready_issues", { .ready = true, .now = c->now_ms, .actor = c->actor } },
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
	if ((e = query_tombstone_count(c, cache, &count)))
		return e;
	json_put_int(reply, "deleted_issues", count);
	json_put_str(reply, "prefix", s->beads->about.prefix);
	if ((e = journal_size(c, s->beads->home, &count, &files)))
		return e;
	json_put_int(reply, "journal_bytes", count);
	count = s->beads->about.latest_ms - c->now_ms;
	json_put_int(reply, "clock_ahead_ms", count > 0 ? count : 0);
	json_put_object(reply, "sync");
	e = put_sync_status(c, s->beads, reply);
	json_end(reply);
	json_end(reply);
	return e;
}

const struct op op_bead_status = {
	.name = "bead status",
	.help = "Show counts of beads and the state of the store",
	.flags = BEAD_READ | OP_READER,
	.reply = &(const struct prop){ "status", props },
	.run = bead_status_run,
};
