#include "base/text/json.h"
#include "board/posts.h"
#include "board/ref.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"

struct body {
	int64_t since, limit;
	struct list tags;
	struct str from_agent, ref_part[3];
	struct ref ref;
	int priority;
	bool unread, catch_up;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "since", &kind_age, AT(since),
	  .help = "maximum age, such as 30s, 10m, 1h, 2d or "
		  "1w" },
	{ "tags", &kind_str, AT(tags), FIELD_LIST, .flag = "tag", .letter = 't', .arg = "TAG",
	  .max = MAX_TAG, .most = MAX_TAGS, .help = "tags of which a message must have one" },
	{ "from_agent", &kind_str, AT(from_agent), .flag = "from", .arg = "AGENT",
	  .help = "agent that posted the message" },
	{ "priority", &kind_word, AT(priority), .letter = 'p', .words = &priorities,
	  .help = "lowest priority to include" },
	{ "ref", &kind_ref, AT(ref), FIELD_CLI, .help = "reference, such as tt:issue:42" },
	{ "ref_where", &kind_str, AT(ref_part[0]), FIELD_WIRE,
	  .help = "first part of a reference" },
	{ "ref_what", &kind_str, AT(ref_part[1]), FIELD_WIRE, .help = "second" },
	{ "ref_ref", &kind_ref_part, AT(ref_part[2]), FIELD_WIRE, .help = "third" },
	{ "limit", &kind_int, AT(limit), FIELD_CLAMP, .role = ROLE_LIMIT, .letter = 'n', .min = 1,
	  .max = MAX_PAGE, .preset = "20", .help = "maximum number of results" },
	{ "unread", &kind_bool, AT(unread), .letter = 'u',
	  .help = "show only messages that you "
		  "have not read" },
	{ "catch_up", &kind_bool, AT(catch_up), FIELD_CLI,
	  .help = "also mark all older messages as read" },
	{ 0 },
};

static enum err read_log(struct call *c, struct stores *s, const struct body *in,
			 struct message **out)
{
	struct ref ref;
	struct post_query query = {
		.filter = {
			.since = in->since == ABSENT ? 0 : c->now_ms - in->since,
			.from_agent = in->from_agent,
			.min_priority = in->priority,
			.limit = in->limit,
		},
		.unread = in->unread,
		.catch_up = in->catch_up,
	};
	enum err e = ref_choose(c, &in->ref, in->ref_part, &ref);

	if (e)
		return e;
	if (in->tags.n)
		query.filter.tags = tags_encode(c, in->tags.item, in->tags.n);
	if (ref.where.p)
		query.filter.ref = &ref;
	return post_read(c, s->board, &query, out);
}

static struct message *board_log_reversed(struct message *list)
{
	struct message *other = NULL, *next;

	for (; list; list = next) {
		next = list->next;
		list->next = other;
		other = list;
	}
	return other;
}

/*
 * read_log() returns unread messages oldest first and all others newest first; this reverses them
 * if needed.
 */
static enum err board_log_run_in_order(struct call *c, struct stores *s, const struct body *in,
				       bool newest_first, struct json *reply)
{
	struct message *list;
	enum err e = read_log(c, s, in, &list);

	if (!e)
		message_encode_all(reply,
				   in->unread == newest_first ? board_log_reversed(list) : list);
	return e;
}

static enum err board_log_run_log(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	return board_log_run_in_order(c, s, body, true, reply);
}

static enum err board_log_run_read(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	return board_log_run_in_order(c, s, body, false, reply);
}

const struct op op_board_log = {
	.name = "board log",
	.help = "Show the newest messages",
	.more = "Messages that are shown to a named agent count as read by it. With --unread, "
		"shows the messages that the agent has not read, oldest first.",
	.examples = "bb log\n"
		    "bb log --since 1h --tag blocker --tag question --priority high\n"
		    "bb --as claude-01 log --unread",
	.flags = OP_BOARD | OP_READER,
	OP_BODY(struct body, fields),
	.reply = &messages_reply,
	.run = board_log_run_log,
};

const struct op op_board_read = {
	.name = "board read",
	.help = "Read messages, oldest first",
	.flags = OP_BOARD | OP_READER,
	OP_BODY(struct body, fields),
	.reply = &messages_reply,
	.run = board_log_run_read,
};
