/*
 * Runs a fuzz target where there is no libFuzzer: replays its seeds, then changes them at random,
 * without knowing which code they reach. It takes libFuzzer's options -runs, -seed,
 * -max_total_time, -max_len and -artifact_prefix, and ignores the others. Arguments are files to
 * replay, or folders of seeds; it writes nothing into those.
 */
#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

enum { SEEDS_MOST = 10000, SEED_MOST = 1 << 20, CHANGES_MOST = 5 };

struct seed {
	char *bytes;
	size_t n;
};

static struct {
	struct seed seed[SEEDS_MOST];
	size_t count;
	uint64_t state; /* of the random numbers */
	size_t longest;
	long long runs, seconds;
	const char *prefix;
} driver = { .longest = 4096, .runs = -1, .prefix = "./" };

/* The input at work, which is kept if the target ends the program. */
static struct seed now;

static void *allocate(size_t n)
{
	void *p = malloc(n + !n);

	if (!p)
		abort();
	return p;
}

static size_t below(size_t n)
{
	driver.state ^= driver.state << 13;
	driver.state ^= driver.state >> 7;
	driver.state ^= driver.state << 17;
	return (size_t)(driver.state >> 11) % n;
}

/* --- what is found --- */

static void keep_input(void)
{
	static char path[4096];
	FILE *file;

	snprintf(path, sizeof path, "%scrash-%ld", driver.prefix, (long)getpid());
	if (!(file = fopen(path, "wb")))
		return;
	fwrite(now.bytes, 1, now.n, file);
	fclose(file);
	fprintf(stderr, "the input is in %s\n", path);
}

static void on_abort(int signal_number)
{
	keep_input();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* ASan and UBSan end the program themselves; they call this first. */
void __asan_on_error(void);
void __asan_on_error(void)
{
	keep_input();
}

/* A copy without a byte to spare, so that a sanitizer sees every read past its end. */
static void run(const char *bytes, size_t n)
{
	now = (struct seed){ allocate(n), n };
	memcpy(now.bytes, bytes, n);
	LLVMFuzzerTestOneInput((const uint8_t *)now.bytes, n);
	free(now.bytes);
}

/* --- seeds --- */

static void add_file(const char *path)
{
	struct seed *s = &driver.seed[driver.count];
	FILE *file = driver.count < SEEDS_MOST ? fopen(path, "rb") : NULL;

	if (!file)
		return;
	s->bytes = allocate(SEED_MOST);
	s->n = fread(s->bytes, 1, SEED_MOST, file);
	fclose(file);
	s->bytes = realloc(s->bytes, s->n + !s->n);
	driver.count++;
	if (s->n > driver.longest)
		driver.longest = s->n;
}

static void add_folder(const char *path)
{
	struct dirent **entry;
	int count = scandir(path, &entry, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		char name[4096];

		snprintf(name, sizeof name, "%s/%s", path, entry[i]->d_name);
		if (entry[i]->d_name[0] != '.')
			add_file(name);
		free(entry[i]);
	}
	if (count >= 0)
		free(entry);
}

/* --- changes --- */

static char some_byte(void)
{
	static const char telling[] = "\0\t\n\f\r \"\\/{}[]:,.-+0123456789eEutfn"
				      "\x1f\x7f\x80\xa0\xbf\xc0\xc2\xe0\xed\xf0\xf4\xff";

	return below(4) ? telling[below(sizeof telling - 1)] : (char)below(256);
}

/* Replaces the bytes from `from` to `to`. */
static void splice(struct seed *s, size_t from, size_t to, const char *with, size_t n)
{
	struct seed out = { allocate(s->n - (to - from) + n), s->n - (to - from) + n };

	memcpy(out.bytes, s->bytes, from);
	memcpy(out.bytes + from, with, n);
	memcpy(out.bytes + from + n, s->bytes + to, s->n - to);
	free(s->bytes);
	*s = out;
	if (s->n > driver.longest)
		s->n = driver.longest;
}

static void change(struct seed *s)
{
	const struct seed *other = &driver.seed[below(driver.count)];
	size_t from = below(s->n + 1), to = from + below(9), at = below(other->n + 1),
	       n = other->n - at;
	char byte = some_byte();

	to = to > s->n ? s->n : to;
	switch (below(6)) {
	case 0: /* another byte */
		splice(s, from, from < s->n ? from + 1 : from, &byte, 1);
		break;
	case 1: /* one more byte */
		splice(s, from, from, &byte, 1);
		break;
	case 2: /* some are lost */
		splice(s, from, to, "", 0);
		break;
	case 3: /* some are there twice */
		splice(s, from, from, s->bytes + from, to - from);
		break;
	case 4: /* a piece of another seed */
		splice(s, from, to, other->bytes + at, n < 20 ? n : below(n));
		break;
	default: /* another seed within */
		splice(s, from, to, other->bytes, other->n);
	}
}

static void mutate(void)
{
	const struct seed *from = &driver.seed[below(driver.count)];
	struct seed s = { allocate(from->n), from->n };

	memcpy(s.bytes, from->bytes, from->n);
	for (size_t n = 1 + below(CHANGES_MOST); n; n--)
		change(&s);
	run(s.bytes, s.n);
	free(s.bytes);
}

/* --- the command line --- */

static const char *option(const char *arg, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(arg, name, n) && arg[n] == '=' ? arg + n + 1 : NULL;
}

static void take_argument(const char *arg)
{
	struct stat st;
	const char *value;

	if ((value = option(arg, "-runs")))
		driver.runs = strtoll(value, NULL, 10);
	else if ((value = option(arg, "-seed")))
		driver.state = strtoull(value, NULL, 10);
	else if ((value = option(arg, "-max_total_time")))
		driver.seconds = strtoll(value, NULL, 10);
	else if ((value = option(arg, "-max_len")))
		driver.longest = strtoull(value, NULL, 10);
	else if ((value = option(arg, "-artifact_prefix")))
		driver.prefix = value;
	else if (arg[0] == '-')
		return;
	else if (!stat(arg, &st) && S_ISDIR(st.st_mode))
		add_folder(arg);
	else if (driver.runs < 0)
		add_file(arg), driver.runs = 0;
	else
		add_file(arg);
}

int main(int argc, char **argv)
{
	time_t start = time(NULL);
	long long done = 0;

	for (int i = 1; i < argc; i++)
		take_argument(argv[i]);
	driver.state = driver.state * 2 + UINT64_C(88172645463325253);
	signal(SIGABRT, on_abort);
	run("", 0);
	for (size_t i = 0; i < driver.count; i++)
		run(driver.seed[i].bytes, driver.seed[i].n);
	if (!driver.count)
		driver.seed[driver.count++] = (struct seed){ allocate(0), 0 };
	for (; driver.runs < 0 || done < driver.runs; done++) {
		if (driver.seconds && time(NULL) - start >= driver.seconds)
			break;
		mutate();
	}
	printf("%zu seeds, %lld changed inputs\n", driver.count, done);
	for (size_t i = 0; i < driver.count; i++)
		free(driver.seed[i].bytes);
	return 0;
}
