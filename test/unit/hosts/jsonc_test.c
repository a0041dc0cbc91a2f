#include "hosts/jsonc.h"

#include "unit/test.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/text/json.h"
#include "base/text/value.h"

#define COUNT(rows)             (sizeof(rows) / sizeof *(rows))
#define BOM                     "\xef\xbb\xbf"
#define assert_bytes(got, want) assert_str_at((got), (want), __FILE__, __LINE__)

/* "a/b" as a list of keys. */
static const char *const *path_of(struct call *c, const char *path)
{
	const char **keys = arena_array(&c->mem, strlen(path) + 2, sizeof *keys);
	struct str rest = str_of(path), key;

	for (size_t i = 0; str_next(&rest, '/', &key); i++)
		keys[i] = arena_cstr(&c->mem, key);
	return keys;
}

static struct str put(struct call *c, struct str text, const char *path, const char *value)
{
	struct str out = { 0 };

	if (jsonc_put(c, text, path_of(c, path), str_of(value), &out))
		fail_msg("put into \"" STR_FMT "\": " STR_FMT, STR_ARG(text), STR_ARG(c->message));
	return out;
}

static struct str take(struct call *c, struct str text, const char *path)
{
	struct str out = { 0 };

	if (jsonc_remove(c, text, path_of(c, path), &out))
		fail_msg("remove from \"" STR_FMT "\": " STR_FMT, STR_ARG(text),
			 STR_ARG(c->message));
	return out;
}

static struct str find(struct call *c, struct str text, const char *path)
{
	struct str out = { 0 };

	if (jsonc_find(c, text, path_of(c, path), &out))
		fail_msg("find in \"" STR_FMT "\": " STR_FMT, STR_ARG(text), STR_ARG(c->message));
	return out;
}

static const char server[] = "{\"command\":\"bb\",\"args\":[\"mcp\",1],\"env\":{}}";

