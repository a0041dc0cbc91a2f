#include "sync/attempts.h"

#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"

static const int64_t kept_ms = INT64_C(7) * 24 * 3600 * 1000;

static struct str attempts_path(struct call *c, struct str home)
{
	return path_join(&c->mem, home, STR("exclusive.jsonl"));
}

static struct str attempt_text_of(struct call *c, const struct value *v, const char *key)
{
	struct json j = json_new(&c->mem);
	const struct value *member = value_find(v, key);

	if (!member)
		return STR_NONE;
	json_value(&j, member);
	return json_text(&j);
}

static bool attempt_decode(struct call *c, struct str line, struct attempt *out)
{
	const struct value *v = value_read(&c->mem, line);

	*out = (struct attempt){ .receipt = { .actor = value_str(v, "actor"),
					      .id = value_str(v, "request_id"),
					      .op = value_str(v, "op"),
					      .args = value_str(v, "args"),
					      .reply = attempt_text_of(c, v, "reply") },
				 .commit = value_str(v, "commit"),
				 .old = value_str(v, "old"),
				 .claims = attempt_text_of(c, v, "claims") };
	return value_int(v, "at_ms", &out->at_ms) && out->commit.p && out->receipt.actor.p &&
	       out->receipt.op.p && out->receipt.args.p && out->receipt.reply.p && out->claims.p;
}

enum err attempts_read(struct call *c, struct str home, struct attempt **out)
{
	struct str text, line;
	enum err e = file_own_read(c, attempts_path(c, home), &text);

	*out = NULL;
	while (!e && str_next(&text, '\n', &line)) {
		struct attempt *a = arena_new(&c->mem, struct attempt);

		if (!attempt_decode(c, line, a) || a->at_ms < c->now_ms - kept_ms)
			continue;
		*out = a;
		out = &a->next;
	}
	return e;
}

static void attempt_encode(struct json *j, const struct attempt *a)
{
	json_object(j);
	json_put_str(j, "actor", a->receipt.actor);
	json_put_str(j, "request_id", a->receipt.id);
	json_put_str(j, "op", a->receipt.op);
	json_put_str(j, "args", a->receipt.args);
	json_put_str(j, "commit", a->commit);
	json_put_str(j, "old", a->old);
	json_put_raw(j, "claims", a->claims);
	json_put_int(j, "at_ms", a->at_ms);
	json_put_raw(j, "reply", a->receipt.reply);
	json_end(j);
}

enum err attempts_write(struct call *c, struct str home, const struct attempt *list)
{
	struct str path = attempts_path(c, home);
	struct buf lines = { .mem = &c->mem };
	enum err e = file_remove_leftovers(c, path);

	if (e)
		return e;
	if (!list)
		return file_exists(&c->mem, path) ? file_remove(c, path) : ERR_OK;
	for (; list; list = list->next) {
		struct json j = json_new(&c->mem);

		attempt_encode(&j, list);
		buf_put(&lines, json_text(&j));
		buf_char(&lines, '\n');
	}
	return file_own_replace(c, path, buf_str(&lines), 0600);
}

bool attempt_is_of(const struct attempt *a, const struct receipt *request)
{
	const struct receipt *r = &a->receipt;

	return str_eq(r->actor, request->actor) && str_eq(r->op, request->op) &&
	       str_eq(r->args, request->args) && !r->id.p == !request->id.p &&
	       str_eq(r->id, request->id);
}
