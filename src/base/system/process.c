#include "base/system/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/number.h"
#include "base/system/platform.h"

enum { HOST_MOST = 256 };

/* Containers may share a host name, so on Linux the PID namespace is part of the name. */
static struct str space_name(struct arena *mem)
{
	char host[HOST_MOST] = "";
	struct stat numbers = { 0 };

	if (gethostname(host, sizeof host - 1))
		host[0] = '\0';
	if (stat("/proc/self/ns/pid", &numbers))
		numbers.st_ino = 0;
	return arena_fmt(mem, "%lld@%s", (long long)numbers.st_ino, host);
}

/*
 * Stops before process 1, which adopts every orphan and so says nothing about who started this
 * process.
 */
struct ancestors process_ancestors(struct arena *mem)
{
	struct ancestors a = { .space = space_name(mem) };
	int64_t id = getppid();

	for (int i = 0; i < ANCESTORS && id > 1; i++) {
		a.id[i] = id;
		id = platform_parent(id);
	}
	return a;
}

struct str ancestors_encode(struct arena *mem, const struct ancestors *a)
{
	struct buf b = { .mem = mem };

	for (int i = 0; i < ANCESTORS && a->id[i]; i++)
		buf_fmt(&b, "%lld ", (long long)a->id[i]);
	buf_put(&b, a->space);
	return buf_str(&b);
}

struct ancestors ancestors_decode(struct arena *mem, struct str text)
{
	struct ancestors a = { 0 };
	struct str word;

	for (int i = 0; text.n && str_next(&text, ' ', &word); i++) {
		if (!text.n)
			a.space = arena_copy(mem, word);
		else if (i >= ANCESTORS || !number_int(word, &a.id[i]) || a.id[i] < 2)
			return (struct ancestors){ 0 };
	}
	return a;
}

bool ancestors_have(const struct ancestors *a, int64_t process)
{
	for (int i = 0; i < ANCESTORS && a->id[i]; i++)
		if (a->id[i] == process)
			return true;
	return false;
}

int64_t ancestors_common(const struct ancestors *a, const struct ancestors *b)
{
	if (!a->space.n || !str_eq(a->space, b->space))
		return 0;
	for (int i = 0; i < ANCESTORS && a->id[i]; i++)
		if (ancestors_have(b, a->id[i]))
			return a->id[i];
	return 0;
}

bool process_ended(int64_t process)
{
	return process == (pid_t)process && kill((pid_t)process, 0) && errno == ESRCH;
}
