#include "machines/share.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "machines/log.h"
#include "op/op.h"
#include "ops/ops.h"

/* abacus share on|off|status: whether this clone shares mail, posts and memory. */

static const struct prop props[] = {
	{ "on:bool changed:bool machine|null name|null remote|null others:int sent:int", NULL },
	{ "waiting:int ref|null last_push|null warnings[]", NULL },
	{ 0 },
};
static const struct prop share_reply = { "share", props };

static int64_t share_count(const struct machine_row *rows)
{
	int64_t count = 0;

	for (; rows; rows = rows->next)
		count += !rows->forgotten;
	return count;
}

/* `exchange` is the reply of a round; or NULL. */
static enum err share_put_state(struct call *c, bool changed, const struct value *exchange,
				struct json *reply)
{
	const struct value *warnings = value_find(exchange, "warnings");
	struct machine_self self = { 0 };
	struct machine_row *rows = NULL;
	struct machine_db db = { 0 };
	struct str home, gitdir;
	int64_t others;
	enum err e = share_home(c, &home, &gitdir);

	if (e || (e = machine_db_open(c, share_file(c, home, "machines.db"), false, &db)))
		return e;
	if (db.db && !(e = machine_self_find(c, &db, &self)))
		e = machine_row_each(c, &db, &rows);
	machine_db_close(&db);
	if (e)
		return e;
	others = share_count(rows);
	value_int(exchange, "others", &others);
	json_object(reply);
	json_put_bool(reply, "on", share_is_on_in(c, home));
	json_put_bool(reply, "changed", changed);
	json_put_str(reply, "machine", self.id);
	json_put_str(reply, "name", self.name);
	json_put_str(reply, "remote", value_str(exchange, "remote"));
	json_put_int(reply, "others", others);
	json_put_int(reply, "sent", self.sent);
	json_put_int(reply, "waiting", self.count - self.sent);
	json_put_str(reply, "ref", self.id.p ? log_ref(c, self.id) : STR_NONE);
	json_put_moment(reply, "last_push", self.pushed_ms);
	json_put_array(reply, "warnings");
	VALUE_EACH(one, warnings)
		json_value(reply, one);
	json_end(reply);
	json_end(reply);
	return ERR_OK;
}

/*
 * If the remote cannot be reached, sharing stays off, because the user could not be told what will
 * be shared.
 */
static enum err share_on_run(struct call *c, struct stores *s, const void *body, struct json *reply)
{
	struct str text;
	bool was, off;
	enum err e = share_set(c, true, &was);

	(void)s, (void)body;
	if (!e && (e = share_exchange(c, was ? SHARE_ONCE : SHARE_BEGIN, &text)) && !was) {
		struct call failed = call_save(c);

		share_set(c, false, &off);
		call_restore(c, &failed);
	}
	return e ? e : share_put_state(c, !was, value_read(&c->mem, text), reply);
}

static enum err share_off_run(struct call *c, struct stores *s, const void *body,
			      struct json *reply)
{
	bool was;
	enum err e = share_set(c, false, &was);

	(void)s, (void)body;
	return e ? e : share_put_state(c, was, NULL, reply);
}

static enum err share_status_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	(void)s, (void)body;
	return share_put_state(c, false, NULL, reply);
}

const struct op op_share_on = {
	.name = "share on",
	.help = "Share mail, reservations, posts and memory by Git",
	.more = "They travel through the team's Git remote, as a signed log in "
		"refs/abacus/machines/. Everybody who can read the repository can read them. "
		"Only this clone is changed; other machines run the same command.",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_WAITS | OP_HOST,
	.reply = &share_reply,
	.run = share_on_run,
};

const struct op op_share_off = {
	.name = "share off",
	.help = "Stop sharing with other machines",
	.more = "Nothing is sent or received from now on. What was sent before stays at the "
		"remote until 'abacus machines forget' deletes it.",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_HOST,
	.reply = &share_reply,
	.run = share_off_run,
};

const struct op op_share_status = {
	.name = "share status",
	.help = "Show whether this clone shares with other machines",
	.reply = &share_reply,
	.run = share_status_run,
};
