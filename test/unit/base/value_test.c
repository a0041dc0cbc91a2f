#include "base/text/value.h"

#include <stdlib.h>

#include "base/text/json.h"
#include "unit/test.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

/* Parses a copy that ends where the text ends, so that a sanitizer sees a read past it. */
static const struct value *parse(struct arena *mem, struct str text, struct value_error *error)
{
	char *exact = malloc(text.n ? text.n : 1);
	const struct value *v, *again;

	memcpy(exact, text.p, text.n);
	again = value_parse(mem, (struct str){ exact, text.n }, error);
	free(exact);
	v = value_parse(mem, text, error);
	assert_int_equal(!v, !again);
	return v;
}

static struct str canonical(struct arena *mem, const struct value *v)
{
	struct json j = json_new(mem);

	json_canonical(&j, v);
	return json_text(&j);
}

struct accepted {
	struct str text, canonical;
};

static void assert_accepted(const struct accepted *row, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct arena mem = { 0 };
		struct value_error error = { 0 };
		const struct value *v = parse(&mem, row[i].text, &error);

		if (!v)
			fail_msg("row %zu: " STR_FMT ": at %zu: %s", i, STR_ARG(row[i].text),
				 error.offset, error.why);
		assert_null(error.why);
		assert_int_equal(error.offset, row[i].text.n);
		if (!str_eq(canonical(&mem, v), row[i].canonical))
			fail_msg("row %zu: got " STR_FMT ", want " STR_FMT, i,
				 STR_ARG(canonical(&mem, v)), STR_ARG(row[i].canonical));
		arena_release(&mem);
	}
}

#define SAME(lit)                  \
	{                          \
		STR(lit), STR(lit) \
	}
#define AS(lit, c)               \
	{                        \
		STR(lit), STR(c) \
	}

static void value_accepts_every_structure(void **state)
{
	const struct accepted row[] = {
		SAME("null"),
		SAME("true"),
		SAME("false"),
		SAME("\"\""),
		SAME("[]"),
		SAME("{}"),
		SAME("[[]]"),
		SAME("[{}]"),
		SAME("{\"\":0}"),
		SAME("[null,true,false,\"\",0,[],{}]"),
		SAME("{\"a\":{\"b\":{\"c\":[]}}}"),
		SAME("[[[],[]],[[]]]"),
		AS(" null", "null"),
		AS("null ", "null"),
		AS("\t\n\r null\r\n\t ", "null"),
		AS("[ ]", "[]"),
		AS("{ }", "{}"),
		AS("[\n]", "[]"),
		AS("[ 1 , 2 ]", "[1,2]"),
		AS("{ \"a\" : 1 , \"b\" : 2 }", "{\"a\":1,\"b\":2}"),
		AS("{\"a\"\t:\n[\r1]}", "{\"a\":[1]}"),
		AS("{\"b\":1,\"a\":2}", "{\"a\":2,\"b\":1}"),
		AS("{\"a\":1,\"A\":2}", "{\"A\":2,\"a\":1}"),
		AS("{\"ab\":1,\"a\":2,\"\":3}", "{\"\":3,\"a\":2,\"ab\":1}"),
		SAME("{\"a\":{\"a\":{\"a\":1}}}"),
	};

	(void)state;
	assert_accepted(row, COUNT(row));
}

static void value_accepts_every_number(void **state)
{
	const struct accepted row[] = {
		SAME("0"),
		AS("-0", "0"),
		SAME("1"),
		SAME("-1"),
		SAME("10"),
		SAME("1234567890"),
		AS("0.0", "0"),
		AS("-0.0", "0"),
		AS("0e0", "0"),
		AS("0E+9", "0"),
		AS("-0e-9", "0"),
		SAME("0.5"),
		AS("1.0", "1"),
		AS("1.50", "1.5"),
		AS("1e2", "100"),
		AS("1E2", "100"),
		AS("1e+2", "100"),
		AS("1e-2", "0.01"),
		AS("1.5e3", "1500"),
		AS("12.5E-1", "1.25"),
		AS("1e0005", "100000"),
		AS("10.00e00", "10"),
		SAME("9223372036854775807"),
		SAME("-9223372036854775808"),
		SAME("9223372036854775808"),
		SAME("123456789012345678901234567890123456789012345678901234567890"),
		SAME("-99999999999999999999999999999999999999999999999999999999999"),
		AS("1e-400", "0"),
		SAME("1e400"),
		AS("[0,0.1,-1e1]", "[0,0.1,-10]"),
	};

	(void)state;
	assert_accepted(row, COUNT(row));
}

