#include <assert.h>

#include "agents/liveness.h"
#include "agents/mail.h"
#include "agents/receipts.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "beads/autosync.h"
#include "beads/beads.h"
#include "beads/edit.h"
#include "beads/lost.h"
#include "beads/public.h"
#include "beads/setup.h"
#include "board/unread.h"
#include "continuity/continuity.h"
#include "op/identity.h"
#include "op/op.h"
#include "store/agent_files.h"
#include "store/db/board_db.h"

enum { REQUEST_ID_MOST = 256 };

struct request request_new(struct call *c, const struct op *op)
{
	struct request r = { .op = op, .body = arena_alloc(&c->mem, op->body_size) };

	for (const struct field *f = op->fields; f && f->name; f++)
		field_clear(f, r.body);
	return r;
}

static size_t field_of_role(const struct request *r, enum field_role role)
{
	const struct field *fields = r->op->fields;
	size_t i = 0;

	while (fields && fields[i].name && fields[i].role != role)
		i++;
	return fields && fields[i].name ? i : SIZE_MAX;
}

const void *request_value(const struct request *r, enum field_role role)
{
	size_t i = field_of_role(r, role);

	return i == SIZE_MAX ? NULL : (const char *)r->body + r->op->fields[i].at;
}

bool request_bool(const struct request *r, enum field_role role)
{
	const bool *at = request_value(r, role);

	return at && *at;
}

enum err request_set_role(struct call *c, struct request *r, enum field_role role, struct str text)
{
	size_t i = field_of_role(r, role);

	return i == SIZE_MAX ? ERR_OK : request_set(c, r, i, text);
}

enum err request_set(struct call *c, struct request *r, size_t i, struct str text)
{
	r->given |= UINT64_C(1) << i;
	return field_from_text(c, &r->op->fields[i], text, r->body);
}

/* The identity and the request id belong to the call, not to the operation. */
static bool of_the_call(struct call *c, const struct op *op, const struct value *member)
{
	bool text = member->type == VALUE_STRING;

	if ((op->flags & (OP_ACTOR | OP_READER)) && str_is(member->key, "agent"))
		return text || member->type == VALUE_NULL;
	if (!(op->flags & OP_RECEIPT) || !str_is(member->key, "request_id"))
		return false;
	if (text)
		c->request_id = member->text;
	return text || member->type == VALUE_NULL;
}

static enum err request_decode_member(struct call *c, struct request *r, const struct value *member)
{
	const struct field *fields = r->op->fields;

	if (of_the_call(c, r->op, member))
		return ERR_OK;
	for (size_t i = 0; fields && fields[i].name; i++) {
		if (!field_on_wire(&fields[i]) || !str_is(member->key, fields[i].name))
			continue;
		if (member->type != VALUE_NULL)
			r->given |= UINT64_C(1) << i;
		return field_from_json(c, &fields[i], member, r->body);
	}
	return call_fail(c, ERR_USAGE, "'%s' has no parameter '" STR_FMT "'", r->op->name,
			 STR_ARG(member->key));
}

enum err request_decode(struct call *c, struct request *r, const struct value *object)
{
	enum err e;

	c->wire = true;
	for (size_t i = 0; object && i < object->count; i++)
		if ((e = request_decode_member(c, r, &object->item[i])))
			return e;
	return ERR_OK;
}

enum err request_check(struct call *c, struct request *r)
{
	const struct field *fields = r->op->fields;
	enum err e;

	for (size_t i = 0; fields && fields[i].name; i++) {
		const struct field *f = &fields[i];

		bool elsewhere = f->flags & (c->wire ? FIELD_CLI : FIELD_WIRE);

		if (r->given >> i & 1)
			continue;
		if (field_required(f) && !elsewhere)
			return call_fail(c, f->missing ? f->missing : ERR_USAGE, "%s is missing",
					 field_label(c, f));
		if (f->preset && (e = field_from_text(c, f, str_of(f->preset), r->body)))
			return e;
	}
	return ERR_OK;
}

static enum err check_actor(struct call *c, const struct op *op)
{
	if (!c->actor.p) {
		call_fail(c, ERR_IDENTITY_REQUIRED, "this needs to know who you are");
		return !c->wire && (op->flags & (OP_VYBE | OP_NAMES)) ?
			       call_step(c, "Say it with --agent, or in VYBE_AGENT.") :
			       c->code;
	}
	return identity_check(c, &c->actor, op->flags & OP_BOARD ? AGENT_MOST : ACTOR_MOST);
}

