#include "base/text/json.h"
#include "board/posts.h"
#include "board/ref.h"
#include "ops/board/shapes.h"
#include "ops/ops.h"

struct body {
	struct str content;
	struct list tags, refs;
	int priority;
	int64_t in_reply_to;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "content", &kind_str, AT(content), FIELD_REQUIRED | FIELD_PLACE | FIELD_STDIN, .min = 1,
	  .max = MAX_CONTENT, .help = "text of the message" },
	{ "tags", &kind_tag, AT(tags), FIELD_LIST, .flag = "tag", .letter = 't', .arg = "TAG",
	  .min = 1, .max = MAX_TAG, .most = MAX_TAGS,
	  .help = "decision, handoff, blocker, question, plan, review, info, …" },
	{ "priority", &kind_word, AT(priority), .letter = 'p', .words = &priorities,
	  .preset = "normal", .help = "priority" },
	{ "in_reply_to", &kind_id, AT(in_reply_to), .flag = "reply-to", .letter = 'r', .min = 1,
	  .help = "message to reply to" },
	{ "refs", &kind_ref, AT(refs), FIELD_LIST, .flag = "ref", .most = MAX_REFS,
	  .help = "references, such as tt:issue:42" },
	{ 0 },
};

static enum err board_post_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	const struct body *in = body;
	struct post draft = {
		.content = in->content,
		.tags = tags_encode(c, in->tags.item, in->tags.n),
		.refs = ref_encode_all(c, in->refs.item, in->refs.n),
		.priority = in->priority,
		.in_reply_to = in->in_reply_to == ABSENT ? 0 : in->in_reply_to,
	};
	struct message *m;
	enum err e = post_add(c, s->board, &draft, &m);

	if (!e)
		message_encode(reply, m);
	return e;
}

const struct op op_board_post = {
	.name = "board post",
	.help = "Post a message",
	.more = "Messages cannot be changed later. \"-\" reads the message from standard input.",
	.examples = "bb post \"Starting the OAuth2 work\" --tag plan --ref tt:issue:13\n"
		    "bb --as kimi-01 post \"Done, please review\" --priority high --reply-to 7\n"
		    "git log -1 --format=%B | bb post - --tag info",
	.flags = OP_BOARD | OP_WRITE | OP_ACTOR | OP_RECEIPT,
	OP_BODY(struct body, fields),
	.reply = &message_reply,
	.run = board_post_run,
};
