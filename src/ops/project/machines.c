#include "base/moment.h"
#include "base/text/json.h"
#include "beads/git_process.h"
#include "machines/identity.h"
#include "machines/log.h"
#include "machines/registrations.h"
#include "machines/share.h"
#include "op/op.h"
#include "ops/ops.h"

/* abacus machines: the machines that share here. */

struct body {
	struct str machine, name;
};

static const struct prop machine_props[] = {
	{ "id name here:bool key|null last_seen|null facts:int waiting:int", NULL },
	{ "problem|null trustable:bool", NULL },
	{ "agents[]", NULL },
	{ 0 },
};
static const struct prop list_reply = { "machines[]", machine_props };
static const struct prop one_reply = { "machine", machine_props };

/* All that is known, read once. */
struct machine_list {
	struct str home;
	struct machine_db db;
	struct machine_self self;
	struct machine_row *rows;
	struct registrations agents; /* read when they are first needed */
};

static enum err machine_list_open(struct call *c, bool write, struct machine_list *l)
{
	struct str gitdir;
	enum err e = share_home(c, &l->home, &gitdir);

	l->db = (struct machine_db){ 0 };
	l->self = (struct machine_self){ 0 };
	l->agents = (struct registrations){ 0 };
	l->rows = NULL;
	if (e || (e = machine_db_open(c, share_file(c, l->home, "machines.db"), false, &l->db)))
		return e;
	if (!l->db.db && write) {
		call_fail(c, ERR_NOT_FOUND, "this clone has never shared with other machines");
		return call_step(c, "To begin: abacus share on");
	}
	if (l->db.db && write) {
		machine_db_close(&l->db);
		e = machine_db_open(c, share_file(c, l->home, "machines.db"), true, &l->db);
	}
	if (!e && l->db.db && !(e = machine_self_find(c, &l->db, &l->self)))
		e = machine_row_each(c, &l->db, &l->rows);
	return e;
}

static void machine_put_agents(struct call *c, struct machine_list *l, struct json *reply,
			       struct str id)
{
	const struct registrations *all = &l->agents;

	if (!all->names.mem && registrations_read(c, &l->db, &l->agents))
		call_forgive(c);
	json_put_array(reply, "agents");
	for (size_t i = 0; i < all->names.count; i++)
		for (struct registration *one = all->names.entry[i].value; one; one = one->next)
			if (str_eq(one->machine, id))
				json_str(reply, one->shown);
	json_end(reply);
}

static void machine_put(struct call *c, struct machine_list *l, struct json *reply,
			const struct machine_row *r)
{
	json_object(reply);
	json_put_str(reply, "id", r->id);
	json_put_str(reply, "name", identity_shown(c, l->rows, l->self.name, r));
	json_put_bool(reply, "here", false);
	json_put_str(reply, "key", r->key);
	json_put_moment(reply, "last_seen", r->seen_ms);
	json_put_int(reply, "facts", r->count);
	json_put_int(reply, "waiting", r->count - r->applied);
	json_put_str(reply, "problem", r->problem);
	json_put_bool(reply, "trustable", log_problem_trustable(r->problem));
	machine_put_agents(c, l, reply, r->id);
	json_end(reply);
}

static void machine_put_self(struct call *c, struct machine_list *l, struct json *reply)
{
	json_object(reply);
	json_put_str(reply, "id", l->self.id);
	json_put_str(reply, "name", l->self.name);
	json_put_bool(reply, "here", true);
	json_put_str(reply, "key", l->self.key);
	json_put_moment(reply, "last_seen", l->self.pushed_ms);
	json_put_int(reply, "facts", l->self.count);
	json_put_int(reply, "waiting", l->self.count - l->self.sent);
	json_put_str(reply, "problem", STR_NONE);
	json_put_bool(reply, "trustable", false);
	machine_put_agents(c, l, reply, l->self.id);
	json_end(reply);
}

static enum err machines_list_run(struct call *c, struct stores *s, const void *body,
				  struct json *reply)
{
	struct machine_list l;
	enum err e = machine_list_open(c, false, &l);

