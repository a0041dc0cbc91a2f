#include "beads/config.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "ops/work/trailer.h"

struct body {
	struct str key, value;
};

#define KEY_FIELD                                                                            \
	{                                                                                    \
		"key", &kind_line, offsetof(struct body, key), FIELD_PLACE | FIELD_REQUIRED, \
			.arg = "KEY", .min = 1, .max = 200, .help = "name of the setting"    \
	}

static const struct field get_fields[] = {
	KEY_FIELD,
	{ 0 },
};

static const struct field set_fields[] = {
	KEY_FIELD,
	{ "value", &kind_str, offsetof(struct body, value), FIELD_PLACE | FIELD_REQUIRED,
	  .arg = "VALUE", .min = 1, .max = MAX_TITLE, .help = "new value" },
	{ 0 },
};

static const struct prop props[] = { { "key value set:bool help", NULL }, { 0 } };
static const struct prop one_reply = { "setting", props };

/* The number of one of our settings, -1 for a free one. */
static enum err bead_config_known(struct call *c, struct str key, int *out)
{
	struct buf all = { .mem = &c->mem };

	*out = names_exact(&config_keys, key);
	if (*out >= 0 || config_is_free(key))
		return ERR_OK;
	for (int i = 0; i < CONFIG_KEYS; i++)
		buf_fmt(&all, "%s%s", i ? ", " : "", names_word(&config_keys, i));
	return call_fail(c, ERR_INVALID_INPUT, "KEY must be one of %s, not '" STR_FMT "'",
			 buf_str(&all).p, STR_ARG(key));
}

static void bead_config_put(struct json *reply, struct str key, struct str value,
			    const char *otherwise, const char *help)
{
	json_object(reply);
	json_put_str(reply, "key", key);
	json_put_str(reply, "value", value.p ? value : str_of(otherwise));
	json_put_bool(reply, "set", value.p);
	json_put_str(reply, "help", str_of(help));
	json_end(reply);
}

static enum err bead_config_show(struct call *c, struct beads *b, struct str key,
				 struct json *reply)
{
	struct str value;
	int known;
	enum err e = bead_config_known(c, key, &known);

	if (e)
		return e;
	if (known < 0) {
		e = config_find_free(c, b->home, key, &value);
		bead_config_put(reply, key, value, "", "kept for other programs");
		return e;
	}
	e = config_find(c, b->home, (enum config_key)known, &value);
	bead_config_put(reply, key, value, config_default((enum config_key)known),
			config_help((enum config_key)known));
	return e;
}

/* An absent value removes the setting. */
static enum err bead_config_change(struct call *c, struct beads *b, struct str key,
				   struct str value, struct json *reply)
{
	int known;
	enum err e = bead_config_known(c, key, &known);

	if (e)
		return e;
	e = known < 0 ? config_put_free(c, b->home, key, value) :
			config_put(c, b->home, (enum config_key)known, value);
	if (!e && known == CONFIG_COMMIT_TRAILER)
		e = trailer_hook_set(c, b, str_is(value, "true"));
	return e ? e : bead_config_show(c, b, key, reply);
}

static enum err bead_config_run_get(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	return bead_config_show(c, s->beads, ((const struct body *)body)->key, reply);
}

static enum err bead_config_run_set(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;

	return bead_config_change(c, s->beads, in->key, in->value, reply);
}

static enum err bead_config_run_unset(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	const struct body *in = body;

	return bead_config_change(c, s->beads, in->key, STR_NONE, reply);
}

static enum err bead_config_run_list(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	struct config_setting *free = NULL;
	enum err e = config_each_free(c, s->beads->home, &free);

	(void)body;
	json_array(reply);
	for (int key = 0; !e && key < CONFIG_KEYS; key++)
		e = bead_config_show(c, s->beads, str_of(names_word(&config_keys, key)), reply);
	for (; !e && free; free = free->next)
		bead_config_put(reply, free->key, free->value, "", "kept for other programs");
	json_end(reply);
	return e;
}

const struct op op_bead_config_get = {
	.name = "bead config get",
	.help = "Show a setting of this clone",
	.flags = BEAD_READ,
	OP_BODY(struct body, get_fields),
	.reply = &one_reply,
	.run = bead_config_run_get,
};

const struct op op_bead_config_set = {
	.name = "bead config set",
	.help = "Change a setting of this clone",
	.more = "'bd config list' shows all settings and what they mean.",
	.examples = "bd config set claim.lease 2h\n"
		    "bd config set sync.auto false",
	.flags = BEAD_WRITE | OP_IDEMPOTENT | OP_HOST,
	OP_BODY(struct body, set_fields),
	.reply = &one_reply,
	.run = bead_config_run_set,
};

const struct op op_bead_config_unset = {
	.name = "bead config unset",
	.help = "Reset a setting to its default",
	.flags = BEAD_WRITE | OP_IDEMPOTENT | OP_HOST,
	OP_BODY(struct body, get_fields),
	.reply = &one_reply,
	.run = bead_config_run_unset,
};

const struct op op_bead_config_list = {
	.name = "bead config list",
	.help = "Show all settings of this clone",
	.flags = BEAD_READ,
	.reply = &(const struct prop){ "settings[]", props },
	.run = bead_config_run_list,
};
