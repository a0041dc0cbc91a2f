#include "continuity/memory.h"

#include "base/hash.h"
#include "base/text/json.h"
#include "ops/ops.h"
#include "ops/vybe/vybe_ops.h"

/* bd remember, memories, recall, forget: vybe's memory of the project, under upstream's names. */

struct body {
	struct str key, text, words;
};

#define AT(member) offsetof(struct body, member)

enum { KEY_MOST = 4096, TEXT_MOST = 1 << 20, SLUG = 48 };

static const struct field remember_fields[] = {
	{ "text", &kind_str, AT(text), FIELD_PLACE | FIELD_REQUIRED | FIELD_STDIN, .arg = "TEXT",
	  .min = 1, .max = TEXT_MOST, .help = "fact to remember" },
	{ "key", &kind_str, AT(key), .arg = "KEY", .min = 1, .max = KEY_MOST,
	  .help = "name of the fact (default: made from the text)" },
	{ 0 },
};

static const struct field key_fields[] = {
	{ "key", &kind_str, AT(key), FIELD_PLACE | FIELD_REQUIRED, .arg = "KEY", .min = 1,
	  .max = KEY_MOST, .help = "name of the fact" },
	{ 0 },
};

static const struct field list_fields[] = {
	{ "words", &kind_str, AT(words), FIELD_PLACE, .arg = "TEXT", .max = KEY_MOST,
	  .help = "text to find in the facts" },
	{ 0 },
};

static const struct prop done_props[] = { { "key value? action?", NULL }, { 0 } };
static const struct prop done_reply = { "memory", done_props };

/* "Run the tests first!" is "run-the-tests-first"; a text without letters has its hash as key. */
static struct str memory_key_of(struct call *c, struct str text)
{
	struct buf b = { .mem = &c->mem };

	for (size_t i = 0; i < text.n && b.n < SLUG; i++) {
		char ch =
			text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] | 0x20) : text.p[i];

		if ((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9'))
			buf_char(&b, ch);
		else if (b.n && b.p[b.n - 1] != '-')
			buf_char(&b, '-');
	}
	while (b.n && b.p[b.n - 1] == '-')
		b.n--;
	return b.n ? buf_str(&b) : str_head(sha256_hex(&c->mem, text), 12);
}

static enum err memory_here(struct call *c, struct stores *s, struct memory_where *where)
{
	*where = (struct memory_where){ .scope = SCOPE_GLOBAL };
	return memory_where(c, s->vybe, where);
}

static void memory_put(struct json *j, struct str key, struct str value, const char *action)
{
	json_object(j);
	json_put_str(j, "key", key);
	json_put_present(j, "value", value);
	if (action)
		json_put_str(j, "action", str_of(action));
	json_end(j);
}

static enum err upstream_remember_run(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	const struct body *in = body;
	struct memory_ask ask = { .key = in->key.p ? in->key : memory_key_of(c, in->text),
				  .value = in->text,
				  .type = TYPE_STRING,
				  .kind = -1 };
	int64_t event;
	enum err e;

	if ((e = memory_here(c, s, &ask.where)) || (e = memory_set(c, s->vybe, &ask, &event)))
		return e;
	memory_put(reply, ask.key, ask.value, "remembered");
	return ERR_OK;
}

static enum err upstream_recall_run(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;
	struct memory_where where;
	struct memory_row *m;
	enum err e;

	if ((e = memory_here(c, s, &where)) || (e = memory_find(c, s->vybe, &where, in->key, &m)))
		return e;
	memory_put(reply, m->key, m->value, NULL);
	return ERR_OK;
}

static enum err upstream_forget_run(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;
	struct memory_where where;
	int64_t event;
	enum err e;

	if ((e = memory_here(c, s, &where)) ||
	    (e = memory_delete(c, s->vybe, &where, in->key, &event)))
		return e;
	memory_put(reply, in->key, STR_NONE, "forgotten");
	return ERR_OK;
}

static enum err upstream_memories_run(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	const struct body *in = body;
	struct memory_where where;
	struct memory_row *m;
	enum err e;

	if ((e = memory_here(c, s, &where)) || (e = memory_each(c, s->vybe, &where, INT64_MAX, &m)))
		return e;
	json_object(reply);
	for (; m; m = m->next)
		if (!in->words.n || str_has(m->key, in->words) || str_has(m->value, in->words)) {
			json_key(reply, m->key);
			json_str(reply, m->value);
		}
	json_end(reply);
	return ERR_OK;
}

#define MEMORY_WRITES (OP_VYBE | OP_WRITE | OP_ACTOR | OP_HOST)

const struct op op_upstream_remember = {
	.name = "upstream remember",
	.help = "Remember a fact for later sessions",
	.more = "The fact is part of 'bd prime' and of every resume. It is the same as 'vybe "
		"memory set --scope global'.",
	.flags = MEMORY_WRITES | OP_IDEMPOTENT,
	OP_BODY(struct body, remember_fields),
	.reply = &done_reply,
	.run = upstream_remember_run,
};

const struct op op_upstream_memories = {
	.name = "upstream memories",
	.help = "List the remembered facts",
	.flags = OP_VYBE | OP_READER | OP_HOST,
	OP_BODY(struct body, list_fields),
	.reply = &(const struct prop){ "memories:object", NULL },
	.run = upstream_memories_run,
};

const struct op op_upstream_recall = {
	.name = "upstream recall",
	.help = "Show a remembered fact",
	.flags = OP_VYBE | OP_READER | OP_HOST,
	OP_BODY(struct body, key_fields),
	.reply = &done_reply,
	.run = upstream_recall_run,
};

const struct op op_upstream_forget = {
	.name = "upstream forget",
	.help = "Forget a remembered fact",
	.flags = MEMORY_WRITES,
	OP_BODY(struct body, key_fields),
	.reply = &done_reply,
	.run = upstream_forget_run,
};
