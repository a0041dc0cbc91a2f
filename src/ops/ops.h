#ifndef OPS_OPS_H
#define OPS_OPS_H

struct op;

/* Every operation there is, one page of this folder each; ends with NULL. */
extern const struct op *const ops[];

#define OP(name) extern const struct op op_##name;
#include "ops/ops.def"
#undef OP

#endif
