#ifndef SURFACE_CLI_VYBE_H
#define SURFACE_CLI_VYBE_H

#include "base/call.h"

/* What `vybe` prints, one line: the data, or what is wrong with the call. */
struct str vybe_envelope(struct call *c, struct str data);

#endif
