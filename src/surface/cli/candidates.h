#ifndef SURFACE_CLI_CANDIDATES_H
#define SURFACE_CLI_CANDIDATES_H

#include "surface/cli/args.h"

/* The end of a command line that is still being typed, for completion. */
struct args_end {
	struct args args;          /* the command so far, and the global options */
	const struct field *field; /* the last word is its value; NULL: none, or not known */
	bool option;               /* the last word is an option */
	struct str word;           /* the last word, which may be empty */
	struct str before; /* the start of the argument that the word is a part of: "--x=" */
};
void candidates_read(struct call *c, const struct face *face, char **argv, struct args_end *out);

/*
 * Prints what may complete the last word of an unfinished command line: one candidate per line,
 * with its description after a tab. The line ":files" stands for the names of files. Prints nothing
 * if a store cannot be read: a completion must not disturb the line that a person is typing.
 */
int candidates_print(struct call *c, const struct args_end *end);

#endif
