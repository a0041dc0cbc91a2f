#include "base/system/lock.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "unit/test.h"

enum { LONG_MS = 60 * 1000 }; /* no test waits that long unless it fails */

struct place {
	struct call c;
	char dir[sizeof "/tmp/lock_test.XXXXXX"];
	struct str path;
};

static int enter(void **state)
{
	struct place *at = calloc(1, sizeof *at);

	memcpy(at->dir, "/tmp/lock_test.XXXXXX", sizeof at->dir);
	*state = at;
	if (!mkdtemp(at->dir))
		return -1;
	at->path = path_join(&at->c.mem, str_of(at->dir), STR("lock"));
	return 0;
}

static int leave(void **state)
{
	struct place *at = *state;
	enum err e = file_remove_tree(&at->c, str_of(at->dir));

	call_release(&at->c);
	free(at);
	return e ? -1 : 0;
}

static int64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/*
 * A child that takes the lock, says so and holds it until the parent says so too, or kills it.
 * (An end of the pipe is no sign: a later child has it open as well.)
 */
struct holder {
	pid_t pid;
	int said, go;
};

static struct holder start_holder(struct place *at, int wait_ms)
{
	int said[2], go[2];
	char byte = 0;

	assert_int_equal(pipe(said), 0);
	assert_int_equal(pipe(go), 0);

	pid_t pid = fork();

	if (!pid) {
		struct lock lock = LOCK_NONE;

		close(go[1]);
		if (lock_take(&at->c, at->path, wait_ms, &lock) || !file_write(said[1], STR("!")))
			_exit(1);
		file_some(go[0], &byte, 1);
		_exit(0);
	}
	close(said[1]);
	close(go[0]);
	return (struct holder){ pid, said[0], go[1] };
}

static void await(struct holder *h)
{
	char byte;

	assert_int_equal(file_some(h->said, &byte, 1), 1);
	file_close(&h->said);
}

static struct holder hold(struct place *at)
{
	struct holder h = start_holder(at, 0);

	await(&h);
	return h;
}

static void let_go(struct holder *h)
{
	int status;

	assert_true(file_write(h->go, STR("!")));
	close(h->go);
	assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void lock_is_free_again_after_drop(void **state)
{
	struct place *at = *state;

	for (int i = 0; i < 3; i++) {
		AUTO_LOCK lock = LOCK_NONE;

		assert_int_equal(lock_take(&at->c, at->path, 0, &lock), ERR_OK);
		assert_true(lock.fd >= 0);
		lock_drop(&lock);
		assert_int_equal(lock.fd, -1);
		lock_drop(&lock); /* once more is nothing */
	}
	assert_true(file_exists(&at->c.mem, at->path));
}

static void lock_has_one_holder_in_a_process_too(void **state)
{
	struct place *at = *state;
	struct lock first = LOCK_NONE, second = LOCK_NONE;

	assert_int_equal(lock_take(&at->c, at->path, 0, &first), ERR_OK);
	assert_int_equal(lock_take(&at->c, at->path, 0, &second), ERR_DATABASE_BUSY);
	assert_int_equal(second.fd, -1);
	lock_drop(&first);
	assert_int_equal(lock_take(&at->c, at->path, 0, &second), ERR_OK);
	lock_drop(&second);
}

static void lock_says_busy_when_the_time_is_up(void **state)
{
	struct place *at = *state;
	struct holder h = hold(at);
	struct lock lock = LOCK_NONE;
	int64_t start = clock_ms();

	assert_int_equal(lock_take(&at->c, at->path, 100, &lock), ERR_DATABASE_BUSY);
	assert_true(clock_ms() - start >= 100);
	assert_int_equal(lock.fd, -1);
	assert_true(str_starts(at->c.message, STR("another process has held '")));
	assert_int_equal(lock_take(&at->c, at->path, 0, &lock), ERR_DATABASE_BUSY);
	let_go(&h);
	assert_int_equal(lock_take(&at->c, at->path, 0, &lock), ERR_OK);
	lock_drop(&lock);
}

static void lock_says_busy_although_the_alarm_was_blocked(void **state)
{
	struct place *at = *state;
	struct holder h = hold(at);
	struct lock lock = LOCK_NONE;
	sigset_t alarm, before, after;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, &before);
	assert_int_equal(lock_take(&at->c, at->path, 50, &lock), ERR_DATABASE_BUSY);
	sigprocmask(SIG_SETMASK, &before, &after);
	assert_true(sigismember(&after, SIGALRM)); /* as it was before the call */
	let_go(&h);
}

