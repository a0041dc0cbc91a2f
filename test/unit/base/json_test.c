#include "base/text/json.h"

#include "base/text/value.h"
#include "unit/test.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

static const struct value *parse(struct arena *mem, struct str text)
{
	struct value_error error;
	const struct value *v = value_parse(mem, text, &error);

	if (!v)
		fail_msg(STR_FMT ": at %zu: %s", STR_ARG(text), error.offset, error.why);
	return v;
}

static struct str as_read(struct arena *mem, struct str text)
{
	struct json j = json_new(mem);

	json_value(&j, parse(mem, text));
	return json_text(&j);
}

static struct str canonical(struct arena *mem, struct str text)
{
	struct json j = json_new(mem);

	json_canonical(&j, parse(mem, text));
	return json_text(&j);
}

static void json_puts_commas_and_brackets(void **state)
{
	struct arena mem = { 0 };
	struct json j = json_new(&mem);

	(void)state;
	json_object(&j);
	json_put_str(&j, "s", STR("text"));
	json_put_str(&j, "absent", STR_NONE);
	json_put_int(&j, "i", -7);
	json_put_bool(&j, "yes", true);
	json_put_bool(&j, "no", false);
	json_put_raw(&j, "raw", STR("[1]"));
	json_put_raw(&j, "none", STR_NONE);
	json_put_object(&j, "o");
	json_end(&j);
	json_put_array(&j, "a");
	json_array(&j);
	json_end(&j);
	json_object(&j);
	json_end(&j);
	json_null(&j);
	json_str(&j, STR(""));
	json_end(&j);
	json_key(&j, STR(""));
	json_null(&j);
	json_end(&j);
	assert_str(json_text(&j),
		   "{\"s\":\"text\",\"absent\":null,\"i\":-7,\"yes\":true,\"no\":false,"
		   "\"raw\":[1],\"none\":null,\"o\":{},\"a\":[[],{},null,\"\"],"
		   "\"\":null}");
	arena_release(&mem);
}

