#include "base/text/json.h"
#include "beads/config.h"
#include "beads/git_process.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

/* Commands that read the published commits, through `abacus-sync`. */

struct body {
	struct str id;
	int64_t limit;
	struct when from, to;
	bool lengthy;
};

#define LONG_FIELD                                                                    \
	{                                                                             \
		"long", &kind_bool, offsetof(struct body, lengthy), FIELD_CLI,        \
			.role = ROLE_LONG, .help = "show exact times and every field" \
	}

#define AT(member) offsetof(struct body, member)

static const struct field history_fields[] = {
	ID_FIELD(struct body, id),
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .letter = 'n', .min = 0,
	  .preset = "20", .help = "maximum number of changes; 0 shows all" },
	LONG_FIELD,
	{ 0 },
};

static const struct field commits_fields[] = {
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .letter = 'n', .min = 0,
	  .preset = "20", .help = "maximum number of results; 0 shows all" },
	LONG_FIELD,
	{ 0 },
};

static const struct field blame_fields[] = {
	ID_FIELD(struct body, id),
	LONG_FIELD,
	{ 0 },
};

static const struct field diff_fields[] = {
	{ "from", &kind_when, AT(from), FIELD_PLACE | FIELD_REQUIRED,
	  .help = "older commit or time ('~1' is the one before the last)" },
	{ "to", &kind_when, AT(to), FIELD_PLACE,
	  .help = "newer commit or time (default: the "
		  "last)" },
	{ 0 },
};

static const struct prop history_props[] = {
	{ "commit committed_at change at? by|null", NULL },
	{ "fields[]", changed_field_props },
	{ 0 },
};

static const struct prop commits_props[] = { { "commit committed_at", NULL }, { 0 } };

static const struct prop blame_props[] = { { "field value:any at by commit|null", NULL }, { 0 } };

static const struct prop diff_bead_props[] = {
	{ "id change title|null", NULL },
	{ "fields[]", changed_field_props },
	{ 0 },
};

static const struct prop diff_props[] = {
	{ "from to", NULL },
	{ "beads[]", diff_bead_props },
	{ "dependencies[]", changed_edge_props },
	{ 0 },
};

/* Completes the id of a bead, deleted or not. */
static enum err bead_history_whole_id(struct call *c, struct beads *b, struct str text,
				      struct str *id)
{
	struct bead_row *row;
	enum err e = find_bead(c, b, text, &row);

	*id = e ? text : row->id;
	if (e == ERR_DELETED || e == ERR_NOT_FOUND)
		e = call_forgive(c); /* the bead may be in old commits */
	return e;
}

static enum err bead_history_ask(struct call *c, struct git_process *h, struct json *reply)
{
	enum err e = git_process_run(c, h);

	if (!e)
		json_raw(reply, h->reply);
	return e;
}

static const char *bead_history_number(struct call *c, int64_t n)
{
	return arena_fmt(&c->mem, "%lld", (long long)n).p;
}

static enum err ask_of_bead(struct call *c, struct beads *b, const struct body *in, const char *act,
			    struct json *reply)
{
	struct str ref, id;
	enum err e;

	if ((e = bead_history_whole_id(c, b, in->id, &id)) ||
	    (e = config_get(c, b->home, CONFIG_SYNC_REF, &ref)))
		return e;
	return bead_history_ask(
		c,
		&(struct git_process){ .words = { act, arena_cstr(&c->mem, b->repo.common), "--ref",
						  arena_cstr(&c->mem, ref), "--id",
						  arena_cstr(&c->mem, id), "--limit",
						  bead_history_number(c, in->limit) } },
		reply);
}

static enum err bead_history_run_history(struct call *c, struct stores *s, const void *body,
					 struct json *reply)
{
	return ask_of_bead(c, s->beads, body, "history", reply);
}

static enum err bead_history_run_blame(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	return ask_of_bead(c, s->beads, body, "blame", reply);
}

static enum err ref_of(struct call *c, struct beads *b, const char **ref)
{
	struct str text;
	enum err e = config_get(c, b->home, CONFIG_SYNC_REF, &text);

	*ref = e ? NULL : arena_cstr(&c->mem, text);
	return e;
}

static enum err bead_history_run_commits(struct call *c, struct stores *s, const void *body,
					 struct json *reply)
{
	const struct body *in = body;
	const char *ref;
	enum err e = ref_of(c, s->beads, &ref);

	if (e)
		return e;
	return bead_history_ask(
		c,
		&(struct git_process){
			.words = { "commits", arena_cstr(&c->mem, s->beads->repo.common), "--ref",
				   ref, "--limit", bead_history_number(c, in->limit) } },
		reply);
}

static enum err bead_history_run_diff(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	const struct body *in = body;
	const char *ref;
	enum err e = ref_of(c, s->beads, &ref);

	if (e)
		return e;
	return bead_history_ask(
		c,
		&(struct git_process){
			.words = { "diff", arena_cstr(&c->mem, s->beads->repo.common), "--ref", ref,
				   "--from-ms", bead_history_number(c, in->from.ms), "--from",
				   arena_cstr(&c->mem, in->from.spec), "--to-ms",
				   bead_history_number(c, in->to.ms), "--to",
				   in->to.spec.p ? arena_cstr(&c->mem, in->to.spec) : "@" } },
		reply);
}

const struct op op_bead_history = {
	.name = "bead history",
	.help = "Show a bead's history",
	.flags = BEAD_READ,
	OP_BODY(struct body, history_fields),
	.reply = &(const struct prop){ "history[]", history_props },
	.run = bead_history_run_history,
};

const struct op op_bead_commits = {
	.name = "bead commits",
	.help = "List published commits, newest first",
	.flags = BEAD_READ,
	OP_BODY(struct body, commits_fields),
	.reply = &(const struct prop){ "commits[]", commits_props },
	.run = bead_history_run_commits,
};

const struct op op_bead_blame = {
	.name = "bead blame",
	.help = "Show who last changed each field of a bead",
	.flags = BEAD_READ,
	OP_BODY(struct body, blame_fields),
	.reply = &(const struct prop){ "blame[]", blame_props },
	.run = bead_history_run_blame,
};

const struct op op_bead_diff = {
	.name = "bead diff",
	.help = "Show changes between two commits or times",
	.examples = "bd diff ~1",
	.flags = BEAD_READ,
	OP_BODY(struct body, diff_fields),
	.reply = &(const struct prop){ "diff", diff_props },
	.run = bead_history_run_diff,
};
