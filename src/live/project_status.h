#ifndef LIVE_PROJECT_STATUS_H
#define LIVE_PROJECT_STATUS_H

#include "base/call.h"

struct json;

/*
 * A project on one screen: which agents are active and on what, what needs attention, the beads
 * that are in progress, ready and blocked, and the last sync. Each list has at most `limit` entries
 * and its total; beads are counted up to STATUS_TOTAL_MOST, so that the screen costs as little in a
 * large store. A store that the project does not have is empty; one that cannot be read needs
 * attention.
 */
enum { STATUS_TOTAL_MOST = 501 };

enum err project_status_encode(struct call *c, size_t limit, struct json *j);

#endif
