#ifndef SURFACE_CLI_TOP_H
#define SURFACE_CLI_TOP_H

#include "op/op.h"

/* `abacus top`: what everybody is doing, on a terminal, for as long as somebody looks. */
extern const struct op op_top;
int top_start(struct call *c, const struct request *r);

#endif
