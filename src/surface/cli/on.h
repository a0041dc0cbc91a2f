#ifndef SURFACE_CLI_ON_H
#define SURFACE_CLI_ON_H

#include "op/op.h"

/* `abacus on --run`: runs the commands of all rules until it is interrupted. */
int on_follow(struct call *c, const struct request *r, bool json);

#endif
