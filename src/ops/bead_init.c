#include "base/json.h"
#include "base/path.h"
#include "base/spawn.h"
#include "base/value.h"
#include "beads/beads.h"
#include "beads/config.h"
#include "beads/courier.h"
#include "beads/state.h"
#include "ops/op.h"
#include "ops/ops.h"

enum { ASK_MS = 10000 }; /* for the remote to answer */

struct body {
	struct str prefix, ref, remote;
};

static const struct field fields[] = {
	{ "prefix", &kind_str, offsetof(struct body, prefix), .letter = 'p',
	  .arg = "WORD", .min = 1, .max = 32,
	  .help = "what ids begin with; otherwise the folder's name" },
	{ "ref", &kind_str, offsetof(struct body, ref), .arg = "REF",
	  .help = "the Git ref to publish to; refs/beads/store otherwise" },
	{ "remote", &kind_str, offsetof(struct body, remote), .arg = "NAME",
	  .help = "the Git remote to publish to; origin otherwise" },
	{ 0 },
};

static const struct prop props[] = {
	{ "result", PROP_STR, 0, NULL },    { "prefix", PROP_STR, 0, NULL },
	{ "store", PROP_STR, 0, NULL },     { "repository", PROP_STR, 0, NULL },
	{ "agents_md", PROP_STR, 0, NULL }, { 0 },
};

static const char advice[] =
	"## Work items\n"
	"\n"
	"This project keeps its work items as beads; use `bd`, not a TODO list.\n"
	"- `bd ready --claim --json` takes the next one; `bd show ID` tells all about "
	"it.\n"
	"- `bd create \"title\" -p 2 --deps discovered-from:ID` for what you find on the "
	"way.\n"
	"- `bd close ID --reason \"what was done\"` when it is done.\n";

static bool prefix_valid(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char ch = s.p[i], lower = (char)(ch | 0x20);
		bool letter = lower >= 'a' && lower <= 'z';

		if (!letter &&
		    !(i && ((ch >= '0' && ch <= '9') || ch == '-' || ch == '_')))
			return false;
	}
	return s.n && s.n <= 32 && s.p[s.n - 1] != '-';
}

/* Of a folder's name, what an id can begin with. */
static struct str prefix_of(struct call *c, struct str name)
{
	struct buf b = { .mem = &c->mem };

	for (size_t i = 0; i < name.n && b.n < 24; i++) {
		char ch = name.p[i], lower = (char)(ch | 0x20);
		bool letter = lower >= 'a' && lower <= 'z',
		     digit = ch >= '0' && ch <= '9';

		if (letter || (digit && b.n))
			buf_char(&b, letter ? lower : ch);
		else if (b.n && b.p[b.n - 1] != '-')
			buf_char(&b, '-');
	}
	while (b.n && b.p[b.n - 1] == '-')
		b.n--;
	return b.n ? buf_str(&b) : STR("bd");
}

static struct str folder_name(struct call *c, const struct beads *b)
{
	struct str name = path_name(path_real(&c->mem, b->repo.main));

	return str_ends(name, STR(".git")) ? str_head(name, name.n - 4) : name;
}

/* What came of it, for the reply. */
struct began {
	const char *result;
	struct str asked;   /* a prefix that is not the one there is */
	struct str problem; /* with the remote; or absent */
	struct str step;    /* what to do about it; absent: wait */
};

static enum err check_prefix(struct call *c, struct str prefix)
{
	if (!prefix.p || prefix_valid(prefix))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' cannot be a prefix of ids",
		  STR_ARG(prefix));
	return call_step(c, "Use letters, digits, '-' and '_', beginning with a letter.");
}

/*
 * A first choice gives way to any that was made on purpose, whatever the clocks, and to
 * a first choice that was made before it: who begins later joins what there is.
 */
static struct mark first_mark(const struct call *c)
{
	int64_t seconds = c->now_ms / 1000;

	return (struct mark){ { 0, seconds < UINT32_MAX ? UINT32_MAX - seconds : 0 },
			      c->actor };
}

static enum err choose_prefix(struct call *c, struct beads *b, struct str asked,
			      bool first)
{
	struct state *change = state_new(&c->mem);
	struct mark mark, known = { 0 };
	struct value_error error;
	struct str prefix = asked.p           ? asked :
			    b->about.prefix.p ? b->about.prefix :
						prefix_of(c, folder_name(c, b));

	if (b->about.prefix.p && str_eq(prefix, b->about.prefix))
		return ERR_OK;
	mark_decode(value_parse(&c->mem, b->about.prefix_mark, &error), &known);
	mark = first ? first_mark(c) : beads_mark_after(c, b, known);
	if (!stamp_valid(mark.at))
		return call_fail(c, ERR_INVALID_INPUT,
				 "the prefix '" STR_FMT
				 "' was chosen at the end of time: "
				 "no choice can be later",
				 STR_ARG(b->about.prefix));
	state_put_prefix(change, prefix, mark);
	return beads_put(c, b, change);
}

