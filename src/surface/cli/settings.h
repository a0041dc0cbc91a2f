#ifndef SURFACE_CLI_SETTINGS_H
#define SURFACE_CLI_SETTINGS_H

#include "base/call.h"

/* The instant of the call: that of the clock, unless ABACUS_NOW is another. */
enum err settings_now(struct call *c);
/* What the environment says of publishing, of forgetting and of agents. A number that is none is
 * noted in the call: only commands that depend on it refuse. */
void settings_read(struct call *c);

#endif
