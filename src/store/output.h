#ifndef STORE_OUTPUT_H
#define STORE_OUTPUT_H

#include "base/call.h"

/*
 * Checks an absolute path from the user before it is written to. A symbolic link, from a cloned
 * repository or from another user in a folder like /tmp, could redirect the write to another file
 * of the user. Links in a worktree are followed only if they stay in it, and do not lead into
 * folders of Git or of this program.
 */
enum err output_check(struct call *c, struct str path);

/* Refuses only links of other users. */
enum err output_check_owners(struct call *c, struct str path);

/* Writes a file that a command names, if output_check() allows it; see file_output(). */
enum err output_write(struct call *c, struct str name, struct str content);

#endif
