#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/autosync.h"
#include "beads/config.h"
#include "beads/exchange/mirror.h"
#include "machines/share.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "ops/upstream/upstream_ops.h"

struct body {
	bool dry, no_push, no_pull, status;
	bool flush_only, import_only, ignored;
	int64_t timeout;
	struct str ignored_text;
};

#define IGNORED(name, kind, member)                                          \
	{                                                                    \
		name, kind, offsetof(struct body, member), FIELD_HIDDEN,     \
			.help = "accepted for compatibility, without effect" \
	}

static const struct field fields[] = {
	{ "dry_run", &kind_bool, offsetof(struct body, dry), .role = ROLE_DRY_RUN, .letter = 'n',
	  .help = "show what there is to sync without doing it" },
	{ "no_push", &kind_bool, offsetof(struct body, no_push), .also = "pull-only",
	  .help = "pull only: publish nothing" },
	{ "no_pull", &kind_bool, offsetof(struct body, no_pull),
	  .help = "push only: fail if the remote has changed" },
	{ "status", &kind_bool, offsetof(struct body, status),
	  .help = "show the last syncs and what is waiting to be pushed" },
	{ "timeout", &kind_duration, offsetof(struct body, timeout), .min = 1000, .max = 3600000,
	  .preset = "30s", .help = "maximum time to wait" },
	{ "flush_only", &kind_bool, offsetof(struct body, flush_only), FIELD_CLI | FIELD_HIDDEN,
	  .help = "only write .beads/issues.jsonl, if it is kept up to date" },
	{ "import_only", &kind_bool, offsetof(struct body, import_only), FIELD_CLI | FIELD_HIDDEN,
	  .also = "import", .help = "only import .beads/issues.jsonl, if mirror.beads is on" },
	IGNORED("full", &kind_bool, ignored),
	IGNORED("squash", &kind_bool, ignored),
	IGNORED("force", &kind_bool, ignored),
	{ "message", &kind_str, offsetof(struct body, ignored_text), FIELD_CLI | FIELD_HIDDEN,
	  .letter = 'm', .help = "accepted for compatibility, without effect" },
	{ 0 },
};

static const struct prop remap_props[] = { { "from to", NULL }, { 0 } };

static const struct prop lost_props[] = {
	{ "id title|null holder epoch:int[] status by to|null until|null message", NULL },
	{ 0 },
};

static const struct prop shared_props[] = { { "received:int sent:int", NULL }, { 0 } };

static const struct prop props[] = {
	{ "pulled:int? pushed:int?", NULL },
	{ "remapped[]?", remap_props },
	{ "commit|null? attempts:int? durability? remote|null? ref? dry_run:bool?", NULL },
	{ "warning|null? published:bool|null? pending:int? oldest_pending|null?", NULL },
	{ "last_sync|null? last_try|null? failures:int? last_error|null? running:bool?", NULL },
	{ "auto:bool?", NULL },
	{ "lost_claims[]?", lost_props },
	{ "shared?", shared_props },
	{ 0 },
};

static enum err check_ttl(struct call *c)
{
	if (!c->wrong_ttl.p)
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT,
		  "BD_TOMBSTONE_TTL_MS is '" STR_FMT
		  "', which is not a number of milliseconds of at least 7 days",
		  STR_ARG(c->wrong_ttl));
	return call_step(c, "Set it to %lld or more, or unset it to remember deletions for ever.",
			 (long long)SYNC_TTL_LEAST_MS);
}

/* Upstream's hooks run 'bd sync --flush-only' and '--import-only', and stop Git if they fail. The
 * store needs neither; with mirror.beads, .beads/issues.jsonl is brought up to date. */
static enum err bead_sync_exchange(struct call *c, struct json *reply)
{
	struct beads b;
	enum err e = beads_open(c, BEADS_READ, &b);

