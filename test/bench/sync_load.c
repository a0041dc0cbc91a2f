/*
 * sync_load FILE APPENDERS SECONDS
 *
 * What the disk allows: that many processes append a short record to one file and sync it, again
 * and again, for so long. Prints how many syncs a second they get together.
 */
#include <fcntl.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/platform.h"

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int64_t append(const char *path, double until)
{
	static const char record[512];
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	int64_t count = 0;

	for (; seconds() < until; count++)
		if (fd < 0 || write(fd, record, sizeof record) != sizeof record ||
		    platform_sync(fd))
			die(path);
	return count;
}

static void begin(const char *path, double until, int to)
{
	int64_t count;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return;
	count = append(path, until);
	_exit(write(to, &count, sizeof count) != sizeof count);
}

int main(int argc, char **argv)
{
	unsigned long appenders = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	double start = seconds();
	int64_t count, all = 0;
	int ends[2];

	if (!appenders || pipe(ends)) {
		fputs("usage: sync_load FILE APPENDERS SECONDS\n", stderr);
		return 2;
	}
	for (unsigned long i = 0; i < appenders; i++)
		begin(argv[1], start + strtod(argv[3], NULL), ends[1]);
	close(ends[1]);
	while (read(ends[0], &count, sizeof count) == sizeof count)
		all += count;
	while (wait(NULL) > 0)
		;
	printf("%.0f\n", (double)all / (seconds() - start));
	return 0;
}
