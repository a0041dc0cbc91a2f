#ifndef SURFACE_CLI_VYBE_H
#define SURFACE_CLI_VYBE_H

#include "base/call.h"

/* The one line that `vybe` prints: the data, or the error of the call. */
struct str vybe_envelope(struct call *c, struct str data);

/* Does the user ask for indented JSON, with VYBE_PRETTY_JSON=1? */
bool vybe_indents(void);

#endif
