#include "base/platform.h"

#include <stdlib.h>
#include <unistd.h>

int platform_sync(int fd)
{
	return fdatasync(fd);
}

void platform_random(void *p, size_t n)
{
	if (getentropy(p, n))
		abort();
}
