/*
 * bd conflicts: forecasts the files of each bead (agents/forecast), and lists the pairs of beads
 * that are likely to change the same ones.
 */
#include <stdlib.h>

#include "agents/forecast/forecast.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "ops/work/parallel.h"

struct body {
	struct list ids;
	int64_t least, limit;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "ids", &kind_bead, AT(ids), FIELD_LIST | FIELD_PLACE, .flag = "id", .most = MAX_IDS,
	  .help = "beads to compare with all others (default: compare all)" },
	{ "min_score", &kind_int, AT(least), .arg = "PERCENT", .min = 1, .max = 100, .preset = "20",
	  .help = "lowest score to show" },
	{ "limit", &kind_int, AT(limit), .role = ROLE_LIMIT, .letter = 'n', .min = 0,
	  .preset = "50", .help = "maximum number of results; 0 shows all" },
	{ 0 },
};

static const struct prop evidence_props[] = {
	{ "scope chance:int a_why a_chance:int a_with|null b_why b_chance:int b_with|null", NULL },
	{ 0 },
};

static const struct prop side_props[] = {
	{ "id title|null in_progress:bool agent|null", NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "score:int", NULL },
	{ "a", side_props },
	{ "b", side_props },
	{ "reason", NULL },
	{ "evidence[]", evidence_props },
	{ 0 },
};

static void conflict_put_side(struct json *reply, const char *key, const struct prospect *p)
{
	json_put_object(reply, key);
	json_put_str(reply, "id", p->id);
	json_put_str(reply, "title", p->title);
	json_put_bool(reply, "in_progress", p->in_progress);
	json_put_str(reply, "agent", p->agent);
	json_end(reply);
}

static void collision_put(struct call *c, struct json *reply, const struct collision *x)
{
	json_object(reply);
	json_put_int(reply, "score", x->score);
	conflict_put_side(reply, "a", x->a);
	conflict_put_side(reply, "b", x->b);
	json_put_str(reply, "reason", collision_reason(&c->mem, x));
	json_put_array(reply, "evidence");
	for (size_t i = 0; i < x->count; i++) {
		const struct shared_scope *m = &x->shared[i];

		json_object(reply);
		json_put_str(reply, "scope", m->scope.n ? m->scope : STR("/"));
		json_put_int(reply, "chance", m->chance);
		json_put_word(reply, "a_why", &expectations, m->a->why);
		json_put_int(reply, "a_chance", m->a->chance);
		json_put_str(reply, "a_with", m->a->with);
		json_put_word(reply, "b_why", &expectations, m->b->why);
		json_put_int(reply, "b_chance", m->b->chance);
		json_put_str(reply, "b_with", m->b->with);
		json_end(reply);
	}
	json_end(reply);
	json_end(reply);
}

/* --- all pairs --- */

struct conflict_pairs {
	struct collision *x;
	size_t count;
	int64_t least;
};

static void conflict_pairs_add(struct call *c, struct conflict_pairs *pairs,
			       const struct prospect *a, const struct prospect *b)
{
	struct collision x;

	forecast_compare(a, b, &x);
	if (x.score < pairs->least)
		return;
	pairs->x = arena_room(&c->mem, pairs->x, pairs->count, sizeof x);
	pairs->x[pairs->count++] = x;
}

static bool conflicts_asked(const struct bead_row *asked, const struct prospect *p)
{
	for (; asked; asked = asked->next)
		if (str_eq(asked->id, p->id))
			return true;
	return false;
}

static int collision_cmp(const void *a, const void *b)
{
	const struct collision *x = a, *y = b;
	int order = str_cmp(x->a->id, y->a->id);

	if (x->score != y->score)
		return y->score - x->score;
	return order ? order : str_cmp(x->b->id, y->b->id);
}

/* The beads that were asked for, those in progress and those that are ready. */
static enum err conflicts_collect(struct call *c, struct forecast *f, struct bead_row *asked,
				  struct prospect **out)
{
	struct bead_filter ready = {
		.ready = true, .actor = c->actor, .now = c->now_ms, .limit = PARALLEL_SEEN_MOST
	};
	struct bead_row *rows;
	struct prospect **tail = out;
	enum err e = forecast_busy(c, f, out);

	if (e || (e = query_each(c, &f->b->cache, &ready, &rows)))
		return e;
	for (int i = 0; i < 2; i++)
		for (struct bead_row *row = i ? rows : asked; row; row = row->next) {
			struct prospect *one = arena_new(&c->mem, struct prospect);

			if (prospect_listed(*out, row->id))
				continue;
			if ((e = forecast_bead(c, f, row, one)))
				return e;
			while (*tail)
				tail = &(*tail)->next;
			*tail = one;
		}
	return ERR_OK;
}

static enum err conflicts_find(struct call *c, struct forecast *f, struct bead_row *asked,
			       struct conflict_pairs *pairs)
{
	struct prospect *all;
	enum err e = conflicts_collect(c, f, asked, &all);

	for (struct prospect *a = all; !e && a; a = a->next)
		for (struct prospect *b = a->next; b; b = b->next)
			if (!asked || conflicts_asked(asked, a) || conflicts_asked(asked, b))
				conflict_pairs_add(c, pairs, a, b);
	if (!e && pairs->count)
		qsort(pairs->x, pairs->count, sizeof *pairs->x, collision_cmp);
	return e;
}

static enum err bead_conflicts_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	struct conflict_pairs pairs = { .least = in->least };
	struct bead_row *asked = NULL;
	struct forecast f;
	enum err e = ERR_OK;

	if (in->ids.n)
		e = find_beads(c, s->beads, in->ids.item, in->ids.n, &asked);
	if (e || (e = forecast_open(c, s->beads, &f)))
		return e;
	e = conflicts_find(c, &f, asked, &pairs);
	forecast_close(&f);
	if (e)
		return e;
	json_array(reply);
	for (size_t i = 0; i < pairs.count && (!in->limit || i < (size_t)in->limit); i++)
		collision_put(c, reply, &pairs.x[i]);
	json_end(reply);
	if (in->limit && pairs.count > (size_t)in->limit && !c->wire)
		c->total = (int64_t)pairs.count;
	return ERR_OK;
}

const struct op op_bead_conflicts = {
	.name = "bead conflicts",
	.help = "List pairs of beads likely to change the same files",
	.more = "Compares the beads that are ready (the first 500) and in progress. The score is "
		"the chance, in percent, that both change the same file. It is made from what each "
		"bead declares, what is reserved for it, the files of its commits, the files that "
		"its text names, and the files that changed together with those in the "
		"repository's history. The evidence names the source of each chance.",
	.examples = "bd conflicts\n"
		    "bd conflicts bd-a1b2 --min-score 20 --json",
	.flags = BEAD_READ | OP_READER,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "conflicts[]", props },
	.run = bead_conflicts_run,
};
