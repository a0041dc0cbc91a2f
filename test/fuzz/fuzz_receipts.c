/*
 * Receipts as they are exported and brought back: lines of the file that earlier versions kept,
 * and what is remembered of a reply.
 */
#include "agents/receipts.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "folder.h"
#include "store/db/receipt_db.h"

static void check_about(struct call *c, struct str reply)
{
	struct str about = receipt_about(c, reply);
	const struct value *v;

	if (!about.p)
		return;
	v = value_read(&c->mem, about);
	rule(v && (v->type == VALUE_STRING || v->type == VALUE_ARRAY),
	     "what is remembered of a reply is an id or a list of ids");
	rule(about.n <= reply.n + 2, "what is remembered is shorter than the reply");
}

static void check_taken_over(struct call *c, struct str lines)
{
	struct agent_files f = { .root = folder(), .home = folder(), .lock = LOCK_NONE };
	struct receipts in = agents_receipts(&f);
	struct receipt old, ask = {
		.actor = c->actor, .id = STR("r1"), .op = STR("agent send"), .args = STR("args")
	};

	folder_put(c, "receipts.db", STR_NONE);
	folder_put(c, "receipts.jsonl", lines);
	c->request_id = ask.id;
	if (receipt_find(c, &in, &ask, &old)) {
		rule(c->message.n, "receipts are refused with a message");
		c->code = ERR_OK;
		return;
	}
	if (old.op.p)
		return;
	rule(!receipt_put(c, &in, &ask, STR("{\"id\":\"m1\"}")), "a receipt can be left");
	rule(!receipt_find(c, &in, &ask, &old) && str_is(old.reply, "{\"id\":\"m1\"}"),
	     "a receipt that was left is found");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size);
	struct call c = fuzz_call();

	check_about(&c, text);
	check_taken_over(&c, text);
	call_release(&c);
	return 0;
}
