#ifndef BASE_NAMES_H
#define BASE_NAMES_H

#include "base/str.h"

/* The words of an enum, indexed by its values; the only place that maps them. */
struct names {
	const char *const *word;
	int count;
};

const char *names_word(const struct names *names, int value);
int names_value(const struct names *names, struct str word); /* -1: not one of them */

#endif
