#ifndef SURFACE_CLI_CANDIDATES_H
#define SURFACE_CLI_CANDIDATES_H

#include "surface/cli/args.h"

/*
 * Prints what may complete the last word of an unfinished command line: one candidate per line,
 * with its description after a tab. The line ":files" stands for the names of files. Prints nothing
 * if a store cannot be read: a completion must not disturb the line that a person is typing.
 */
int candidates_print(struct call *c, const struct args_end *end);

#endif
