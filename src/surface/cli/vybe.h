#ifndef SURFACE_CLI_VYBE_H
#define SURFACE_CLI_VYBE_H

#include "base/call.h"

/* The one line that `vybe` prints: the data, or the error of the call. */
struct str vybe_envelope(struct call *c, struct str data);

#endif
