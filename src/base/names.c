#include "base/names.h"

#include <assert.h>

const char *names_word(const struct names *names, int value)
{
	assert(value >= 0 && value < names->count);
	return names->word[value];
}

int names_value(const struct names *names, struct str word)
{
	for (int i = 0; i < names->count; i++)
		if (str_is(word, names->word[i]))
			return i;
	return -1;
}
