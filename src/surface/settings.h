#ifndef SURFACE_SETTINGS_H
#define SURFACE_SETTINGS_H

#include "base/call.h"

/* What the environment says of publishing and forgetting. */
enum err settings_read(struct call *c);

#endif
