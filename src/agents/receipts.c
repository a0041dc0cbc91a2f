#include "agents/receipts.h"

#include "base/hash.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "store/db/receipt_db.h"

static const struct str database = { "receipts.db", 11 };

/* Earlier versions kept receipts in a file of lines, which only grew. */
static const struct str old_lines = { "receipts.jsonl", 14 };

static struct receipt receipt_of_line(struct call *c, const struct value *v)
{
	const struct value *reply = value_find(v, "reply");
	struct json j = json_new(&c->mem);
	struct receipt r = { .actor = value_str(v, "agent_id"),
			     .id = value_str(v, "request_id"),
			     .op = value_str(v, "op"),
			     .args = value_str(v, "args") };

	moment_parse(value_str(v, "created_at"), &r.at);
	if (!reply)
		return (struct receipt){ 0 };
	json_value(&j, reply);
	r.reply = json_text(&j);
	return r;
}

bool receipts_line_valid(struct call *c, struct str line)
{
	struct receipt r = receipt_of_line(c, value_read(&c->mem, line));

	return r.id.p && r.op.p;
}

static enum err receipts_damaged(struct call *c)
{
	call_fail(c, ERR_IO_READ_FAILED, "'receipts.jsonl' has a damaged line");
	return call_remedy(
		c, "Run 'abacus doctor --fix', which keeps a copy of the file and repairs it");
}

static enum err take_over_lines(struct call *c, struct agent_files *f, struct receipt_db *db)
{
	struct str text, line;
	enum err e = agent_file_read(c, f, old_lines, &text);

	while (!e && agent_line_next(&text, &line)) {
		struct receipt r = receipt_of_line(c, value_read(&c->mem, line));

		if (!r.id.p || !r.op.p)
			e = receipts_damaged(c);
		else
			e = receipt_db_put(c, db, &r);
	}
	return e;
}

/* Takes over the lines of an earlier version in one transaction, then removes their file. */
static enum err open_for_writing(struct call *c, struct agent_files *f, struct receipt_db *db)
{
	int64_t before;
	enum err e = agent_file_size(c, f, old_lines, &before);

	if (e || (e = receipt_db_open(c, agent_file_path(c, f, database), true, db)) || !before)
		return e;
	if (!(e = take_over_lines(c, f, db)) && !(e = receipt_db_commit(c, db)) &&
	    !(e = agent_file_remove(c, f, old_lines))) {
		receipt_db_close(db);
		return receipt_db_open(c, agent_file_path(c, f, database), true, db);
	}
	receipt_db_close(db);
	return e;
}

static enum err agents_find_receipt(struct call *c, void *store, struct receipt *r)
{
	struct agent_files *f = store;
	struct receipt_db db;
	int64_t before;
	enum err e;

	if (!f->home.p)
		return ERR_OK;
	if (!(e = agent_file_size(c, f, old_lines, &before)))
		e = before ? open_for_writing(c, f, &db) :
			     receipt_db_open(c, agent_file_path(c, f, database), false, &db);
	if (e)
		return e;
	e = receipt_db_find(c, &db, r);
	receipt_db_close(&db);
	return e;
}

static enum err agents_put_receipt(struct call *c, void *store, const struct receipt *r)
{
	struct receipt_db db = { 0 };
	enum err e;

	if (!(e = open_for_writing(c, store, &db)) && !(e = receipt_db_put(c, &db, r)))
		e = receipt_db_commit(c, &db);
	receipt_db_close(&db);
	if (e)
		c->code = ERR_IO_WRITE_FAILED;
	return c->code;
}

struct receipts agents_receipts(struct agent_files *f)
{
	return (struct receipts){ f, agents_find_receipt, agents_put_receipt };
}

struct str receipts_mark(struct call *c, struct str agent)
{
	struct str zero = { "", 1 },
		   pieces[] = { c->request_id, zero, agent, zero, c->request_args };

	if (!c->request_id.p)
		return STR_NONE;
	return str_head(sha256_pieces(&c->mem, pieces, 5), 32);
}
