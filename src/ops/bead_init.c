#include "base/json.h"
#include "base/path.h"
#include "beads/beads.h"
#include "beads/config.h"
#include "beads/state.h"
#include "ops/op.h"
#include "ops/ops.h"

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

static enum err choose_prefix(struct call *c, struct beads *b, struct str asked,
			      bool *made)
{
	struct state *change = state_new(&c->mem);
	struct mark mark;
	struct str prefix = asked.p           ? asked :
			    b->about.prefix.p ? b->about.prefix :
						prefix_of(c, folder_name(c, b));

	*made = !b->about.prefix.p;
	if (!prefix_valid(prefix)) {
		call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' cannot be a prefix of ids",
			  STR_ARG(prefix));
		return call_step(c, "Use letters, digits, '-' and '_', beginning with a "
				    "letter.");
	}
	if (b->about.prefix.p && str_eq(prefix, b->about.prefix))
		return ERR_OK;
	/* a first choice gives way to any later one, whatever the clocks */
	mark = *made ? (struct mark){ .by = c->actor } : beads_mark(c, b);
	state_put_prefix(change, prefix, mark);
	return beads_put(c, b, change);
}

static enum err configure(struct call *c, struct beads *b, const struct body *in)
{
	enum err e = ERR_OK;

	if (in->remote.p && (e = config_check(c, CONFIG_SYNC_REMOTE, in->remote)))
		return e;
	if (in->ref.p)
		e = config_put(c, b->home, CONFIG_SYNC_REF, in->ref);
	if (!e && in->remote.p)
		e = config_put(c, b->home, CONFIG_SYNC_REMOTE, in->remote);
	return e;
}

static enum err run(struct call *c, struct stores *s, const void *body,
		    struct json *reply)
{
	const struct body *in = body;
	struct beads b;
	bool made, changed;
	enum err e = beads_open_new(c, &b);

	(void)s;
	if (e)
		return e;
	changed = in->prefix.p && !str_eq(in->prefix, b.about.prefix);
	if (!(e = choose_prefix(c, &b, in->prefix, &made)) && !(e = configure(c, &b, in)))
		e = beads_commit(c, &b);
	beads_close(&b);
	if (e)
		return e;
	json_object(reply);
	json_put_str(reply, "result",
		     made    ? STR("created") :
		     changed ? STR("updated") :
			       STR("exists"));
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
