#include "base/hash.h"
#include "unit/test.h"

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
			assert_int_equal(crc32c(7, all), crc32c(crc32c(7, str_head(all, 4500)),
								str_skip(all, 4500)));
		}
}

/* Cases 2 and 6 of RFC 4231: a short key, and one longer than a block. */
static void hmac_sha256_has_the_values_of_the_standard(void **state)
{
	struct arena mem = { 0 };
	char key[131];

	(void)state;
	memset(key, 0xaa, sizeof key);
	assert_string_equal(
		hmac_sha256_hex(&mem, STR("Jefe"), STR("what do ya want for nothing?")).p,
		"5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	assert_string_equal(hmac_sha256_hex(&mem, (struct str){ key, sizeof key },
					    STR("Test Using Larger Than Block-Size Key - Hash Key "
						"First"))
				    .p,
			    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	arena_release(&mem);
}

int hash_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32c_has_the_value_of_the_standard),
		cmocka_unit_test(crc32c_is_the_same_in_one_piece_and_in_many),
		cmocka_unit_test(hmac_sha256_has_the_values_of_the_standard),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
