#ifndef OPS_IDENTITY_H
#define OPS_IDENTITY_H

#include "base/call.h"

/* Trims an agent's name; INVALID_IDENTITY if it cannot be shown and compared. */
enum err identity_check(struct call *c, struct str *name);

#endif
