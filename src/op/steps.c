#include "base/err.h"

const char *const err_steps[ERR_COUNT] = {
	[ERR_OK] = "",
#define STEP(name, text) [ERR_##name] = text,
#include "op/steps.def"
#undef STEP
};
