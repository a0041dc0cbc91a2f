/*
 * bd ready: lists the beads that can be worked on, the next one first. With --claim it also claims
 * them; with --parallel it lists only beads that are unlikely to change the same files.
 */
#include <inttypes.h>

#include "base/moment.h"
#include "base/text/json.h"
#include "beads/exchange/mention.h"
#include "beads/ready.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "ops/work/parallel.h"

struct body {
	struct filter_body filter;
	struct shape_body shape;
	int64_t limit, lease, timeout, parallel, least;
	struct list names;
	int sort, exclusive;
	bool claim, explain;
	struct when when;
};

#define AT(member) offsetof(struct body, member)

static const char *const sort_words[] = { "priority", "oldest", "newest", "updated" };
static const struct synonym sort_synonyms[] = { { "hybrid", 0 }, { 0 } };
static const struct names sorts = { sort_words, 4, sort_synonyms };

static const struct field fields[] = {
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .letter = 'n', .min = 0,
	  .preset = "50", .help = "maximum number of results; 0 shows all" },
	{ "priority", &kind_priority, AT(filter.priorities), FIELD_LIST | FIELD_COMMAS,
	  .letter = 'p', .help = "priorities to include: 0 (most urgent) to 4" },
	{ "type", &kind_word, AT(filter.types), FIELD_LIST | FIELD_COMMAS, .letter = 't',
	  .words = &bead_types, .help = "types to include" },
	{ "assignee", &kind_str, AT(filter.assignee), .letter = 'a', .arg = "NAME",
	  .help = "assignee" },
	{ "unassigned", &kind_bool, AT(filter.unassigned), .letter = 'u', .also = "no-assignee",
	  .help = "show only unassigned beads" },
	{ "labels", &kind_str, AT(filter.labels), FIELD_LIST | FIELD_COMMAS, .flag = "label",
	  .also = "labels", .letter = 'l', .arg = "LABEL", .most = 100, .max = MAX_WORD,
	  .help = "labels that a bead must have, all of them" },
	{ "any_labels", &kind_str, AT(filter.any_labels), FIELD_LIST | FIELD_COMMAS | FIELD_CLI,
	  .flag = "label-any", .arg = "LABEL", .most = 100, .max = MAX_WORD,
	  .help = "labels of which a bead must have one" },
	{ "parent", &kind_bead, AT(filter.parent), .help = "parent whose children to show" },
	{ "sort", &kind_word, AT(sort), FIELD_CLI, .words = &sorts, .preset = "priority",
	  .help = "sort order" },
	{ "claim", &kind_bool, AT(claim), FIELD_WRITES | FIELD_CLAIMS, .role = ROLE_CLAIM,
	  .help = "claim the first one, atomically" },
	{ "lease", &kind_duration, AT(lease), .help = "lease duration, with --claim" },
	EXCLUSIVE_FIELDS(struct body, exclusive, timeout, 0),
	{ "parallel", &kind_int, AT(parallel), FIELD_CLI, .role = ROLE_PARALLEL, .arg = "N",
	  .min = 1, .max = PARALLEL_MOST,
	  .help = "number of beads that can be worked on at once without touching the same files" },
	{ "for", &kind_agent, AT(names), FIELD_LIST | FIELD_COMMAS | FIELD_CLI, .arg = "A,B",
	  .most = PARALLEL_MOST, .help = "agents to claim them for, with --parallel and --claim" },
	{ "min_score", &kind_int, AT(least), FIELD_CLI, .arg = "PERCENT", .min = 1, .max = 100,
	  .preset = "20",
	  .help = "score of 'bd conflicts' from which two beads are kept apart, with --parallel" },
	{ "explain", &kind_bool, AT(explain), FIELD_LOOK,
	  .help = "explain why each bead is ready" },
	SHAPE_FIELDS(struct body, shape),
	WHEN_FIELD(struct body, when),
	{ 0 },
};

static struct str bead_ready_reason(struct arena *mem, int64_t now, const struct bead_row *row)
{
	int64_t ms = now > row->created ? now - row->created : 0;
	struct str age = duration_format(mem, ms / 60000 * 60000);
	struct str children = !row->children ?
				      STR("") :
				      arena_fmt(mem, "; %" PRId64 " open child%s before it",
						row->children, row->children == 1 ? "" : "ren");

	if (row->status == BEAD_IN_PROGRESS)
		return arena_fmt(mem, "the lease of " STR_FMT " ended at %s; nothing blocks it%s",
				 STR_ARG(row->assignee), moment_format(mem, row->lease).p,
				 children.p);
	return arena_fmt(mem, "open, priority %d, created %s ago; nothing blocks it%s%s",
			 (int)row->priority, age.p, row->dependencies ? " any more" : "",
			 children.p);
}

struct bead_ready_listing {
	const struct body *in;
	struct json *reply;
	struct shape shape;
	int64_t now, count;
	struct arena scratch; /* memory for one bead */
};

static bool bead_ready_add(void *arg, const struct bead_row *row)
{
	struct bead_ready_listing *l = arg;
	struct json one;

	arena_reset(&l->scratch);
	one = json_new(&l->scratch);
	json_object(&one);
	public_put(&one, row, &l->shape);
	public_put_container(&one, row, &l->shape);
	if (l->in->explain)
		json_put_str(&one, "why", bead_ready_reason(&l->scratch, l->now, row));
	json_end(&one);
	json_raw(l->reply, json_text(&one));
	l->count++;
	return true;
}

