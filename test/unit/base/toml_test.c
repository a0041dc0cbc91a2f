#include "base/text/toml.h"

#include "unit/test.h"

#include <stdlib.h>

#define COUNT(rows)             (sizeof(rows) / sizeof *(rows))
#define BOM                     "\xef\xbb\xbf"
#define assert_bytes(got, want) assert_str_at((got), (want), __FILE__, __LINE__)
#define HEADER                  "mcp_servers.bb"

static struct str put(struct call *c, struct str text, const char *body)
{
	struct str out = { 0 };

	if (toml_put(c, text, STR(HEADER), str_of(body), &out))
		fail_msg("put into \"" STR_FMT "\": " STR_FMT, STR_ARG(text), STR_ARG(c->message));
	return out;
}

static struct str take(struct call *c, struct str text)
{
	struct str out = { 0 };

	if (toml_remove(c, text, STR(HEADER), &out))
		fail_msg("remove from \"" STR_FMT "\": " STR_FMT, STR_ARG(text),
			 STR_ARG(c->message));
	return out;
}

static void puts_a_section(void **state)
{
	static const struct {
		const char *text, *body, *want;
	} rows[] = {
		/* at the end */
		{ NULL, "x = 1\n", "[mcp_servers.bb]\nx = 1\n" },
		{ "", "x = 1", "[mcp_servers.bb]\nx = 1\n" },
		{ "", "", "[mcp_servers.bb]\n" },
		{ "", NULL, "[mcp_servers.bb]\n" },
		{ BOM, "x = 1", BOM "[mcp_servers.bb]\nx = 1\n" },
		{ "\n\n", "x = 1", "[mcp_servers.bb]\nx = 1\n\n\n" },
		{ "a = 1\n", "x = 1\n", "a = 1\n\n[mcp_servers.bb]\nx = 1\n" },
		{ "a = 1", "x = 1\n", "a = 1\n\n[mcp_servers.bb]\nx = 1" },
		{ "a = 1\n\n\n", "x = 1\n", "a = 1\n\n[mcp_servers.bb]\nx = 1\n\n\n" },
		{ "a = 1\r\n", "x = 1\ny = 2\n",
		  "a = 1\r\n\r\n[mcp_servers.bb]\r\nx = 1\r\ny = 2\r\n" },
		{ "a = 1\n", "x = 1\r\n", "a = 1\n\n[mcp_servers.bb]\nx = 1\n" },
		{ "[mcp_servers]\n[mcp_servers.b]\n# end\n", "x = 1",
		  "[mcp_servers]\n[mcp_servers.b]\n# end\n\n[mcp_servers.bb]\nx = 1\n" },
		{ "[[mcp_servers.b]]\n", "x = 1",
		  "[[mcp_servers.b]]\n\n[mcp_servers.bb]\nx = 1\n" },
		{ "mcp_servers.b = {}\n", "x = 1",
		  "mcp_servers.b = {}\n\n[mcp_servers.bb]\nx = 1\n" },
		{ "[x]\nmcp_servers.bb = 1\n", "x = 1",
		  "[x]\nmcp_servers.bb = 1\n\n[mcp_servers.bb]\nx = 1\n" },
		{ "", "# c\nx = 1\n\n[mcp_servers.bb.env]\ny = 2\n\n# end\n",
		  "[mcp_servers.bb]\n# c\nx = 1\n\n[mcp_servers.bb.env]\ny = 2\n" },

		/* in the place of the one that is there */
		{ "[mcp_servers.bb]\nx = 1\n", "y = 2", "[mcp_servers.bb]\ny = 2\n" },
		{ "[mcp_servers.bb]", "y = 2", "[mcp_servers.bb]\ny = 2" },
		{ "a = 1\n[mcp_servers.bb] # ours\n\n# old\nx = 1\n\n# of b\n[b]\n", "y = 2",
		  "a = 1\n[mcp_servers.bb] # ours\ny = 2\n\n# of b\n[b]\n" },
		{ "  [ mcp_servers . \"b\\u0062\" ]\nx = 1\n[b]\n", "y = 2",
		  "  [ mcp_servers . \"b\\u0062\" ]\ny = 2\n[b]\n" },
		{ "['mcp_servers'.\"\\U00000062b\"]\nx = 1", "",
		  "['mcp_servers'.\"\\U00000062b\"]" },
		{ "[mcp_servers.bb]\r\nx = 1\r\n\r\n[b]\r\n", "y = 2\nz = 3\n",
		  "[mcp_servers.bb]\r\ny = 2\r\nz = 3\r\n\r\n[b]\r\n" },
		{ "[mcp_servers.bb]\nx = [\n'[b]',\n[2],\n]\nz = '''\n[b]\n'''\n[b]\n", "y = 2",
		  "[mcp_servers.bb]\ny = 2\n[b]\n" },

		/* with the tables below it */
		{ "[mcp_servers.bb]\nx = 1\n\n[mcp_servers.bb.env]\nz = 1\n"
		  "[[mcp_servers.bb.l]]\n\n[mcp_servers.bbb]\n",
		  "y = 2", "[mcp_servers.bb]\ny = 2\n\n[mcp_servers.bbb]\n" },
		{ "[mcp_servers.bb.env]\nz = 1\n\n[b]\n", "y = 2",
		  "[mcp_servers.bb]\ny = 2\n\n[b]\n" },
		{ "[mcp_servers.bb.env]\n[a]\n\n[mcp_servers.bb]\nx = 1\n\n[b]\n", "y = 2",
		  "[mcp_servers.bb]\ny = 2\n[a]\n\n[b]\n" },
		{ "[mcp_servers.bb.env]\n[a]\n\n[mcp_servers.bb]\nx = 1\n[b]\n", "y = 2",
		  "[mcp_servers.bb]\ny = 2\n[a]\n\n[b]\n" },
	};
	struct call c = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str got = put(&c, str_of(rows[i].text), rows[i].body);

		assert_str(got, rows[i].want);
		assert_bytes(put(&c, got, rows[i].body), got);
	}
	call_release(&c);
}