static void puts_a_member(void **state)
{
	static const struct {
		const char *text, *path, *value, *want;
	} rows[] = {
		/* a document to be begun */
		{ NULL, "k", "1", "{\n  \"k\": 1\n}\n" },
		{ "", "k", "1", "{\n  \"k\": 1\n}\n" },
		{ " \n\t\n", "k", "1", "{\n  \"k\": 1\n}\n" },
		{ "\r\n", "k", "[1]", "{\r\n  \"k\": [\r\n    1\r\n  ]\r\n}\r\n" },
		{ BOM, "k", "1", BOM "{\n  \"k\": 1\n}\n" },
		{ "", "a/b", server,
		  "{\n  \"a\": {\n    \"b\": {\n      \"command\": \"bb\",\n"
		  "      \"args\": [\n        \"mcp\",\n        1\n      ],\n"
		  "      \"env\": {}\n    }\n  }\n}\n" },

		/* an empty object */
		{ "{}", "k", "1", "{\n  \"k\": 1\n}" },
		{ "{ }\n", "k", "1", "{\n  \"k\": 1\n}\n" },
		{ "{\n}\n", "k", "1", "{\n  \"k\": 1\n}\n" },
		{ "{\n\n}\n", "k", "1", "{\n  \"k\": 1\n}\n" },
		{ "{\r\n\r\n}\r\n", "k", "1", "{\r\n  \"k\": 1\r\n}\r\n" },
		{ "  { \t \n }", "k", "1", "  {\n    \"k\": 1\n  }" },
		{ "{\n  \"a\": { \n\n }\n}", "a/k", "1", "{\n  \"a\": {\n    \"k\": 1\n  }\n}" },
		{ "{\n\t\"a\": {}\n}", "a/k", "{\"x\":1}",
		  "{\n\t\"a\": {\n\t\t\"k\": {\n\t\t\t\"x\": 1\n\t\t}\n\t}\n}" },
		{ "{\n  \"a\": {\n  }\n}", "a/k", "1", "{\n  \"a\": {\n    \"k\": 1\n  }\n}" },
		{ "{\"a\":{}}", "a/k", "{\"x\":[1,2]}", "{\"a\":{\"k\": {\"x\": [1, 2]}}}" },
		{ "{ /* none */ }", "k", "[1,2]", "{ /* none */ \"k\": [1, 2] }" },
		{ "{\n  // none\n}", "k", "[1]", "{\n  // none\n  \"k\": [\n    1\n  ]\n}" },
		{ "{ // none\r}", "k", "1", "{ // none\n  \"k\": 1\r}" },

		/* one line */
		{ "{\"a\":1}", "k", "{\"x\":1,\"y\":[]}",
		  "{\"a\":1, \"k\": {\"x\": 1, \"y\": []}}" },
		{ "{ \"a\": 1 }\n", "k", "1", "{ \"a\": 1, \"k\": 1 }\n" },
		{ "{ \"a\": 1, }", "k", "1", "{ \"a\": 1, \"k\": 1, }" },
		{ "{ \"a\": 1 /* c */ }", "k", "1", "{ \"a\": 1, /* c */ \"k\": 1 }" },
		{ "{\"a\": 1 // c\n}", "k", "1", "{\"a\": 1, // c\n  \"k\": 1\n}" },
		{ "{\"a\": 1}", "b/c", "1", "{\"a\": 1, \"b\": {\"c\": 1}}" },

		/* lines */
		{ "{\n    \"a\": 1\n}\n", "k", "[1]",
		  "{\n    \"a\": 1,\n    \"k\": [\n        1\n    ]\n}\n" },
		{ "{\n\t\"a\": 1,\n}", "k", "[1]", "{\n\t\"a\": 1,\n\t\"k\": [\n\t\t1\n\t],\n}" },
		{ "{\r\n  \"a\": 1\r\n}\r\n", "k", "[1]",
		  "{\r\n  \"a\": 1,\r\n  \"k\": [\r\n    1\r\n  ]\r\n}\r\n" },
		{ BOM "{\n  \"a\": 1\n}", "k", "1", BOM "{\n  \"a\": 1,\n  \"k\": 1\n}" },
		{ "{\n  \"a\": 1 // one\n}", "k", "1", "{\n  \"a\": 1, // one\n  \"k\": 1\n}" },
		{ "{\n  \"a\": 1, // one\n  // \"b\": 2,\n}", "k", "1",
		  "{\n  \"a\": 1, // one\n  // \"b\": 2,\n  \"k\": 1,\n}" },
		{ "{\n  \"a\": 1\n  /* {\"b\": 2}\n   */ }", "k", "1",
		  "{\n  \"a\": 1,\n  /* {\"b\": 2}\n   */\n  \"k\": 1 }" },
		{ "{\n  \"a\": \"// } \\\" ,\"\n\n}", "k", "1",
		  "{\n  \"a\": \"// } \\\" ,\",\n  \"k\": 1\n\n}" },
		{ "/* \n  x */\n{\n    \"a\": {\n        \"b\": 1\n    }\n}", "a/c", "1",
		  "/* \n  x */\n{\n    \"a\": {\n        \"b\": 1,\n        \"c\": 1\n"
		  "    }\n}" },
		{ "{\n  \"a\": {\"b\": 1}\n}", "a/c", "[1]",
		  "{\n  \"a\": {\"b\": 1, \"c\": [1]}\n}" },

		/* a value that is there */
		{ "{\n  \"a\": 1, // one\n  \"b\": 2\n}", "a", "[1]",
		  "{\n  \"a\": [\n    1\n  ], // one\n  \"b\": 2\n}" },
		{ "{\"a\":/*x*/1/*y*/,}", "a", "{\"z\":2}", "{\"a\":/*x*/{\"z\": 2}/*y*/,}" },
		{ "{\n  \"a\" : { // gone\n  },\n}", "a", "null", "{\n  \"a\" : null,\n}" },
		{ "{\"\\u0061\": 1}", "a", "2", "{\"\\u0061\": 2}" },
		{ "{\"a\": {\"b\": [1, {\"b\": 2}], \"c\": \"]\"}}", "a/c", "3",
		  "{\"a\": {\"b\": [1, {\"b\": 2}], \"c\": 3}}" },

		/* keys and values that need escapes */
		{ "{}", "a\"b", "\"\\n\\u00e9\"", "{\n  \"a\\\"b\": \"\\n\xc3\xa9\"\n}" },
	};
	struct call c = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str got = put(&c, str_of(rows[i].text), rows[i].path, rows[i].value);

		assert_str(got, rows[i].want);
		assert_bytes(put(&c, got, rows[i].path, rows[i].value), got);
	}
	call_release(&c);
}

