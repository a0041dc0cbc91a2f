#include "store/git/git_config.h"

#include "base/buf.h"
#include "unit/test.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

static void print_setting(void *arg, struct str name, struct str value)
{
	buf_fmt(arg, STR_FMT "%s" STR_FMT "|", STR_ARG(name), value.p ? "=" : "", STR_ARG(value));
}

static void git_config_parse_reads_what_git_reads(void **state)
{
	static const struct {
		const char *text, *want;
	} row[] = {
		{ "", "" },
		{ "[user]\n\tname = Ann Lee\n", "user.name=Ann Lee|" },
		{ "[User]\nNAME=x", "user.name=x|" },
		{ "[a] b = 1\n", "a.b=1|" },
		{ "[a]b=1", "a.b=1|" },
		{ "\xef\xbb\xbf[a]\nb = 1\n", "a.b=1|" },
		{ "[a]\r\nb = 1\r\n", "a.b=1|" },
		{ "[a]\nb\nc =\n", "a.b|a.c=|" },
		{ "[a]\nb # alone\n", "a.b|" },
		{ "[url \"git@Host:\"]\ninsteadOf = gh:\n", "url.git@Host:.insteadof=gh:|" },
		{ "[s \"a\\\"b\\\\c\"]\nk = 1\n", "s.a\"b\\c.k=1|" },
		{ "[s.Sub]\nk = 1\n", "s.sub.k=1|" },
		{ "# c\n; d\n[a] # e\nb = 1 ; f\n", "a.b=1|" },
		{ "[a]\nb = \"x # y\" z  \n", "a.b=x # y z|" },
		{ "[a]\nb = \" x \"\n", "a.b= x |" },
		{ "[a]\nb = x\\ty\\\\z\\\"\n", "a.b=x\ty\\z\"|" },
		{ "[a]\nb = one\\\n two\n", "a.b=one two|" },
		{ "[a]\nb = one ; \\\nc = 2\n", "a.b=one|a.c=2|" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		struct buf b = { .mem = &mem };

		git_config_parse(&mem, str_of(row[i].text), print_setting, &b);
		assert_str(buf_str(&b), row[i].want);
	}
	arena_release(&mem);
}

static void git_config_parse_ends_where_git_would_refuse_the_file(void **state)
{
	static const char *const broken[] = {
		"b = 2",        "[a\nb = 2",      "[a \"x]\nb = 2", "[a \"x\" y]\nb = 2",
		"[a b]\nc",     "[a]\n1b = 2",    "[a]\nb c\n",     "[a]\nb = \"x\n",
		"[a]\nb = \\x", "[a]\nb_c = 2\n", "\x01",           "[a \"x\\",
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(broken); i++) {
		struct buf b = { .mem = &mem };

		git_config_parse(&mem, str_of(broken[i]), print_setting, &b);
		assert_str(buf_str(&b), "");
	}
	arena_release(&mem);
}

int git_config_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(git_config_parse_reads_what_git_reads),
		cmocka_unit_test(git_config_parse_ends_where_git_would_refuse_the_file),
	};

	return cmocka_run_group_tests_name("git_config", tests, NULL, NULL);
}
