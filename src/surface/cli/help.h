#ifndef SURFACE_CLI_HELP_H
#define SURFACE_CLI_HELP_H

#include "surface/cli/face.h"

struct view;

/* Prints the help of a face, a group of commands, or one command; `all`: also the commands for
 * users of upstream bd. */
void help_face(struct view *v, const struct face *face, struct str group, bool all);
void help_command(struct view *v, const struct face *face, const struct command *cmd);

/* "bb status set [TASK] [--progress N] …", as one line. */
struct str help_usage(struct arena *mem, const struct face *face, const struct command *cmd);

/* "-n, --limit N" */
struct str help_option(struct arena *mem, const struct field *f);

/* The limits of a field's value: words, range, default. */
struct str help_limits(struct arena *mem, const struct field *f);

#endif