	json_object(reply);
	if (!e) {
		if (mirror_wait(c, &b))
			call_forgive(c); /* 'bd doctor' reports it */
		e = put_sync_status(c, &b, reply);
		beads_close(&b);
	} else if (e == ERR_NOT_INITIALIZED || e == ERR_NOT_A_REPOSITORY) {
		e = call_forgive(c);
	}
	json_end(reply);
	return e;
}

/* Exchanges logs with the other machines, too, if sharing is on. Returns the reply; or NULL. */
static const struct value *sync_machines(struct call *c, struct str home)
{
	struct call before;
	struct str text = { 0 }, why;
	const struct value *shared, *warnings;

	if (!share_is_on(c)) {
		if (share_hint(c, home))
			call_warn(c, "other machines share mail, posts and memory through this "
				     "remote; to take part, run 'abacus share on'");
		return NULL;
	}
	before = call_save(c);
	why = !share_exchange(c, SHARE_ONCE, &text) ? STR_NONE :
	      !c->step.p                            ? c->message :
			   arena_fmt(&c->mem, STR_FMT ". " STR_FMT, STR_ARG(c->message),
				     STR_ARG(c->step));
	call_restore(c, &before);
	if (why.p)
		call_warn(c, "mail, posts and memory were not shared: " STR_FMT, STR_ARG(why));
	shared = text.p ? value_read(&c->mem, text) : NULL;
	warnings = value_find(shared, "warnings");
	VALUE_EACH(one, warnings)
		call_warn(c, STR_FMT, STR_ARG(one->text));
	return shared;
}

/* The reply of the sync, with how many facts were exchanged with other machines. */
static void sync_put_shared(struct call *c, struct str text, const struct value *shared,
			    struct json *reply)
{
	const struct value *v = value_read(&c->mem, text);
	int64_t received = 0, sent = 0;

	value_int(shared, "received", &received);
	value_int(shared, "sent", &sent);
	json_object(reply);
	VALUE_EACH(one, v) {
		json_key(reply, one->key);
		json_value(reply, one);
	}
	json_put_object(reply, "shared");
	json_put_int(reply, "received", received);
	json_put_int(reply, "sent", sent);
	json_end(reply);
	json_end(reply);
}

static enum err bead_sync_run(struct call *c, struct stores *s, const void *body,
			      struct json *reply)
{
	const struct body *in = body;
	struct sync_ask ask = { .no_pull = in->no_pull,
				.no_push = in->no_push,
				.dry = in->dry,
				.timeout_ms = in->timeout };
	const struct value *shared = NULL;
	struct beads b;
	struct str text;
	enum err e = in->status ? ERR_OK : check_ttl(c);

	(void)s;
	if (e)
		return e;
	if (in->import_only)
		upstream_take_in(c);
	if (in->flush_only || in->import_only)
		return bead_sync_exchange(c, reply);
	e = beads_open(c, BEADS_READ, &b);
	if ((e == ERR_INTERNAL_ERROR || e == ERR_DAMAGED) &&
	    !in->status) { /* the remote may have the lost records */
		call_forgive(c);
		e = beads_home(c, &b);
	}
	if (e)
		return e;
	if (in->status) {
		json_object(reply);
		e = put_sync_status(c, &b, reply);
		json_end(reply);
		beads_close(&b);
		return e;
	}
	beads_close(&b);
	if ((e = sync_now(c, &b, &ask, &text)))
		return e;
	if (!in->dry && !in->no_push && !in->no_pull)
		shared = sync_machines(c, b.home);
	if (shared)
		sync_put_shared(c, text, shared, reply);
	else
		json_raw(reply, text);
	return ERR_OK;
}

const struct op op_bead_sync = {
	.name = "bead sync",
	.help = "Sync beads with the Git remote: fetch, merge, push",
	.more = "There are never conflicts to resolve: remote and local changes are merged, with "
		"the same result in every clone. Autosync also publishes changes shortly after "
		"they are made; turn it off with 'bd config set sync.auto false' or "
		"ABACUS_AUTOSYNC=0. A failed sync loses nothing.",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_WAITS | OP_LOST | OP_READER,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "sync", props },
	.run = bead_sync_run,
};
