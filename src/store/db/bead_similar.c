#include "store/db/bead_similar.h"

#include <stdlib.h>

#include "base/hash.h"
#include "store/db/row.h"

enum {
	WORDS_MOST = 40,
	WORD_LEAST = 3, /* bytes of a word that counts for pairs */
	PAIRED_WORDS = 4,
	PAIRS_MOST = PAIRED_WORDS * (PAIRED_WORDS - 1) / 2,
	SHARING_MOST = 8, /* beads that are compared for each pair */
};

static const char insert_pair[] = "INSERT OR IGNORE INTO pairs VALUES (?, ?)";

struct title_words {
	struct str word[WORDS_MOST]; /* in lower case, each once */
	size_t count;
};

static bool similar_in_word(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || (unsigned char)ch >= 0x80;
}

static void title_words_add(struct title_words *out, struct str word)
{
	for (size_t i = 0; i < out->count; i++)
		if (str_eq(out->word[i], word))
			return;
	if (word.n && out->count < WORDS_MOST)
		out->word[out->count++] = word;
}

static void title_words_of(struct arena *mem, struct str title, struct title_words *out)
{
	char *lower = arena_text(mem, title.n + 1);
	size_t start = 0;

	out->count = 0;
	for (size_t i = 0; i <= title.n; i++) {
		char ch = i < title.n ? title.p[i] : ' ';

		lower[i] = ch >= 'A' && ch <= 'Z' ? (char)(ch | 0x20) : ch;
		if (similar_in_word(lower[i]))
			continue;
		title_words_add(out, (struct str){ lower + start, i - start });
		start = i + 1;
	}
}

static int similar_compare(const struct title_words *a, const struct title_words *b)
{
	size_t both = 0;

	for (size_t i = 0; i < a->count; i++)
		for (size_t k = 0; k < b->count; k++)
			both += str_eq(a->word[i], b->word[k]);
	return a->count + b->count ? (int)(200 * both / (a->count + b->count)) : 0;
}

/* The longest words; of equally long ones, the first. Returns their number. */
static size_t similar_choose(const struct title_words *words, struct str out[PAIRED_WORDS])
{
	size_t n = 0;

	for (size_t i = 0; i < words->count; i++) {
		struct str word = words->word[i];
		size_t k;

		if (word.n < WORD_LEAST)
			continue;
		k = n < PAIRED_WORDS ? n++ : PAIRED_WORDS;
		for (; k && out[k - 1].n < word.n; k--)
			if (k < PAIRED_WORDS)
				out[k] = out[k - 1];
		if (k < PAIRED_WORDS)
			out[k] = word;
	}
	return n;
}

/* A hash of two words, in either order. It may collide, so titles are compared, too. */
static int64_t similar_pair(struct str a, struct str b)
{
	uint64_t x = crc32c(0, a), y = crc32c(0, b);

	return (int64_t)((x < y ? x : y) << 31 ^ (x < y ? y : x));
}

static size_t similar_pairs(const struct title_words *words, int64_t out[PAIRS_MOST])
{
	struct str word[PAIRED_WORDS];
	size_t chosen = similar_choose(words, word), n = 0;

	for (size_t i = 0; i < chosen; i++)
		for (size_t k = 0; k < i; k++)
			out[n++] = similar_pair(word[i], word[k]);
	return n;
}

static enum err similar_each_pair(struct call *c, struct cache *cache, const char *sql, int64_t n,
				  struct str title)
{
	struct title_words words;
	int64_t pair[PAIRS_MOST];
	enum err e = ERR_OK;
	size_t count;

	title_words_of(&c->mem, title, &words);
	count = similar_pairs(&words, pair);
	for (size_t i = 0; !e && i < count; i++)
		e = db_run(c, cache->db, sql, BIND(pair[i]), BIND(n));
	return e;
}

enum err similar_update(struct call *c, struct cache *cache, int64_t n, const struct bead_row *old,
			const struct bead_row *row)
{
	bool was = old && old->status != BEAD_CLOSED, is = row && row->status != BEAD_CLOSED;
	enum err e = ERR_OK;

	if (cache->counts_later || (was && is && str_eq(old->title, row->title)))
		return ERR_OK;
	if (was)
		e = similar_each_pair(c, cache, "DELETE FROM pairs WHERE pair = ? AND n = ?", n,
				      old->title);
	if (!e && is)
		e = similar_each_pair(c, cache, insert_pair, n, row->title);
	return e;
}