/* Who acts is told in one way or the other. */
static enum err name_actor(struct call *c, const struct request *r)
{
	const struct field *fields = r->op->fields;

	for (size_t i = 0; fields && fields[i].name; i++) {
		struct str *who = (struct str *)((char *)r->body + fields[i].at);

		if (!(fields[i].flags & FIELD_ACTOR))
			continue;
		if (!who->p && !call_named(c)) {
			if (!(fields[i].flags & FIELD_REQUIRED))
				continue;
			call_fail(c, ERR_USAGE, "%s is missing", field_label(c, &fields[i]));
			return call_step(
				c,
				c->wire ?
					"Say who you are." :
					"Say who you are, with it, with --as, or in BB_AGENT_ID.");
		}
		if (!who->p)
			*who = c->actor;
		else if ((fields[i].flags & FIELD_WHOSE) &&
			 !(call_named(c) && str_eq(*who, c->actor)))
			c->looker = call_named(c) ? c->actor : STR("");
		if (c->wire && call_named(c) && !str_eq(*who, c->actor))
			return call_fail(c, ERR_INVALID_INPUT,
					 "you are '" STR_FMT "' here, not '" STR_FMT "'",
					 STR_ARG(c->actor), STR_ARG(*who));
		c->actor = *who;
		c->anonymous = false;
	}
	return ERR_OK;
}

static enum err check_call(struct call *c, const struct op *op)
{
	enum err e;

	if (((op->flags & OP_ACTOR) || call_named(c)) && (e = check_actor(c, op)))
		return e;
	if (c->request_id.p && (!c->request_id.n || c->request_id.n > REQUEST_ID_MOST ||
				!utf8_valid(c->request_id) || utf8_has_control(c->request_id)))
		return call_fail(c, ERR_INVALID_INPUT,
				 "a request id is 1 to %d bytes of text without control characters",
				 REQUEST_ID_MOST);
	return ERR_OK;
}

/* The arguments as one text: what a repeated request must agree with. */
static struct str request_arguments(struct call *c, const struct request *r)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	for (const struct field *f = r->op->fields; f && f->name; f++) {
		if (f->flags & FIELD_LOOK)
			continue;
		json_key(&j, str_of(f->name));
		field_to_json(&j, f, r->body);
	}
	json_end(&j);
	return json_text(&j);
}

/* The answer to a request that is repeated, as it was stored: other programs may have written
 * there since. */
static enum err put_stored(struct call *c, struct str stored, struct json *reply)
{
	struct value_error error;

	if (!value_parse(&c->mem, stored, &error))
		return call_fail(c, ERR_DAMAGED,
				 "the stored answer to request id '" STR_FMT "' is damaged: %s",
				 STR_ARG(c->request_id), error.why);
	json_raw(reply, stored);
	return ERR_OK;
}

static enum err run_with_receipt(struct call *c, struct stores *s, const struct request *r,
				 struct json *reply)
{
	struct str name = str_of(r->op->name), args = request_arguments(c, r), old;
	enum err e = board_receipt_find(c, s->board, name, args, &old);

	if (e)
		return e;
	if (old.p)
		return put_stored(c, old, reply);
	if ((e = r->op->run(c, s, r->body, reply)))
		return e;
	return board_receipt_put(c, s->board, name, args, json_text(reply));
}

/* What waits for the actor rides beside every reply to it: on the board, … */
static enum err add_unread(struct call *c, struct board *b)
{
	struct json j = json_new(&c->mem);
	struct unread unread;
	enum err e;

	if (!call_named(c))
		return ERR_OK;
	if ((e = unread_count(c, b, c->actor, &unread)))
		return e;
	json_object(&j);
	json_key(&j, STR("unread"));
	unread_encode(&j, &unread);
	json_end(&j);
	c->meta = json_text(&j);
	return ERR_OK;
}

static void request_put_mail(struct call *c, struct mail_waiting mail)
{
	struct json j = json_new(&c->mem);

	if (!mail.unread && !mail.unacked)
		return;
	json_object(&j);
	if (c->meta.p)
		json_put_members(&j, c->meta);
	json_put_object(&j, "mail");
	json_put_int(&j, "unread", mail.unread);
	json_put_int(&j, "to_accept", mail.unacked);
	json_end(&j);
	json_end(&j);
	c->meta = json_text(&j);
}

/* For people: the sentences of all of them. */
static struct str lost_words(struct call *c, const struct value *list)
{
	struct buf b = { .mem = &c->mem };