static void same_value_changes_nothing(void **state)
{
	static const struct {
		const char *text, *path, *value;
	} rows[] = {
		{ "{\"a\" :  1 }", "a", "1" },
		{ "{\"a\": 10}", "a", "1e1" },
		{ "{\n\"a\": { \"y\": [1, 2,], /* c */ \"x\": null, }\n}", "a",
		  "{\"x\":null,\"y\":[1,2]}" },
		{ "{\"a\": \"\\u0041\"}", "a", "\"A\"" },
		{ "\n{\"a\": {\"b\": {}}}\n\n", "a/b", " { } " },
	};
	struct call c = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_str(put(&c, str_of(rows[i].text), rows[i].path, rows[i].value),
			   rows[i].text);
	call_release(&c);
}

static void removes_a_member(void **state)
{
	static const struct {
		const char *text, *path, *want;
	} rows[] = {
		{ NULL, "k", NULL },
		{ " ", "k", " " },
		{ "{}", "k", "{}" },
		{ "{\"a\": {}}", "a/b", "{\"a\": {}}" },
		{ "{\"a\": 1}", "k/l", "{\"a\": 1}" },

		{ "{\"k\": 1}", "k", "{}" },
		{ "{ \"k\": 1, }", "k", "{ }" },
		{ "{\"k\": 1, \"b\": 2}", "k", "{\"b\": 2}" },
		{ "{\"a\": 1, \"k\": 1, \"b\": 2}", "k", "{\"a\": 1, \"b\": 2}" },
		{ "{\"a\": 1 , \"k\": 1}", "k", "{\"a\": 1 }" },
		{ "{\"a\": 1, \"k\": 1, }", "k", "{\"a\": 1, }" },

		{ "{\n  \"k\": 1\n}", "k", "{}" },
		{ "{\n  \"k\": 1,\n}", "k", "{}" },
		{ "{\n  \"k\": 1,\n  \"b\": 2\n}", "k", "{\n  \"b\": 2\n}" },
		{ "{\n  \"a\": 1,\n  \"k\": [\n    1\n  ],\n  \"b\": 2\n}", "k",
		  "{\n  \"a\": 1,\n  \"b\": 2\n}" },
		{ "{\r\n  \"a\": 1,\r\n  \"k\": 1\r\n}", "k", "{\r\n  \"a\": 1\r\n}" },
		{ "{\n  \"a\": 1,\n\n  \"k\": 1\n}", "k", "{\n  \"a\": 1\n\n}" },
		{ "{\n  \"a\": 1\n  , \"k\": 1\n}", "k", "{\n  \"a\": 1\n  \n}" },

		/* comments stay, and swallow nothing */
		{ "{\n  // of k\n  \"k\": 1, // k\n  \"b\": 2\n}", "k",
		  "{\n  // of k\n  // k\n  \"b\": 2\n}" },
		{ "{\n  // c\n  \"k\": 1, \"b\": 2 }", "k", "{\n  // c\n  \"b\": 2 }" },
		{ "{\n  // c\n  \"k\": 1 }", "k", "{\n  // c\n  }" },
		{ "{\n  // c\r\"k\": 1, \"b\": 2}", "k", "{\n  // c\r\"b\": 2}" },
		{ "{\n  \"a\": 1, // one\n  \"k\": 1\n}", "k", "{\n  \"a\": 1 // one\n}" },
		{ "{\"k\": 1 /* k */, \"b\": 2}", "k", "{/* k */ \"b\": 2}" },
		{ "{\"a\": 1, \"k\": 1 // k\n, \"b\": 2}", "k", "{\"a\": 1, // k\n \"b\": 2}" },
		{ "{\"k\": /* k */ 1}", "k", "{}" },

		/* objects that become empty */
		{ "{\n  \"a\": {\n    \"b\": {\n      \"k\": 1,\n    }\n  }\n}", "a/b/k", "{}" },
		{ "{\n  \"x\": 1,\n  \"a\": {\n    \"k\": 1\n  }\n}\n", "a/k",
		  "{\n  \"x\": 1\n}\n" },
		{ "{\"a\": {\"k\": 1}, \"x\": 1}", "a/k", "{\"x\": 1}" },
		{ "{\"a\": {\"k\": 1, \"l\": 1}}", "a/k", "{\"a\": {\"l\": 1}}" },
		{ "{\"a\": {\"k\": 1 /* c */}}", "a/k", "{\"a\": {/* c */}}" },
		{ "{\n  \"a\": {\n    // c\n    \"k\": 1\n  }\n}", "a/k",
		  "{\n  \"a\": {\n    // c\n  }\n}" },
	};
	struct call c = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str got = take(&c, str_of(rows[i].text), rows[i].path);

		assert_str(got, rows[i].want);
		assert_bytes(take(&c, got, rows[i].path), got);
	}
	call_release(&c);
}

