#include "agents/forecast/forecast.h"

#include "base/text/value.h"
#include "beads/git_process.h"
#include "store/agent_files.h"
#include "store/db/bead_query.h"
#include "store/db/bead_ready.h"

enum {
	CHANCE_LEARNED = 80,
	CHANCE_NAMED = 50,
	CHANCE_LEAST = 5,             /* of a file that is expected because of history */
	CHANCE_FOLDER = 10,           /* that two beads collide which change files of one folder */
	BORROWED = 2 * COMMIT_WEIGHT, /* see together_join() */
	FINE = 100,                   /* parts of a percent */
	COMMITS_SEEN = 64,            /* of each scope, the newest */
	ITEMS_MOST = 300,
	WORDS_MOST = 40,
	LEARN_TIMEOUT_MS = 60000,
};

static const char *const words[] = { "declared", "reserved", "learned", "named", "history" };
const struct names expectations = { words, sizeof words / sizeof *words, NULL };

/* --- opening --- */

static enum err forecast_learn(struct call *c, const struct beads *b, struct str head)
{
	struct git_process h = { .words = { "learn", arena_cstr(&c->mem, b->repo.common),
					    "--prefix", arena_cstr(&c->mem, b->about.prefix),
					    "--also", arena_cstr(&c->mem, head) },
				 .timeout_ms = LEARN_TIMEOUT_MS };

	return git_process_run(c, &h);
}

void forecast_open_known(struct call *c, const struct beads *b, struct commit_db *out)
{
	if (commit_db_open(c, b->home, false, out))
		call_forgive(c);
}

static void forecast_open_history(struct call *c, const struct beads *b, struct commit_db *out)
{
	struct str head = place_head(c, &b->repo), why;

	forecast_open_known(c, b, out);
	if (b->writing || !head.p || (out->db && commit_db_has_tip(c, out, head)))
		return;
	commit_db_close(out);
	if (forecast_learn(c, b, head)) {
		why = c->message;
		call_forgive(c);
		call_warn(c, "the forecast lacks the repository's history: " STR_FMT, STR_ARG(why));
	}
	forecast_open_known(c, b, out);
}

enum err forecast_open(struct call *c, struct beads *b, struct forecast *out)
{
	struct agent_files files;
	enum err e;

	*out = (struct forecast){ .b = b, .together.mem = &c->mem };
	if ((e = agent_files_open(c, AGENTS_READ, &files)))
		return e;
	if (files.home.p)
		e = reservation_shown(c, &files, STR_NONE, STR_NONE, false, &out->reservations);
	agent_files_close(&files);
	if (!e)
		forecast_open_history(c, b, &out->history);
	return e;
}

void forecast_close(struct forecast *f)
{
	commit_db_close(&f->history);
}

/* --- what a bead is expected to change --- */

/* Keeps the likeliest reason for each scope. */
static void prospect_add(struct call *c, struct prospect *p, struct expected one)
{
	for (size_t i = 0; i < p->count; i++)
		if (str_eq(p->item[i].scope, one.scope)) {
			if (p->item[i].chance < one.chance)
				p->item[i] = one;
			return;
		}
	if (p->count == ITEMS_MOST)
		return;
	p->item = arena_room(&c->mem, p->item, p->count, sizeof one);
	p->item[p->count++] = one;
}

static struct str forecast_scope(struct str declared)
{
	return str_is(declared, "/") ? STR("") : declared;
}

static void prospect_add_declared(struct call *c, struct prospect *p, const struct value *line)
{
	const struct value *list = value_find(line, "touches");

	for (size_t i = 0; list && list->type == VALUE_ARRAY && i < list->count; i++)
		if (list->item[i].type == VALUE_STRING)
			prospect_add(c, p,
				     (struct expected){ forecast_scope(list->item[i].text), 100,
							EXPECT_DECLARED, STR_NONE });
}

