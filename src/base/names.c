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