static void value_accepts_every_string(void **state)
{
	const struct accepted row[] = {
		SAME("\"a\""),
		SAME("\"seven b\""),
		SAME("\"eight by\""),
		SAME("\"nine byte\""),
		SAME("\"sixteen bytes ok\""),
		SAME("\"seventeen bytes!!\""),
		SAME("\"\\\"\""),
		SAME("\"\\\\\""),
		AS("\"\\/\"", "\"/\""),
		SAME("\"\\b\\f\\n\\r\\t\""),
		AS("\"\\u0008\\u000c\\u000a\\u000d\\u0009\"", "\"\\b\\f\\n\\r\\t\""),
		SAME("\"\\u0000\""),
		AS("\"\\u001F\"", "\"\\u001f\""),
		AS("\"\\u0020\"", "\" \""),
		AS("\"\\u0022\\u005c\\u002F\"", "\"\\\"\\\\/\""),
		AS("\"\\u0041\\u0062\"", "\"Ab\""),
		AS("\"\\u007f\"", "\"\x7f\""),
		SAME("\"\x7f\""),
		AS("\"\\u0080\"", "\"\xc2\x80\""),
		AS("\"\\u07FF\"", "\"\xdf\xbf\""),
		AS("\"\\u0800\"", "\"\xe0\xa0\x80\""),
		AS("\"\\ud7ff\"", "\"\xed\x9f\xbf\""),
		AS("\"\\ue000\"", "\"\xee\x80\x80\""),
		AS("\"\\uFFFF\"", "\"\xef\xbf\xbf\""),
		AS("\"\\uD800\\uDC00\"", "\"\xf0\x90\x80\x80\""),
		AS("\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\""),
		AS("\"\\uDBFF\\udfff\"", "\"\xf4\x8f\xbf\xbf\""),
		AS("\"\\u2028\\u2029\"", "\"\xe2\x80\xa8\xe2\x80\xa9\""),
		AS("\"x\\u00e9y\\u00E9z\"", "\"x\xc3\xa9y\xc3\xa9z\""),
		SAME("\"\xc2\x80\""),
		SAME("\"\xdf\xbf\""),
		SAME("\"\xe0\xa0\x80\""),
		SAME("\"\xed\x9f\xbf\""),
		SAME("\"\xee\x80\x80\""),
		SAME("\"\xef\xbf\xbe\""),
		SAME("\"\xef\xbf\xbf\""),
		SAME("\"\xf0\x90\x80\x80\""),
		SAME("\"\xf4\x8f\xbf\xbf\""),
		SAME("\"a\xef\xbb\xbf"
		     "b\""),
		SAME("\"\\\\u0041\""),
		SAME("\"\\\\\\\\\\\"\""),
		AS("\"plain then \\u0061 and more \\n text\"",
		   "\"plain then a and more \\n text\""),
		AS("{\"\\u0061\":\"\\u0062\"}", "{\"a\":\"b\"}"),
	};

	(void)state;
	assert_accepted(row, COUNT(row));
}

struct refused {
	struct str text;
	size_t offset;
	const char *why;
};

static void assert_refused(const struct refused *row, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct arena mem = { 0 };
		struct value_error error = { 0 };

		if (parse(&mem, row[i].text, &error))
			fail_msg("row %zu was accepted: " STR_FMT, i, STR_ARG(row[i].text));
		assert_string_equal(error.why, row[i].why);
		if (error.offset != row[i].offset)
			fail_msg("row %zu: " STR_FMT ": offset %zu, want %zu", i,
				 STR_ARG(row[i].text), error.offset, row[i].offset);
		arena_release(&mem);
	}
}

static const char missing[] = "a value is missing", other[] = "not a JSON value",
		  open_end[] = "an array or object is not closed", comma[] = "a comma is missing",
		  colon[] = "a colon is missing", key[] = "a key is missing",
		  more[] = "text follows the value";