	for (size_t i = 0; i < list->count; i++)
		buf_fmt(&b, "%s" STR_FMT, i ? "; " : "",
			STR_ARG(value_str(&list->item[i], "message")));
	return buf_str(&b);
}

/*
 * Claims that the actor has lost since its last reply. Not with the answer of a sync, which lists
 * those of all actors, nor with that of a hook, which only the host reads.
 */
static void add_lost(struct call *c, const struct op *op)
{
	struct call aside = *c;
	struct json j = json_new(&aside.mem);
	struct str lost = { 0 }, words;
	struct beads b;

	if (!c->actor.p || (op->flags & (OP_HOST | OP_LOST)))
		return;
	if (aside.home.p || !beads_home(&aside, &b))
		lost = lost_take(&aside, aside.home, aside.actor);
	if (lost.p) {
		words = lost_words(&aside, value_read(&aside.mem, lost));
		json_object(&j);
		if (c->meta.p)
			json_put_members(&j, c->meta);
		json_put_raw(&j, "lost_claims", lost);
		json_end(&j);
		c->meta = json_text(&j);
		c->warning = c->warning.p ? arena_fmt(&aside.mem, STR_FMT "; " STR_FMT,
						      STR_ARG(c->warning), STR_ARG(words)) :
					    words;
	}
	c->mem = aside.mem;
}

/*
 * … and in the mail. An agent that runs a command is alive, also if the command fails: what is
 * written moves the agent's time to the millisecond, the rest only if it is old enough to matter.
 * An error stays what it is.
 */
static void request_attend(struct call *c, bool wrote)
{
	struct str message = c->message, step = c->step, remedy = c->remedy, details = c->details,
		   warning = c->warning;
	struct mail_waiting mail = { 0 };
	struct agent_files files;
	enum err code = c->code;

	/* most people's names cannot be the id of an agent */
	if (!call_named(c) || (!registry_id_valid(c->actor) && !registry_id_valid(call_present(c))))
		return;
	if (!agent_files_open(c, AGENTS_READ, &files)) {
		registry_saw(c, &files, call_present(c), wrote ? 1 : SEEN_LEAST_MS);
		mail = mail_waiting(c, &files, c->actor);
	}
	c->code = code;
	c->message = message;
	c->step = step;
	c->remedy = remedy;
	c->details = details;
	c->warning = warning;
	request_put_mail(c, mail);
}

/* Only looks at what it would do: nothing that a repeat could double. */
static bool request_previews(const struct request *r)
{
	const bool *confirmed = request_value(r, ROLE_CONFIRM);

	return confirmed && !*confirmed;
}

static enum err run_plain(struct call *c, const struct request *r, struct json *reply)
{
	return r->op->run(c, &(struct stores){ 0 }, r->body, reply);
}

static enum err run_on_board(struct call *c, const struct request *r, struct json *reply)
{
	bool write = r->op->flags & OP_WRITE;
	bool receipt = (r->op->flags & OP_RECEIPT) && c->request_id.p && !request_previews(r);
	struct board board;
	struct stores s = { .board = &board };
	enum err e = board_open(c, write ? BOARD_WRITE : BOARD_READ, &board);

	if (e)
		return e;
	e = receipt ? run_with_receipt(c, &s, r, reply) : r->op->run(c, &s, r->body, reply);
	if (!e)
		e = add_unread(c, &board);
	if (!e && write)
		e = board_commit(c, &board);
	e = board_explain(c, &board, e);
	board_close(&board);
	return e;
}

/* --- on the beads --- */

bool request_writes(const struct request *r)
{
	const struct field *fields = r->op->fields;

	for (size_t i = 0; fields && fields[i].name; i++)
		if ((fields[i].flags & FIELD_WRITES) &&
		    *(const bool *)((const char *)r->body + fields[i].at))
			return true;
	return r->op->flags & OP_WRITE;
}

/* A bead that an answer was about, as it is now. */
static enum err put_bead_now(struct call *c, struct beads *b, struct str id, struct json *j)
{
	struct shape shape = { .brief = c->terse };
	struct bead_row *row;
	enum err e = cache_find_bead(c, &b->cache, id, &row);

	if (e)
		return e;
	if (row) {
		public_encode(j, row, &shape);
		return ERR_OK;
	}
	json_object(j);
	json_put_str(j, "id", id);
	json_put_bool(j, "deleted", true);
	json_end(j);
	return ERR_OK;
}

