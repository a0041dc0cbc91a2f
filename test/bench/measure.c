/*
 * measure ROUNDS DIR -- COMMAND... [-- COMMAND...]...
 *
 * Runs every command once in each round, from DIR, from fork to exit, and prints a JSON array of
 * {"fast_us","median_us","p95_us","max_us","cpu_us","rss_kb"}; a twentieth of the rounds was faster
 * than the first, and used less processor time than "cpu_us". Rounds interleave the commands, so
 * that whatever else the machine does meets all of them alike. The command "@fsync" appends one
 * page to a file in DIR and syncs it, here. A word "@line:FILE" is another line of FILE in each
 * round, for commands that can be run once per item.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system/platform.h"
#include "base/text/json.h"

extern char **environ;

struct command {
	char **argv, **word; /* the word that is a line of a file, or NULL */
	FILE *lines;         /* that file */
	char *line;
	size_t room;
	int64_t *us, *cpu_us;
	long rss_kb;
};

static int64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static int64_t microseconds(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

/* Returns the processor time that it used, with that of its children. */
static int64_t run(struct command *cmd, posix_spawn_file_actions_t *actions)
{
	struct rusage used;
	int status;
	pid_t pid;

	if (posix_spawn(&pid, cmd->argv[0], actions, NULL, cmd->argv, environ) ||
	    wait4(pid, &status, 0, &used) != pid)
		die(cmd->argv[0]);
	if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		fprintf(stderr, "measure: %s %s failed\n", cmd->argv[0],
			cmd->argv[1] ? cmd->argv[1] : "");
		exit(1);
	}
	if (used.ru_maxrss > cmd->rss_kb)
		cmd->rss_kb = used.ru_maxrss;
	return microseconds(used.ru_utime) + microseconds(used.ru_stime);
}

/* Opens the file of a word "@line:FILE". */
static void lines_open(struct command *cmd)
{
	static const char prefix[] = "@line:";

	for (char **word = cmd->argv; *word; word++)
		if (!strncmp(*word, prefix, sizeof prefix - 1)) {
			cmd->word = word;
			cmd->lines = fopen(*word + sizeof prefix - 1, "re");
			if (!cmd->lines)
				die(*word);
		}
}

static void lines_next(struct command *cmd)
{
	ssize_t n;

	if (!cmd->lines)
		return;
	n = getline(&cmd->line, &cmd->room, cmd->lines);
	if (n < 1)
		die("a word @line:FILE needs a line for each round");
	if (cmd->line[n - 1] == '\n')
		cmd->line[n - 1] = '\0';
	*cmd->word = cmd->line;
}

static void append_page(void)
{
	static char page[4096];
	int fd = open("measure.tmp", O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (fd < 0 || write(fd, page, sizeof page) != sizeof page || platform_sync(fd))
		die("measure.tmp");
	close(fd);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void report(struct json *j, struct command *cmd, size_t rounds)
{
	qsort(cmd->us, rounds, sizeof *cmd->us, by_value);
	qsort(cmd->cpu_us, rounds, sizeof *cmd->cpu_us, by_value);
	json_object(j);
	json_put_int(j, "fast_us", cmd->us[rounds / 20]);
	json_put_int(j, "median_us", cmd->us[rounds / 2]);
	json_put_int(j, "p95_us", cmd->us[rounds * 95 / 100]);
	json_put_int(j, "max_us", cmd->us[rounds - 1]);
	json_put_int(j, "cpu_us", cmd->cpu_us[rounds / 20]);
	json_put_int(j, "rss_kb", cmd->rss_kb);
	json_end(j);
}

int main(int argc, char **argv)
{
	struct arena mem = { 0 };
	struct json j = json_new(&mem);
	struct command cmds[64];
	size_t count = 0, rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	posix_spawn_file_actions_t quiet;

	if (!rounds || chdir(argv[2]))
		die("usage: measure ROUNDS DIR -- COMMAND...");
	for (int i = 3; i < argc && count < 64; i++)
		if (!strcmp(argv[i], "--")) {
			argv[i] = NULL;
			cmds[count++] = (struct command){
				.argv = argv + i + 1,
				.us = arena_array(&mem, rounds, sizeof(int64_t)),
				.cpu_us = arena_array(&mem, rounds, sizeof(int64_t)),
			};
		}
	for (size_t i = 0; i < count; i++)
		lines_open(&cmds[i]);
	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < count; i++) {
			int64_t start;

			lines_next(&cmds[i]);
			start = now_us();
			if (strcmp(cmds[i].argv[0], "@fsync"))
				cmds[i].cpu_us[round] = run(&cmds[i], &quiet);
			else
				append_page();
			cmds[i].us[round] = now_us() - start;
		}
	unlink("measure.tmp");
	json_array(&j);
	for (size_t i = 0; i < count; i++)
		report(&j, &cmds[i], rounds);
	json_end(&j);
	puts(json_text(&j).p);
	arena_release(&mem);
	return 0;
}
