#include "store/db/bead_similar.h"

#include "base/buf.h"
#include "store/db/db.h"

enum { WORDS_MOST = 40, WORD_LEAST = 3, SEARCHED_WORDS = 4, CANDIDATES_MOST = 50 };

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

/* The longest words, which are the rarest ones as a rule. Returns their number. */
static size_t similar_choose(const struct title_words *words, struct str out[SEARCHED_WORDS])
{
	size_t n = 0;

	for (size_t i = 0; i < words->count; i++) {
		struct str word = words->word[i];
		size_t k;

		if (word.n < WORD_LEAST)
			continue;
		k = n < SEARCHED_WORDS ? n++ : SEARCHED_WORDS;
		for (; k && out[k - 1].n < word.n; k--)
			if (k < SEARCHED_WORDS)
				out[k] = out[k - 1];
		if (k < SEARCHED_WORDS)
			out[k] = word;
	}
	return n;
}

/* Every second word, beginning with `first`; one of them has to occur. */
static void similar_put_any(struct buf *out, const struct str *word, size_t first, size_t count)
{
	for (size_t i = first; i < count; i += 2)
		buf_fmt(out, "%s\"" STR_FMT "\"", i == first ? "(" : " OR ", STR_ARG(word[i]));
	buf_char(out, ')');
}

/* SQLite reads the list of a word each time that it is named, so each is named once. */
static struct str similar_match(struct arena *mem, const struct str *word, size_t count)
{
	struct buf out = { .mem = mem };

	buf_put(&out, STR("title : ("));
	similar_put_any(&out, word, 0, count);
	buf_put(&out, STR(" AND "));
	similar_put_any(&out, word, 1, count);
	buf_char(&out, ')');
	return buf_str(&out);
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

enum err similar_find(struct call *c, struct cache *cache, struct str title,
		      struct similar out[SIMILAR_MOST], size_t *count)
{
	struct str word[SEARCHED_WORDS];
	struct title_words own, other;
	size_t n;

	*count = 0;
	title_words_of(&c->mem, title, &own);
	if ((n = similar_choose(&own, word)) < 2)
		return ERR_OK;

	AUTO_STMT *st =
		db_stmt(cache->db, "SELECT b.id, b.title FROM search s CROSS JOIN beads b"
				   " ON b.n = s.rowid WHERE s.search MATCH ? AND b.status < 2"
				   " LIMIT ?");

	stmt_bind_str(st, similar_match(&c->mem, word, n));
	stmt_bind_int(st, CANDIDATES_MOST);
	while (!similar_enough(out, *count) && stmt_row(st)) {
		struct similar one = { .id = stmt_str(st, &c->mem) };

		one.title = stmt_str(st, &c->mem);
		title_words_of(&c->mem, one.title, &other);
		one.score = similar_compare(&own, &other);
		if (one.score >= SIMILAR_LEAST)
			similar_add(out, count, one);
	}
	return stmt_end(c, st);
}
