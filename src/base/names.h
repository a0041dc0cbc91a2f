#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include "base/str.h"

/* A spelling that is accepted but never written. */
struct synonym {
	const char *word;
	int value;
};

/* The words of an enum, indexed by its values; the only place that maps them. */
struct names {
	const char *const *word;
	int count;
	const struct synonym *synonyms; /* ends with an entry without a word; or NULL */
};

/* For a set without synonyms: const struct names sides = NAMES_OF("left", "right"); */
/* clang-format off */
#define NAMES_OF(...) \
	{ (const char *const[]){ __VA_ARGS__ }, \
	  (int)(sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *)), NULL }
/* clang-format on */

const char *names_word(const struct names *names, int value);
int names_value(const struct names *names, struct str word); /* -1: unknown word */

/* Like names_value(), without the synonyms. */
int names_exact(const struct names *names, struct str word);

static inline bool names_has(const struct names *names, struct str word)
{
	return names_exact(names, word) >= 0;
}

/* The edit distance between two words; swapping two neighbouring letters is one edit. */
size_t names_edits(struct str a, struct str b);

/* The word that was probably meant; NULL: none is close. */
const char *names_nearest(const struct names *names, struct str word);

#endif
