#include "base/text/json.h"
#include "base/text/value.h"
#include "op/op.h"
#include "ops/ops.h"
#include "unit/test.h"

struct body {
	struct str data;
	int64_t wait;
	struct list names;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "data", &kind_str, AT(data), FIELD_REQUIRED, .missing = ERR_NOT_FOUND,
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
	struct request r = request_new(c, &op);
	enum err e = request_decode(c, &r, value_read(&c->mem, str_of(json)));

	assert_int_equal(e ? e : request_check(c, &r), want);
	return r;
}

static void a_missing_field_has_the_error_of_its_row(void **state)
{
	struct call c = { 0 };

	(void)state;
	decoded(&c, "{\"wait\":\"1h\"}", ERR_NOT_FOUND);
	assert_str(c.message, "data is missing");
	call_release(&c);
}

static void a_missing_field_gets_its_preset(void **state)
{
	struct call c = { 0 };
	const struct body *preset = decoded(&c, "{\"data\":\"x\"}", ERR_OK).body;
	const struct body *given = decoded(&c, "{\"data\":\"x\",\"wait\":\"2s\"}", ERR_OK).body;

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
		{ "{\"data\":\"x\",\"names\":[\"a\",\"b\"]}", ERR_OK },
		{ "{\"data\":\"x\",\"names\":[\"a\",\"b\",\"c\"]}", ERR_INVALID_INPUT },
		{ "{\"data\":\"x\",\"names\":[\" \"]}", ERR_INVALID_IDENTITY },
		{ "{\"data\":\"x\",\"names\":\"a\"}", ERR_USAGE },
		{ "{\"data\":\"x\",\"wait\":5}", ERR_USAGE },
		{ "{\"data\":\"x\",\"wait\":\"5\"}", ERR_INVALID_INPUT },
		{ "{\"data\":\"x\",\"other\":5}", ERR_USAGE },
	};
	struct call c = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		decoded(&c, rows[i].json, rows[i].want);
	call_release(&c);
}

/* Each field of an operation accepts at least one of these texts. */
static const char *const samples[] = { "amber-otter",
				       "7",
				       "30m",
				       "[1700000000000,3]",
				       "tt:issue:42",
				       "true",
				       "2030-01-02T03:04:05.006Z",
				       "",
				       "1",
				       "src/a" };

static struct str shown(struct call *c, const struct field *f, const void *body)
{
	struct json j = json_new(&c->mem);

	field_to_json(&j, f, body);
	return json_text(&j);
}

/* A value as a command line gives it, sent as JSON to another process and decoded there. */
static bool survives(struct call *c, const struct op *one, const struct field *f, const char *text)
{
	struct request sent = request_new(c, one), got = request_new(c, one);
	struct str json;

	if (field_from_text(c, f, str_of(f->words ? names_word(f->words, 0) : text), sent.body)) {
		call_forgive(c);
		return false;
	}
	json = shown(c, f, sent.body);
	if (field_from_json(c, f, value_read(&c->mem, json), got.body))
		fail_msg("%s %s: %s: " STR_FMT, one->name, f->name, json.p, STR_ARG(c->message));
	assert_str(shown(c, f, got.body), json.p);
	return true;
}

static void the_parameters_of_every_operation_survive_being_handed_over(void **state)
{
	struct call c = { .now_ms = 1700000000000, .dir = STR("/") };
	size_t taken;

	(void)state;
	for (const struct op *const *one = ops; *one; one++)
		for (const struct field *f = (*one)->fields; f && f->name; f++) {
			if (!field_can_be_handed(f) || f->kind == &kind_input)
				continue;
			taken = 0;
			for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
				taken += survives(&c, *one, f, samples[i]);
			if (!taken)
				fail_msg("no sample for %s of %s", f->name, (*one)->name);
		}
	call_release(&c);
}

static void the_shape_of_a_reply_is_read_from_its_text(void **state)
{
	static const struct prop held[] = { { "id", NULL }, { 0 } };
	static const struct prop shape[] = {
		{ "name unread:int|null scopes[]", NULL },
		{ "beads[]?", held },
		{ "last:any? stuck:bool more:object[]", NULL },
		{ 0 },
	};
	struct call c = { 0 };
	struct json j = json_new(&c.mem);

	(void)state;
	op_reply_schema(&j, &(const struct op){ .reply = &(const struct prop){ "all[]", shape } });
	assert_str(json_text(&j),
		   "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
		   "\"name\":{\"type\":\"string\"},"
		   "\"unread\":{\"type\":[\"integer\",\"null\"]},"
		   "\"scopes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
		   "\"beads\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
		   "\"properties\":{\"id\":{\"type\":\"string\"}},\"required\":[\"id\"]}},"
		   "\"last\":{},\"stuck\":{\"type\":\"boolean\"},"
		   "\"more\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}},"
		   "\"required\":[\"name\",\"unread\",\"scopes\",\"stuck\",\"more\"]}}");
	call_release(&c);
}

int request_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_missing_field_has_the_error_of_its_row),
		cmocka_unit_test(a_missing_field_gets_its_preset),
		cmocka_unit_test(refuses_what_the_rows_do_not_allow),
		cmocka_unit_test(the_parameters_of_every_operation_survive_being_handed_over),
		cmocka_unit_test(the_shape_of_a_reply_is_read_from_its_text),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
