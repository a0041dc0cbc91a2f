#ifndef SURFACE_CLI_ARGS_H
#define SURFACE_CLI_ARGS_H

#include "surface/cli/face.h"

/* A command line, understood. */
struct args {
	const struct face *face;
	const struct command *command; /* NULL: only options, or only part of a name */
	struct str words;              /* the command's words, as far as they were given */
	struct globals globals;
	struct request request;
};

/*
 * Options may stand anywhere, as `--name value`, `--name=value`, `-x value`, `-xvalue`; after
 * `--` all is taken as it is. An error names the nearest word there is.
 */
enum err args_parse(struct call *c, const struct face *face, char **argv, struct args *out);

#endif