/* The answer of then; where that is no longer kept, the beads that it was about. */
static enum err answer_again(struct call *c, struct beads *b, const struct receipt *old,
			     struct str *reply)
{
	struct json j = json_new(&c->mem);
	const struct value *about = old->about.p ? value_read(&c->mem, old->about) : NULL;
	enum err e = ERR_OK;

	*reply = old->reply;
	if (reply->p)
		return ERR_OK;
	if (!about) {
		call_fail(c, ERR_REQUEST_MISMATCH,
			  "request id '" STR_FMT
			  "' was carried out at %s; its answer is no longer kept",
			  STR_ARG(old->id), moment_format(&c->mem, old->at).p);
		return call_step(c, "Look at what it did; give new work a request id of its own.");
	}
	if (about->type == VALUE_ARRAY)
		json_array(&j);
	for (size_t i = 0; !e && about->type == VALUE_ARRAY && i < about->count; i++)
		e = put_bead_now(c, b, about->item[i].text, &j);
	if (about->type == VALUE_ARRAY)
		json_end(&j);
	else
		e = put_bead_now(c, b, about->text, &j);
	c->warning = STR("this request was carried out before; its first answer is no longer kept, "
			 "so the beads are shown as they are now");
	*reply = json_text(&j);
	return e;
}

/*
 * A request that was carried out in another clone left no receipt here, but what it created says
 * so.
 */
static enum err find_created(struct call *c, struct beads *b, struct str *reply)
{
	struct receipt old = b->receipt;
	struct json about = json_new(&c->mem);
	struct bead_row *row;
	struct edit edit;
	struct str *ids, args;
	size_t count;
	enum err e =
		cache_find_created(c, &b->cache, receipt_key(c, old.actor, old.id), &ids, &count);

	if (e || !count || (e = cache_find_bead(c, &b->cache, ids[0], &row)) || !row ||
	    (e = edit_begin(c, b, row, &edit)))
		return e;
	bead_request(&c->mem, &edit.now, &args);
	if (!str_starts(old.args, args)) {
		call_fail(c, ERR_REQUEST_MISMATCH,
			  "request id '" STR_FMT "' has created '" STR_FMT
			  "' in another clone, with other arguments",
			  STR_ARG(old.id), STR_ARG(ids[0]));
		return call_step(c, "Give each request an id that no other clone uses.");
	}
	if (count > 1)
		json_array(&about);
	for (size_t i = 0; i < count; i++)
		json_str(&about, ids[i]);
	if (count > 1)
		json_end(&about);
	old.reply = STR_NONE;
	old.about = json_text(&about);
	return answer_again(c, b, &old, reply);
}

/* The reply that this request was given before, or absent. */
static enum err request_find_receipt(struct call *c, struct beads *b, const struct request *r,
				     struct str *reply)
{
	struct receipt old = { .actor = c->actor, .id = c->request_id };
	struct str args = sha256_hex(&c->mem, request_arguments(c, r));
	enum err e = beads_find_receipt(c, b, &old);

	*reply = STR_NONE;
	b->receipt = (struct receipt){
		.actor = c->actor, .id = c->request_id, .op = str_of(r->op->name), .args = args
	};
	if (!e && !old.op.p && (r->op->flags & OP_CREATES))
		return find_created(c, b, reply);
	if (e || !old.op.p)
		return e;
	if (str_is(old.op, r->op->name) && str_eq(old.args, args))
		return answer_again(c, b, &old, reply);
	return call_fail(c, ERR_REQUEST_MISMATCH,
			 "request id '" STR_FMT "' was used for another '" STR_FMT "'",
			 STR_ARG(c->request_id), STR_ARG(old.op));
}

static enum err run_opened(struct call *c, struct beads *b, const struct request *r,
			   struct json *reply)
{
	struct stores s = { .beads = b };
	struct str old = { 0 };
	enum err e = ERR_OK;

	if (b->writing && c->request_id.p && (e = request_find_receipt(c, b, r, &old)))
		return e;
	if (old.p) {
		e = put_stored(c, old, reply);
		return e ? e : beads_settle(c, b);
	}
	if ((e = r->op->run(c, &s, r->body, reply)) || !b->writing)
		return e;
	b->receipt.reply = json_text(reply);
	return beads_commit(c, b);
}

/* The moment of the past that is asked about, or NULL. */
static const struct when *asked_at(const struct request *r)
{
	for (const struct field *f = r->op->fields; f && f->name; f++) {
		const struct when *when = (const void *)((const char *)r->body + f->at);

		if ((f->flags & FIELD_AT) && when->spec.p)
			return when;
	}
	return NULL;
}

