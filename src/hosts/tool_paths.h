#ifndef HOSTS_TOOL_PATHS_H
#define HOSTS_TOOL_PATHS_H

#include "agents/guard.h"

struct value;

/*
 * The files that a call of a host's tool is about to write, as absolute paths. `in` is the input of
 * the hook. A tool that is not known to write has none. Of a shell command, only what is plain
 * counts: the targets of `>`, `rm`, `mv`, `cp`, `tee`, `touch` and `sed -i`, without variables,
 * patterns and substitutions.
 */
struct guard_path *tool_paths(struct call *c, const struct value *in);

/* The same of a shell command that is run in the folder `dir`. */
struct guard_path *tool_paths_of_shell(struct call *c, struct str dir, struct str command);

#endif
