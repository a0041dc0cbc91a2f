#ifndef SURFACE_SETTINGS_H
#define SURFACE_SETTINGS_H

#include "base/call.h"

/* The instant of the call: that of the clock, unless ABACUS_NOW is another. */
enum err settings_now(struct call *c);
/* What the environment says of publishing and forgetting. */
enum err settings_read(struct call *c);

#endif
