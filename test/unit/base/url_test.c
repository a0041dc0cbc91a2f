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
		{ "http:/anna:pw@host/x.git", "http:/***@host/x.git" },
		{ "http:/token@host/x.git", "http:/***@host/x.git" },
		{ "http:\\\\anna:pw@host/x.git", "http:\\\\***@host/x.git" },
		{ "http:/host/x?token=pw", "http:/host/x?***" },
		{ "anna:pw@host:x.git", "***@host:x.git" },
		{ "anna:pw@host://x.git", "***@host://x.git" },
		{ "anna:pw://x@host/x.git", "***@host/x.git" },
		{ "anna@b.example:pw@host/x", "***@host/x" },
		{ "http::http://anna:pw@host/x", "***@host/x" },
		{ "(http://anna:pw@host/x)", "(http://***@host/x)" },
		{ "anna@host:x.git", "anna@host:x.git" },
		{ "host:/srv/x.git: no", "host:/srv/x.git: no" },
		{ "https:///anna:pw@host/x", "https:///***@host/x" },
		{ "https:////token@host/x", "https:////***@host/x" },
		{ "ssh://\\anna:pw@host/x", "ssh://\\***@host/x" },
		{ "https://host/https://anna:pw@host/x", "https://***@host/x" },
		{ "http://anna:pw%40host:1/x", "http://***@host:1/x" },
		{ "http://anna:pw%2540host/x", "http://***@host/x" },
		{ "http://token%40host/a%40b", "http://***@host/a%40b" },
		{ "http://host/a%40b%3", "http://host/a%40b%3" },
		{ "anna%3apw@host:x", "***@host:x" },
		{ "anna%253Apw%40host:x", "***@host:x" },
		{ "anna%3apw://x@host/x", "***@host/x" },
		{ "[anna:pw@host]:x", "***@host]:x" },
		{ "anna%40corp@host:x", "anna%40corp@host:x" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_str(url_hide(&mem, str_of(row[i].text)), row[i].shown);
	arena_release(&mem);
}

static void url_shown_takes_any_character_as_a_part_of_the_url(void **state)
{
	struct arena mem = { 0 };

	(void)state;
	assert_str(url_shown(&mem, STR("http://anna:p w'<@host/x")), "http://***@host/x");
	assert_str(url_shown(&mem, STR("anna:p w@host:x")), "***@host:x");
	assert_str(url_shown(&mem, STR("/srv/a b.git")), "/srv/a b.git");
	arena_release(&mem);
}

static void url_scp_has_password_where_a_user_and_a_host_are_likely(void **state)
{
	static const struct {
		const char *address;
		bool has;
	} row[] = {
		{ "anna:pw@host:x.git", true },
		{ "anna:pw@host/x.git", true },
		{ "anna@b.example:pw@host:x.git", true },
		{ "http:/anna:pw@host/x.git", true },
		{ "host:a@b.git", true },
		{ "anna@host:a@b.git", false },
		{ "anna@host:x.git", false },
		{ "host:x.git", false },
		{ "[::1]:x.git", false },
		{ "[anna@::1]:a@b.git", false },
		{ "[anna@::1", false },
		{ "anna%40corp@host:x", false },
		{ "[anna:pw@host]:x.git", true },
		{ "[anna:pw@host:22]:x.git", true },
		{ "[anna:pw]@host:x.git", true },
		{ "[[anna:pw@host]]:x.git", true },
		{ "[anna:pw@host:x.git", true },
		{ "[anna:pw%40host]:x.git", true },
		{ "[::1]:anna:pw@host", true },
		{ "anna@host:bea:pw@host/x", true },
		{ "anna%3apw@host:x", true },
		{ "anna%253Apw%2540host:x", true },
		{ "anna:pw%40host:x", true },
		{ "x", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		assert_int_equal(url_scp_has_password(str_of(row[i].address)), row[i].has);
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
		{ "ssh://anna%3Apw@host/x", "ssh://anna@host/x" },
		{ "ssh://anna%40corp@host/x", "ssh://anna%40corp@host/x" },
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
	assert_str(url_secret(STR("http:/anna:pw@host/x")), "pw");
	assert_str(url_secret(STR("anna:pw@host:x")), "pw");
	assert_str(url_secret(STR("anna%3apw@host:x")), "pw");
	assert_str(url_secret(STR("a%3ab:pw%40host:x")), "pw");
	assert_str(url_secret(STR("https:///anna:pw@host/x")), "pw");
	assert_null(url_secret(STR("anna@host:a@b")).p);
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
		cmocka_unit_test(url_shown_takes_any_character_as_a_part_of_the_url),
		cmocka_unit_test(url_scp_has_password_where_a_user_and_a_host_are_likely),
		cmocka_unit_test(url_drop_password_keeps_the_rest),
		cmocka_unit_test(url_secret_is_the_password_or_a_token),
		cmocka_unit_test(url_decode_knows_percent_signs),
	};

	return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
