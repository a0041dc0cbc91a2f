#include "base/system/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/test.h"

#include "base/buf.h"
#include "base/system/file.h"
#include "base/text/json.h"

enum { LINES = 40000, WIDTH = 100 };

static void write_lines(struct buf *b)
{
	for (int i = 0; i < LINES; i++)
		buf_fmt(b, "%0*d\n", WIDTH - 1, i);
}

static void assert_lines(struct str text)
{
	assert_int_equal(text.n, LINES * WIDTH);
	for (int i = 0; i < LINES; i++)
		assert_int_equal(atoll(text.p + (size_t)i * WIDTH), i);
}

static void keeps_a_large_text_in_a_file(void **state)
{
	struct arena mem = { 0 };
	struct spool spool = { 0 };
	struct buf b = { .mem = &mem, .spool = &spool };

	(void)state;
	write_lines(&b);
	assert_true(spool.size > (LINES * WIDTH) / 2);
	assert_true(b.cap <= 4 * SPOOL_BLOCK);
	assert_lines(buf_str(&b));
	assert_int_equal(spool.size, 0);
	arena_release(&mem);
}

static void copies_the_file_and_the_rest_in_order(void **state)
{
	struct arena mem = { 0 };
	struct spool spool = { 0 };
	struct buf b = { .mem = &mem, .spool = &spool };
	AUTO_FD to = file_unnamed();
	char *text = malloc(LINES * WIDTH);

	(void)state;
	write_lines(&b);
	assert_true(spool_copy(&spool, to));
	assert_true(file_write(to, (struct str){ b.p, b.n }));
	assert_int_equal(pread(to, text, LINES * WIDTH, 0), LINES * WIDTH);
	assert_lines((struct str){ text, LINES * WIDTH });
	free(text);
	spool_release(&spool);
	arena_release(&mem);
}

static void keeps_all_in_memory_if_no_file_can_be_written(void **state)
{
	struct arena mem = { 0 };
	struct spool none = { .fd = -1 }, full = { .fd = open("/dev/full", O_WRONLY) };
	struct buf a = { .mem = &mem, .spool = &none }, b = { .mem = &mem, .spool = &full };

	(void)state;
	write_lines(&a);
	assert_int_equal(none.size, 0);
	assert_lines(buf_str(&a));
	write_lines(&b); /* where there is no /dev/full, the same again */
	assert_int_equal(full.size, 0);
	assert_lines(buf_str(&b));
	spool_release(&full);
	arena_release(&mem);
}

static void forgets_the_file_when_a_reply_begins_again(void **state)
{
	struct arena mem = { 0 };
	struct spool spool = { 0 };
	struct json j = { .out = { .mem = &mem, .spool = &spool } };

	(void)state;
	json_array(&j);
	for (int i = 0; i < LINES; i++)
		json_str(&j, STR("a text that a failed attempt had written"));
	assert_true(spool.size);
	json_restart(&j);
	json_array(&j);
	json_int(&j, 1);
	json_end(&j);
	assert_str(json_text(&j), "[1]");
	arena_release(&mem);
}

int spool_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_a_large_text_in_a_file),
		cmocka_unit_test(copies_the_file_and_the_rest_in_order),
		cmocka_unit_test(keeps_all_in_memory_if_no_file_can_be_written),
		cmocka_unit_test(forgets_the_file_when_a_reply_begins_again),
	};

	return cmocka_run_group_tests_name("spool", tests, NULL, NULL);
}