static void value_refuses_broken_structure(void **state)
{
	const struct refused row[] = {
		{ STR(""), 0, missing },
		{ STR(" "), 1, missing },
		{ STR("\n\n"), 2, missing },
		{ STR("["), 1, missing },
		{ STR("[1"), 2, open_end },
		{ STR("[1,"), 3, missing },
		{ STR("[1,]"), 3, other },
		{ STR("[,1]"), 1, other },
		{ STR("[,]"), 1, other },
		{ STR("[1,,2]"), 3, other },
		{ STR("[1 2]"), 3, comma },
		{ STR("[1:2]"), 2, comma },
		{ STR("[1}"), 2, comma },
		{ STR("[}"), 1, other },
		{ STR("]"), 0, other },
		{ STR("}"), 0, other },
		{ STR(","), 0, other },
		{ STR(":"), 0, other },
		{ STR("[\"a\""), 4, open_end },
		{ STR("[[1]"), 4, open_end },
		{ STR("{"), 1, key },
		{ STR("{]"), 1, key },
		{ STR("{,}"), 1, key },
		{ STR("{\"a\""), 4, colon },
		{ STR("{\"a\"}"), 4, colon },
		{ STR("{\"a\",1}"), 4, colon },
		{ STR("{\"a\" 1}"), 5, colon },
		{ STR("{\"a\":"), 5, missing },
		{ STR("{\"a\":}"), 5, other },
		{ STR("{\"a\":1"), 6, open_end },
		{ STR("{\"a\":1,"), 7, key },
		{ STR("{\"a\":1,}"), 7, key },
		{ STR("{\"a\":1 \"b\":2}"), 7, comma },
		{ STR("{\"a\":1]"), 6, comma },
		{ STR("{\"a\"::1}"), 5, other },
		{ STR("{a:1}"), 1, key },
		{ STR("{1:1}"), 1, key },
		{ STR("{null:1}"), 1, key },
		{ STR("{[]:1}"), 1, key },
		{ STR("{'a':1}"), 1, key },
		{ STR("null null"), 5, more },
		{ STR("1 2"), 2, more },
		{ STR("{}{}"), 2, more },
		{ STR("[]]"), 2, more },
		{ STR("{}}"), 2, more },
		{ STR("\"a\"b"), 3, more },
		{ STR("1,"), 1, more },
		{ STR("nul"), 0, other },
		{ STR("nulL"), 0, other },
		{ STR("nullx"), 4, more },
		{ STR("Null"), 0, other },
		{ STR("TRUE"), 0, other },
		{ STR("tru"), 0, other },
		{ STR("trueish"), 4, more },
		{ STR("fals"), 0, other },
		{ STR("NaN"), 0, other },
		{ STR("Infinity"), 0, other },
		{ STR("undefined"), 0, other },
		{ STR("'a'"), 0, other },
		{ STR("// c\n1"), 0, other },
		{ STR("/* c */1"), 0, other },
		{ STR("1 // c"), 2, more },
		{ STR("# c\n1"), 0, other },
		{ STR("\\u0031"), 0, other },
		/* white space is four characters and no others */
		{ STR("\v1"), 0, other },
		{ STR("\f1"), 0, other },
		{ STR("1\f"), 1, more },
		{ STR("[\xc2\xa0"
		      "1]"),
		  1, other },
		{ STR("[\xe2\x80\xa8"
		      "1]"),
		  1, other },
		/* nor may a byte order mark or a NUL stand around a value */
		{ STR("\xef\xbb\xbf"
		      "1"),
		  0, other },
		{ STR("\xef\xbb\xbf"), 0, other },
		{ STR("\xfe\xff\0001"), 0, other },
		{ STR("\0"), 0, other },
		{ STR("1\0"), 1, more },
		{ STR("[1\0]"), 2, comma },
		{ STR("{\"a\"\0:1}"), 4, colon },
		{ STR("\xff"), 0, other },
		{ STR("1\xc3\xa9"), 1, more },
	};

	(void)state;
	assert_refused(row, COUNT(row));
}

