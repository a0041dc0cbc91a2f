#include "unit/test.h"

#include <stdio.h>

/* Every group of tests; with an argument, only those whose name contains it. */
static const struct {
	const char *name;
	int (*run)(void);
} groups[] = {
#define GROUP(name) { #name, name##_group },
#include "unit/groups.def"
#undef GROUP
};

int main(int argc, char **argv)
{
	int failed = 0;

	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		if (argc < 2 || strstr(groups[i].name, argv[1]))
			failed += groups[i].run();
	return failed > 0;
}
