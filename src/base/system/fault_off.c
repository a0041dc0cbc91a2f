#include "base/system/fault.h"

#include <stddef.h>

void fault_point(void)
{
}

const char *fault_boot(void)
{
	return NULL;
}
