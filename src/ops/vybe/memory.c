#include "continuity/memory.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"

/* vybe memory */

struct body {
	struct memory_ask ask;
	int64_t expires_in, limit;
	bool unpin;
};

#define AT(member) offsetof(struct body, member)

#define KEY_FIELD                                                                           \
	{                                                                                   \
		"key", &kind_str, AT(ask.key), FIELD_REQUIRED, .letter = 'k', .arg = "KEY", \
							       .max = 4096, .help = "key"   \
	}
#define WHERE_FIELDS                                                                          \
	{ "scope",                                                                            \
	  &kind_word,                                                                         \
	  AT(ask.where.scope),                                                                \
	  .letter = 's',                                                                      \
	  .words = &memory_scopes,                                                            \
	  .preset = "global",                                                                 \
	  .help = "scope" },                                                                  \
	{                                                                                     \
		"scope_id", &kind_str, AT(ask.where.id),                                      \
			.arg = "ID", .max = 4096,                                             \
			.help = "id of the scope's task, project or agent (for scope agent, " \
				"default: you)"                                               \
	}

static const struct field set_fields[] = {
	KEY_FIELD,
	{ "value", &kind_str, AT(ask.value), FIELD_REQUIRED | FIELD_STDIN, .letter = 'v',
	  .arg = "TEXT", .max = 1 << 20, .help = "value" },
	{ "type", &kind_word, AT(ask.type), .letter = 't', .words = &memory_types,
	  .help = "type of the value; inferred from the value by default" },
	WHERE_FIELDS,
	{ "expires_in", &kind_duration, AT(expires_in), .min = 1,
	  .help = "time until it expires (default: never)" },
	{ "kind", &kind_word, AT(ask.kind), .words = &memory_kinds, .help = "kind of memory" },
	{ "pin", &kind_bool, AT(ask.pinned), .help = "show it first in every resume" },
	{ 0 },
};

static const struct field key_fields[] = { KEY_FIELD, WHERE_FIELDS, { 0 } };
static const struct field list_fields[] = { WHERE_FIELDS, { 0 } };
static const struct field pin_fields[] = {
	KEY_FIELD,
	WHERE_FIELDS,
	{ "unpin", &kind_bool, AT(unpin), .help = "unpin the memory" },
	{ 0 },
};
static const struct field gc_fields[] = {
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .min = 1, .max = 100000,
	  .preset = "500", .help = "maximum number of memories to delete" },
	{ 0 },
};

const struct prop vybe_memory_props[] = {
	{ "id:int key value value_type scope scope_id kind? pinned:bool? expires_at?", NULL },
	{ "updated_at created_at", NULL },
	{ 0 },
};

static const struct prop set_props[] = {
	{ "event_id:int key scope scope_id? expires_at?", NULL },
	{ 0 },
};
static const struct prop set_reply = { "set", set_props };

static const struct prop list_props[] = {
	{ "scope scope_id? count:int", NULL },
	{ "memories[]", vybe_memory_props },
	{ 0 },
};

static const struct prop gc_props[] = { { "event_id:int deleted:int limit:int", NULL }, { 0 } };

static void vybe_memory_put_where(struct json *reply, const struct memory_where *where)
{
	json_put_str(reply, "scope", str_of(names_word(&memory_scopes, where->scope)));
	json_put_filled(reply, "scope_id", where->id);
}

static void put_done(struct json *reply, int64_t event, const struct memory_ask *ask)
{
	json_object(reply);
	json_put_int(reply, "event_id", event);
	json_put_str(reply, "key", ask->key);
	vybe_memory_put_where(reply, &ask->where);
	if (ask->expires_ms)
		json_put_moment(reply, "expires_at", ask->expires_ms);
	json_end(reply);
}

static enum err vybe_memory_run_set(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	struct body in = *(const struct body *)body;
	int64_t event;
	enum err e;

	if (in.expires_in != ABSENT)
		in.ask.expires_ms = c->now_ms + in.expires_in;
	if ((e = memory_where(c, s->vybe, &in.ask.where)) ||
	    (e = memory_set(c, s->vybe, &in.ask, &event)))
		return e;
	put_done(reply, event, &in.ask);
	return ERR_OK;
}

