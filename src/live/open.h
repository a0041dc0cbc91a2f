#ifndef LIVE_OPEN_H
#define LIVE_OPEN_H

#include "base/call.h"

struct beads;
struct board;

/* For readers of all stores: opens a store to read it. A project that does not have the store is no
 * error: `there` is false then, and nothing is open. */
enum err live_open_beads(struct call *c, struct beads *out, bool *there);
enum err live_open_board(struct call *c, struct board *out, bool *there);

#endif