static void prospect_add_reserved(struct call *c, const struct forecast *f, struct prospect *p)
{
	for (const struct reservation *r = f->reservations; r; r = r->next)
		if (str_eq(r->bead, p->id)) {
			prospect_add(c, p,
				     (struct expected){ r->key, 100, EXPECT_RESERVED, STR_NONE });
			p->agent = p->agent.p ? p->agent : r->agent;
		}
}

static enum err prospect_add_learned(struct call *c, struct forecast *f, struct prospect *p)
{
	struct commit_file *file = NULL;
	size_t count = 0;
	enum err e = commit_db_touched(c, &f->history, p->id, &file, &count);

	for (size_t i = 0; !e && i < count; i++)
		prospect_add(c, p,
			     (struct expected){ file[i].path, CHANCE_LEARNED, EXPECT_LEARNED,
						STR_NONE });
	return e;
}

static bool forecast_in_path(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       (ch && strchr("/._-+@", ch)) || (unsigned char)ch >= 0x80;
}

/* Words with a slash or a dot that are the path of a file in the history. */
static void prospect_add_named(struct call *c, struct forecast *f, struct prospect *p,
			       struct str text)
{
	size_t start = 0, seen = 0;

	for (size_t i = 0; i <= text.n && seen < WORDS_MOST; i++) {
		struct str word = str_part(text, start, i);

		if (i < text.n && forecast_in_path(text.p[i]))
			continue;
		start = i + 1;
		while (word.n && (word.p[word.n - 1] == '.' || word.p[word.n - 1] == '/'))
			word.n--;
		if (!word.n || (!memchr(word.p, '/', word.n) && !memchr(word.p, '.', word.n)))
			continue;
		seen++;
		if (commit_db_knows(c, &f->history, word))
			prospect_add(
				c, p,
				(struct expected){ word, CHANCE_NAMED, EXPECT_NAMED, STR_NONE });
	}
}

/* --- files that changed together --- */

static struct str forecast_folder(struct str scope)
{
	while (scope.n && scope.p[scope.n - 1] != '/')
		scope.n--;
	return scope.n ? str_head(scope, scope.n - 1) : STR("");
}

/* A file that is likely to change with a scope, and its chance in parts of a percent. */
struct companion {
	int64_t file; /* its number */
	struct str path;
	int64_t chance;
};

/* All of a scope, by number. */
struct together {
	struct companion *one;
	size_t count;
};

/*
 * The chance that a commit which changes the scope also changes the file. It is the weighted share
 * of the scope's last commits, to which two imaginary commits with the chance of its folder are
 * added, and so on up to the root. So a new file gets the chance of its folder, and for a file with
 * many commits only its own history counts.
 */
static void together_join(struct call *c, const struct commit_file *own, size_t count,
			  int64_t weight, const struct together *folder, struct together *out)
{
	size_t k = 0;

	out->one = arena_array(&c->mem, count + folder->count + 1, sizeof *out->one);
	for (size_t i = 0; i < count || k < folder->count;) {
		const struct companion *lent = k < folder->count ? &folder->one[k] : NULL;
		const struct commit_file *seen = i < count ? &own[i] : NULL;
		int order = !seen - !lent;
		struct companion one;

		if (seen && lent)
			order = (seen->file > lent->file) - (seen->file < lent->file);
		seen = order <= 0 ? seen : NULL;
		lent = order >= 0 ? lent : NULL;
		one = (struct companion){ seen ? seen->file : lent->file,
					  seen ? seen->path : lent->path,
					  ((seen ? seen->weight * 100 * FINE : 0) +
					   (lent ? lent->chance * BORROWED : 0)) /
						  (weight + BORROWED) };
		if (one.chance >= CHANCE_LEAST * FINE)
			out->one[out->count++] = one;
		i += !!seen;
		k += !!lent;
	}
}