static enum err run_on_past(struct call *c, const struct request *r, const struct when *when,
			    struct json *reply)
{
	struct beads b;
	enum err e;

	if (request_writes(r))
		return call_fail(c, ERR_INVALID_INPUT, "what is past cannot be changed");
	if ((e = beads_open_at(c, when, &b)))
		return e;
	e = run_opened(c, &b, r, reply);
	beads_close(&b);
	return e;
}

/* What the cache could not answer is asked again of a new one. */
static enum err run_on_beads(struct call *c, const struct request *r, struct json *reply)
{
	bool write = request_writes(r), disturbed, doubtful;
	enum beads_mode mode = write ? BEADS_WRITE : BEADS_STILL;
	const struct when *when = asked_at(r);
	struct beads b;
	enum err e;

	if (when)
		return run_on_past(c, r, when, reply);
	for (int tries = 0;; tries++) {
		if ((e = beads_open(c, mode, &b))) {
			if ((e != ERR_DAMAGED && e != ERR_INTERNAL_ERROR) || tries == 2)
				return e;
			mode = write ? BEADS_WRITE : BEADS_READ;
			c->code = ERR_OK;
			continue;
		}
		*reply = json_new(&c->mem);
		e = run_opened(c, &b, r, reply);
		disturbed = !write && !beads_undisturbed(c, &b);
		doubtful = !b.committing && (e == ERR_DAMAGED || e == ERR_INTERNAL_ERROR);
		beads_close(&b);
		if ((!disturbed && !doubtful) || tries == 2) {
			if (!e && write && !b.forgotten)
				autosync_start(c, &b);
			return e;
		}
		c->code = ERR_OK;
		mode = write ? BEADS_WRITE : BEADS_READ;
		if (!disturbed && (e = beads_distrust(c, &b)))
			return e;
	}
}

/* --- on the files of the agents --- */

/* The answer that this request got before; absent: none, or it has no request id. */
static enum err request_find_answer(struct call *c, struct agent_files *files,
				    const struct request *r, struct str *old)
{
	*old = STR_NONE;
	return c->request_args.p ? receipts_find(c, files, str_of(r->op->name), old) : ERR_OK;
}

static enum err request_look(struct call *c, const struct request *r, struct stores *s,
			     struct str *old)
{
	enum err e = agent_files_open(c, AGENTS_READ, s->agents);

	if (!e)
		e = request_find_answer(c, s->agents, r, old);
	return e || old->p ? e : r->op->look(c, s, r->body);
}

/*
 * Runs the operation and leaves its receipt. Where there were no files yet, and so no lock, the
 * operation has made them: the first process that did so with the same request id gave the
 * answer.
 */
static enum err request_run_once(struct call *c, const struct request *r, struct stores *s,
				 struct json *reply)
{
	struct str old = { 0 }, asker = c->actor; /* a session may become somebody */
	bool unlocked = !s->agents->home.p;
	enum err e = r->op->run(c, s, r->body, reply);

	if (e || !c->request_args.p)
		return e;
	if (unlocked) {
		struct str now = c->actor;

		c->actor = asker;
		e = request_find_answer(c, s->agents, r, &old);
		c->actor = now;
	}
	if (e)
		return e;
	if (!old.p)
		return receipts_put(c, s->agents, asker, str_of(r->op->name), json_text(reply));
	*reply = json_new(&c->mem);
	return put_stored(c, old, reply);
}

/*
 * Each write is a file that is replaced or a line that is added: there is no commit. The receipt
 * is looked up under the lock, so that of several equal requests at once only one is carried out.
 */
static enum err run_on_agents(struct call *c, const struct request *r, struct json *reply)
{
	bool write = r->op->flags & OP_WRITE;
	struct agent_files files;
	struct stores s = { .agents = &files };
	struct str old = { 0 };
	enum err e = liveness_check(c);

	if (e)
		return e;
	c->request_args =
		write && c->request_id.p ? sha256_hex(&c->mem, request_arguments(c, r)) : STR_NONE;
	if (r->op->look && (e = request_look(c, r, &s, &old)))
		return e;
	if (old.p)
		return put_stored(c, old, reply);
	e = agent_files_open(c, write ? AGENTS_WRITE : AGENTS_READ, &files);
	if (!e)
		e = request_find_answer(c, &files, r, &old);
	if (!e)
		e = old.p ? put_stored(c, old, reply) : request_run_once(c, r, &s, reply);
	agent_files_close(&files);
	return e;
}

