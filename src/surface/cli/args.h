#ifndef SURFACE_CLI_ARGS_H
#define SURFACE_CLI_ARGS_H

#include "surface/cli/face.h"

/* A parsed command line. */
struct args {
	const struct face *face;
	const struct command *command; /* NULL: the words are missing or incomplete */
	struct str words;              /* the words of the command that were given */
	struct globals globals;
	struct request request;
	char **argv; /* as typed, without the program */
};

/*
 * Options may be anywhere, as `--name value`, `--name=value`, `-x value`, `-xvalue`; after `--`
 * every argument is positional. Errors suggest the most similar command or option.
 */
enum err args_parse(struct call *c, const struct face *face, char **argv, struct args *out);

#endif
