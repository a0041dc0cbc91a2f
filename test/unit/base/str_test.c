#include <stdalign.h>
#include <stdlib.h>

#include "base/buf.h"
#include "unit/test.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

static void str_eq_compares_bytes_and_length(void **state)
{
	(void)state;
	assert_true(str_eq(STR(""), STR_NONE));
	assert_true(str_eq(STR("a\0b"), STR("a\0b")));
	assert_false(str_eq(STR("a\0b"), STR("a\0c")));
	assert_false(str_eq(STR("a"), STR("a\0")));
	assert_false(str_eq(STR("a"), STR("A")));
	assert_true(str_is(STR("word"), "word"));
	assert_false(str_is(STR("word"), "wor"));
	assert_false(str_is(STR("wor"), "word"));
	assert_null(str_of(NULL).p);
	assert_int_equal(str_of(NULL).n, 0);
}

static void str_cmp_puts_a_prefix_first(void **state)
{
	static const struct {
		const char *a, *b;
		int order;
	} row[] = {
		{ "", "", 0 },     { "a", "a", 0 },  { "", "a", -1 },  { "a", "ab", -1 },
		{ "ab", "b", -1 }, { "a", "b", -1 }, { "Z", "a", -1 }, { "a", "\xc3\xa9", -1 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		int ab = str_cmp(str_of(row[i].a), str_of(row[i].b));
		int ba = str_cmp(str_of(row[i].b), str_of(row[i].a));

		assert_int_equal((ab > 0) - (ab < 0), row[i].order);
		assert_int_equal((ba > 0) - (ba < 0), -row[i].order);
	}
	assert_int_equal(str_cmp(STR_NONE, STR("")), 0);
}

static void str_starts_and_ends_take_the_empty_string(void **state)
{
	(void)state;
	assert_true(str_starts(STR("abc"), STR("ab")));
	assert_true(str_starts(STR("abc"), STR("abc")));
	assert_false(str_starts(STR("abc"), STR("abcd")));
	assert_false(str_starts(STR("abc"), STR("b")));
	assert_true(str_starts(STR("abc"), STR("")));
	assert_true(str_starts(STR_NONE, STR_NONE));
	assert_true(str_ends(STR("abc"), STR("bc")));
	assert_true(str_ends(STR("abc"), STR("")));
	assert_false(str_ends(STR("abc"), STR("ab")));
	assert_false(str_ends(STR("c"), STR("bc")));
	assert_str(str_head(STR("abc"), 2), "ab");
	assert_str(str_head(STR("abc"), 9), "abc");
	assert_str(str_skip(STR("abc"), 3), "");
}

static void str_trim_takes_ascii_space_only(void **state)
{
	static const struct {
		const char *text, *want;
	} row[] = {
		{ "", "" },
		{ "  ", "" },
		{ "a", "a" },
		{ " \t\r\n\v\fa b\f\v\n\r\t ", "a b" },
		{ "\xc2\xa0"
		  "a",
		  "\xc2\xa0"
		  "a" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_str(str_trim(str_of(row[i].text)), row[i].want);
	assert_int_equal(str_trim(STR("\0 ")).n, 1);
}

static void str_next_gives_every_part(void **state)
{
	static const struct {
		const char *text, *parts; /* each followed by a bar */
	} row[] = {
		{ "", "|" },     { "a", "a|" }, { "a,b", "a|b|" }, { "a,", "a||" },
		{ ",a", "|a|" }, { ",", "||" }, { ",,", "|||" },   { "a,,b", "a||b|" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		struct str rest = str_of(row[i].text), part;
		struct buf got = { .mem = &mem };

		while (str_next(&rest, ',', &part)) {
			buf_put(&got, part);
			buf_char(&got, '|');
		}
		assert_str(buf_str(&got), row[i].parts);
		assert_false(str_next(&rest, ',', &part));
	}
	arena_release(&mem);
}

static void str_find_last_is_where_a_loop_finds_it(void **state)
{
	char text[400];

	(void)state;
	assert_null(str_find_last(STR_NONE, 'x'));
	assert_null(str_find_last(STR("abc"), 'x'));
	for (size_t n = 1; n < sizeof text; n += 7)
		for (size_t first = 0; first < n; first += 5)
			for (size_t last = first; last < n; last += 13) {
				memset(text, 'a', sizeof text);
				text[first] = text[last] = 'x';
				text[n] = 'x'; /* behind the end */
				assert_ptr_equal(str_find_last((struct str){ text, n }, 'x'),
						 text + last);
			}
}

static void arena_gives_zeroed_aligned_memory(void **state)
{
	static const size_t size[] = { 0, 1, 3, 16, 17, 1000, 16384, 16385, 100000, 5 };
	struct arena mem = { 0 };
	char *before[COUNT(size)];

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < COUNT(size); i++) {
			char *p = arena_alloc(&mem, size[i]);

			assert_int_equal((uintptr_t)p % alignof(max_align_t), 0);
			for (size_t k = 0; k < size[i]; k++)
				assert_int_equal(p[k], 0);
			memset(p, (int)i + 1, size[i]);
			before[i] = p;
		}
		for (size_t i = 0; i < COUNT(size); i++) /* and none overlaps another */
			for (size_t k = 0; k < size[i]; k++)
				assert_int_equal(before[i][k], i + 1);
		arena_reset(&mem); /* what is used again is zeroed again */
	}
	arena_release(&mem);
	arena_release(&mem);
	arena_reset(&mem);
	assert_null(mem.page);
}

static void arena_grow_keeps_what_was_there(void **state)
{
	struct arena mem = { 0 };
	char *p = arena_grow(&mem, NULL, 0, 8), *same, *moved;

	(void)state;
	memcpy(p, "12345678", 8);
	same = arena_grow(&mem, p, 8, 100);
	assert_ptr_equal(same, p); /* it was the last */
	arena_alloc(&mem, 1);
	moved = arena_grow(&mem, same, 100, 200);
	assert_ptr_not_equal(moved, same);
	assert_memory_equal(moved, "12345678", 8);
	moved = arena_grow(&mem, moved, 200, 1000000);
	assert_memory_equal(moved, "12345678", 8);
	arena_release(&mem);
}

static void arena_reset_uses_its_page_again(void **state)
{
	struct arena mem = { 0 };
	char *first = arena_alloc(&mem, 100);

	(void)state;
	arena_reset(&mem);
	assert_ptr_equal(arena_alloc(&mem, 100), first);
	arena_alloc(&mem, 1000000);
	arena_alloc(&mem, 1000000);
	arena_reset(&mem);
	assert_int_equal(mem.used, 0);
	arena_alloc(&mem, 900000);
	arena_release(&mem);
}

static void arena_copies_end_with_a_nul(void **state)
{
	struct arena mem = { 0 };
	struct str empty = arena_copy(&mem, STR(""));

	(void)state;
	assert_string_equal(empty.p, "");
	assert_null(arena_copy(&mem, STR_NONE).p);
	assert_string_equal(arena_cstr(&mem, STR_NONE), "");
	assert_string_equal(arena_cstr(&mem, str_head(STR("abcdef"), 3)), "abc");
	assert_true(str_eq(arena_copy(&mem, STR("a\0b")), STR("a\0b")));
	assert_str(arena_fmt(&mem, "%s-%d", "x", 7), "x-7");
	assert_str(arena_fmt(&mem, "%s", ""), "");
	assert_int_equal(arena_fmt(&mem, "%050000d", 1).n, 50000);
	arena_release(&mem);
}

static void buf_grows_with_what_is_put(void **state)
{
	struct arena mem = { 0 };
	struct buf b = { .mem = &mem };
	struct str text;

	(void)state;
	assert_str(buf_str(&b), "");
	buf_put(&b, STR_NONE);
	buf_pad(&b, 'x', 0);
	assert_str(buf_str(&b), "");
	buf_fmt(&b, "%d,", 42);
	buf_put(&b, STR("a\0b"));
	buf_char(&b, '!');
	buf_pad(&b, '-', 3);
	assert_true(str_eq(buf_str(&b), STR("42,a\0b!---")));
	assert_int_equal(buf_str(&b).p[b.n], '\0');
	for (int i = 0; i < 10000; i++)
		buf_fmt(&b, "%d,", i);
	text = buf_str(&b);
	assert_true(str_starts(text, STR("42,a\0b!---0,1,2,")));
	assert_true(str_ends(text, STR(",9998,9999,")));
	memcpy(buf_room(&b, 100000), "tail", 4);
	b.n += 4;
	assert_true(str_ends(buf_str(&b), STR(",9999,tail")));
	arena_release(&mem);
}

static void buf_formats_what_it_holds_itself(void **state)
{
	struct arena mem = { 0 };
	struct buf b = { .mem = &mem };

	(void)state;
	buf_put(&b, STR("twice "));
	for (int i = 0; i < 7; i++)
		buf_fmt(&b, "%s", buf_str(&b).p);
	assert_int_equal(b.n, 6 << 7);
	arena_release(&mem);
}

int str_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(str_eq_compares_bytes_and_length),
		cmocka_unit_test(str_cmp_puts_a_prefix_first),
		cmocka_unit_test(str_starts_and_ends_take_the_empty_string),
		cmocka_unit_test(str_trim_takes_ascii_space_only),
		cmocka_unit_test(str_next_gives_every_part),
		cmocka_unit_test(str_find_last_is_where_a_loop_finds_it),
		cmocka_unit_test(arena_gives_zeroed_aligned_memory),
		cmocka_unit_test(arena_grow_keeps_what_was_there),
		cmocka_unit_test(arena_reset_uses_its_page_again),
		cmocka_unit_test(arena_copies_end_with_a_nul),
		cmocka_unit_test(buf_grows_with_what_is_put),
		cmocka_unit_test(buf_formats_what_it_holds_itself),
	};

	return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
