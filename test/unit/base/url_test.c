#include "base/text/url.h"

#include "unit/test.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void url_hide_leaves_no_secret_in_a_text(void **state)
{
	static const struct {
		const char *text, *shown;
	} row[] = {
		{ "", "" },
		{ "no address at all: x@y", "no address at all: x@y" },
		{ "https://host/x.git", "https://host/x.git" },
		{ "https://host:8080/x.git", "https://host:8080/x.git" },
		{ "https://anna:pw@host/x.git", "https://***@host/x.git" },
		{ "https://token@host/x.git", "https://***@host/x.git" },
		{ "https://:pw@host/x.git", "https://***@host/x.git" },
		{ "https://anna:p@w@host/x", "https://***@host/x" },
		{ "https://anna:p/w@host/x", "https://***@host/x" },
		{ "https://anna:p?w#@host/x", "https://***@host/x" },
		{ "https://host/a@b", "https://host/a@b" },
		{ "https://host/x?token=pw", "https://host/x?***" },
		{ "cannot reach 'https://a:pw@h/x': no", "cannot reach 'https://***@h/x': no" },
		{ "<ssh://a:pw@h> and http://b:pw@i", "<ssh://***@h> and http://***@i" },
		{ "http://a:pw@[::1]:80/x", "http://***@[::1]:80/x" },
		{ "://pw@", "://***@" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_str(url_hide(&mem, str_of(row[i].text)), row[i].shown);
	arena_release(&mem);
}

static void url_drop_password_keeps_the_rest(void **state)
{
	static const struct {
		const char *url, *left;
	} row[] = {
		{ "https://host/x", "https://host/x" },
		{ "https://anna@host/x", "https://anna@host/x" },
		{ "https://anna:pw@host/x", "https://anna@host/x" },
		{ "ssh://anna:p@w@host:22/x", "ssh://anna@host:22/x" },
		{ "ssh://host:22/a@b", "ssh://host:22/a@b" },
		{ "host:path", "host:path" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_str(url_drop_password(&mem, str_of(row[i].url)), row[i].left);
	arena_release(&mem);
}

static void url_secret_is_the_password_or_a_token(void **state)
{
	(void)state;
	assert_str(url_secret(STR("https://anna:p%40w@host/x")), "p%40w");
	assert_str(url_secret(STR("https://ghp_0123456789abc@host/x")), "ghp_0123456789abc");
	assert_null(url_secret(STR("ssh://git@host/x")).p);
	assert_null(url_secret(STR("https://host/x")).p);
	assert_null(url_secret(STR("/a/folder@x")).p);
}

static void url_decode_knows_percent_signs(void **state)
{
	struct arena mem = { 0 };

	(void)state;
	assert_str(url_decode(&mem, STR("p%40w%2")), "p@w%2");
	assert_str(url_decode(&mem, STR("%zz%41")), "%zzA");
	arena_release(&mem);
}

int url_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(url_hide_leaves_no_secret_in_a_text),
		cmocka_unit_test(url_drop_password_keeps_the_rest),
		cmocka_unit_test(url_secret_is_the_password_or_a_token),
		cmocka_unit_test(url_decode_knows_percent_signs),
	};

	return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
