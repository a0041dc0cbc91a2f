#include "base/value.h"
#include "ops/op.h"
#include "test.h"

struct body {
	struct str data;
	int64_t wait;
	struct list names;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "data", &kind_json, AT(data), FIELD_REQUIRED, .missing = ERR_NOT_FOUND,
	  .invalid = ERR_INVALID_REF_FORMAT },
	{ "wait", &kind_duration, AT(wait), .preset = "10m" },
	{ "names", &kind_agent, AT(names), FIELD_LIST, .most = 2 },
	{ 0 },
};

static const struct op op = {
	.name = "test",
	.body_size = sizeof(struct body),
	.fields = fields,
};

static struct request decoded(struct call *c, const char *json, enum err want)
{
	struct value_error error;
	struct request r = request_new(c, &op);
	enum err e = request_decode(c, &r, value_parse(&c->mem, str_of(json), &error));

	assert_int_equal(e ? e : request_check(c, &r), want);
	return r;
}

static void json_is_kept_as_it_was_written(void **state)
{
	struct call c = { 0 };
	struct request r =
		decoded(&c, "{\"data\":{\"b\":1.50,\"a\":12345678901234567890}}", ERR_OK);
	const struct body *body = r.body;

	(void)state;
	assert_str(body->data, "{\"b\":1.50,\"a\":12345678901234567890}");
	call_release(&c);
}

static void text_that_is_not_json_has_the_fields_own_error(void **state)
{
	struct call c = { 0 };
	struct request r = request_new(&c, &op);

	(void)state;
	assert_int_equal(request_set(&c, &r, 0, STR("[1,2]")), ERR_OK);
	assert_str(((const struct body *)r.body)->data, "[1,2]");
	assert_int_equal(request_set(&c, &r, 0, STR("[1,")), ERR_INVALID_REF_FORMAT);
	assert_str(c.message, "--data is not JSON: a value is missing at byte 3");
	call_release(&c);
}

static void what_is_missing_has_the_fields_own_error(void **state)
{
	struct call c = { 0 };

	(void)state;
	decoded(&c, "{\"wait\":\"1h\"}", ERR_NOT_FOUND);
	assert_str(c.message, "data is missing");
	call_release(&c);
}

static void a_preset_stands_for_what_is_not_given(void **state)
{
	struct call c = { 0 };
	const struct body *preset = decoded(&c, "{\"data\":1}", ERR_OK).body;
	const struct body *given =
		decoded(&c, "{\"data\":1,\"wait\":\"2s\"}", ERR_OK).body;

	(void)state;
	assert_int_equal(preset->wait, 600000);
	assert_int_equal(given->wait, 2000);
	call_release(&c);
}

static void refuses_what_the_rows_do_not_allow(void **state)
{
	static const struct {
		const char *json;
		enum err want;
	} rows[] = {
		{ "{\"data\":1,\"names\":[\"a\",\"b\"]}", ERR_OK },
		{ "{\"data\":1,\"names\":[\"a\",\"b\",\"c\"]}", ERR_INVALID_INPUT },
		{ "{\"data\":1,\"names\":[\" \"]}", ERR_INVALID_IDENTITY },
		{ "{\"data\":1,\"names\":\"a\"}", ERR_USAGE },
		{ "{\"data\":1,\"wait\":5}", ERR_USAGE },
		{ "{\"data\":1,\"wait\":\"5\"}", ERR_INVALID_INPUT },
		{ "{\"data\":1,\"other\":5}", ERR_USAGE },
	};
	struct call c = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		decoded(&c, rows[i].json, rows[i].want);
	call_release(&c);
}

int request_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_kept_as_it_was_written),
		cmocka_unit_test(text_that_is_not_json_has_the_fields_own_error),
		cmocka_unit_test(what_is_missing_has_the_fields_own_error),
		cmocka_unit_test(a_preset_stands_for_what_is_not_given),
		cmocka_unit_test(refuses_what_the_rows_do_not_allow),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
