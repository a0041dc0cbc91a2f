#include "base/platform.h"

#include <fcntl.h>
#include <mach-o/dyld.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/sysctl.h>
#include <unistd.h>

/* fsync() leaves the data in the drive's cache there; some file systems know no better.
 */
int platform_sync(int fd)
{
	return fcntl(fd, F_FULLFSYNC) == -1 ? fsync(fd) : 0;
}

void platform_random(void *p, size_t n)
{
	if (getentropy(p, n))
		abort();
}

void platform_boot(char name[PLATFORM_BOOT])
{
	size_t n = PLATFORM_BOOT - 1;

	if (sysctlbyname("kern.bootsessionuuid", name, &n, NULL, 0))
		n = 0;
	name[n] = '\0';
}

bool platform_self(char *path, size_t size)
{
	uint32_t n = (uint32_t)size;

	return !_NSGetExecutablePath(path, &n);
}

void platform_give_back(void)
{
}

void platform_close_from(int fd)
{
	int most = getdtablesize();

	for (; fd < most; fd++)
		close(fd);
}

/* macOS has no limit that it keeps to. */
void platform_limit_memory(int64_t bytes)
{
	(void)bytes;
}