static enum err configure(struct call *c, struct beads *b, const struct body *in)
{
	enum err e = ERR_OK;

	if (in->ref.p)
		e = config_put(c, b->home, CONFIG_SYNC_REF, in->ref);
	if (!e && in->remote.p)
		e = config_put(c, b->home, CONFIG_SYNC_REMOTE, in->remote);
	return e;
}

/*
 * What others have published already, if anybody can be asked. What is on the ref here
 * is taken in any case, or the reason why it cannot be read ends the command: an empty
 * store in its place would look like a loss.
 */
static enum err join_others(struct call *c, struct beads *b, struct began *began)
{
	struct sync_ask ask = { .begin = true, .no_push = true, .timeout_ms = ASK_MS };
	struct str reply;
	enum err e = courier_sync(c, b, &ask, &reply);

	if (!e || e == ERR_DAMAGED) /* a ref of this repository cannot be read */
		return e;
	began->problem = c->message;
	if (e == ERR_REMOTE_DAMAGED)
		began->step = call_next_step(c);
	c->code = ERR_OK;
	if (!beads_ref_here(c, b))
		return ERR_OK;
	ask.no_pull = true;
	return courier_sync(c, b, &ask, &reply);
}

/* What there is stays as it is, but for a prefix that was asked for. */
static enum err begin(struct call *c, struct beads *b, const struct body *in,
		      struct began *began)
{
	bool there, mine;
	enum err e = beads_open_new(c, b);

	if (e)
		return e;
	mine = b->about.prefix.p;
	e = configure(c, b, in);
	beads_close(b);
	if (e)
		return e;
	if ((!mine && (e = join_others(c, b, began))) || (e = beads_open_new(c, b)))
		return e;
	there = b->about.prefix.p;
	began->result = !there                                               ? "created" :
			!mine                                                ? "joined" :
			in->prefix.p && !str_eq(in->prefix, b->about.prefix) ? "updated" :
									       "exists";
	if (there && !mine && in->prefix.p && !str_eq(in->prefix, b->about.prefix))
		began->asked = in->prefix;
	e = choose_prefix(c, b, began->asked.p ? (struct str){ 0 } : in->prefix, !there);
	if (!e)
		e = beads_commit(c, b);
	beads_close(b);
	return e;
}

static void warn(struct call *c, const struct began *began, const struct beads *b)
{
	if (began->step.p)
		c->warning = arena_fmt(&c->mem, STR_FMT ". " STR_FMT,
				       STR_ARG(began->problem), STR_ARG(began->step));
	else if (began->problem.p)
		c->warning = arena_fmt(&c->mem,
				       STR_FMT ". The beads work all the same, and are "
					       "exchanged as soon as it can be reached.",
				       STR_ARG(began->problem));
	else if (began->asked.p)
		c->warning =
			arena_fmt(&c->mem,
				  "the beads that are shared here begin with '" STR_FMT
				  "-', and still do; 'bd init --prefix " STR_FMT
				  "' once more changes that for everybody",
				  STR_ARG(b->about.prefix),
				  STR_ARG(spawn_word(&c->mem, began->asked)));
}

static enum err run(struct call *c, struct stores *s, const void *body,
		    struct json *reply)
{
	const struct body *in = body;
	struct began began = { 0 };
	struct beads b;
	enum err e;

	(void)s;
	if ((e = check_prefix(c, in->prefix)) ||
	    (in->remote.p && (e = config_check(c, CONFIG_SYNC_REMOTE, in->remote))) ||
	    (in->ref.p && (e = config_check(c, CONFIG_SYNC_REF, in->ref))) ||
	    (e = begin(c, &b, in, &began)))
		return e;
	courier_call(c, &b);
	warn(c, &began, &b);
	json_object(reply);
	json_put_str(reply, "result", str_of(began.result));
	json_put_str(reply, "prefix", b.about.prefix);
	json_put_str(reply, "store", b.home);
	json_put_str(reply, "repository", b.repo.tree);
	json_put_str(reply, "agents_md", str_of(advice));
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_init = {
	.name = "bead init",
	.help = "Begin to keep beads in this repository, or find those that are there",
	.more = "It touches none of your files, branches or settings: the store is a "
		"folder in "
		"the Git directory. It prints what you may want to add to AGENTS.md.",
	.flags = OP_WRITE | OP_IDEMPOTENT | OP_ACTOR,
	.body_size = sizeof(struct body),
	.fields = fields,
	.reply = &(const struct prop){ "init", PROP_OBJECT, 0, props },
	.run = run,
};