static void removes_a_section(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ NULL, NULL },
		{ "", "" },
		{ "[mcp_servers]\nb = 1\n", "[mcp_servers]\nb = 1\n" },
		{ "x = '[mcp_servers.bb]'\n", "x = '[mcp_servers.bb]'\n" },
		{ "# [mcp_servers.bb]\n", "# [mcp_servers.bb]\n" },
		{ "[mcp_servers.bb]", "" },
		{ BOM "[mcp_servers.bb]\nx = 1\n", BOM "" },
		{ "[mcp_servers.bb]\nx = 1\n\n[b]\n", "\n[b]\n" },
		{ "[a]\n\n[mcp_servers.bb]\nx = 1\n\n[b]\n", "[a]\n\n[b]\n" },
		{ "[a]\n\n[mcp_servers.bb]\nx = 1\n[b]\n", "[a]\n\n[b]\n" },
		{ "[a]\n[mcp_servers.bb]\nx = 1\n\n[b]\n", "[a]\n\n[b]\n" },
		{ "[a]\n\n[mcp_servers.bb]\nx = 1\n# of b\n[b]\n", "[a]\n\n# of b\n[b]\n" },
		{ "[a]\n[mcp_servers.bb.x.y]\n[b]\n['mcp_servers'.bb]\n[c]\n", "[a]\n[b]\n[c]\n" },
		{ "x = 1\n\n[mcp_servers.bb]\nx = 1", "x = 1" },
		{ "x = 1\n[mcp_servers.bb]\nx = 1", "x = 1\n" },
		{ "\n[mcp_servers.bb]\nx = 1", "" },
	};
	struct call c = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str got = take(&c, str_of(rows[i].text));

		assert_str(got, rows[i].want);
		assert_bytes(take(&c, got), got);
	}
	call_release(&c);
}