struct pair_row {
	int64_t pair, n;
};

struct pair_rows {
	struct pair_row *row;
	size_t count;
};

static int pair_row_order(const void *a, const void *b)
{
	const struct pair_row *x = a, *y = b;

	return x->pair != y->pair ? (x->pair > y->pair) - (x->pair < y->pair) :
				    (x->n > y->n) - (x->n < y->n);
}

static enum err pair_rows_collect(struct call *c, struct cache *cache, struct pair_rows *out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT n, title FROM beads WHERE status < 2");
	struct title_words words;
	int64_t pair[PAIRS_MOST];
	struct arena mem = { 0 };

	while (stmt_row(st)) {
		int64_t n = stmt_int(st);
		size_t count;

		title_words_of(&mem, stmt_str(st, &mem), &words);
		count = similar_pairs(&words, pair);
		for (size_t i = 0; i < count; i++) {
			out->row = arena_room(&c->mem, out->row, out->count, sizeof *out->row);
			out->row[out->count++] = (struct pair_row){ pair[i], n };
		}
		arena_reset(&mem);
	}
	arena_release(&mem);
	return stmt_end(c, st);
}

/* Sorted rows are appended, which is faster than inserting each at its place. */
enum err similar_fill(struct call *c, struct cache *cache)
{
	struct call part = call_part(c);
	struct pair_rows all = { 0 };
	enum err e = pair_rows_collect(&part, cache, &all);

	if (all.count)
		qsort(all.row, all.count, sizeof *all.row, pair_row_order);
	for (size_t i = 0; !e && i < all.count; i++)
		e = db_run(&part, cache->db, insert_pair, BIND(all.row[i].pair),
			   BIND(all.row[i].n));
	return call_part_end(c, &part, e);
}

/* No other bead can be more similar. */
static bool similar_enough(const struct similar *found, size_t count)
{
	return count == SIMILAR_MOST && found[SIMILAR_MOST - 1].score == 100;
}

static void similar_add(struct similar out[SIMILAR_MOST], size_t *count, struct similar one)
{
	size_t k = *count < SIMILAR_MOST ? (*count)++ : SIMILAR_MOST;

	for (; k && out[k - 1].score < one.score; k--)
		if (k < SIMILAR_MOST)
			out[k] = out[k - 1];
	if (k < SIMILAR_MOST)
		out[k] = one;
}

/* The beads that share a pair with the title, each once. */
struct sharing {
	int64_t n[PAIRS_MOST * SHARING_MOST];
	size_t count;
};

static void sharing_add(struct sharing *s, int64_t n)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->n[i] == n)
			return;
	s->n[s->count++] = n;
}

static enum err sharing_find(struct call *c, struct cache *cache, int64_t pair, struct sharing *out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT n FROM pairs WHERE pair = ? LIMIT ?");

	stmt_bind(st, PARAMS(BIND(pair), BIND(SHARING_MOST)));
	while (stmt_row(st))
		sharing_add(out, stmt_int(st));
	return stmt_end(c, st);
}

static enum err similar_read(struct call *c, struct cache *cache, int64_t n, struct similar *out)
{
	AUTO_STMT *st = db_stmt(cache->db, "SELECT id, title FROM beads WHERE n = ?");

	stmt_bind_int(st, n);
	if (stmt_row(st)) {
		out->id = stmt_str(st, &c->mem);
		out->title = stmt_str(st, &c->mem);
	}
	return stmt_end(c, st);
}

enum err similar_find(struct call *c, struct cache *cache, struct str title,
		      struct similar out[SIMILAR_MOST], size_t *count)
{
	struct sharing sharing = { .count = 0 };
	struct title_words own, other;
	int64_t pair[PAIRS_MOST];
	enum err e = ERR_OK;
	size_t n;

	*count = 0;
	title_words_of(&c->mem, title, &own);
	n = similar_pairs(&own, pair);
	for (size_t i = 0; !e && i < n; i++)
		e = sharing_find(c, cache, pair[i], &sharing);
	for (size_t i = 0; !e && i < sharing.count && !similar_enough(out, *count); i++) {
		struct similar one = { 0 };

		e = similar_read(c, cache, sharing.n[i], &one);
		title_words_of(&c->mem, one.title, &other);
		one.score = similar_compare(&own, &other);
		if (!e && one.score >= SIMILAR_LEAST)
			similar_add(out, count, one);
	}
	return e;
}