static void json_writes_every_integer(void **state)
{
	static const struct {
		int64_t value;
		const char *text;
	} row[] = {
		{ 0, "0" },
		{ -1, "-1" },
		{ 9, "9" },
		{ 10, "10" },
		{ INT64_MAX, "9223372036854775807" },
		{ INT64_MIN, "-9223372036854775808" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		struct arena mem = { 0 };
		struct json j = json_new(&mem);

		json_int(&j, row[i].value);
		assert_str(json_text(&j), row[i].text);
		arena_release(&mem);
	}
}

static void json_escapes_what_rfc_8785_says_and_no_more(void **state)
{
	struct arena mem = { 0 };

	(void)state;
	for (int ch = 0; ch < 0x80; ch++) {
		static const char *const brief[0x80] = {
			['\b'] = "\"\\b\"",  ['\t'] = "\"\\t\"", ['\n'] = "\"\\n\"",
			['\f'] = "\"\\f\"",  ['\r'] = "\"\\r\"", ['"'] = "\"\\\"\"",
			['\\'] = "\"\\\\\"",
		};
		struct json j = json_new(&mem);
		char byte = (char)ch;

		json_str(&j, (struct str){ &byte, 1 });
		if (brief[ch])
			assert_str(json_text(&j), brief[ch]);
		else if (ch < 0x20)
			assert_str(json_text(&j), arena_fmt(&mem, "\"\\u%04x\"", ch).p);
		else
			assert_str(json_text(&j), arena_fmt(&mem, "\"%c\"", ch).p);
	}
	arena_release(&mem);
}

static void json_keeps_all_but_ascii_as_it_is(void **state)
{
	static const char *const text[] = {
		"\"\xc2\x80\"",         "\"\xc3\xa9\"",         "\"\xe2\x80\xa8\xe2\x80\xa9\"",
		"\"\xef\xbf\xbf\"",     "\"\xf0\x9f\x98\x80\"", "\"\x7f\"",
		"\"\xf4\x8f\xbf\xbf\"",
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(text); i++)
		assert_str(as_read(&mem, str_of(text[i])), text[i]);
	arena_release(&mem);
}

/* What is compact and has only the escapes of RFC 8785 comes back byte for byte. */
static void json_writes_valid_utf8_whatever_it_is_given(void **state)
{
	struct arena mem = { 0 };
	struct json j = json_new(&mem);

	(void)state;
	json_object(&j);
	json_key(&j, STR("k\xff"));
	json_str(&j, STR("/tmp/caf\xe9/\"x\"/\xc3"));
	json_end(&j);
	assert_str(json_text(&j), "{\"k\xef\xbf\xbd\":\"/tmp/caf\xef\xbf\xbd/"
				  "\\\"x\\\"/\xef\xbf\xbd\"}");
	arena_release(&mem);
}

static void json_value_writes_what_it_read(void **state)
{
	static const char *const text[] = {
		"null",
		"[]",
		"{}",
		"-0",
		"1.50",
		"1E400",
		"0.1e-7",
		"123456789012345678901234567890.00",
		"{\"b\":1,\"a\":2,\"\":[{},[],\"\\u0000\\n\xc3\xa9\"]}",
		"[true,false,null,0,-1,1e5,\"/\"]",
		"{\"z\":{\"y\":{\"x\":[[[[]]]]}}}",
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(text); i++)
		assert_str(as_read(&mem, str_of(text[i])), text[i]);
	arena_release(&mem);
}

/* RFC 8785, section 3.2.2, with the integers' rule of our own aside. */
static void json_canonical_writes_the_example_of_rfc_8785(void **state)
{
	static const char text[] = "{\n"
				   "  \"numbers\": [333333333.33333329, 1E30, 4.50,\n"
				   "              2e-3, 0.000000000000000000000000001],\n"
				   "  \"string\": "
				   "\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
				   "  \"literals\": [null, true, false]\n"
				   "}";
	struct arena mem = { 0 };

	(void)state;
	assert_str(canonical(&mem, str_of(text)),
		   "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,"
		   "1e+30,4.5,0.002,1e-27],\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\"
		   "\\\\\\\"/\"}");
	arena_release(&mem);
}

/* RFC 8785, section 3.2.3. */
static void json_canonical_sorts_the_example_of_rfc_8785(void **state)
{
	static const char text[] = "{\n"
				   "  \"\\u20ac\": \"Euro Sign\",\n"
				   "  \"\\r\": \"Carriage Return\",\n"
				   "  \"\\ufb33\": \"Hebrew Letter Dalet With Dagesh\",\n"
				   "  \"1\": \"One\",\n"
				   "  \"\\ud83d\\ude00\": \"Emoji: Grinning Face\",\n"
				   "  \"\\u0080\": \"Control\",\n"
				   "  \"\\u00f6\": \"Latin Small Letter O With Diaeresis\"\n"
				   "}";
	struct arena mem = { 0 };

	(void)state;
	assert_str(canonical(&mem, str_of(text)),
		   "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\","
		   "\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\","
		   "\"\xe2\x82\xac\":\"Euro Sign\","
		   "\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\","
		   "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
	arena_release(&mem);
}

static void json_canonical_sorts_by_utf16_units(void **state)
{
	static const struct {
		const char *text, *want;
	} row[] = {
		{ "{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}" },
		{ "{\"aa\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"aa\":1}" },
		{ "{\"10\":1,\"9\":2,\"1\":3}", "{\"1\":3,\"10\":1,\"9\":2}" },
		{ "{\"a\":1,\"B\":2,\"_\":3}", "{\"B\":2,\"_\":3,\"a\":1}" },
		{ "{\"\\u0001\":1,\"\\u0000\":2}", "{\"\\u0000\":2,\"\\u0001\":1}" },
		{ "{\"a\\u0000\":1,\"a\":2}", "{\"a\":2,\"a\\u0000\":1}" },
		/* U+E000 comes after every surrogate, U+D7FF before */
		{ "{\"\\ue000\":1,\"\\ud800\\udc00\":2,\"\\ud7ff\":3}",
		  "{\"\xed\x9f\xbf\":3,\"\xf0\x90\x80\x80\":2,\"\xee\x80\x80\":1}" },
		{ "{\"x\\uffff\":1,\"x\\udbff\\udfff\":2}",
		  "{\"x\xf4\x8f\xbf\xbf\":2,\"x\xef\xbf\xbf\":1}" },
		{ "{\"\\ud83d\\ude01\":1,\"\\ud83d\\ude00\":2}",
		  "{\"\xf0\x9f\x98\x80\":2,\"\xf0\x9f\x98\x81\":1}" },
		{ "[{\"b\":{\"d\":1,\"c\":2},\"a\":3}]", "[{\"a\":3,\"b\":{\"c\":2,\"d\":1}}]" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		assert_str(canonical(&mem, str_of(row[i].text)), row[i].want);
		assert_str(canonical(&mem, str_of(row[i].want)), row[i].want);
	}
	arena_release(&mem);
}

static void json_canonical_does_not_depend_on_the_order_it_read(void **state)
{
	enum { COUNT_OF_KEYS = 200, STEP = 77 }; /* no common factor: all are visited */
	struct arena mem = { 0 };
	struct str first = { 0 };

	(void)state;
	for (int start = 0; start < 5; start++) {
		struct json j = json_new(&mem);
		struct str text;

		json_object(&j);
		for (int i = 0; i < COUNT_OF_KEYS; i++)
			json_put_int(
				&j, arena_fmt(&mem, "%d", (start + i * STEP) % COUNT_OF_KEYS).p, 1);
		json_end(&j);
		text = canonical(&mem, json_text(&j));
		if (first.p)
			assert_true(str_eq(text, first));
		first = text;
	}
	arena_release(&mem);
}

static void json_writes_as_deep_as_value_reads(void **state)
{
	struct arena mem = { 0 };
	struct buf b = { .mem = &mem };

	(void)state;
	buf_pad(&b, '[', VALUE_DEPTH);
	buf_pad(&b, ']', VALUE_DEPTH);
	assert_true(str_eq(canonical(&mem, buf_str(&b)), buf_str(&b)));
	arena_release(&mem);
}

static void json_keeps_every_digit_of_the_longest_integer(void **state)
{
	struct arena mem = { 0 };
	struct buf b = { .mem = &mem };

	(void)state;
	buf_put(&b, STR("-1"));
	while (b.n < VALUE_NUMBER_MOST)
		buf_char(&b, (char)('0' + b.n % 10));
	assert_true(str_eq(canonical(&mem, buf_str(&b)), buf_str(&b)));
	assert_true(str_eq(as_read(&mem, buf_str(&b)), buf_str(&b)));
	arena_release(&mem);
}

/* Plain text is passed over eight bytes at once: wherever the one that is not stands, it is
 * escaped, or replaced if it is not UTF-8, and nothing else. */
static void json_escapes_at_every_place_of_a_word(void **state)
{
	struct arena mem = { 0 };
	char text[20];

	(void)state;
	for (int ch = 0; ch < 256; ch++)
		for (size_t at = 0; at < sizeof text; at++) {
			bool odd = ch < 0x20 || ch == '"' || ch == '\\';
			struct json j = json_new(&mem);
			struct str out;

			memset(text, 'x', sizeof text);
			text[at] = (char)ch;
			json_str(&j, (struct str){ text, sizeof text });
			out = json_text(&j);
			assert_int_equal(out.p[at + 1] == '\\' && odd, odd);
			if (ch >= 0x80)
				assert_memory_equal(out.p + 1 + at, "\xef\xbf\xbd", 3);
			else if (!odd)
				assert_memory_equal(out.p + 1, text, sizeof text);
			assert_memory_equal(out.p + 1, text, at);
			assert_memory_equal(out.p + out.n - 1 - (sizeof text - at - 1),
					    text + at + 1, sizeof text - at - 1);
			arena_reset(&mem);
		}
	arena_release(&mem);
}

int json_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_puts_commas_and_brackets),
		cmocka_unit_test(json_writes_every_integer),
		cmocka_unit_test(json_escapes_what_rfc_8785_says_and_no_more),
		cmocka_unit_test(json_keeps_all_but_ascii_as_it_is),
		cmocka_unit_test(json_writes_valid_utf8_whatever_it_is_given),
		cmocka_unit_test(json_value_writes_what_it_read),
		cmocka_unit_test(json_canonical_writes_the_example_of_rfc_8785),
		cmocka_unit_test(json_canonical_sorts_the_example_of_rfc_8785),
		cmocka_unit_test(json_canonical_sorts_by_utf16_units),
		cmocka_unit_test(json_canonical_does_not_depend_on_the_order_it_read),
		cmocka_unit_test(json_writes_as_deep_as_value_reads),
		cmocka_unit_test(json_keeps_every_digit_of_the_longest_integer),
		cmocka_unit_test(json_escapes_at_every_place_of_a_word),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