/* Texts that are as awkward as files get; none has the section. */
static const char *const awkward[] = {
	"",
	"\n",
	" \n\t",
	"\r\n\r\n",
	BOM,
	BOM "\n",
	BOM "a = 1\r\n",
	"# c",
	"# c\n\n\n",
	"a = 1",
	"a = 1 # c",
	"a = 1\n  ",
	"a = 1\n \n\n",
	"a = 1\r\nb = 2",
	"a = 1\r\n\r\n",
	"a = 1\nb = 2\r\n",
	"[a]",
	"[a]\n\n",
	"[[a]] # c\n[[a]]\n",
	"[mcp_servers]\nb = 1\n\n[mcp_servers.b.b]\nc = 1\n",
	"[mcp_servers.\"bb.x\"]\n",
	"[\"mcp_servers.bb\"]\n",
	"\"mcp_servers.bb\" = 1\n",
	"a.b . 'c' = { x = [1, 2], y = '}' }\n",
	"a = \"\\\"[mcp_servers.bb]\\\\\"\n",
	"a = '\\'\n[b]\n",
	"a = \"\"\"\n[mcp_servers.bb]\n\\\"\"\" \"\"\"\"\"\nb = 1\n",
	"a = '''\n[mcp_servers.bb]\n\\''''\n",
	"a = '''\r\n[mcp_servers.bb]\r\n'''''\r\n\r\n",
	"a = \"\"\nb = ''\n",
	"a = [ # ]\n  [mcp_servers.bb], # [\n  \"]\",\n[ '''\n]''' ]\n]\n\n# end",
	"a = [\n[mcp_servers.bb]\n]",
	"a = { b = [\n1,\n] }\n",
};

static const char *const bodies[] = {
	"command = \"bb\"\nargs = [\"mcp\"]\n",
	"x = 1\n\n[mcp_servers.bb.env]\ny = '''\n[b]\n'''\n",
	"",
	"# c\nx = [\n  [1],\n]",
};

static void check_round_trip(struct call *c, struct str text, size_t body)
{
	const char *other = bodies[(body + 1) % COUNT(bodies)];
	struct str once = put(c, text, bodies[body]);
	struct str twice = put(c, once, other);

	assert_bytes(put(c, once, bodies[body]), once);
	assert_bytes(put(c, twice, bodies[body]), once);
	assert_bytes(take(c, once), text);
	assert_bytes(take(c, twice), text);
}

static void removing_what_was_put_restores_the_text(void **state)
{
	struct call c = { 0 };

	(void)state;
	for (size_t t = 0; t < COUNT(awkward); t++)
		for (size_t b = 0; b < COUNT(bodies); b++)
			check_round_trip(&c, str_of(awkward[t]), b);
	call_release(&c);
}

static void refuses(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "a = \"x", "line 1: a string is not closed" },
		{ "a = \"x\\", "line 1: a string is not closed" },
		{ "\na = 'x\n'", "line 2: a string is not closed" },
		{ "a = 1\nb = \"\"\"\n\n\"\"", "line 2: a string is not closed" },
		{ "b = \"\"\"\\", "line 1: a string is not closed" },
		{ "b = '''\n''", "line 1: a string is not closed" },
		{ "\n\na = [\n1,\n", "line 3: a bracket is not closed" },
		{ "a = { b = [ }", "line 1: a closing bracket has no opening one" },
		{ "a = 1]\n", "line 1: a closing bracket has no opening one" },
		{ "a = [ '''\n''' ]\nb = }", "line 3: a closing bracket has no opening one" },
		{ "a =\n", "line 1: a value is missing" },
		{ "a = # c\n", "line 1: a value is missing" },
		{ "a = = 1\n", "line 1: a value is missing" },
		{ "a\n", "line 1: an equals sign is missing" },
		{ "= 1\n", "line 1: a key is missing" },
		{ "a..b = 1\n", "line 1: a key is missing" },
		{ "\"a\n", "line 1: a string is not closed" },
		{ "[a\n", "line 1: not a table header" },
		{ "[a] b\n", "line 1: not a table header" },
		{ "[[a]\n", "line 1: not a table header" },
		{ "[]\n", "line 1: a key is missing" },
		{ "a = 1\r\nb = 1\r", "line 2: a carriage return without a line feed" },
		{ "[a.]\n", "line 1: a key is missing" },

		{ "mcp_servers = { bb = {} }\n", "line 1: the section exists in another form" },
		{ "# c\nmcp_servers.bb = {}\n", "line 2: the section exists in another form" },
		{ "\"mcp_servers\" . 'bb' . x = 1\n",
		  "line 1: the section exists in another form" },
		{ "[mcp_servers]\nbb = {}\n", "line 2: the section exists in another form" },
		{ "[mcp_servers]\nbb.x = 1\n", "line 2: the section exists in another form" },
		{ "[[mcp_servers.bb]]\n", "line 1: the section exists in another form" },
		{ "[[mcp_servers]]\n", "line 1: the section exists in another form" },
		{ "[mcp_servers.bb]\n[b]\n[mcp_servers.'bb']\n",
		  "line 3: the section exists twice" },
	};
	struct call c = { 0 };
	struct str out;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct str text = str_of(rows[i].text);

		assert_int_equal(toml_put(&c, text, STR(HEADER), STR("x = 1"), &out),
				 ERR_INVALID_INPUT);
		assert_str(c.message, rows[i].message);
		assert_int_equal(toml_remove(&c, text, STR(HEADER), &out), ERR_INVALID_INPUT);
		assert_str(c.message, rows[i].message);
	}
	call_release(&c);
}

