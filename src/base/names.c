#include "base/names.h"

#include <assert.h>

const char *names_word(const struct names *names, int value)
{
	assert(value >= 0 && value < names->count);
	return names->word[value];
}

int names_exact(const struct names *names, struct str word)
{
	for (int i = 0; i < names->count; i++)
		if (word.n && word.p[0] == names->word[i][0] && str_is(word, names->word[i]))
			return i;
	return -1;
}

int names_value(const struct names *names, struct str word)
{
	int value = names_exact(names, word);

	for (const struct synonym *s = names->synonyms; value < 0 && s && s->word; s++)
		if (str_is(word, s->word))
			value = s->value;
	return value;
}

static size_t names_least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t names_edits(struct str a, struct str b)
{
	enum { LONGEST = 32 };
	size_t d[LONGEST + 1][LONGEST + 1];

	if (a.n > LONGEST || b.n > LONGEST)
		return LONGEST;
	for (size_t i = 0; i <= a.n; i++)
		for (size_t j = 0; j <= b.n; j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = names_least(names_least(d[i - 1][j], d[i][j - 1]) + 1,
					      d[i - 1][j - 1] + (a.p[i - 1] != b.p[j - 1]));
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
				d[i][j] = names_least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[a.n][b.n];
}

const char *names_nearest(const struct names *names, struct str word)
{
	size_t least = word.n > 5 ? 3 : 2, edits;
	const char *nearest = NULL;

	for (int i = 0; i < names->count; i++)
		if ((edits = names_edits(word, str_of(names_word(names, i)))) < least) {
			least = edits;
			nearest = names_word(names, i);
		}
	return nearest;
}