	(void)s, (void)body;
	json_array(reply);
	if (!e && l.self.id.p)
		machine_put_self(c, &l, reply);
	for (const struct machine_row *r = e ? NULL : l.rows; r; r = r->next)
		if (!r->forgotten)
			machine_put(c, &l, reply, r);
	json_end(reply);
	machine_db_close(&l.db);
	return e;
}

/* --- changing what is known of a machine --- */

static enum err machine_find(struct call *c, struct machine_list *l, struct str name,
			     struct machine_row *out)
{
	const struct machine_row *r = identity_named(c, l->rows, l->self.name, name);

	if (r) {
		*out = *r;
		return ERR_OK;
	}
	call_fail(c, ERR_NOT_FOUND, "there is no machine '" STR_FMT "'", STR_ARG(name));
	return call_step(c, "'abacus machines' lists the machines.");
}

static bool machine_is_here(const struct machine_list *l, struct str name)
{
	return str_eq(name, l->self.name) || str_eq(name, l->self.id);
}

/* Opens, finds, and lets `change` write in one transaction, while no round runs. */
static enum err machine_change(struct call *c, struct str name,
			       enum err (*change)(struct call *c, struct machine_list *l,
						  struct machine_row *r, const struct body *in),
			       const struct body *in, struct json *reply)
{
	enum { ROUND_MS = 30000 };
	AUTO_LOCK alone = LOCK_NONE;
	struct machine_row row = { 0 };
	struct machine_list l;
	bool here;
	enum err e = machine_list_open(c, true, &l);

	if (!e)
		e = lock_take(c, share_file(c, l.home, "round.lock"), ROUND_MS, &alone);
	here = !e && machine_is_here(&l, name);
	if (!e && !here)
		e = machine_find(c, &l, name, &row);
	if (!e && !(e = change(c, &l, here ? NULL : &row, in)) &&
	    !(e = machine_self_find(c, &l.db, &l.self)))
		e = machine_row_each(c, &l.db, &l.rows);
	if (!e && here)
		machine_put_self(c, &l, reply);
	else if (!e)
		machine_put(c, &l, reply, &row);
	machine_db_close(&l.db);
	return e;
}

static enum err machine_store(struct call *c, struct machine_list *l, const struct machine_row *r)
{
	enum err e = machine_db_begin(c, &l->db);

	if (e || (e = r ? machine_row_put(c, &l->db, r) : machine_self_put(c, &l->db, &l->self)))
		return e;
	return machine_db_commit(c, &l->db);
}

static enum err machine_rename(struct call *c, struct machine_list *l, struct machine_row *r,
			       const struct body *in)
{
	if (r) {
		r->nick = in->name;
	} else {
		l->self.name = in->name;
		l->self.dirty = true;
	}
	return machine_store(c, l, r);
}

/* One argument is the new name of this machine. */
static enum err machines_rename_run(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	struct body in = *(const struct body *)body;
	struct machine_list l;
	struct str which = in.machine;
	enum err e = ERR_OK;

	(void)s;
	if (!in.name.p) {
		in.name = in.machine;
		if (!(e = machine_list_open(c, true, &l)))
			which = l.self.id;
		machine_db_close(&l.db);
	}
	if (e || (e = identity_check_name(c, in.name)))
		return e;
	e = machine_change(c, which, machine_rename, &in, reply);
	if (!e)
		share_changed(c);
	return e;
}

/* The next round reads its log from the start, and pins the key that it has then. */
static enum err machine_trust(struct call *c, struct machine_list *l, struct machine_row *r,
			      const struct body *in)
{
	enum err e;

	(void)in;
	if (!r)
		return ERR_OK;
	r->key = r->commit = r->bad = r->problem = STR_NONE;
	r->count = r->applied = 0;
	if ((e = machine_db_begin(c, &l->db)) || (e = fact_row_drop_all(c, &l->db, r->id)) ||
	    (e = machine_row_put(c, &l->db, r)))
		return e;
	return machine_db_commit(c, &l->db);
}

