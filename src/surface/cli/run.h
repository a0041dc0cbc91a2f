#ifndef SURFACE_CLI_RUN_H
#define SURFACE_CLI_RUN_H

#include "op/op.h"

/* 'abacus run': waits for slots of resources, then becomes the command. Returns only on failure. */
extern const struct op op_run;
int run_start(struct call *c, const struct request *r);

#endif