static void lock_leaves_no_timer_behind(void **state)
{
	struct place *at = *state;
	struct holder h = hold(at);
	struct lock lock = LOCK_NONE;
	struct sigaction act;
	struct itimerval timer;

	assert_int_equal(lock_take(&at->c, at->path, 50, &lock), ERR_DATABASE_BUSY);
	let_go(&h);
	getitimer(ITIMER_REAL, &timer);
	assert_int_equal(timer.it_value.tv_sec, 0);
	assert_int_equal(timer.it_value.tv_usec, 0);
	sigaction(SIGALRM, NULL, &act);
	assert_true(act.sa_handler == SIG_DFL);
}

static void lock_goes_to_a_process_that_waits(void **state)
{
	struct place *at = *state;
	struct holder first = hold(at), second = start_holder(at, LONG_MS);
	struct lock lock = LOCK_NONE;

	let_go(&first);
	await(&second);
	assert_int_equal(lock_take(&at->c, at->path, 0, &lock), ERR_DATABASE_BUSY);
	let_go(&second);
	assert_int_equal(lock_take(&at->c, at->path, 0, &lock), ERR_OK);
	lock_drop(&lock);
}

/* A process that waited for a removed lock file must hold the lock of the new file. */
static void lock_is_not_on_a_file_that_was_removed(void **state)
{
	struct place *at = *state;
	struct holder first = hold(at), second = start_holder(at, LONG_MS);
	struct lock lock = LOCK_NONE;

	assert_int_equal(unlink(at->path.p), 0);
	let_go(&first);
	await(&second);
	assert_int_equal(lock_take(&at->c, at->path, 0, &lock), ERR_DATABASE_BUSY);
	let_go(&second);
}

static void lock_of_a_dead_process_blocks_nobody(void **state)
{
	struct place *at = *state;
	struct holder h = hold(at);
	struct lock lock = LOCK_NONE;
	int status;

	assert_int_equal(lock_take(&at->c, at->path, 0, &lock), ERR_DATABASE_BUSY);
	kill(h.pid, SIGKILL);
	assert_int_equal(waitpid(h.pid, &status, 0), h.pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(lock_take(&at->c, at->path, 0, &lock), ERR_OK);
	lock_drop(&lock);
	close(h.go);
}

/* Adds one to the number in a file, many times, with nothing but the lock around. */
static void count_up(struct place *at, struct str counter, int times)
{
	for (int i = 0; i < times; i++) {
		AUTO_LOCK lock = LOCK_NONE;
		struct str text;
		long n;

		if (lock_take(&at->c, at->path, LONG_MS, &lock) ||
		    file_read(&at->c, counter, &text))
			_exit(1);
		n = text.p ? strtol(text.p, NULL, 10) : 0;
		if (file_replace(&at->c, counter, arena_fmt(&at->c.mem, "%ld", n + 1), 0600))
			_exit(1);
	}
}

static void lock_lets_one_process_in_at_a_time(void **state)
{
	enum { PROCESSES = 4, TIMES = 25 };
	struct place *at = *state;
	struct str counter = path_join(&at->c.mem, str_of(at->dir), STR("counter")), text;
	pid_t pid[PROCESSES];

	for (int i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			count_up(at, counter, TIMES);
			_exit(0);
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	assert_int_equal(file_read(&at->c, counter, &text), ERR_OK);
	assert_str(text, "100");
}

static void lock_needs_its_folder(void **state)
{
	struct place *at = *state;
	struct lock lock = LOCK_NONE;

	assert_int_equal(lock_take(&at->c, STR("/nowhere/at/all"), 0, &lock), ERR_INTERNAL_ERROR);
	assert_int_equal(lock.fd, -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int lock_group(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lock_is_free_again_after_drop),
		TEST(lock_has_one_holder_in_a_process_too),
		TEST(lock_says_busy_when_the_time_is_up),
		TEST(lock_says_busy_although_the_alarm_was_blocked),
		TEST(lock_leaves_no_timer_behind),
		TEST(lock_goes_to_a_process_that_waits),
		TEST(lock_is_not_on_a_file_that_was_removed),
		TEST(lock_of_a_dead_process_blocks_nobody),
		TEST(lock_lets_one_process_in_at_a_time),
		TEST(lock_needs_its_folder),
	};

	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