static enum err machines_trust_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	enum err e = machine_change(c, in->machine, machine_trust, in, reply);

	(void)s;
	if (!e)
		share_changed(c);
	return e;
}

/* Its key stays pinned: nobody else can publish a log under its id afterwards. */
static enum err machine_drop(struct call *c, struct machine_list *l, struct machine_row *r,
			     const struct body *in)
{
	struct str id = r ? r->id : l->self.id, home, gitdir;
	struct git_process h = { .timeout_ms = 60000 };
	enum err e = share_home(c, &home, &gitdir);

	(void)in;
	if (e)
		return e;
	h.words[0] = "share";
	h.words[1] = arena_cstr(&c->mem, gitdir);
	h.words[2] = "--forget";
	h.words[3] = arena_cstr(&c->mem, id);
	if ((e = git_process_run(c, &h)))
		return e;
	if (!r) {
		l->self.sent = 0;
		l->self.commit = STR_NONE;
		return machine_store(c, l, NULL);
	}
	r->forgotten = true;
	r->applied = 0;
	r->commit = r->bad = r->problem = STR_NONE;
	if ((e = machine_db_begin(c, &l->db)) || (e = fact_row_drop_all(c, &l->db, r->id)) ||
	    (e = r->key.p ? machine_row_put(c, &l->db, r) : machine_row_drop(c, &l->db, r->id)))
		return e;
	return machine_db_commit(c, &l->db);
}

static enum err machines_forget_run(struct call *c, struct stores *s, const void *body,
				    struct json *reply)
{
	const struct body *in = body;

	(void)s;
	return machine_change(c, in->machine, machine_drop, in, reply);
}

/* clang-format off */
#define MACHINE_FIELD(text) \
	{ "machine", &kind_line, offsetof(struct body, machine), FIELD_PLACE | FIELD_REQUIRED, \
	  .arg = "MACHINE", .min = 1, .max = 100, .help = text }
/* clang-format on */

static const struct field one_fields[] = {
	MACHINE_FIELD("name or id of the machine"),
	{ 0 },
};

static const struct field rename_fields[] = {
	MACHINE_FIELD("name or id of the other machine; not given to name this one"),
	{ "name", &kind_line, offsetof(struct body, name), FIELD_PLACE, .arg = "NAME", .min = 1,
	  .max = 100, .help = "new name" },
	{ 0 },
};

const struct op op_machines_list = {
	.name = "machines",
	.help = "List the machines that share here",
	.more = "For each machine, shows its key, its agents, when its last change arrived, "
		"what is waiting to be sent, and, if its log is not applied, why. 'abacus "
		"machines rename', 'forget' and 'trust' change one.",
	.reply = &list_reply,
	.run = machines_list_run,
};

const struct op op_machines_rename = {
	.name = "machines rename",
	.help = "Name this machine, or another one in this clone",
	.more = "With one argument, renames this machine for everybody. With two, sets the name "
		"that this clone shows for another machine.",
	.examples = "abacus machines rename laptop\n"
		    "abacus machines rename 4f3a office",
	.flags = OP_WRITE | OP_HOST,
	OP_BODY(struct body, rename_fields),
	.reply = &one_reply,
	.run = machines_rename_run,
};

const struct op op_machines_forget = {
	.name = "machines forget",
	.help = "Delete a machine's log at the remote",
	.more = "Other clones keep what they have received. A machine that still shares "
		"publishes its log again with its next change.",
	.flags = OP_WRITE | OP_HOST | OP_WAITS,
	OP_BODY(struct body, one_fields),
	.reply = &one_reply,
	.run = machines_forget_run,
};

const struct op op_machines_trust = {
	.name = "machines trust",
	.help = "Accept a machine's present key and log",
	.more = "Use this after a warning that a machine's log is signed with another key, or "
		"was rolled back, and only once the owner of the machine has confirmed it.",
	.flags = OP_WRITE | OP_HOST,
	OP_BODY(struct body, one_fields),
	.reply = &one_reply,
	.run = machines_trust_run,
};
