#ifndef STORE_USER_FOLDER_H
#define STORE_USER_FOLDER_H

#include "base/call.h"

/*
 * The user's folders outside of projects: `abacus` in XDG_STATE_HOME, and in XDG_DATA_HOME. They
 * hold the programs that rules start, and the memory of no project, so each folder from `abacus` on
 * must belong to the user, nobody else may write to it, and Git must not track anything in it: HOME
 * may name another user's folder, or be in a worktree. A folder that does not exist passes.
 * DUBIOUS_OWNERSHIP or UNSAFE_PATH: it is not safe.
 */

/* The folder `abacus/REST` of the state; an error if HOME is not set to an absolute path. */
enum err user_folder_state(struct call *c, struct str rest, struct str *out);

/* The folder `abacus` of the data, or `abacus/REST`. */
enum err user_folder_data(struct call *c, struct str rest, struct str *out);

#endif