static void finds_a_member(void **state)
{
	static const struct {
		const char *text, *path, *want;
	} rows[] = {
		{ NULL, "a", NULL },
		{ BOM "\n", "a", NULL },
		{ BOM "{\"a\": 1}", "a", "1" },
		{ "{\"a\" /*:*/ : /*x*/ -1.5e3/*y*/}", "a", "-1.5e3" },
		{ "{\"a\": true}", "b", NULL },
		{ "{\"b\": {\"a\": 1}}", "a", NULL },
		{ "{\"b\": \"a\", \"a\": [ 1, // x\n]}", "a", "[ 1, // x\n]" },
		{ "{\"x\": {\"\\\"\": \"\\\\\"}, \"a\": {\"b\": \"}\"}}", "a/b", "\"}\"" },
		{ "{\"a\": null//\n}", "a", "null" },
	};
	struct call c = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_str(find(&c, str_of(rows[i].text), rows[i].path), rows[i].want);
	call_release(&c);
}

static void refuses(void **state)
{
	static const struct {
		const char *text, *path, *message;
	} rows[] = {
		{ "[]", "a", "line 1: the document is not an object" },
		{ "// c\n1", "a", "line 2: the document is not an object" },
		{ "// only\n", "a", "line 2: a value is missing" },
		{ "{\n", "a", NULL },
		{ "{\"a\": 1}}", "a", NULL },
		{ "{\n\n/* x", "a", "line 3: a comment is not closed" },
		{ "{} /*/", "a", "line 1: a comment is not closed" },
		{ "{\"a\": 1 / 2}", "a", NULL },
		{ "{\"a\"}", "a", NULL },
		{ "{\"a\": 1 \"b\": 2}", "a", NULL },
		{ "{,}", "a", NULL },
		{ "{\"a\": [,]}", "a", NULL },
		{ "{\"a\": [1,,]}", "a", NULL },
		{ "{\"a\":,}", "a", NULL },
		{ "{\"a\": 1},", "a", NULL },
		{ "{a: 1}", "a", NULL },
		{ "{'a': 1}", "a", NULL },
		{ "{\"a\": 01}", "a", NULL },
		{ "{\"a\": \"\xff\"}", "a", NULL },
		{ "{\"a\": \"\n\"}", "a", NULL },
		{ "{\"a\": \"", "a", NULL },
		{ "{\"a\": \"\\", "a", NULL },
		{ "{\"a\": 1, \"\\u0061\": 2}", "b", NULL },
		{ "{\"b\": {\"a\": 1, \"a\": 2}}", "a", NULL },
		{ "{\n\"a\": 1}", "a/b", "line 2: a value on the path is not an object" },
		{ "{\"a\": {\"b\":\n[]}}", "a/b/c",
		  "line 2: a value on the path is not an object" },
	};
	struct call c = { 0 };
	struct str out;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str text = str_of(rows[i].text);
		const char *const *path = path_of(&c, rows[i].path);

		assert_int_equal(jsonc_put(&c, text, path, STR("1"), &out), ERR_INVALID_INPUT);
		assert_true(str_starts(c.message, STR("line ")));
		if (rows[i].message)
			assert_str(c.message, rows[i].message);
		assert_int_equal(jsonc_remove(&c, text, path, &out), ERR_INVALID_INPUT);
		assert_int_equal(jsonc_find(&c, text, path, &out), ERR_INVALID_INPUT);
	}
	assert_int_equal(jsonc_put(&c, STR("{}"), path_of(&c, "a"), STR("{"), &out),
			 ERR_INVALID_INPUT);
	call_release(&c);
}

