#include "base/text/items.h"

#include "unit/test.h"

#include "base/system/spool.h"
#include "base/text/json.h"

enum { ITEMS = 20000, LONG = 3 << 20 };

/* The items as JSON, with blanks between them; or "damaged" behind the items before the damage. */
static struct str items_of(struct arena *mem, const struct buf *text)
{
	struct items list = items_new(mem, text);
	struct buf out = { .mem = mem };
	const struct value *one;

	while ((one = items_next(&list, mem)))
		buf_fmt(&out, "%s" STR_FMT, out.n ? " " : "",
			STR_ARG(json_canonical_text(mem, one)));
	if (list.damaged)
		buf_fmt(&out, "%sdamaged", out.n ? " " : "");
	return buf_str(&out);
}

static void assert_items(const char *text, const char *expected)
{
	struct arena mem = { 0 };
	struct buf whole = buf_of(str_of(text));

	assert_str(items_of(&mem, &whole), expected);
	arena_release(&mem);
}

static void reads_each_item(void **state)
{
	(void)state;
	assert_items("[]", "");
	assert_items(" [ ] \n", "");
	assert_items("[1]", "1");
	assert_items(" [ {\"a\":[1,\"]\"]} , [2] ,\"x\",null ] \n",
		     "{\"a\":[1,\"]\"]} [2] \"x\" null");
}

static void tells_what_is_no_array(void **state)
{
	(void)state;
	assert_items("", "damaged");
	assert_items("{\"a\":1}", "damaged");
	assert_items("[", "damaged");
	assert_items("[1", "damaged");
	assert_items("[,1]", "damaged");
	assert_items("[1,]", "1 damaged");
	assert_items("[1 2]", "1 damaged");
	assert_items("[1,{\"a\":}]", "1 damaged");
	assert_items("[1]]", "1 damaged");
	assert_items("[1]x", "1 damaged");
}

/* Items, one of them larger than what is read at once, in a file and in memory. */
static void write_items(struct json *j)
{
	json_array(j);
	for (int i = 0; i < ITEMS; i++) {
		json_object(j);
		json_put_int(j, "n", i);
		json_put_str(j, "text",
			     STR("with \"quotes\" and \\ in it, and long enough to fill"));
		if (i == ITEMS / 2) {
			json_name(j, STR("long"));
			buf_char(&j->out, '"');
			buf_pad(&j->out, 'x', LONG);
			buf_char(&j->out, '"');
			j->comma = true;
		}
		json_end(j);
	}
	json_end(j);
}

static void reads_a_list_from_a_file_with_little_memory(void **state)
{
	struct arena mem = { 0 }, window = { 0 }, one = { 0 };
	struct spool spool = { 0 };
	struct json j = { .out = { .mem = &mem, .spool = &spool } };
	struct items list = items_new(&window, &j.out);
	const struct value *item;
	int64_t n = 0;

	(void)state;
	write_items(&j);
	assert_true(spool.size);
	assert_true(j.out.n);
	while ((item = items_next(&list, &one))) {
		assert_int_equal(value_count(item, "n"), n);
		assert_int_equal(value_str(item, "long").n, n == ITEMS / 2 ? LONG : 0);
		n++;
		if (n == ITEMS / 2)
			assert_true(list.text.part.cap <= 1 << 18);
		arena_reset(&one);
	}
	assert_int_equal(n, ITEMS);
	assert_int_equal(list.count, ITEMS);
	assert_false(list.damaged);
	spool_release(&spool);
	arena_release(&mem);
	arena_release(&window);
	arena_release(&one);
}

static void reads_items_again_in_any_order(void **state)
{
	struct arena mem = { 0 }, window = { 0 }, one = { 0 };
	struct spool spool = { 0 };
	struct json j = { .out = { .mem = &mem, .spool = &spool } };
	struct items list = items_new(&window, &j.out), again = items_around(&window, &j.out);
	static size_t place[ITEMS];

	(void)state;
	write_items(&j);
	for (size_t i = 0; items_next(&list, &one); i++) {
		place[i] = list.place;
		arena_reset(&one);
	}
	for (size_t i = 0; i < ITEMS; i++) {
		size_t at = i * 7919 % ITEMS;
		const struct value *item = items_again(&again, place[at], &one);

		assert_int_equal(value_count(item, "n"), at);
		arena_reset(&one);
	}
	spool_release(&spool);
	arena_release(&mem);
	arena_release(&window);
	arena_release(&one);
}

/* A number is complete only when something follows it. */
static void reads_numbers_across_the_end_of_a_part(void **state)
{
	struct arena mem = { 0 };
	struct spool spool = { 0 };
	struct buf text = { .mem = &mem, .spool = &spool };
	struct items list = items_new(&mem, &text);
	const struct value *item;
	int64_t n, sum = 0;

	(void)state;
	for (int i = 0; i < 300000; i++)
		buf_fmt(&text, "%c%d", i ? ',' : '[', 123456789);
	buf_char(&text, ']');
	assert_true(spool.size);
	while ((item = items_next(&list, &mem)) && value_number(item, &n))
		sum += n;
	assert_int_equal(sum, INT64_C(37037036700000));
	assert_false(list.damaged);
	spool_release(&spool);
	arena_release(&mem);
}

int items_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_each_item),
		cmocka_unit_test(tells_what_is_no_array),
		cmocka_unit_test(reads_a_list_from_a_file_with_little_memory),
		cmocka_unit_test(reads_items_again_in_any_order),
		cmocka_unit_test(reads_numbers_across_the_end_of_a_part),
	};

	return cmocka_run_group_tests_name("items", tests, NULL, NULL);
}
