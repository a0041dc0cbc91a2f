#include "base/fault.h"

void fault_point(void)
{
}