static struct str nested(struct call *c, size_t depth)
{
	struct buf b = { .mem = &c->mem };

	for (size_t i = 0; i < depth; i++)
		buf_put(&b, STR("{\"a\":"));
	buf_char(&b, '1');
	buf_pad(&b, '}', depth);
	return buf_str(&b);
}

static void limits_the_depth(void **state)
{
	struct call c = { 0 };
	const char *const *path = path_of(&c, "k");
	struct str out;

	(void)state;
	assert_int_equal(jsonc_find(&c, nested(&c, VALUE_DEPTH), path, &out), ERR_OK);
	assert_int_equal(jsonc_find(&c, nested(&c, VALUE_DEPTH + 1), path, &out),
			 ERR_INVALID_INPUT);
	assert_int_equal(jsonc_find(&c, nested(&c, 100000), path, &out), ERR_INVALID_INPUT);
	assert_int_equal(jsonc_put(&c, STR("{}"), path, nested(&c, VALUE_DEPTH - 1), &out), ERR_OK);
	assert_int_equal(jsonc_put(&c, STR("{}"), path, nested(&c, VALUE_DEPTH), &out),
			 ERR_INVALID_INPUT);
	assert_int_equal(jsonc_put(&c, STR("{}"), path_of(&c, "\xff"), STR("1"), &out),
			 ERR_INVALID_INPUT);
	call_release(&c);
}

/* Texts that are as awkward as files get; none has a member "k" anywhere. */
static const char *const awkward[] = {
	"{}",
	"{ }",
	"{\n}",
	"{\n\n}\n",
	"  {\t}\n",
	"  {\n  }\n",
	"{\r\n}\r\n",
	BOM "{}",
	BOM "{\"a\":1}\r\n",
	"{/**/}",
	"{ /* c */ }",
	"{ /* c\n */ }",
	"{// c\n}",
	"{// c\n\n  }",
	"{ // c\r}",
	"// head\n{} // tail",
	"{\"a\":1}",
	"{\"a\":1,}",
	"{ \"a\" : 1 , }",
	"{ \"a\" : 1 /* x */ , /* y */ }",
	"{\"a\":1//c\n}",
	"{\"a\":1,//c\n}",
	"{\"a\":1//c\n,}",
	"{\"a\":1//c\r}",
	"{\"a\":1\n}",
	"{\"a\":1,\n\"b\":2}",
	"{\n\"a\":1}",
	"{\n  \"a\": 1 }",
	"{\n  \"a\": 1, }",
	"{\n  \"a\": 1\n}",
	"{\n  \"a\": 1,\n}\n\n",
	"{\n  \"a\": 1,  \n\n  }",
	"{\n  \"a\": 1\n  ,\n}",
	"{\n  \"a\": 1\n  , // c\n}",
	"{\n  \"a\": 1 // c  \n}",
	"{\n  \"a\": 1 // c\n  // d\n\n}",
	"{\n  \"a\": 1 /* c */\n}",
	"{\n  \"a\": 1 /* c */ }",
	"{\n  /* c */ \"a\": 1 /* c */ , /* d\n */ }",
	"{\r\n\t\"a\": 1,\r\n\t\"b\": \"}//\"\r\n}",
	"{\r\n\t\"a\": 1 // c\r\n}",
	"{\n  \"a\": 1,\r\n  \"b\": 2\r\n}",
	"{\r\n  \"a\": 1,\n  \"b\": 2\n}",
	"{\n    \"a\": {\n        \"b\": [\n            1,\n        ],\n    },\n}",
	"{\n  \"a\": {\"b\": 1}, \"c\": {\n  \"d\": {\"e\": 2,} } }",
	"{\n \"a\": {\n  // only\n },\n}",
	"{\"a\": {/* only */}}",
	"{\"a\": \"\\\\\", \"b\": \"\\\"\", \"c\": \"/*\", \"d\": \"*/\"}",
	"{\n\t\t\t\t\t\t\t\t\t\t\"a\": 1\n}",
	"{\n          \"a\": 1\n}",
};

