/*
 * A request is an operation with its parameters. They are set from a command line or decoded from
 * JSON; request_check() adds presets and refuses missing ones; request_run() checks the actor and
 * hands the request to the store of its operation (run_board.c, run_beads.c, run_agents.c,
 * run_vybe.c).
 */
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "continuity/continuity.h"
#include "machines/share.h"
#include "op/identity.h"
#include "op/notices.h"
#include "op/run.h"

enum { REQUEST_ID_MOST = 256 };

struct request request_new(struct call *c, const struct op *op)
{
	struct request r = { .op = op, .body = arena_alloc(&c->mem, op->body_size) };

	for (const struct field *f = op->fields; f && f->name; f++)
		field_clear(f, r.body);
	return r;
}

/* The index of the field with that role; SIZE_MAX if the operation has none. */
static size_t request_find_field(const struct request *r, enum field_role role)
{
	const struct field *fields = r->op->fields;
	size_t i = 0;

	while (fields && fields[i].name && fields[i].role != role)
		i++;
	return fields && fields[i].name ? i : SIZE_MAX;
}

const void *request_value(const struct request *r, enum field_role role)
{
	size_t i = request_find_field(r, role);

	return i == SIZE_MAX ? NULL : (const char *)r->body + r->op->fields[i].at;
}

bool request_bool(const struct request *r, enum field_role role)
{
	const bool *at = request_value(r, role);

	return at && *at;
}

enum err request_set_role(struct call *c, struct request *r, enum field_role role, struct str text)
{
	size_t i = request_find_field(r, role);

	return i == SIZE_MAX ? ERR_OK : request_set(c, r, i, text);
}

enum err request_set_named(struct call *c, struct request *r, const char *name, struct str text)
{
	size_t i = 0;

	while (strcmp(r->op->fields[i].name, name) != 0)
		i++;
	return request_set(c, r, i, text);
}

enum err request_set(struct call *c, struct request *r, size_t i, struct str text)
{
	r->given |= UINT64_C(1) << i;
	return field_from_text(c, &r->op->fields[i], text, r->body);
}

/*
 * Decodes the members "agent" and "request_id", which belong to the call and not to the
 * operation. The surface has already read "agent". False: it is another member.
 */
static bool request_decode_call(struct call *c, const struct op *op, const struct value *member)
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

static enum err request_decode_member(struct call *c, struct request *r, const struct value *member,
				      bool (*takes)(const struct field *f))
{
	const struct field *fields = r->op->fields;

	if (request_decode_call(c, r->op, member))
		return ERR_OK;
	for (size_t i = 0; fields && fields[i].name; i++) {
		if (!takes(&fields[i]) || !str_is(member->key, fields[i].name))
			continue;
		if (member->type != VALUE_NULL)
			r->given |= UINT64_C(1) << i;
		return field_from_json(c, &fields[i], member, r->body);
	}
	return call_fail(c, ERR_USAGE, "'%s' has no parameter '" STR_FMT "'",
			 r->called ? r->called : r->op->name, STR_ARG(member->key));
}

static enum err request_decode_members(struct call *c, struct request *r,
				       const struct value *object,
				       bool (*takes)(const struct field *f))
{
	enum err e;

	VALUE_EACH(one, object)
		if ((e = request_decode_member(c, r, one, takes)))
			return e;
	return ERR_OK;
}

enum err request_decode(struct call *c, struct request *r, const struct value *object)
{
	c->wire = true;
	return request_decode_members(c, r, object, field_on_wire);
}

enum err request_decode_handed(struct call *c, struct request *r, const struct value *object)
{
	return request_decode_members(c, r, object, field_can_be_handed);
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
		if ((c->wire ? field_required(f) : field_required_cli(f)) && !elsewhere)
			return call_fail(c, f->missing ? f->missing : ERR_USAGE, "%s is missing",
					 field_label(c, f));
		if (f->preset && (e = field_from_text(c, f, str_of(f->preset), r->body)))
			return e;
	}
	return ERR_OK;
}

static enum err request_check_actor(struct call *c, const struct op *op)
{
	if (!c->actor.p) {
		call_fail(c, ERR_IDENTITY_REQUIRED, "this command requires your name");
		return !c->wire && (op->flags & (OP_VYBE | OP_NAMES)) ?
			       call_step(c, "Pass --agent NAME, or set ABACUS_AGENT.") :
			       c->code;
	}
	return identity_check(c, &c->actor, op->flags & OP_BOARD ? AGENT_MOST : ACTOR_MOST);
}

