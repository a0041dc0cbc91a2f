#include "beads/config.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	int key;
	struct str value;
};

#define KEY_FIELD                                                                            \
	{                                                                                    \
		"key", &kind_word, offsetof(struct body, key), FIELD_PLACE | FIELD_REQUIRED, \
			.arg = "KEY", .words = &config_keys, .help = "name of the setting"   \
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

static const struct prop props[] = {
	{ "key", PROP_STR, 0, NULL },
	{ "value", PROP_STR, 0, NULL },
	{ "set", PROP_BOOL, 0, NULL },
	{ "help", PROP_STR, 0, NULL },
	{ 0 },
};
static const struct prop one_reply = { "setting", PROP_OBJECT, 0, props };

static enum err bead_config_put(struct call *c, struct beads *b, int key, struct json *reply)
{
	struct str value;
	enum err e = config_find(c, b->home, (enum config_key)key, &value);

	json_object(reply);
	json_put_str(reply, "key", str_of(names_word(&config_keys, key)));
	json_put_str(reply, "value",
		     value.p ? value : str_of(config_default((enum config_key)key)));
	json_put_bool(reply, "set", value.p);
	json_put_str(reply, "help", str_of(config_help((enum config_key)key)));
	json_end(reply);
	return e;
}

static enum err bead_config_run_get(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	return bead_config_put(c, s->beads, ((const struct body *)body)->key, reply);
}

static enum err bead_config_run_set(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;
	enum err e = config_put(c, s->beads->home, (enum config_key)in->key, in->value);

	return e ? e : bead_config_put(c, s->beads, in->key, reply);
}

static enum err bead_config_run_unset(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	const struct body *in = body;
	enum err e = config_put(c, s->beads->home, (enum config_key)in->key, STR_NONE);

	return e ? e : bead_config_put(c, s->beads, in->key, reply);
}

static enum err bead_config_run_list(struct call *c, struct stores *s, const void *body,
				     struct json *reply)
{
	enum err e = ERR_OK;

	(void)body;
	json_array(reply);
	for (int key = 0; !e && key < CONFIG_KEYS; key++)
		e = bead_config_put(c, s->beads, key, reply);
	json_end(reply);
	return e;
}

const struct op op_bead_config_get = {
	.name = "bead config get",
	.help = "Show a setting of this clone",
	.flags = BEAD_READ,
	.body_size = sizeof(struct body),
	.fields = get_fields,
	.reply = &one_reply,
	.run = bead_config_run_get,
};

const struct op op_bead_config_set = {
	.name = "bead config set",
	.help = "Change a setting of this clone",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	.body_size = sizeof(struct body),
	.fields = set_fields,
	.reply = &one_reply,
	.run = bead_config_run_set,
};

const struct op op_bead_config_unset = {
	.name = "bead config unset",
	.help = "Reset a setting to its default",
	.flags = BEAD_WRITE | OP_IDEMPOTENT,
	.body_size = sizeof(struct body),
	.fields = get_fields,
	.reply = &one_reply,
	.run = bead_config_run_unset,
};

const struct op op_bead_config_list = {
	.name = "bead config list",
	.help = "Show all settings of this clone",
	.flags = BEAD_READ,
	.reply = &(const struct prop){ "settings", PROP_OBJECT, PROP_LIST, props },
	.run = bead_config_run_list,
};
