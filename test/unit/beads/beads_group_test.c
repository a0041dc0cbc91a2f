#include "beads/beads.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "beads/draft.h"
#include "beads/model/state.h"
#include "beads/setup.h"
#include "unit/test.h"

/* A repository with beads, and a group of writes to them. */
struct place {
	struct call c;
	char dir[sizeof "/tmp/group_test.XXXXXX"];
	struct write_group group;
};

static int enter(void **state)
{
	static const char *const part[] = { ".git", ".git/objects", ".git/refs" };
	struct place *at = calloc(1, sizeof *at);
	struct beads b;
	struct setup made;

	memcpy(at->dir, "/tmp/group_test.XXXXXX", sizeof at->dir);
	*state = at;
	if (!mkdtemp(at->dir))
		return -1;
	at->c.dir = at->c.real = str_of(at->dir);
	at->c.actor = STR("tester");
	at->c.now_ms = moment_now();
	for (size_t i = 0; i < sizeof part / sizeof *part; i++)
		if (file_make_dir(&at->c, path_join(&at->c.mem, at->c.dir, str_of(part[i])), 0700))
			return -1;
	if (file_replace(&at->c, path_join(&at->c.mem, at->c.dir, STR(".git/HEAD")),
			 STR("ref: refs/heads/main\n"), 0600))
		return -1;
	return setup_run(&at->c, &(struct setup_ask){ .prefix = STR("bd") }, &b, &made) ? -1 : 0;
}

static int leave(void **state)
{
	struct place *at = *state;
	enum err e;

	beads_group_release(&at->group);
	call_forgive(&at->c);
	e = file_remove_tree(&at->c, str_of(at->dir));
	call_release(&at->c);
	free(at);
	return e ? -1 : 0;
}

/* A command of the group that creates a bead, and ends well or not. */
static void group_create(struct place *at, const char *id, bool commits)
{
	struct draft d = { .id = str_of(id), .priority = 2 };
	struct state *change = state_new(&at->c.mem);
	struct beads b;

	d.text[MEMBER_TITLE] = str_of(id);
	at->c.group = &at->group;
	assert_int_equal(beads_open(&at->c, BEADS_WRITE, &b), ERR_OK);
	at->c.group = NULL;
	assert_int_equal(draft_put(&at->c, &b, &d, change), ERR_OK);
	assert_int_equal(beads_put(&at->c, &b, change), ERR_OK);
	if (commits)
		assert_int_equal(beads_commit(&at->c, &b), ERR_OK);
	beads_close(&b);
}

static bool group_has(struct place *at, const char *id)
{
	struct bead_row *row;
	struct beads b;

	assert_int_equal(beads_open(&at->c, BEADS_READ, &b), ERR_OK);
	assert_int_equal(cache_find_bead(&at->c, &b.cache, str_of(id), &row), ERR_OK);
	beads_close(&b);
	return row;
}

static void nothing_is_there_before_the_end(void **state)
{
	struct place *at = *state;

	group_create(at, "bd-one", true);
	group_create(at, "bd-two", true);
	assert_false(beads_group_full(&at->group));
	assert_false(group_has(at, "bd-one"));
	assert_int_equal(beads_group_end(&at->group), ERR_OK);
	assert_true(group_has(at, "bd-one") && group_has(at, "bd-two"));
}

static void a_command_that_fails_leaves_nothing_and_ends_the_group(void **state)
{
	struct place *at = *state;

	group_create(at, "bd-one", true);
	group_create(at, "bd-half", false);
	assert_true(beads_group_full(&at->group));
	assert_int_equal(beads_group_end(&at->group), ERR_OK);
	assert_true(group_has(at, "bd-one"));
	assert_false(group_has(at, "bd-half"));
	beads_group_release(&at->group);
	group_create(at, "bd-two", true);
	assert_int_equal(beads_group_end(&at->group), ERR_OK);
	assert_true(group_has(at, "bd-two"));
	assert_false(group_has(at, "bd-half"));
}

int beads_group_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_there_before_the_end, enter, leave),
		cmocka_unit_test_setup_teardown(
			a_command_that_fails_leaves_nothing_and_ends_the_group, enter, leave),
	};

	return cmocka_run_group_tests_name("beads_group", tests, NULL, NULL);
}
