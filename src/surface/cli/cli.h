#ifndef SURFACE_CLI_CLI_H
#define SURFACE_CLI_CLI_H

struct face;

/* Runs one command line (without the program's name) and returns the exit status. */
int cli_main(const struct face *face, char **argv);

#endif