static enum err together_of(struct call *c, struct forecast *f, struct str scope,
			    const struct together **out)
{
	static const struct together none;
	const struct together *folder = &none;
	void **known = scope.n ? map_put(&f->together, scope) : NULL;
	struct together *made;
	struct commit_file *own;
	size_t count;
	int64_t weight;
	enum err e;

	*out = known ? *known : &none;
	if (*out)
		return ERR_OK;
	*out = *known = made = arena_new(&c->mem, struct together);
	if ((e = together_of(c, f, forecast_folder(scope), &folder)) ||
	    (e = commit_db_together(c, &f->history, scope, COMMITS_SEEN, &own, &count, &weight)))
		return e;
	together_join(c, own, count, weight, folder, made);
	return ERR_OK;
}

/* The files that changed together with those that are expected for another reason. */
static enum err prospect_add_history(struct call *c, struct forecast *f, struct prospect *p)
{
	size_t known = p->count;

	for (size_t i = 0; i < known; i++) {
		struct expected from = p->item[i];
		const struct together *t;
		enum err e = together_of(c, f, from.scope, &t);

		if (e)
			return e;
		for (size_t k = 0; k < t->count; k++) {
			const struct companion *one = &t->one[k];
			int chance = (int)((from.chance * one->chance / 100 + FINE / 2) / FINE);

			if (chance >= CHANCE_LEAST &&
			    scope_overlap(one->path, from.scope) == OVERLAP_DISJOINT)
				prospect_add(c, p,
					     (struct expected){ one->path, chance, EXPECT_HISTORY,
								from.scope });
		}
	}
	return ERR_OK;
}

enum err forecast_bead(struct call *c, struct forecast *f, struct bead_row *row,
		       struct prospect *out)
{
	const struct value *line = value_read(&c->mem, row->line);
	enum err e = ERR_OK;

	*out = (struct prospect){ .id = row->id,
				  .title = row->title,
				  .agent = bead_row_claimed(row, c->now_ms) ? row->assignee :
									      STR_NONE,
				  .in_progress = bead_row_claimed(row, c->now_ms) &&
						 (!row->lease || row->lease > c->now_ms),
				  .priority = row->priority,
				  .row = row };
	prospect_add_declared(c, out, line);
	prospect_add_reserved(c, f, out);
	if (!f->history.db)
		return e;
	prospect_add_named(c, f, out, row->title);
	prospect_add_named(c, f, out, value_str(line, "description"));
	e = prospect_add_learned(c, f, out);
	return e ? e : prospect_add_history(c, f, out);
}

/* --- what is being worked on --- */

bool prospect_listed(const struct prospect *list, struct str id)
{
	for (; list; list = list->next)
		if (str_eq(list->id, id))
			return true;
	return false;
}

enum err forecast_busy(struct call *c, struct forecast *f, struct prospect **out)
{
	struct bead_filter filter = { .claimed = true, .now = c->now_ms };
	struct prospect **tail = out;
	struct bead_row *rows;
	enum err e = query_each(c, &f->b->cache, &filter, &rows);

	*out = NULL;
	for (; !e && rows; rows = rows->next) {
		if (rows->lease && rows->lease <= c->now_ms)
			continue;
		*tail = arena_new(&c->mem, struct prospect);
		if ((e = forecast_bead(c, f, rows, *tail)))
			return e;
		tail = &(*tail)->next;
	}
	for (const struct reservation *r = f->reservations; !e && r; r = r->next) {
		if (!r->bead.n || prospect_listed(*out, r->bead))
			continue;
		*tail = arena_new(&c->mem, struct prospect);
		**tail = (struct prospect){ .id = r->bead, .in_progress = true };
		prospect_add_reserved(c, f, *tail);
		tail = &(*tail)->next;
	}
	return e;
}

/* --- two beads --- */

static void collision_add(struct collision *x, struct shared_scope one)
{
	size_t i = x->count;

	if (x->count < SHARED_MOST)
		x->count++;
	else if (x->shared[--i].chance >= one.chance)
		return;
	for (; i && x->shared[i - 1].chance < one.chance; i--)
		x->shared[i] = x->shared[i - 1];
	x->shared[i] = one;
}

