#include "base/call.h"

#include "unit/test.h"

static void check(struct call *c, const char *want)
{
	assert_str(call_next_step(c), want);
}

/* What the next step says of the disk follows from what the call has stored. */
static void call_next_step_says_what_was_stored(void **state)
{
	struct call c = { 0 };

	(void)state;
	call_fail(&c, ERR_INTERNAL_ERROR, "x");
	call_remedy(&c, "Free some space on that disk");
	check(&c, "Nothing was changed. Free some space on that disk, then run the command "
		  "again.");
	call_stored(&c, STORED_MAYBE);
	check(&c, "It is not known whether this was stored. Free some space on that disk. "
		  "Look whether it is there before you run the command again.");
	c.request_id = STR("r");
	check(&c, "It is not known whether this was stored. Free some space on that disk. "
		  "Run the command again with the same --request-id: it is stored once.");
	call_stored(&c, STORED_PART);
	call_stored(&c, STORED_NOTHING); /* what is stored stays */
	c.wire = true;
	check(&c, "A part of this was stored. Free some space on that disk. Send it again "
		  "with the same request_id: it is stored once.");
	c.stored = STORED_SAFE;
	check(&c, "Nothing was lost. Free some space on that disk, then run the command "
		  "again.");
	call_release(&c);
}

static void call_next_step_claims_nothing_by_itself(void **state)
{
	struct call c = { 0 };

	(void)state;
	call_fail(&c, ERR_NOT_FOUND, "x");
	check(&c, err_steps[ERR_NOT_FOUND]);
	call_step(&c, "Run 'x'");
	check(&c, "Run 'x'");
	call_fail(&c, ERR_DATABASE_BUSY, "x");
	check(&c, "Nothing was changed. Wait a moment, then run the command again.");
	call_release(&c);
}

int call_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_next_step_says_what_was_stored),
		cmocka_unit_test(call_next_step_claims_nothing_by_itself),
	};

	return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