static enum err vybe_memory_run_get(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	struct body in = *(const struct body *)body;
	struct memory_row *m;
	enum err e;

	if ((e = memory_where(c, s->vybe, &in.ask.where)) ||
	    (e = memory_find(c, s->vybe, &in.ask.where, in.ask.key, &m)))
		return e;
	memory_row_encode(reply, m);
	return ERR_OK;
}

static enum err vybe_memory_run_list(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	struct body in = *(const struct body *)body;
	struct json list = json_new(&c->mem);
	struct memory_row *m;
	int64_t count = 0;
	enum err e;

	if ((e = memory_where(c, s->vybe, &in.ask.where)) ||
	    (e = memory_each(c, s->vybe, &in.ask.where, INT64_MAX, &m)))
		return e;
	json_array(&list);
	for (; m; m = m->next, count++)
		memory_row_encode(&list, m);
	json_end(&list);
	json_object(reply);
	vybe_memory_put_where(reply, &in.ask.where);
	json_put_int(reply, "count", count);
	json_put_raw(reply, "memories", json_text(&list));
	json_end(reply);
	return ERR_OK;
}

static enum err vybe_memory_run_delete(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	struct body in = *(const struct body *)body;
	int64_t event;
	enum err e;

	if ((e = memory_where(c, s->vybe, &in.ask.where)) ||
	    (e = memory_delete(c, s->vybe, &in.ask.where, in.ask.key, &event)))
		return e;
	put_done(reply, event, &in.ask);
	return ERR_OK;
}

static enum err vybe_memory_run_pin(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	struct body in = *(const struct body *)body;
	int64_t event;
	enum err e;

	if ((e = memory_where(c, s->vybe, &in.ask.where)) ||
	    (e = memory_pin(c, s->vybe, &in.ask.where, in.ask.key, !in.unpin, &event)))
		return e;
	put_done(reply, event, &in.ask);
	return ERR_OK;
}

static enum err vybe_memory_run_gc(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	int64_t event, deleted;
	enum err e;

	if ((e = vybe_memory_collect(c, &s->vybe->db, in->limit, &deleted)) ||
	    (e = continuity_note(c, s->vybe,
				 &(struct event_note){ .kind = "memory_gc",
						       .message = arena_fmt(&c->mem, "%lld expired",
									    (long long)deleted) },
				 &event)))
		return e;
	json_object(reply);
	json_put_int(reply, "event_id", event);
	json_put_int(reply, "deleted", deleted);
	json_put_int(reply, "limit", in->limit);
	json_end(reply);
	return ERR_OK;
}

#define MEMORY_OP(id, words, text, how, what, shape, does) \
	const struct op op_vybe_memory_##id = {            \
		.name = "vybe memory " words,              \
		.help = text,                              \
		.flags = how,                              \
		.body_size = sizeof(struct body),          \
		.fields = what,                            \
		.reply = shape,                            \
		.run = does,                               \
	}

MEMORY_OP(set, "set", "Store a memory", VYBE_CHANGES, set_fields, &set_reply, vybe_memory_run_set);
MEMORY_OP(get, "get", "Show a memory", VYBE_LOOKS, key_fields,
	  (&(const struct prop){ "memory", vybe_memory_props }), vybe_memory_run_get);
MEMORY_OP(list, "list", "List the memories of a scope", VYBE_LOOKS, list_fields,
	  (&(const struct prop){ "list", list_props }), vybe_memory_run_list);
MEMORY_OP(delete, "delete", "Delete a memory", VYBE_CHANGES, key_fields, &set_reply,
	  vybe_memory_run_delete);
MEMORY_OP(pin, "pin", "Pin a memory, so that every resume shows it first", VYBE_CHANGES, pin_fields,
	  &set_reply, vybe_memory_run_pin);
MEMORY_OP(gc, "gc", "Delete expired memories", VYBE_CHANGES, gc_fields,
	  (&(const struct prop){ "gc", gc_props }), vybe_memory_run_gc);
