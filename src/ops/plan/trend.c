#include "base/moment.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

/* bd trend: how many beads were open, ready and blocked, from the published commits. */

struct body {
	int64_t since, points;
};

static const struct field fields[] = {
	{ "since", &kind_moment, offsetof(struct body, since), .arg = "TIME",
	  .help = "oldest time to show: 12h, 30d, or 2026-01-31T12:00:00Z (default: 14 days ago)" },
	{ "points", &kind_int, offsetof(struct body, points), .letter = 'n', .min = 2, .max = 60,
	  .preset = "14", .help = "number of times to show" },
	{ 0 },
};

static const struct prop props[] = {
	{ "at open:int ready:int blocked:int in_progress:int closed:int", NULL },
	{ 0 },
};

static enum err trend_count(struct call *c, struct beads *b, int64_t *count)
{
	const struct bead_filter filters[] = {
		{ .statuses = 1u << BEAD_OPEN },
		{ .ready = true, .now = c->now_ms },
		{ .blocked = true },
		{ .statuses = 1u << BEAD_IN_PROGRESS },
		{ .statuses = 1u << BEAD_CLOSED },
	};
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < sizeof filters / sizeof *filters; i++)
		e = query_count(c, &b->cache, &filters[i], &count[i]);
	return e;
}

/* One point, with memory of its own: the beads of each are read as a whole. Where nothing was
 * published yet, there is no point. */
static void trend_put(struct call *c, int64_t at, struct json *reply)
{
	static const char *const names[] = { "open", "ready", "blocked", "in_progress", "closed" };
	struct call part = call_part(c);
	struct when when = { moment_format(&part.mem, at), at };
	int64_t count[sizeof names / sizeof *names];
	struct beads b;
	enum err e = beads_open_at(&part, &when, &b);

	if (!e) {
		e = trend_count(&part, &b, count);
		beads_close(&b);
	}
	if (!e) {
		json_object(reply);
		json_put_moment(reply, "at", at);
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			json_put_int(reply, names[i], count[i]);
		json_end(reply);
	}
	call_release(&part);
}

static enum err bead_trend_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	enum { DAY_MS = 86400000, DAYS = 14 };
	const struct body *in = body;
	int64_t from = in->since == ABSENT ? c->now_ms - (int64_t)DAYS * DAY_MS : in->since;

	(void)s;
	json_array(reply);
	for (int64_t i = 1; i <= in->points; i++)
		trend_put(c, from + (c->now_ms - from) * i / in->points, reply);
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_trend = {
	.name = "bead trend",
	.help = "Show open, ready and blocked beads over time",
	.more = "Reads the published commits, so what is not synced yet is not counted. A bead "
		"that is not ready, not blocked and not in progress is claimed or deferred.",
	.examples = "bd trend\n"
		    "bd trend --since 12h --points 6",
	.flags = BEAD_READ,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "trend[]", props },
	.run = bead_trend_run,
};
