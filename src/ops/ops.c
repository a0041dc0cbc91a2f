#include "ops/ops.h"

#include <stddef.h>

const struct op *const ops[] = {
#define OP(name) &op_##name,
#include "ops/ops.def"
#undef OP
	NULL,
};