/* Writes each bead as it is read, so that a long list needs no memory. */
static enum err bead_ready_list(struct call *c, struct beads *b, const struct body *in,
				struct bead_filter *filter, struct json *reply)
{
	struct bead_ready_listing list = {
		.in = in, .reply = reply, .shape = shape_of(c, &in->shape), .now = c->now_ms
	};
	struct bead_row *none;
	enum err e;

	filter->visit = bead_ready_add;
	filter->arg = &list;
	json_array(reply);
	e = query_each(c, &b->cache, filter, &none);
	json_end(reply);
	arena_release(&list.scratch);
	if (!e && !list.count)
		mention_warn(c, b);
	return e ? e : count_all(c, b, filter, list.count);
}

static enum err bead_ready_claim(struct call *c, struct beads *b, const struct body *in,
				 const struct bead_filter *filter, struct json *reply)
{
	struct shape shape = shape_of(c, &in->shape);
	struct bead_row *row;
	int64_t lease;
	enum err e = lease_of(c, b, in->lease, &lease);

	if (e || (e = ready_claim(c, b, filter, lease, &row)))
		return e;
	json_array(reply);
	if (row)
		encode_claimed(reply, row, &shape);
	else
		mention_warn(c, b);
	json_end(reply);
	return ERR_OK;
}

static enum err bead_ready_parallel(struct call *c, struct beads *b, const struct body *in,
				    const struct bead_filter *filter, struct json *reply)
{
	struct parallel ask = { .count = in->parallel,
				.least = in->least,
				.names = in->names,
				.claim = in->claim,
				.explain = in->explain };
	struct shape shape = shape_of(c, &in->shape);
	enum err e = in->claim ? lease_of(c, b, in->lease, &ask.lease) : ERR_OK;

	return e ? e : parallel_run(c, b, filter, &ask, &shape, reply);
}

/* Reads new commits before the lock is taken, because other writers must not wait for that. */
static enum err bead_ready_look(struct call *c, struct stores *s, const void *body)
{
	const struct body *in = body;

	(void)s;
	return in->parallel == ABSENT ? ERR_OK : parallel_look(c);
}

static enum err bead_ready_run(struct call *c, struct stores *s, const void *body,
			       struct json *reply)
{
	static const struct {
		enum bead_sort sort;
		bool reverse;
	} order[] = { { SORT_PRIORITY, false },
		      { SORT_CREATED, true },
		      { SORT_CREATED, false },
		      { SORT_UPDATED, false } };
	const struct body *in = body;
	struct filter_body which = {
		FILTER_NONE,
		.priorities = in->filter.priorities,
		.types = in->filter.types,
		.assignee = in->filter.assignee,
		.unassigned = in->filter.unassigned,
		.labels = in->filter.labels,
		.any_labels = in->filter.any_labels,
		.parent = in->filter.parent,
	};
	struct shape shape = shape_of(c, &in->shape);
	struct bead_filter filter;
	enum err e = filter_of(c, s->beads, &which, true, &filter);

	if (in->claim && !c->actor.p)
		return call_fail(c, ERR_IDENTITY_REQUIRED, "a claim requires your name");
	filter.sort = order[in->sort].sort;
	filter.reverse = order[in->sort].reverse;
	filter.lean = !in->claim && shape_lean(&shape);
	filter.ready = true;
	filter.limit = in->limit;
	if (in->names.n && in->parallel == ABSENT)
		return call_fail(c, ERR_INVALID_INPUT, "--for requires --parallel and --claim");
	if (!e && in->parallel != ABSENT)
		return bead_ready_parallel(c, s->beads, in, &filter, reply);
	if (e)
		return e;
	return in->claim ? bead_ready_claim(c, s->beads, in, &filter, reply) :
			   bead_ready_list(c, s->beads, in, &filter, reply);
}

const struct op op_bead_ready = {
	.name = "bead ready",
	.help = "List beads that are ready to work on",
	.more = "Lists open beads that have no open blocker and are not claimed by another "
		"agent, and beads whose lease has expired, by priority and then oldest first. "
		"Beads with open children are containers: they come last, are marked with "
		"`container` and `open_children`, and are never handed out. With --claim, the "
		"first bead that is not a container is claimed for you; an empty list means that "
		"none is ready. With --exclusive, the Git remote decides: of all clones that ask at "
		"the same time, each gets another bead.\n\n"
		"With --parallel, the list has N beads that are likely to collide neither with each "
		"other nor with beads in progress and reservations: see 'bd conflicts'. --claim "
		"then claims all of them, --for for one agent each, in one step. --explain adds "
		"the beads that were left out, marked with `left_out`, and the reason.",
	.examples = "bd ready --json --brief -n 5\n"
		    "bd ready --claim --lease 30m --json\n"
		    "bd ready --claim --exclusive\n"
		    "bd ready -t bug -l backend --explain\n"
		    "bd ready --parallel 3 --claim --for amber,birch,coral --json",
	.flags = BEAD_READ | OP_READER | OP_RECEIPT,
	OP_BODY(struct body, fields),
	.reply = &beads_reply,
	.run = bead_ready_run,
	.look = bead_ready_look,
};