/* The likeliest two files of one folder that collide by no other rule; false: there are none. */
static bool forecast_neighbours(const struct prospect *a, const struct prospect *b,
				struct shared_scope *out)
{
	*out = (struct shared_scope){ 0 };
	for (size_t i = 0; i < a->count; i++)
		for (size_t k = 0; k < b->count; k++) {
			const struct expected *x = &a->item[i], *y = &b->item[k];
			int chance = x->chance * y->chance / 100 * CHANCE_FOLDER / 100;
			struct str folder = forecast_folder(x->scope);

			if (x->why != EXPECT_HISTORY && y->why != EXPECT_HISTORY &&
			    chance > out->chance && x->scope.n && y->scope.n &&
			    str_eq(folder, forecast_folder(y->scope)) &&
			    scope_overlap(x->scope, y->scope) == OVERLAP_DISJOINT)
				*out = (struct shared_scope){ folder, chance, x, y };
		}
	return out->chance;
}

void forecast_compare(const struct prospect *a, const struct prospect *b, struct collision *out)
{
	enum { ONE = 100 * 100, PARTS = 100000 };
	int64_t apart = (int64_t)ONE * PARTS; /* the chance that they do not collide */
	struct shared_scope near;

	*out = (struct collision){ .a = a, .b = b };
	for (size_t i = 0; i < a->count; i++)
		for (size_t k = 0; k < b->count; k++) {
			const struct expected *x = &a->item[i], *y = &b->item[k];
			int chance;

			if (scope_overlap(x->scope, y->scope) == OVERLAP_DISJOINT)
				continue;
			chance = x->chance * y->chance;
			apart = apart / ONE * (ONE - chance);
			collision_add(out, (struct shared_scope){
						   x->scope.n >= y->scope.n ? x->scope : y->scope,
						   chance / 100, x, y });
		}
	if (forecast_neighbours(a, b, &near)) {
		apart = apart / 100 * (100 - near.chance);
		collision_add(out, near);
	}
	out->score = (int)((ONE - apart / PARTS + 50) / 100);
}

static struct str expected_phrase(struct arena *mem, struct str id, const struct expected *x)
{
	struct str scope = x->scope.n ? x->scope : STR("/");

	switch (x->why) {
	case EXPECT_DECLARED:
		return arena_fmt(mem, STR_FMT " declares " STR_FMT, STR_ARG(id), STR_ARG(scope));
	case EXPECT_RESERVED:
		return arena_fmt(mem, STR_FMT " is reserved for " STR_FMT, STR_ARG(scope),
				 STR_ARG(id));
	case EXPECT_LEARNED:
		return arena_fmt(mem, "a commit of " STR_FMT " changed " STR_FMT, STR_ARG(id),
				 STR_ARG(scope));
	case EXPECT_NAMED:
		return arena_fmt(mem, STR_FMT " names " STR_FMT, STR_ARG(id), STR_ARG(scope));
	case EXPECT_HISTORY:
		break;
	}
	return arena_fmt(mem, STR_FMT " changes " STR_FMT ", and " STR_FMT " often changes with it",
			 STR_ARG(id), STR_ARG(x->with.n ? x->with : STR("/")), STR_ARG(scope));
}

struct str collision_reason(struct arena *mem, const struct collision *x)
{
	const struct shared_scope *m = x->shared;

	if (!x->count)
		return STR("");
	if (m->a->why == EXPECT_DECLARED && m->b->why == EXPECT_DECLARED &&
	    str_eq(m->a->scope, m->b->scope))
		return arena_fmt(mem, "both declare " STR_FMT,
				 STR_ARG(m->scope.n ? m->scope : STR("/")));
	return arena_fmt(mem, STR_FMT "; " STR_FMT, STR_ARG(expected_phrase(mem, x->a->id, m->a)),
			 STR_ARG(expected_phrase(mem, x->b->id, m->b)));
}
