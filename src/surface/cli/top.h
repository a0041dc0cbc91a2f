#ifndef SURFACE_CLI_TOP_H
#define SURFACE_CLI_TOP_H

#include "op/op.h"

/* `abacus top`: a live overview of all agents on the terminal. */
extern const struct op op_top;
int top_start(struct call *c, const struct request *r);

#endif
