#include "base/system/platform.h"

#include <fcntl.h>
#include <sys/resource.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/system/fault.h"

int platform_sync(int fd)
{
	return fdatasync(fd);
}

void platform_random(void *p, size_t n)
{
	if (getentropy(p, n))
		abort();
}

/*
 * Without /proc, the boot is identified by its time, to the minute. Setting the clock looks like a
 * reboot.
 */
static void name_by_time(char name[PLATFORM_BOOT])
{
	struct timespec wall, up;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &up);
	snprintf(name, PLATFORM_BOOT, "minute %lld", (long long)(wall.tv_sec - up.tv_sec) / 60);
}

static void ask_kernel(char name[PLATFORM_BOOT])
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, name, PLATFORM_BOOT - 1);

	name[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		name_by_time(name);
}

void platform_boot(char name[PLATFORM_BOOT])
{
	static char known[PLATFORM_BOOT];

	if (!known[0] && fault_boot())
		snprintf(known, sizeof known, "%s", fault_boot());
	else if (!known[0])
		ask_kernel(known);
	memcpy(name, known, PLATFORM_BOOT);
}

/*
 * Without /proc: the path that the kernel executed, from the auxiliary vector. It is the path that
 * the shell found in PATH, whereas argv[0] can be anything.
 */
static bool ask_loader(char *path, size_t size)
{
	const char *name = (const char *)getauxval(AT_EXECFN);

	if (!name || !strchr(name, '/') || strlen(name) >= size)
		return false;
	memcpy(path, name, strlen(name) + 1);
	return true;
}

bool platform_self(char *path, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);

	if (n <= 0)
		return ask_loader(path, size);
	path[n] = '\0';
	return true;
}

/* /proc/N/stat is "id (name) state parent …"; the name may contain any character, even ')'. */
int64_t platform_parent(int64_t process)
{
	char path[64], text[512];
	const char *end;
	long long parent;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	return end && sscanf(end, ") %*c %lld", &parent) == 1 ? parent : 0;
}

bool platform_alias(int fd, char path[PLATFORM_ALIAS])
{
	snprintf(path, PLATFORM_ALIAS, "/proc/self/fd/%d", fd);
	return !access(path, X_OK);
}

/* By default glibc keeps freed memory of up to twice the largest freed block. */
void platform_give_back(void)
{
#ifdef __GLIBC__
	enum { KEPT = 512 * 1024 };

	mallopt(M_MMAP_THRESHOLD, KEPT);
	mallopt(M_TRIM_THRESHOLD, KEPT);
	malloc_trim(0);
#endif
}

/* Older kernels have no close_range(), and /proc may not be mounted. */
void platform_close_from(int fd)
{
	long most = sysconf(_SC_OPEN_MAX);

#ifdef SYS_close_range
	if (!syscall(SYS_close_range, fd, ~0U, 0))
		return;
#endif
	for (; fd < (most > 0 ? most : 1024); fd++)
		close(fd);
}

/* Not under ASan, whose shadow memory would count against the limit. */
void platform_limit_memory(int64_t bytes)
{
#ifndef SANITIZED
	struct rlimit limit;

	if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur > (rlim_t)bytes) {
		limit.rlim_cur = (rlim_t)bytes;
		setrlimit(RLIMIT_DATA, &limit);
	}
#else
	(void)bytes;
#endif
}

int64_t platform_memory_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur > (rlim_t)INT64_MAX)
		return INT64_MAX;
	return (int64_t)limit.rlim_cur;
}

static int64_t platform_nanoseconds(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t platform_written_ns(const struct stat *st)
{
	return platform_nanoseconds(st->st_mtim);
}

int64_t platform_changed_ns(const struct stat *st)
{
	return platform_nanoseconds(st->st_ctim);
}

/* A line of /proc/locks: "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF". */
int64_t platform_flock_holder(const struct stat *st)
{
	FILE *locks = fopen("/proc/locks", "re");
	unsigned long long inode;
	long long process, found = 0;
	char line[256];

	if (!locks)
		return 0;
	while (!found && fgets(line, sizeof line, locks))
		if (sscanf(line, "%*d: FLOCK %*s %*s %lld %*x:%*x:%llu", &process, &inode) == 2 &&
		    inode == (unsigned long long)st->st_ino && process > 0)
			found = process;
	fclose(locks);
	return found;
}

#if !defined O_PATH && defined __O_PATH /* glibc declares O_PATH only under _GNU_SOURCE */
#define O_PATH __O_PATH
#endif

int platform_open_folder(int dir, const char *name)
{
	return openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Each line of the map has the first uid inside, the first uid outside, and their number. */
bool platform_is_unmapped(uid_t uid)
{
	enum { OVERFLOW_UID = 65534 };
	unsigned long inside, outside, count;
	bool mapped = false;
	FILE *map = uid == OVERFLOW_UID ? fopen("/proc/self/uid_map", "re") : NULL;

	if (!map)
		return false;
	while (!mapped && fscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3)
		mapped = uid >= inside && uid - inside < count;
	fclose(map);
	return !mapped;
}
