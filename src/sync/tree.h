#ifndef SYNC_TREE_H
#define SYNC_TREE_H

#include "base/call.h"

struct json;
struct repo;

/* Writes the files of HEAD's commit, and the last commits of all branches with the files that each
 * of them changed, newest first. */
enum err tree_put(struct call *c, struct repo *r, struct json *reply);

#endif
