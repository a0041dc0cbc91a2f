#include "beads/apply.h"

#include "base/call.h"
#include "beads/model/snapshot.h"
#include "beads/model/state.h"
#include "store/db/bead_cache.h"
#include "unit/beads/states.h"
#include "unit/test.h"

static void check(struct call *c, enum err e)
{
	if (e)
		fail_msg(STR_FMT, STR_ARG(c->message));
}

/* The cache as it is made from all there is. */
static struct cache cache_of(struct call *c, const struct state *s)
{
	struct cache cache;

	check(c, cache_create_private(c, &cache));
	check(c, apply_all(c, &cache, s));
	check(c, cache_install(c, &cache, cache.path));
	return cache;
}

/* A bead of which nothing is said is in no file, and not in the cache either. */
static bool has_blanks(const struct state *s)
{
	for (size_t i = 0; i < s->slots.count; i++) {
		const struct slot *slot = s->slots.entry[i].value;

		if (slot->bead && bead_blank(slot->bead))
			return true;
	}
	return false;
}

static void show(struct arena *mem, const char *what, const struct state *s)
{
	struct snapshot files = snapshot_encode(mem, s);

	print_error("%s:\n", what);
	for (int i = 0; i < FILE_META; i++) {
		struct str rest = files.file[i], line;

		while (str_next(&rest, '\n', &line))
			if (line.n)
				print_error(STR_FMT "\n", STR_ARG(line));
	}
}

static bool same_as_made_new(struct call *c, struct cache *told, const struct state *s)
{
	struct cache made = cache_of(c, s);
	bool same;

	check(c, cache_same(c, told, &made, &same));
	cache_close(&made);
	return same;
}

/* A cache that is told of changes holds what one made from their join does. */
static void check_changes(struct call *c, uint64_t n)
{
	struct state *s = any_state(&c->mem, n);
	struct cache told = cache_of(c, s);
	int64_t added = 0;

	for (uint64_t i = 1; i <= 2 && !has_blanks(s); i++) {
		check(c, apply_change(c, &told, any_state(&c->mem, n + i), &added));
		state_add(s, any_state(&c->mem, n + i));
		if (same_as_made_new(c, &told, s))
			continue;
		for (uint64_t k = 0; k <= i; k++)
			show(&c->mem, k ? "change" : "before", any_state(&c->mem, n + k));
		show(&c->mem, "join", s);
		fail();
	}
	cache_close(&told);
}

static void a_change_makes_of_the_cache_what_the_join_is(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < trials(2000); n++) {
		struct call c = { .dir = STR("/") };

		check_changes(&c, 3 * n);
		call_release(&c);
	}
}

static void circles_of_parents_are_counted_alike_in_a_change_and_in_a_new_cache(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < trials(2000); n++) {
		struct call c = { .dir = STR("/") };
		struct state *s = any_family(&c.mem, 3 * n);
		struct cache told = cache_of(&c, s);
		int64_t added = 0;

		for (uint64_t i = 1; i <= 2; i++) {
			check(&c, apply_change(&c, &told, any_family(&c.mem, 3 * n + i), &added));
			state_add(s, any_family(&c.mem, 3 * n + i));
			assert_true(same_as_made_new(&c, &told, s));
		}
		cache_close(&told);
		call_release(&c);
	}
}

static const struct mark once = { { 1, 0 }, { "x", 1 } }, later = { { 2, 0 }, { "x", 1 } };

static void put_bead(struct state *s, const char *id, const char *type, bool deleted)
{
	struct bead b = { .id = str_of(id), .created = once };

	bead_put_text(s->mem, &b, MEMBER_TITLE, STR("t"));
	bead_put_mark(s->mem, &b, member_reg(MEMBER_TITLE), once);
	bead_put_text(s->mem, &b, MEMBER_TYPE, str_of(type));
	bead_put_mark(s->mem, &b, member_reg(MEMBER_TYPE), once);
	if (deleted)
		b.deleted = later;
	state_put_bead(s, &b);
}

/* Words: "parent child" for an edge to the first parent, "-parent child" if it is deleted. */
static void put_edges(struct state *s, const char *const *words)
{
	for (; *words; words++) {
		struct str rest = str_of(*words), to;
		bool deleted = rest.p[0] == '-';
		struct edge e = { .kind = STR("parent"), .created = once };

		rest = str_skip(rest, deleted);
		str_next(&rest, ' ', &to);
		e.from = rest;
		e.to = to;
		e.life = deleted ? later : once;
		e.deleted = deleted;
		state_put_edge(s, &e);
	}
}

/* In each, the parent of a bead goes, so that another one, which is not counted again, is its
 * parent; and the epic that the cache has for that one is outdated. */
static const struct {
	const char *gone, *before[8], *change[4];
} moves[] = {
	{ "a", { "E a", "a m", "p m", "m p" }, { NULL } },
	{ "a", { "a p", "g p", "h g", "E h", "p x" }, { "-E h", "z x" } },
	{ "a", { "F a", "a x", "p x", "g p", "E g" }, { "-E g" } },
};

static struct state *family_of(struct arena *mem, size_t i, bool changed)
{
	static const char *const ids[] = { "E", "F", "a", "g", "h", "m", "p", "x", "z" };
	struct state *s = state_new(mem);

	for (size_t k = 0; k < sizeof ids / sizeof *ids; k++)
		put_bead(s, ids[k], k < 2 ? "epic" : "task",
			 changed && !strcmp(ids[k], moves[i].gone));
	put_edges(s, changed ? moves[i].change : moves[i].before);
	return s;
}

static void beads_get_the_epic_of_a_parent_that_moves_in_the_same_change(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
		struct call c = { .dir = STR("/") };
		struct state *s = family_of(&c.mem, i, false);
		struct cache told = cache_of(&c, s);
		int64_t added = 0;

		check(&c, apply_change(&c, &told, family_of(&c.mem, i, true), &added));
		state_add(s, family_of(&c.mem, i, true));
		assert_true(same_as_made_new(&c, &told, s));
		cache_close(&told);
		call_release(&c);
	}
}

int apply_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_makes_of_the_cache_what_the_join_is),
		cmocka_unit_test(
			circles_of_parents_are_counted_alike_in_a_change_and_in_a_new_cache),
		cmocka_unit_test(beads_get_the_epic_of_a_parent_that_moves_in_the_same_change),
	};

	return cmocka_run_group_tests_name("apply", tests, NULL, NULL);
}
