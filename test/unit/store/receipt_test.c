#include "store/receipt.h"

#include "base/text/json.h"
#include "unit/test.h"

static enum err kept_find(struct call *c, void *store, struct receipt *r)
{
	const struct receipt *kept = store;

	(void)c;
	if (str_eq(kept->actor, r->actor) && str_eq(kept->id, r->id))
		*r = *kept;
	return ERR_OK;
}

static enum err kept_put(struct call *c, void *store, const struct receipt *r)
{
	(void)c;
	*(struct receipt *)store = *r;
	return ERR_OK;
}

static struct receipt ask_of(const char *actor, const char *id, const char *op, const char *args)
{
	return (struct receipt){
		.actor = str_of(actor), .id = str_of(id), .op = str_of(op), .args = str_of(args)
	};
}

static void a_repeated_request_gets_the_stored_answer(void **state)
{
	struct call c = { .request_id = STR("r1"), .now_ms = 7 };
	struct receipt kept = { 0 }, ask = ask_of("ann", "r1", "board post", "{}"), old;
	struct receipts in = { &kept, kept_find, kept_put };
	struct json reply = json_new(&c.mem);

	(void)state;
	assert_int_equal(receipt_find(&c, &in, &ask, &old), ERR_OK);
	assert_null(old.op.p);
	assert_int_equal(receipt_put(&c, &in, &ask, STR("{\"id\":1}")), ERR_OK);
	assert_int_equal(kept.at, 7);
	assert_int_equal(receipt_find(&c, &in, &ask, &old), ERR_OK);
	assert_int_equal(receipt_answer(&c, &old, &reply), ERR_OK);
	assert_str(json_text(&reply), "{\"id\":1}");
	call_release(&c);
}

static void a_request_id_of_another_request_is_refused(void **state)
{
	struct receipt kept = ask_of("ann", "r1", "board post", "{}"), old,
		       ask[] = { ask_of("ann", "r1", "board post", "{\"a\":1}"),
				 ask_of("ann", "r1", "board file", "{}") };
	struct receipts in = { &kept, kept_find, kept_put };
	struct receipt others = ask_of("bob", "r1", "board file", "{}");
	struct call c = { .request_id = STR("r1") };

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(receipt_find(&c, &in, &ask[i], &old), ERR_REQUEST_MISMATCH);
		assert_str(c.message, "request id 'r1' was used for another 'board post'");
	}
	assert_int_equal(receipt_find(&c, &in, &others, &old), ERR_OK);
	assert_null(old.op.p);
	call_release(&c);
}

static void an_answer_that_is_gone_or_damaged_is_refused(void **state)
{
	struct receipt old = ask_of("ann", "r1", "board post", "{}");
	struct call c = { .request_id = STR("r1") };
	struct json reply = json_new(&c.mem);

	(void)state;
	assert_int_equal(receipt_answer(&c, &old, &reply), ERR_REQUEST_MISMATCH);
	assert_str(c.message, "request id 'r1' was carried out at 1970-01-01T00:00:00.000Z, "
			      "and its reply is no longer stored");
	old.reply = STR("{\"id\":");
	assert_int_equal(receipt_answer(&c, &old, &reply), ERR_DAMAGED);
	call_release(&c);
}

int receipt_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_repeated_request_gets_the_stored_answer),
		cmocka_unit_test(a_request_id_of_another_request_is_refused),
		cmocka_unit_test(an_answer_that_is_gone_or_damaged_is_refused),
	};

	return cmocka_run_group_tests_name("receipt", tests, NULL, NULL);
}
