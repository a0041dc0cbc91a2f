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
};

/*
 * Options may be anywhere, as `--name value`, `--name=value`, `-x value`, `-xvalue`; after `--`
 * every argument is positional. Errors suggest the most similar command or option.
 */
enum err args_parse(struct call *c, const struct face *face, char **argv, struct args *out);

/* The end of a command line that is still being typed, for completion. */
struct args_end {
	struct args args;          /* the command so far, and the global options */
	const struct field *field; /* the last word is its value; NULL: none, or not known */
	bool option;               /* the last word is an option */
	struct str word;           /* the last word, which may be empty */
	struct str before; /* the start of the argument that the word is a part of: "--x=" */
};
void args_unfinished(struct call *c, const struct face *face, char **argv, struct args_end *out);

#endif