static const char *const values[] = {
	"1", "\"// }\"", "{}", "[{\"a\":[]},2]", server,
};

/* True if `all` is `some` with bytes added. */
static bool is_extended(struct str some, struct str all)
{
	size_t i = 0;

	for (size_t k = 0; k < all.n && i < some.n; k++)
		i += all.p[k] == some.p[i];
	return i == some.n;
}

/* The text, but for the blanks of a root that holds nothing else. */
static struct str without_blanks(struct call *c, struct str text)
{
	struct buf b = { .mem = &c->mem };
	const char *open = memchr(text.p, '{', text.n);
	size_t from = open ? (size_t)(open - text.p) + 1 : text.n, to = from;

	while (to < text.n && memchr(" \t\r\n", text.p[to], 4))
		to++;
	if (to == text.n || text.p[to] != '}')
		return text;
	buf_put(&b, str_head(text, from));
	buf_put(&b, str_skip(text, to));
	return buf_str(&b);
}

static void check_round_trip(struct call *c, struct str before, const char *path, size_t value)
{
	struct str text = without_blanks(c, before);
	const char *other = values[(value + 1) % COUNT(values)];
	struct str once = put(c, before, path, values[value]);
	struct str twice = put(c, once, path, other);

	assert_true(is_extended(text, once));
	assert_bytes(put(c, once, path, values[value]), once);
	assert_bytes(put(c, twice, path, values[value]), once);
	assert_bytes(take(c, once, path), text);
	assert_bytes(take(c, twice, path), text);
}

static void removing_what_was_put_restores_the_text(void **state)
{
	static const char *const paths[] = { "k", "k/l", "k/l/m", "k k\n\"" };
	struct call c = { 0 };

	(void)state;
	for (size_t t = 0; t < COUNT(awkward); t++)
		for (size_t p = 0; p < COUNT(paths); p++)
			for (size_t v = 0; v < COUNT(values); v++)
				check_round_trip(&c, str_of(awkward[t]), paths[p], v);
	call_release(&c);
}

static void restores_objects_that_hold_something(void **state)
{
	static const struct {
		const char *text, *path;
	} rows[] = {
		{ "{\n    \"a\": {\n        \"b\": [\n            1,\n        ],\n    "
		  "},\n}",
		  "a/k" },
		{ "{\n  \"a\": {\"b\": 1}, \"c\": {\n  \"d\": {\"e\": 2,} } }", "c/d/k" },
		{ "{\n  \"a\": {\"b\": 1}, \"c\": {\n  \"d\": {\"e\": 2,} } }", "c/k/l" },
		{ "{\n  \"a\": {\"b\": 1}, \"c\": {\n  \"d\": {\"e\": 2,} } }", "a/k" },
		{ "{\n \"a\": {\n  // only\n },\n}", "a/k" },
		{ "{\"a\": {/* only */}}", "a/k/l" },
	};
	struct call c = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		for (size_t v = 0; v < COUNT(values); v++)
			check_round_trip(&c, str_of(rows[i].text), rows[i].path, v);
	call_release(&c);
}