static void value_refuses_broken_numbers(void **state)
{
	static const char digit[] = "a digit is missing in a number",
			  zero[] = "a number begins with a zero";
	const struct refused row[] = {
		{ STR("-"), 1, digit },
		{ STR("--1"), 1, digit },
		{ STR("-a"), 1, digit },
		{ STR("- 1"), 1, digit },
		{ STR("-.5"), 1, digit },
		{ STR("-Infinity"), 1, digit },
		{ STR("+1"), 0, other },
		{ STR(".5"), 0, other },
		{ STR("1."), 2, digit },
		{ STR("1.e1"), 2, digit },
		{ STR("1.x"), 2, digit },
		{ STR("1..2"), 2, digit },
		{ STR("1.2.3"), 3, more },
		{ STR("1e"), 2, digit },
		{ STR("1e+"), 3, digit },
		{ STR("1e-"), 3, digit },
		{ STR("1e+-1"), 3, digit },
		{ STR("1e1.5"), 3, more },
		{ STR("1e1e1"), 3, more },
		{ STR("0e"), 2, digit },
		{ STR("00"), 1, zero },
		{ STR("01"), 1, zero },
		{ STR("-01"), 2, zero },
		{ STR("-00.5"), 2, zero },
		{ STR("0x10"), 1, more },
		{ STR("1a"), 1, more },
		{ STR("1_000"), 1, more },
		{ STR("1 000"), 2, more },
		{ STR("1,5"), 1, more },
		{ STR("[1.]"), 3, digit },
		{ STR("[-]"), 2, digit },
		{ STR("[01]"), 2, zero },
		{ STR("[0 1]"), 3, comma },
		{ STR("1f"), 1, more },
		{ STR("\xef\xbc\x91"), 0, other }, /* a wide digit one */
	};

	(void)state;
	assert_refused(row, COUNT(row));
}

static const char unclosed[] = "a string is not closed";

static void value_refuses_broken_strings(void **state)
{
	static const char control[] = "a control character in a string",
			  escape[] = "an unknown escape in a string",
			  hex[] = "a \\u escape is not four hexadecimal digits";
	const struct refused row[] = {
		{ STR("\""), 1, unclosed },
		{ STR("\"a"), 2, unclosed },
		{ STR("\"twelve bytes"), 13, unclosed },
		{ STR("\"\\"), 2, unclosed },
		{ STR("\"a\\"), 3, unclosed },
		{ STR("\"\\\""), 3, unclosed },
		{ STR("\"\\\\\\\""), 5, unclosed },
		{ STR("[\"a]"), 4, unclosed },
		{ STR("{\"a:1}"), 6, unclosed },
		{ STR("\"\0\""), 1, control },
		{ STR("\"a\0b\""), 2, control },
		{ STR("\"\n\""), 1, control },
		{ STR("\"\t\""), 1, control },
		{ STR("\"\x1f\""), 1, control },
		{ STR("\"eight by\x01\""), 9, control },
		{ STR("\"\\n\n\""), 3, control },
		{ STR("{\"a\nb\":1}"), 3, control },
		{ STR("\"\\a\""), 1, escape },
		{ STR("\"\\v\""), 1, escape },
		{ STR("\"\\0\""), 1, escape },
		{ STR("\"\\x41\""), 1, escape },
		{ STR("\"\\'\""), 1, escape },
		{ STR("\"\\U0041\""), 1, escape },
		{ STR("\"\\N\""), 1, escape },
		{ STR("\"\\ \""), 1, escape },
		{ STR("\"ok\\n\\q\""), 5, escape },
		{ STR("\"\\\0\""), 1, escape },
		{ STR("\"\\u\""), 3, hex },
		{ STR("\"\\u1\""), 4, hex },
		{ STR("\"\\u12\""), 5, hex },
		{ STR("\"\\u123\""), 6, hex },
		{ STR("\"\\u12g4\""), 5, hex },
		{ STR("\"\\u+123\""), 3, hex },
		{ STR("\"\\u 123\""), 3, hex },
		{ STR("\"\\u00@0\""), 5, hex },
		{ STR("\"\\u00`0\""), 5, hex },
		{ STR("\"\\u{41}\""), 3, hex },
		{ STR("\"\\u12\"34"), 5, hex },
		{ STR("\"\\u00"), 5, unclosed },
	};

	(void)state;
	assert_refused(row, COUNT(row));
}

