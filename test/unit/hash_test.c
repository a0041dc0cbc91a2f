#include "base/hash.h"
#include "test.h"

static void crc32c_has_the_value_of_the_standard(void **state)
{
	(void)state;
	assert_int_equal(crc32c(0, STR("123456789")), 0xe3069283);
	assert_int_equal(crc32c(0, STR("")), 0);
}

/* Long texts are summed eight bytes at a time; the sum is that of their bytes. */
static void crc32c_is_the_same_in_one_piece_and_in_many(void **state)
{
	static char text[9001];

	(void)state;
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (char)(i * i * 31 + i / 7);
	for (size_t from = 0; from < 9; from++)
		for (size_t n = sizeof text - 20; n < sizeof text - 9; n++) {
			struct str all = { text + from, n };
			uint32_t pieces = 0;

			for (size_t at = 0; at < n; at += 100)
				pieces = crc32c(pieces, str_head(str_skip(all, at), 100));
			assert_int_equal(crc32c(0, all), pieces);
			assert_int_equal(crc32c(7, all),
					 crc32c(crc32c(7, str_head(all, 4500)),
						str_skip(all, 4500)));
		}
}

int hash_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32c_has_the_value_of_the_standard),
		cmocka_unit_test(crc32c_is_the_same_in_one_piece_and_in_many),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
