#include "base/system/fault.h"

void fault_point(void)
{
}