static void value_refuses_lone_surrogates(void **state)
{
	static const char low[] = "a low surrogate without a high one",
			  high[] = "a high surrogate without a low one",
			  hex[] = "a \\u escape is not four hexadecimal digits";
	const struct refused row[] = {
		{ STR("\"\\ud800\""), 1, high },
		{ STR("\"\\udbff\""), 1, high },
		{ STR("\"\\uD83Dx\""), 1, high },
		{ STR("\"\\ud83d \\ude00\""), 1, high },
		{ STR("\"\\ud83d\\n\""), 1, high },
		{ STR("\"\\ud83d\\\\ude00\""), 1, high },
		{ STR("\"\\ud83d\\u0041\""), 1, high },
		{ STR("\"\\ud83d\\ud83d\\ude00\""), 1, high },
		{ STR("\"\\ud83d\\ue000\""), 1, high },
		{ STR("\"\\ud83d\\udbff\""), 1, high },
		{ STR("\"\\ud83d\\ude\""), 11, hex },
		{ STR("\"\\udc00\""), 1, low },
		{ STR("\"\\udfff\""), 1, low },
		{ STR("\"ab\\ude00\\ud83d\""), 3, low },
		{ STR("\"\\ud83d\\ude00\\ude00\""), 13, low },
		{ STR("{\"\\ud800\":1}"), 2, high },
	};

	(void)state;
	assert_refused(row, COUNT(row));
}

static void value_refuses_what_is_not_utf8(void **state)
{
	static const char why[] = "not UTF-8";
	const struct refused row[] = {
		{ STR("\"\x80\""), 1, why },
		{ STR("\"\xbf\""), 1, why },
		{ STR("\"a\x80\""), 2, why },
		{ STR("\"\xc3\xa9\xa9\""), 3, why },
		/* overlong */
		{ STR("\"\xc0\x80\""), 1, why },
		{ STR("\"\xc0\xaf\""), 1, why },
		{ STR("\"\xc1\xbf\""), 1, why },
		{ STR("\"\xe0\x80\x80\""), 1, why },
		{ STR("\"\xe0\x9f\xbf\""), 1, why },
		{ STR("\"\xf0\x80\x80\x80\""), 1, why },
		{ STR("\"\xf0\x8f\xbf\xbf\""), 1, why },
		/* surrogates */
		{ STR("\"\xed\xa0\x80\""), 1, why },
		{ STR("\"\xed\xbf\xbf\""), 1, why },
		{ STR("\"\xed\xa0\xbd\xed\xb8\x80\""), 1, why },
		/* past U+10FFFF */
		{ STR("\"\xf4\x90\x80\x80\""), 1, why },
		{ STR("\"\xf5\x80\x80\x80\""), 1, why },
		{ STR("\"\xf8\x88\x80\x80\x80\""), 1, why },
		{ STR("\"\xfc\x84\x80\x80\x80\x80\""), 1, why },
		{ STR("\"\xfe\""), 1, why },
		{ STR("\"\xff\""), 1, why },
		/* cut off, by a quote, by another character, by the end */
		{ STR("\"\xc3\""), 1, why },
		{ STR("\"\xe2\x82\""), 1, why },
		{ STR("\"\xf0\x9f\x98\""), 1, why },
		{ STR("\"\xc3"
		      "a\""),
		  1, why },
		{ STR("\"\xe2\x82"
		      "a\""),
		  1, why },
		{ STR("\"\xc3"), 1, why },
		{ STR("\"\xf0\x9f\x98"), 1, why },
		{ STR("\"\xc3\\n\""), 1, why },
		/* also in keys and behind eight plain bytes */
		{ STR("{\"\xff\":1}"), 2, why },
		{ STR("\"eight by\xff\""), 9, why },
		{ STR("\"\\n\xff\""), 3, why },
	};

	(void)state;
	assert_refused(row, COUNT(row));
}

static void value_refuses_a_key_that_stands_twice(void **state)
{
	static const char why[] = "a key occurs twice in one object";
	const struct refused row[] = {
		{ STR("{\"a\":1,\"a\":1}"), 13, why },
		{ STR("{\"a\":1,\"b\":2,\"a\":3}"), 19, why },
		{ STR("{\"\":1,\"\":2}"), 11, why },
		{ STR("{\"a\":1,\"\\u0061\":2}"), 18, why },
		{ STR("{\"\\u00e9\":1,\"\xc3\xa9\":2}"), 19, why },
		{ STR("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}"), 27, why },
		{ STR("{\"/\":1,\"\\/\":2}"), 14, why },
		{ STR("[{\"x\":{\"a\":1,\"a\":2}}]"), 19, why },
	};

	(void)state;
	assert_refused(row, COUNT(row));
}

