#include "op/exclusive.h"

#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/autosync.h"

enum { WAIT_MS = 30000 }; /* as long as 'bd sync' waits by default */

static bool request_claims(const struct request *r)
{
	return (r->op->flags & OP_CLAIMS) || request_has(r, FIELD_CLAIMS);
}

bool exclusive_asked(const struct request *r, bool setting)
{
	const int *asked = request_value(r, ROLE_EXCLUSIVE);

	return request_claims(r) && (asked && *asked >= 0 ? *asked : setting);
}

enum err exclusive_check(struct call *c, const struct request *r)
{
	const int *asked = request_value(r, ROLE_EXCLUSIVE);

	if (!asked || *asked != 1 || request_claims(r))
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT,
			 c->wire ? "exclusive needs claim" : "--exclusive needs --claim");
}

/* All parameters, including those that only choose how the reply looks. */
static void exclusive_put_parameters(struct json *j, const struct request *r)
{
	json_put_object(j, "parameters");
	for (const struct field *f = r->op->fields; f && f->name; f++) {
		const struct list *list = (const void *)((const char *)r->body + f->at);

		if ((f->flags & FIELD_LIST) && !list->item)
			continue; /* an empty list can differ in meaning from an absent one */
		json_key(j, str_of(f->name));
		field_to_json(j, f, r->body);
	}
	json_end(j);
}

static struct str exclusive_encode(struct call *c, const struct request *r)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "op", str_of(r->op->name));
	json_put_str(&j, "actor", c->actor);
	json_put_str(&j, "request_id", c->request_id);
	json_put_bool(&j, "terse", c->terse);
	json_put_bool(&j, "wire", c->wire);
	exclusive_put_parameters(&j, r);
	json_end(&j);
	return json_text(&j);
}

enum err exclusive_run(struct call *c, struct beads *b, const struct request *r, struct json *reply)
{
	const int64_t *timeout = request_value(r, ROLE_TIMEOUT);
	struct str text;
	enum err e = sync_exclusive(c, b, exclusive_encode(c, r),
				    timeout && *timeout != ABSENT ? *timeout : WAIT_MS, &text);

	if (!e)
		json_raw(reply, text);
	return e;
}

enum err exclusive_decode(struct call *c, struct str text, const struct op *const *ops,
			  struct request *out)
{
	const struct value *v = value_read(&c->mem, text), *all = value_find(v, "parameters");
	struct str name = value_str(v, "op");
	enum err e;

	while (*ops && !str_is(name, (*ops)->name))
		ops++;
	if (!*ops)
		return call_fail(c, ERR_USAGE, "'" STR_FMT "' can't be done exclusively",
				 STR_ARG(name));
	*out = request_new(c, *ops);
	c->actor = value_str(v, "actor");
	c->request_id = value_str(v, "request_id");
	c->terse = value_yes(v, "terse");
	c->wire = value_yes(v, "wire");
	for (const struct field *f = out->op->fields; f && f->name; f++) {
		const struct value *one = value_find(all, f->name);

		if (one && (e = field_from_json(c, f, one, out->body)))
			return e;
	}
	return c->actor.n ? ERR_OK : call_fail(c, ERR_USAGE, "the request has no actor");
}
