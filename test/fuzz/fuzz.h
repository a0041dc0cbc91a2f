#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"

/*
 * A fuzzer is `NAME SEED COUNT`: it changes valid texts at random, COUNT times, and
 * checks what must hold for each; the same seed gives the same texts. It prints one
 * line, and ends with 1 at the first text that breaks a rule.
 *
 *	int main(int argc, char **argv)
 *	{
 *		return fuzz_run(argc, argv, corpus, COUNT(corpus), check);
 *	}
 */

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* NULL: all is well; otherwise the rule that is broken. `taken` counts for the line. */
typedef const char *fuzz_check(struct arena *mem, struct str text, bool *taken);

struct fuzz {
	uint64_t state;
	const char *const *corpus;
	size_t count;
};

static inline size_t fuzz_below(struct fuzz *f, size_t n)
{
	f->state ^= f->state << 13;
	f->state ^= f->state >> 7;
	f->state ^= f->state << 17;
	return (size_t)(f->state >> 11) % n;
}

static inline struct str fuzz_pick(struct fuzz *f)
{
	return str_of(f->corpus[fuzz_below(f, f->count)]);
}

static inline char fuzz_byte(struct fuzz *f)
{
	static const char telling[] = "\0\t\n\r \"\\/{}[]:,.-+0123456789eEutfn"
				      "\x1f\x7f\x80\xa0\xbf\xc0\xc2\xe0\xed\xf0\xf4\xff";

	return fuzz_below(f, 4) ? telling[fuzz_below(f, sizeof telling - 1)] :
				  (char)fuzz_below(f, 256);
}

/* The text with what lies between `from` and `to` replaced. */
static inline struct str fuzz_splice(struct arena *mem, struct str text, size_t from,
				     size_t to, struct str with)
{
	struct buf b = { .mem = mem };

	buf_put(&b, str_head(text, from));
	buf_put(&b, with);
	buf_put(&b, str_skip(text, to));
	return buf_str(&b);
}

static inline struct str fuzz_change(struct fuzz *f, struct arena *mem, struct str text)
{
	size_t from = fuzz_below(f, text.n + 1), to = from + fuzz_below(f, 9);
	char byte = fuzz_byte(f);
	struct str other = fuzz_pick(f);
	size_t at = fuzz_below(f, other.n + 1);

	if (to > text.n)
		to = text.n;
	switch (fuzz_below(f, 6)) {
	case 0: /* another byte */
		return fuzz_splice(mem, text, from, from < text.n ? from + 1 : from,
				   (struct str){ &byte, 1 });
	case 1: /* one more byte */
		return fuzz_splice(mem, text, from, from, (struct str){ &byte, 1 });
	case 2: /* some are lost */
		return fuzz_splice(mem, text, from, to, STR(""));
	case 3: /* some stand twice */
		return fuzz_splice(mem, text, to, to, str_skip(str_head(text, to), from));
	case 4: /* a piece of another text */
		return fuzz_splice(mem, text, from, to,
				   str_head(str_skip(other, at), fuzz_below(f, 20)));
	default: /* another text within */
		return fuzz_splice(mem, text, from, to, other);
	}
}

static inline int fuzz_broken(const char *name, struct str text, const char *rule)
{
	printf("%s: %s:", name, rule);
	for (size_t i = 0; i < text.n; i++)
		printf(" %02x", (unsigned char)text.p[i]);
	putchar('\n');
	return 1;
}

/* The check sees a copy without a byte to spare, so that a sanitizer sees all. */
static inline const char *fuzz_exact(struct arena *mem, struct str text,
				     fuzz_check *check, bool *taken)
{
	char *exact = malloc(text.n + !text.n);
	const char *rule;

	if (!exact)
		abort();
	memcpy(exact, text.p, text.n);
	rule = check(mem, (struct str){ exact, text.n }, taken);
	free(exact);
	return rule;
}

static inline int fuzz_run(int argc, char **argv, const char *const *corpus, size_t count,
			   fuzz_check *check)
{
	uint64_t seed = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, all, taken = 0;
	struct fuzz f = { seed * 2 + 88172645463325253, corpus, count };
	struct arena mem = { 0 };

	if (argc != 3) {
		fprintf(stderr, "usage: %s SEED COUNT\n", argv[0]);
		return 2;
	}
	all = strtoull(argv[2], NULL, 10);
	for (uint64_t i = 0; i < all; i++) {
		struct str text = fuzz_pick(&f);
		const char *rule;
		bool yes = false;

		/* the texts themselves come first, unchanged */
		if (i < count)
			text = str_of(corpus[i]);
		for (size_t n = i < count ? 0 : 1 + fuzz_below(&f, 4); n; n--)
			text = fuzz_change(&f, &mem, text);
		if ((rule = fuzz_exact(&mem, text, check, &yes)))
			return fuzz_broken(argv[0], text, rule);
		taken += yes;
		arena_reset(&mem);
	}
	arena_release(&mem);
	printf("%s: %" PRIu64 " texts, %" PRIu64 " of them valid\n", argv[0], all, taken);
	return 0;
}

#endif
