#include "agents/agent_names.h"
#include "agents/mail.h"
#include "agents/reservation.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "beads/find.h"
#include "board/unread.h"
#include "live/open.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/board/board_db.h"

/*
 * abacus whoami: shows the actor of this command line, where its name comes from, and its unread
 * messages, claims and reservations. Stores that do not exist here are skipped.
 */

static const struct prop claim_props[] = { { "id title lease_ends_at|null", NULL }, { 0 } };

static const struct prop reservation_props[] = { { "scope bead_id expires_at", NULL }, { 0 } };

static const struct prop props[] = {
	{ "actor source renamed_from|null registered:bool role|null liveness|null", NULL },
	{ "claims[]", claim_props },
	{ "reservations[]", reservation_props },
	{ "unread_mail:int mail_to_accept:int unread_posts:int", NULL },
	{ 0 },
};

static const char *whoami_source(const struct call *c)
{
	switch (c->actor_source) {
	case ACTOR_OPTION:
		return "--as";
	case ACTOR_VARIABLE:
		return c->actor_variable;
	case ACTOR_GIT_USER:
		return "git config user.name";
	case ACTOR_LOGIN:
		return "login";
	default:
		return "default";
	}
}

static enum err whoami_put_claims(struct call *c, struct json *reply)
{
	struct bead_row *row = NULL;
	struct beads b;
	bool there;
	enum err e = live_open_beads(c, &b, &there);

	if (e)
		return e;
	if (there) {
		e = find_claimed(c, &b, c->actor, &row);
		beads_close(&b);
	}
	json_put_array(reply, "claims");
	for (; !e && row; row = row->next) {
		json_object(reply);
		json_put_str(reply, "id", row->id);
		json_put_str(reply, "title", row->title);
		json_put_moment(reply, "lease_ends_at", row->lease);
		json_end(reply);
	}
	json_end(reply);
	return e;
}

static void whoami_put_registration(struct call *c, struct agent_files *files, struct json *reply)
{
	struct registered *self = NULL;

	if (registry_find(c, files, c->actor, &self))
		self = NULL;
	call_forgive(c);
	json_put_bool(reply, "registered", self);
	json_put_str(reply, "role", self ? self->role : STR_NONE);
	json_put_str(
		reply, "liveness",
		self ? str_of(names_word(&liveness_words, (int)liveness_of(self->seen_ms, c->now_ms,
									   c->stale_minutes))) :
		       STR_NONE);
}

static enum err whoami_put_reservations(struct call *c, struct agent_files *files,
					struct json *reply)
{
	struct reservation *r = NULL;
	enum err e = reservation_each(c, files, c->actor, STR_NONE, &r);

	json_put_array(reply, "reservations");
	for (; !e && r; r = r->next) {
		json_object(reply);
		json_put_str(reply, "scope", r->scope);
		json_put_str(reply, "bead_id", r->bead);
		json_put_moment(reply, "expires_at", r->expires_ms);
		json_end(reply);
	}
	json_end(reply);
	return e;
}

static enum err whoami_put_posts(struct call *c, struct json *reply)
{
	struct unread unread = { 0 };
	struct board board;
	bool there;
	enum err e = live_open_board(c, &board, &there);

	if (there) {
		e = board_explain(c, &board, unread_count(c, &board, c->actor, &unread));
		board_close(&board);
	}
	json_put_int(reply, "unread_posts", unread.count);
	return e;
}

static enum err project_whoami_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	struct mail_waiting mail;
	struct str before;
	enum err e = agent_names_before(c, s->agents, c->actor, &before);

	(void)body;
	if (e)
		return e;
	json_object(reply);
	json_put_str(reply, "actor", c->actor);
	json_put_str(reply, "source", str_of(whoami_source(c)));
	json_put_str(reply, "renamed_from", before);
	whoami_put_registration(c, s->agents, reply);
	if ((e = whoami_put_claims(c, reply)) || (e = whoami_put_reservations(c, s->agents, reply)))
		return e;
	mail = mail_waiting(c, s->agents, c->actor);
	json_put_int(reply, "unread_mail", mail.unread);
	json_put_int(reply, "mail_to_accept", mail.unacked);
	if ((e = whoami_put_posts(c, reply)))
		return e;
	json_end(reply);
	return ERR_OK;
}

const struct op op_project_whoami = {
	.name = "whoami",
	.help = "Show your name, its source, your claims and reservations",
	.more = "The actor is named by --as (--actor and --agent are aliases), else by the "
		"program's own variables (bd: BD_ACTOR, BEADS_ACTOR; bb: BB_AGENT_ID; vybe: "
		"VYBE_AGENT), else by ABACUS_AGENT, else by the other programs' variables, else "
		"it is Git's user.name or the login name.",
	.flags = OP_AGENTS | OP_READER | OP_PERSON,
	.reply = &(const struct prop){ "whoami", props },
	.run = project_whoami_run,
};