/* --- on what agents go on from --- */

/* Tasks are beads: where nobody keeps any yet, that begins now. Where they are kept, what others
 * did to them comes before what is done now. */
static enum err begin_beads(struct call *c, struct continuity *k)
{
	struct beads *b, made;
	struct setup done;
	enum err e = continuity_tasks(c, k, &b);

	if (!e && b)
		e = continuity_absorb(c, k);
	continuity_let_go(k);
	if (e || b)
		return e;
	return setup_run(c, &(struct setup_ask){ 0 }, &made, &done);
}

static enum err request_replay(struct call *c, const struct request *r,
			       const struct ledger_row *old, struct str args, struct json *reply)
{
	if (!str_is(old->op, r->op->name) || !str_eq(old->args, args))
		return call_fail(c, ERR_REQUEST_MISMATCH,
				 "request id '" STR_FMT "' was used for another '" STR_FMT "'",
				 STR_ARG(c->request_id), STR_ARG(old->op));
	c->replayed = true;
	return put_stored(c, old->reply, reply);
}

static enum err run_once(struct call *c, const struct request *r, struct stores *s,
			 struct json *reply)
{
	struct ledger_row old, now = { .op = str_of(r->op->name), .args = c->request_args };
	enum err e = vybe_ledger_find(c, &s->vybe->db, &old);

	if (e)
		return e;
	if (old.reply.p)
		return request_replay(c, r, &old, c->request_args, reply);
	if ((r->op->flags & OP_TASKS) && (e = begin_beads(c, s->vybe)))
		return e;
	if ((e = r->op->run(c, s, r->body, reply)))
		return e;
	now.reply = json_text(reply);
	if ((e = vybe_ledger_put(c, &s->vybe->db, &now)))
		return e;
	return continuity_commit(c, s->vybe);
}

enum { NAME_MOST_BYTES = 128 };

static enum err lower_actor(struct call *c)
{
	if (!c->actor.p)
		return ERR_OK;
	c->actor = continuity_agent(c, c->actor);
	if (c->actor.n <= NAME_MOST_BYTES)
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT, "the agent's name is longer than %d bytes",
			 NAME_MOST_BYTES);
}

/* What only looks needs no request id; what is done leaves its answer. */
static enum err run_on_vybe(struct call *c, const struct request *r, struct json *reply)
{
	bool write = (r->op->flags & OP_WRITE) && !request_bool(r, ROLE_PEEK);
	struct continuity k;
	struct stores s = { .vybe = &k };
	enum err e;

	if (write && !c->request_id.p && c->wire) /* a host repeats nothing by itself */
		c->request_id = id_random(&c->mem, 32);
	if (write && !c->request_id.p) {
		call_fail(c, ERR_USAGE, "--request-id is missing");
		return call_step(
			c, "Give every write an id of its own, and repeat it with the same one.");
	}
	c->request_args = sha256_hex(&c->mem, request_arguments(c, r));
	if (!write && (r->op->flags & OP_TASKS)) /* who looks at tasks needs only beads */
		e = continuity_locate(c, &k);
	else
		e = continuity_open(c, write ? VYBE_WRITE : VYBE_READ, &k);
	if (e)
		return e;
	e = write ? run_once(c, r, &s, reply) : r->op->run(c, &s, r->body, reply);
	continuity_close(&k);
	return e;
}

static enum err request_run_on_stores(struct call *c, const struct request *r, struct json *reply)
{
	if (r->op->flags & OP_VYBE)
		return run_on_vybe(c, r, reply);
	if (r->op->flags & OP_BEADS)
		return run_on_beads(c, r, reply);
	if (r->op->flags & OP_BOARD)
		return run_on_board(c, r, reply);
	if (r->op->flags & OP_AGENTS)
		return run_on_agents(c, r, reply);
	return run_plain(c, r, reply);
}

enum err request_run(struct call *c, const struct request *r, struct json *reply)
{
	enum err e;

	c->looker = STR_NONE;
	if ((e = name_actor(c, r)) || (e = check_call(c, r->op)))
		return e;
	if ((r->op->flags & (OP_VYBE | OP_NAMES)) && (e = lower_actor(c)))
		return e;
	e = request_run_on_stores(c, r, reply);
	request_attend(c, !e && request_writes(r));
	if (!e)
		add_lost(c, r->op);
	return e;
}
