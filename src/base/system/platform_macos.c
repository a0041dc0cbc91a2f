#include "base/system/platform.h"

#include <fcntl.h>
#include <mach-o/dyld.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <unistd.h>

/*
 * On macOS fsync() leaves the data in the drive's cache; file systems without F_FULLFSYNC fall back
 * to it.
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

int64_t platform_parent(int64_t process)
{
	int name[] = { CTL_KERN, KERN_PROC, KERN_PROC_PID, (int)process };
	struct kinfo_proc info;
	size_t n = sizeof info;

	return !sysctl(name, 4, &info, &n, NULL, 0) && n == sizeof info ? info.kp_eproc.e_ppid : 0;
}

/* /.vol names any file by its device and inode numbers. */
bool platform_alias(int fd, char path[PLATFORM_ALIAS])
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	snprintf(path, PLATFORM_ALIAS, "/.vol/%d/%llu", (int)st.st_dev,
		 (unsigned long long)st.st_ino);
	return !access(path, X_OK);
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

/* macOS enforces no memory limit. */
void platform_limit_memory(int64_t bytes)
{
	(void)bytes;
}

int64_t platform_memory_limit(void)
{
	return INT64_MAX;
}

static int64_t platform_nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t platform_written_ns(const struct stat *st)
{
	return platform_nanoseconds(st->st_mtimespec);
}

int64_t platform_changed_ns(const struct stat *st)
{
	return platform_nanoseconds(st->st_ctimespec);
}

int64_t platform_flock_holder(const struct stat *st)
{
	(void)st;
	return 0;
}

#ifndef O_SEARCH
#define O_SEARCH O_RDONLY /* before macOS 12: the folder must be readable */
#endif

int platform_open_folder(int dir, const char *name)
{
	return openat(dir, name, O_SEARCH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool platform_is_unmapped(uid_t uid)
{
	(void)uid;
	return false;
}
