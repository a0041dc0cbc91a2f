#include "base/platform.h"

#include <fcntl.h>
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

void platform_boot(char name[PLATFORM_BOOT])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, name, PLATFORM_BOOT - 1);

	name[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
}
