#include "store/receipt.h"

#include "base/hash.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"

enum {
	ABOUT_MOST = 100,      /* ids */
	REPLY_MOST = 60 << 20, /* bytes; a value of a database has at most FILE_MOST */
};

enum { DIGITS = 32 };

struct str receipt_digest(struct call *c, struct str arguments)
{
	return str_head(sha256_hex(&c->mem, arguments), DIGITS);
}

/* The digest of the arguments in a receipt of any version. */
static struct str receipt_args(struct call *c, const struct receipt *r)
{
	return str_starts(r->args, STR("{")) ? receipt_digest(c, r->args) :
					       str_head(r->args, DIGITS);
}

enum err receipt_find(struct call *c, const struct receipts *in, const struct receipt *ask,
		      struct receipt *old)
{
	enum err e;

	*old = (struct receipt){ .actor = ask->actor, .id = ask->id };
	if ((e = in->find(c, in->store, old)) || !old->op.p)
		return e;
	if (str_eq(old->op, ask->op) && str_eq(receipt_args(c, old), receipt_args(c, ask)))
		return ERR_OK;
	return call_fail(c, ERR_REQUEST_MISMATCH,
			 "request id '" STR_FMT "' was used for another '" STR_FMT "'",
			 STR_ARG(c->request_id), STR_ARG(old->op));
}

enum err receipt_put(struct call *c, const struct receipts *in, const struct receipt *ask,
		     struct str reply)
{
	struct receipt done = *ask;

	if (reply.n > REPLY_MOST) {
		call_fail(c, ERR_INVALID_INPUT,
			  "the answer has %zu bytes; with a request id it may have %d", reply.n,
			  REPLY_MOST);
		return call_step(c, "Change fewer things with one command.");
	}
	done.reply = reply;
	done.at = c->now_ms;
	return in->put(c, in->store, &done);
}

enum err receipt_answer(struct call *c, const struct receipt *old, struct json *reply)
{
	struct value_error error;

	if (!old->reply.p) {
		call_fail(c, ERR_REQUEST_MISMATCH,
			  "request id '" STR_FMT
			  "' was carried out at %s, and its reply is no longer stored",
			  STR_ARG(c->request_id), moment_format(&c->mem, old->at).p);
		return call_step(c, "Check what it did, and use a new request id for new work.");
	}
	/* other programs may have changed the store since */
	if (!value_parse(&c->mem, old->reply, &error))
		return call_fail(c, ERR_DAMAGED,
				 "the stored reply to request id '" STR_FMT "' is damaged: %s",
				 STR_ARG(c->request_id), error.why);
	json_raw(reply, old->reply);
	return ERR_OK;
}

struct str receipt_key(struct call *c, struct str actor, struct str id)
{
	struct json j = json_new(&c->mem);

	json_array(&j);
	json_str(&j, actor.p ? actor : STR(""));
	json_str(&j, id);
	json_end(&j);
	return str_head(sha256_hex(&c->mem, json_text(&j)), DIGITS);
}

struct str receipt_about(struct call *c, struct str reply)
{
	struct json j = json_new(&c->mem);
	const struct value *v = value_read(&c->mem, reply);

	if (v && v->type == VALUE_OBJECT && value_str(v, "id").p) {
		json_str(&j, value_str(v, "id"));
		return json_text(&j);
	}
	if (!v || v->type != VALUE_ARRAY || v->count > ABOUT_MOST)
		return STR_NONE;
	json_array(&j);
	VALUE_EACH(one, v) {
		if (!value_str(one, "id").p)
			return STR_NONE;
		json_str(&j, value_str(one, "id"));
	}
	json_end(&j);
	return json_text(&j);
}