/*
 * Makes the field `f` and the actor of the call the same: either may name the actor, and over JSON
 * both must agree. With FIELD_WHOSE, a caller may look at another agent's data: the call then acts
 * as that agent, and `looker` is the caller.
 */
static enum err request_name_actor(struct call *c, const struct field *f, struct str *name)
{
	if (!name->p && !call_named(c)) {
		if (!(f->flags & FIELD_REQUIRED))
			return ERR_OK;
		call_fail(c, ERR_USAGE, "this command requires your name");
		return c->wire ? call_step(c, "Pass your name as \"%s\".", f->name) :
				 call_step(c, "Pass --as NAME, or set ABACUS_AGENT.");
	}
	if (!name->p)
		*name = c->actor;
	else if ((f->flags & FIELD_WHOSE) && !(call_named(c) && str_eq(*name, c->actor)))
		c->looker = call_named(c) ? c->actor : STR("");
	if (c->wire && call_named(c) && !str_eq(*name, c->actor))
		return call_fail(c, ERR_INVALID_INPUT,
				 "you are '" STR_FMT "' here, not '" STR_FMT "'", STR_ARG(c->actor),
				 STR_ARG(*name));
	c->actor = *name;
	c->anonymous = false;
	return ERR_OK;
}

static enum err request_check_call(struct call *c, const struct request *r)
{
	enum err e;

	for (const struct field *f = r->op->fields; f && f->name; f++)
		if ((f->flags & FIELD_ACTOR) &&
		    (e = request_name_actor(c, f, (struct str *)((char *)r->body + f->at))))
			return e;
	if (((r->op->flags & OP_ACTOR) || call_named(c)) && (e = request_check_actor(c, r->op)))
		return e;
	if (c->request_id.p && (!c->request_id.n || c->request_id.n > REQUEST_ID_MOST ||
				!utf8_valid(c->request_id) || utf8_has_control(c->request_id)))
		return call_fail(c, ERR_INVALID_INPUT,
				 "a request id must be 1 to %d bytes of text without control "
				 "characters",
				 REQUEST_ID_MOST);
	return ERR_OK;
}

/* All arguments as one JSON object, except those that only choose how the reply looks. */
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

struct receipt request_receipt(struct call *c, const struct request *r)
{
	return (struct receipt){ .actor = c->actor,
				 .id = c->request_id,
				 .op = str_of(r->op->name),
				 .args = receipt_digest(c, request_arguments(c, r)) };
}

bool request_has(const struct request *r, enum field_flags flag)
{
	const struct field *fields = r->op->fields;

	for (size_t i = 0; fields && fields[i].name; i++)
		if ((fields[i].flags & flag) &&
		    *(const bool *)((const char *)r->body + fields[i].at))
			return true;
	return false;
}

bool request_writes(const struct request *r)
{
	return (r->op->flags & OP_WRITE) || request_has(r, FIELD_WRITES);
}

/* Continuity knows agents by their names in lower case. */
static enum err request_normalize_actor(struct call *c)
{
	if (!c->actor.p)
		return ERR_OK;
	c->actor = continuity_agent(c, c->actor);
	if (c->actor.n <= VYBE_AGENT_MOST)
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT, "the agent's name is longer than %d bytes",
			 VYBE_AGENT_MOST);
}

static enum err request_run_on_store(struct call *c, const struct request *r, struct json *reply)
{
	if (r->op->flags & OP_VYBE)
		return request_run_vybe(c, r, reply);
	if (r->op->flags & OP_BEADS)
		return request_run_beads(c, r, reply);
	if (r->op->flags & OP_BOARD)
		return request_run_board(c, r, reply);
	if (r->op->flags & OP_AGENTS)
		return request_run_agents(c, r, reply);
	return r->op->run(c, &(struct stores){ 0 }, r->body, reply);
}

enum err request_run(struct call *c, const struct request *r, struct json *reply)
{
	enum err e;

	c->looker = c->meta = STR_NONE;
	if ((e = request_check_call(c, r)))
		return e;
	if ((r->op->flags & (OP_VYBE | OP_NAMES)) && (e = request_normalize_actor(c)))
		return e;
	e = request_run_on_store(c, r, reply);
	notices_add_mail(c, !e && request_writes(r));
	if (!e)
		notices_add_lost_claims(c, r->op);
	if (e == ERR_ALREADY_CLAIMED)
		notices_name_machine(c);
	if (!e && request_writes(r))
		share_changed(c);
	return e;
}