/* {"k0":0, ... } with `count` members; the last has the key of `same` if not -1. */
static struct str many_members(struct arena *mem, int count, int same)
{
	struct buf b = { .mem = mem };

	buf_char(&b, '{');
	for (int i = 0; i < count; i++)
		buf_fmt(&b, "%s\"k%d\":%d", i ? "," : "", i == count - 1 && same >= 0 ? same : i,
			i);
	buf_char(&b, '}');
	return buf_str(&b);
}

static void value_finds_a_repeated_key_among_any_number(void **state)
{
	static const int count[] = { 2, 3, 15, 16, 17, 31, 32, 33, 47, 48, 49, 100, 20000 };

	(void)state;
	for (size_t i = 0; i < COUNT(count); i++) {
		struct arena mem = { 0 };
		struct value_error error;
		int last = count[i] - 1;
		const struct value *v = value_parse(&mem, many_members(&mem, count[i], -1), &error);

		assert_non_null(v);
		assert_int_equal(v->count, count[i]);
		assert_str(v->item[last].text, arena_fmt(&mem, "%d", last).p);
		for (int same = 0; same < last; same += 1 + last / 3) {
			struct str text = many_members(&mem, count[i], same);

			assert_null(value_parse(&mem, text, &error));
			assert_string_equal(error.why, "a key occurs twice in one object");
		}
		arena_release(&mem);
	}
}

static void value_does_not_take_alike_keys_for_the_same(void **state)
{
	static const char text[] = "{\"ab\":1,\"ba\":2,\"aab\":3,\"a\":4,\"\":5,\"abb\":6,"
				   "\"ac\":7,\"a\\u0000\":8,\"a\\u0000b\":9}";
	struct arena mem = { 0 };
	const struct value *v = value_read(&mem, str_of(text));

	(void)state;
	assert_non_null(v);
	assert_int_equal(v->count, 9);
	assert_str(value_find(v, "ac")->text, "7");
	assert_str(value_find(v, "")->text, "5");
	arena_release(&mem);
}

/* `depth` times `open`, then `depth` times `close`. */
static struct str nested(struct arena *mem, size_t depth, const char *open, const char *close)
{
	struct buf b = { .mem = mem };

	for (size_t i = 0; i < depth; i++)
		buf_put(&b, str_of(open));
	buf_put(&b, STR("[]"));
	for (size_t i = 0; i < depth; i++)
		buf_put(&b, str_of(close));
	return buf_str(&b);
}

static void value_stops_at_its_depth(void **state)
{
	static const struct {
		const char *open, *close;
	} row[] = { { "[", "]" }, { "{\"a\":", "}" }, { "[{\"\":", "}]" } };
	enum { SHALLOW = VALUE_DEPTH - 1 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		size_t levels = row[i].open[1] == '{' ? 2 : 1;
		struct arena mem = { 0 };
		struct value_error error;
		struct str most = nested(&mem, SHALLOW / levels, row[i].open, row[i].close);
		struct str past = nested(&mem, SHALLOW / levels + 1, row[i].open, row[i].close);
		const struct value *v = value_parse(&mem, most, &error);

		assert_non_null(v);
		assert_true(str_eq(canonical(&mem, v), most));
		assert_null(value_parse(&mem, past, &error));
		assert_string_equal(error.why, "nested too deep");
		assert_null(value_parse(&mem, nested(&mem, 100000, row[i].open, ""), &error));
		assert_string_equal(error.why, "nested too deep");
		arena_release(&mem);
	}
}

static void value_counts_depth_not_brackets(void **state)
{
	struct arena mem = { 0 };
	struct buf b = { .mem = &mem };
	const struct value *v;

	(void)state;
	buf_char(&b, '[');
	for (int i = 0; i < 1000; i++)
		buf_put(&b, STR("[[]],"));
	buf_put(&b, STR("{}]"));
	v = value_read(&mem, buf_str(&b));
	assert_non_null(v);
	assert_int_equal(v->count, 1001);
	arena_release(&mem);
}