static void refuses_what_it_is_given(void **state)
{
	static const struct {
		const char *header, *body;
	} rows[] = {
		{ NULL, "" },     { "", "" },       { "a b", "" },         { "a.", "" },
		{ "a]\n[b", "" }, { "'a", "" },     { "a", "x = 1\n[b]" }, { "a", "[a]" },
		{ "a", "[[a]]" }, { "a.b", "[a]" }, { "a", "x" },          { "a", "x = [" },
	};
	struct call c = { 0 };
	struct str out;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(
			toml_put(&c, STR(""), str_of(rows[i].header), str_of(rows[i].body), &out),
			ERR_INVALID_INPUT);
	call_release(&c);
}

static void limits_the_depth(void **state)
{
	struct call c = { 0 };
	char text[2048];
	struct str out;

	(void)state;
	memset(text, '[', sizeof text);
	memcpy(text, "a = ", 4);
	assert_int_equal(toml_remove(&c, (struct str){ text, sizeof text }, STR("a"), &out),
			 ERR_INVALID_INPUT);
	assert_str(c.message, "line 1: nested too deep");
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = i % 2 ? '.' : 'a';
	assert_int_equal(toml_remove(&c, (struct str){ text, sizeof text }, STR("a"), &out),
			 ERR_INVALID_INPUT);
	assert_str(c.message, "line 1: a key has too many parts");
	call_release(&c);
}

/* Refused, or edited and restored; in memory that ends where the text does. */
static bool check_damaged(struct str damaged)
{
	struct call c = { 0 };
	char *exact = malloc(damaged.n ? damaged.n : 1);
	struct str text = { exact, damaged.n }, out;
	bool edited;

	memcpy(exact, damaged.p, damaged.n);
	edited = !toml_remove(&c, text, STR(HEADER), &out) && str_eq(out, text);
	if (edited)
		check_round_trip(&c, text, 1);
	call_release(&c);
	free(exact);
	return edited;
}

static void survives_damage(void **state)
{
	static const char bytes[] = "[]{}\"'\\.=#\n\r a";
	char copy[256];
	size_t edited = 0;

	(void)state;
	for (size_t t = 0; t < COUNT(awkward); t++) {
		struct str text = str_of(awkward[t]);

		assert_in_range(text.n, 0, sizeof copy);
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

int toml_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(puts_a_section),
		cmocka_unit_test(removes_a_section),
		cmocka_unit_test(removing_what_was_put_restores_the_text),
		cmocka_unit_test(refuses),
		cmocka_unit_test(refuses_what_it_is_given),
		cmocka_unit_test(limits_the_depth),
		cmocka_unit_test(survives_damage),
	};

	return cmocka_run_group_tests_name("toml", tests, NULL, NULL);
}
