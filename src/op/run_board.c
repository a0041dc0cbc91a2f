#include "base/text/json.h"
#include "op/notices.h"
#include "op/run.h"
#include "store/board/board_db.h"

static enum err board_run_once(struct call *c, const struct request *r, struct stores *s,
			       struct json *reply)
{
	struct receipts in = board_receipts(s->board);
	struct receipt old, ask = request_receipt(c, r);
	enum err e = receipt_find(c, &in, &ask, &old);

	if (e)
		return e;
	if (old.op.p)
		return receipt_answer(c, &old, reply);
	if ((e = r->op->run(c, s, r->body, reply)))
		return e;
	return receipt_put(c, &in, &ask, json_text(reply));
}

/* An operation that has not been confirmed changes nothing, so it leaves no receipt. */
static bool board_keeps_receipt(const struct call *c, const struct request *r)
{
	const bool *confirmed = request_value(r, ROLE_CONFIRM);

	return (r->op->flags & OP_RECEIPT) && c->request_id.p && (!confirmed || *confirmed);
}

enum err request_run_board(struct call *c, const struct request *r, struct json *reply)
{
	bool write = r->op->flags & OP_WRITE;
	struct board board;
	struct stores s = { .board = &board };
	enum err e = board_open(c, write ? BOARD_WRITE : BOARD_READ, &board);

	if (e)
		return e;
	e = board_keeps_receipt(c, r) ? board_run_once(c, r, &s, reply) :
					r->op->run(c, &s, r->body, reply);
	if (!e)
		e = notices_add_unread(c, &board);
	if (!e && write)
		e = board_commit(c, &board);
	e = board_explain(c, &board, e);
	board_close(&board);
	return e;
}