static void value_refuses_every_cut_of_a_text(void **state)
{
	static const char text[] = "{\"a\\u00e9\xc3\xa9\":[null,true,false,-1.5e+3,\"\\n\\ud83d\\"
				   "ude00 eight plain bytes\"],\"b\":{}}";
	struct arena mem = { 0 };
	struct value_error error;

	(void)state;
	for (size_t n = 0; n < sizeof text - 1; n++) {
		assert_null(parse(&mem, (struct str){ text, n }, &error));
		assert_non_null(error.why);
		assert_true(error.offset <= n);
	}
	assert_non_null(parse(&mem, str_of(text), &error));
	arena_release(&mem);
}

static void value_finds_each_special_byte_wherever_it_stands(void **state)
{
	static const struct {
		char byte;
		const char *why;
	} row[] = {
		{ '\x1f', "a control character in a string" },
		{ '\x7f', NULL },
		{ '!', NULL },
		{ ' ', NULL },
		{ '#', NULL },
		{ '[', NULL },
		{ ']', NULL },
		{ '\x80', "not UTF-8" },
		{ '\xff', "not UTF-8" },
		{ '"', "text follows the value" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		for (size_t at = 1; at < 25; at++) {
			char text[] = "\"\x7f!##~[]z\x7f!##~[]z\x7f!##~[]z\"";
			struct arena mem = { 0 };
			struct value_error error;

			text[at] = row[i].byte;
			parse(&mem, str_of(text), &error);
			if (!row[i].why) {
				assert_null(error.why);
			} else {
				assert_string_equal(error.why, row[i].why);
				assert_int_equal(error.offset, at + (row[i].byte == '"'));
			}
			arena_release(&mem);
		}
	}
}

static void value_tells_absent_from_empty(void **state)
{
	struct arena mem = { 0 };
	struct value_error error;
	const struct value *v =
		value_parse(&mem,
			    STR("{\"s\":\"\",\"n\":null,\"i\":7,\"big\":9223372036854775808,"
				"\"f\":1.0,\"e\":\"\\u0041\"}"),
			    &error);
	int64_t out = -1;

	(void)state;
	assert_str(value_str(v, "s"), "");
	assert_null(value_str(v, "n").p);
	assert_null(value_str(v, "i").p);
	assert_null(value_str(v, "nothing").p);
	assert_str(value_str(v, "e"), "A");
	assert_true(value_int(v, "i", &out));
	assert_int_equal(out, 7);
	assert_false(value_int(v, "big", &out));
	assert_false(value_int(v, "f", &out));
	assert_false(value_int(v, "s", &out));
	assert_false(value_int(v, "nothing", &out));
	assert_null(value_find(NULL, "s"));
	assert_null(value_find(value_find(v, "s"), "s"));
	assert_non_null(value_find(v, "n"));
	assert_null(value_parse(&mem, STR_NONE, &error));
	assert_string_equal(error.why, "a value is missing");
	arena_release(&mem);
}

static void value_does_not_copy_a_string_without_escapes(void **state)
{
	static const char text[] = "[\"as it is \xc3\xa9\",12.50]";
	struct arena mem = { 0 };
	const struct value *v = value_read(&mem, str_of(text));

	(void)state;
	assert_ptr_equal(v->item[0].text.p, text + 2);
	assert_ptr_equal(v->item[1].text.p, strchr(text, ',') + 1);
	assert_str(v->item[1].text, "12.50");
	arena_release(&mem);
}

int value_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(value_accepts_every_structure),
		cmocka_unit_test(value_accepts_every_number),
		cmocka_unit_test(value_accepts_every_string),
		cmocka_unit_test(value_refuses_broken_structure),
		cmocka_unit_test(value_refuses_broken_numbers),
		cmocka_unit_test(value_refuses_broken_strings),
		cmocka_unit_test(value_refuses_lone_surrogates),
		cmocka_unit_test(value_refuses_what_is_not_utf8),
		cmocka_unit_test(value_refuses_a_key_that_stands_twice),
		cmocka_unit_test(value_finds_a_repeated_key_among_any_number),
		cmocka_unit_test(value_does_not_take_alike_keys_for_the_same),
		cmocka_unit_test(value_stops_at_its_depth),
		cmocka_unit_test(value_counts_depth_not_brackets),
		cmocka_unit_test(value_refuses_every_cut_of_a_text),
		cmocka_unit_test(value_finds_each_special_byte_wherever_it_stands),
		cmocka_unit_test(value_tells_absent_from_empty),
		cmocka_unit_test(value_does_not_copy_a_string_without_escapes),
	};

	return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
