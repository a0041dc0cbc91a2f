#ifndef SURFACE_CLI_ARGS_PARTS_H
#define SURFACE_CLI_ARGS_PARTS_H

#include "surface/cli/args.h"

/* Shared by the files of args.h: args.c parses, args_suggest.c corrects, candidates.c completes. */

struct args_parser {
	struct call *c;
	struct args *out;
	char **argv;
	bool *used;     /* by index: this argument is part of the command's name */
	size_t place;   /* number of positional arguments so far */
	bool only_text; /* after "--", where options are not recognised */
};

bool args_is_flag(const char *arg);

/* Splits "--name=value"; the value is absent without "=". */
struct str args_flag_name(const char *arg, struct str *value);

/* Finds the words of the command, which options may precede. */
void args_find_command(struct args_parser *p);

/* The field of an option, of the command or of all commands; NULL: there is none. */
const struct field *args_known_flag(struct args_parser *p, const char *arg);

/* The field for the next positional argument; a list takes all the remaining ones. */
const struct field *args_next_place(struct args_parser *p);

enum err args_unknown_command(struct args_parser *p, const char *word);
enum err args_unknown_flag(struct args_parser *p, const char *arg);

#endif