/* The bytes around a value that is replaced are those that were around it. */
static void replacing_touches_only_the_value(void **state)
{
	struct call c = { 0 };

	(void)state;
	for (size_t t = 0; t < COUNT(awkward); t++) {
		struct str text = str_of(awkward[t]), old = find(&c, text, "a");

		if (!old.p)
			continue;

		struct str got = put(&c, text, "a", server), now = find(&c, got, "a");
		struct str head = str_head(text, (size_t)(old.p - text.p));
		struct str tail = str_skip(text, head.n + old.n);

		assert_bytes(str_head(got, head.n), head);
		assert_bytes(str_skip(got, head.n + now.n), tail);
		assert_int_equal(now.p - got.p, head.n);
	}
	call_release(&c);
}

/* Members of the root but for `key`, by which texts are compared. */
static struct str others(struct call *c, struct str text, const char *key)
{
	static const char *const keys[] = { "a", "b", "c", "d" };
	struct json j = json_new(&c->mem);

	json_array(&j);
	for (size_t i = 0; i < COUNT(keys); i++)
		if (strcmp(keys[i], key) != 0)
			json_str(&j, find(c, text, keys[i]));
	json_end(&j);
	return json_text(&j);
}

static void removing_leaves_the_others(void **state)
{
	static const char *const keys[] = { "a", "b", "c", "d" };
	struct call c = { 0 };

	(void)state;
	for (size_t t = 0; t < COUNT(awkward); t++)
		for (size_t k = 0; k < COUNT(keys); k++) {
			struct str text = str_of(awkward[t]);
			struct str got = take(&c, text, keys[k]);

			assert_null(find(&c, got, keys[k]).p);
			assert_bytes(others(&c, got, keys[k]), others(&c, text, keys[k]));
			assert_true(is_extended(got, text));
		}
	call_release(&c);
}

/* A carriage return that ends no line: white space that a new line may join. */
static bool has_lone_return(struct str text)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] == '\r' && (i + 1 == text.n || text.p[i + 1] != '\n'))
			return true;
	return false;
}

/* Refused, or edited and restored; in memory that ends where the text does. */
static bool check_damaged(struct str damaged)
{
	struct call c = { 0 };
	char *exact = malloc(damaged.n ? damaged.n : 1);
	struct str text = { exact, damaged.n }, out;
	bool edited;

	memcpy(exact, damaged.p, damaged.n);
	edited = !jsonc_find(&c, text, path_of(&c, "k"), &out) && !out.p && str_trim(text).n &&
		 !str_is(text, BOM);
	if (edited) {
		take(&c, put(&c, text, "k", server), "k");
		take(&c, take(&c, text, "a"), "b");
		if (!has_lone_return(text))
			check_round_trip(&c, text, "k", COUNT(values) - 1);
	}
	call_release(&c);
	free(exact);
	return edited;
}

static void survives_damage(void **state)
{
	static const char bytes[] = "{}[]\",:/*\\\n\r 1#k";
	char copy[256];
	size_t edited = 0;

	(void)state;
	for (size_t t = 0; t < COUNT(awkward); t++) {
		struct str text = str_of(awkward[t]);

		assert_in_range(text.n, 1, sizeof copy);
		for (size_t at = 0; at < text.n; at++) {
			edited += check_damaged(str_head(text, at));
			edited += check_damaged(str_skip(text, at));
			for (size_t b = 0; b < sizeof bytes; b++) {
				memcpy(copy, text.p, text.n);
				copy[at] = bytes[b];
				edited += check_damaged((struct str){ copy, text.n });
			}
		}
	}
	assert_true(edited > 1000);
}

int jsonc_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(puts_a_member),
		cmocka_unit_test(same_value_changes_nothing),
		cmocka_unit_test(removes_a_member),
		cmocka_unit_test(finds_a_member),
		cmocka_unit_test(refuses),
		cmocka_unit_test(limits_the_depth),
		cmocka_unit_test(removing_what_was_put_restores_the_text),
		cmocka_unit_test(restores_objects_that_hold_something),
		cmocka_unit_test(replacing_touches_only_the_value),
		cmocka_unit_test(removing_leaves_the_others),
		cmocka_unit_test(survives_damage),
	};

	return cmocka_run_group_tests_name("jsonc", tests, NULL, NULL);
}
