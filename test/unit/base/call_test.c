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
		  "Check whether it is there before running the command again.");
	c.request_id = STR("r");
	check(&c, "It is not known whether this was stored. Free some space on that disk. "
		  "Run the command again with the same --request-id: it is stored once.");
	call_stored(&c, STORED_PART);
	call_stored(&c, STORED_NOTHING); /* what is stored stays */
	c.wire = true;
	check(&c, "Only part of it was stored. Free some space on that disk. Send it again "
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

static void nothing_follows_the_command_of_a_next_step(void **state)
{
	struct call c = { .stored = STORED_PART };

	(void)state;
	call_fail(&c, ERR_UNSAFE_PATH, "x");
	call_step(&c, "Move it away: mv 'a b' c");
	check(&c,
	      "Only part of it was stored. Check whether it is there before running the command "
	      "again. Move it away: mv 'a b' c");
	c.stored = STORED_UNDONE;
	check(&c, "What the command had done was undone. Move it away: mv 'a b' c");
	call_release(&c);
}

/* A part of a command is another command. */
static void a_next_step_is_never_cut(void **state)
{
	char quotes[20000];
	struct call c = { 0 };

	(void)state;
	memset(quotes, '\'', sizeof quotes);
	call_fail(&c, ERR_UNSAFE_PATH, "%.*s", 10000, quotes);
	assert_true(c.message.n < 1000);
	call_step(&c, "%.*s", 10000, quotes);
	assert_int_equal(call_next_step(&c).n, 10000);
	call_step(&c, "%.*s", 20000, quotes);
	check(&c, err_steps[ERR_UNSAFE_PATH]);
	call_remedy(&c, "%.*s", 10000, quotes);
	assert_int_equal(c.remedy.n, 10000);
	call_release(&c);
}

static void call_warn_joins_different_sentences_and_stops_when_it_is_enough(void **state)
{
	const struct str end = STR(". There are more warnings");
	struct call c = { 0 };

	(void)state;
	call_warn(&c, "a is lost");
	call_warn(&c, "a is lost");
	call_warn(&c, "b is lost");
	call_warn(&c, "b is lost");
	assert_string_equal(c.warning.p, "a is lost. B is lost");
	for (int i = 0; i < 100000; i++)
		call_warn(&c, "agent %d is lost", i);
	assert_true(c.warning.n < 8192);
	assert_true(str_ends(c.warning, end));
	call_release(&c);
}

static void arena_rewind_takes_back_what_came_after_the_mark(void **state)
{
	struct arena mem = { 0 }, mark;
	struct str kept;

	(void)state;
	arena_rewind(&mem, arena_mark(&mem));
	kept = arena_copy(&mem, STR("kept"));
	mark = arena_mark(&mem);
	for (int i = 0; i < 1000; i++) {
		arena_alloc(&mem, 100);
		arena_alloc(&mem, 100000);
	}
	arena_rewind(&mem, mark);
	assert_memory_equal(&mem, &mark, sizeof mem);
	assert_true(str_is(kept, "kept"));
	arena_release(&mem);
}

static void a_forgiven_failure_leaves_nothing(void **state)
{
	struct call c = { .warning = STR("kept") };

	(void)state;
	call_fail(&c, ERR_NOT_FOUND, "no bead");
	call_step(&c, "Look elsewhere.");
	call_remedy(&c, "Look elsewhere");
	call_detail(&c, STR("{}"));
	assert_int_equal(call_forgive(&c), ERR_OK);
	assert_int_equal(c.code, ERR_OK);
	assert_null(c.message.p);
	assert_null(c.step.p);
	assert_null(c.remedy.p);
	assert_null(c.details.p);
	assert_str(c.warning, "kept");
	call_release(&c);
}

static void a_side_question_leaves_the_call_as_it_was(void **state)
{
	struct call c = { .project = STR("/a") }, before;
	struct str answer;

	(void)state;
	call_fail(&c, ERR_CLOSED, "it is closed");
	call_step(&c, "Reopen it.");
	before = call_save(&c);
	assert_int_equal(c.code, ERR_OK);
	answer = arena_fmt(&c.mem, "%d", 42);
	c.project = STR("/b");
	call_warn(&c, "never shown");
	call_fail(&c, ERR_NOT_FOUND, "no bead");
	call_restore(&c, &before);
	assert_int_equal(c.code, ERR_CLOSED);
	assert_str(c.message, "it is closed");
	assert_str(c.step, "Reopen it.");
	assert_str(c.project, "/a");
	assert_null(c.warning.p);
	arena_fmt(&c.mem, "%d", 17);
	assert_str(answer, "42");
	call_release(&c);
}

int call_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(call_next_step_says_what_was_stored),
		cmocka_unit_test(call_next_step_claims_nothing_by_itself),
		cmocka_unit_test(nothing_follows_the_command_of_a_next_step),
		cmocka_unit_test(a_next_step_is_never_cut),
		cmocka_unit_test(call_warn_joins_different_sentences_and_stops_when_it_is_enough),
		cmocka_unit_test(arena_rewind_takes_back_what_came_after_the_mark),
		cmocka_unit_test(a_forgiven_failure_leaves_nothing),
		cmocka_unit_test(a_side_question_leaves_the_call_as_it_was),
	};

	return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
