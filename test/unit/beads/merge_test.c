#include "beads/model/merge.h"

#include "base/buf.h"
#include "base/call.h"
#include "beads/model/lines.h"
#include "unit/beads/states.h"
#include "unit/test.h"

static void check(struct call *c, enum err e)
{
	if (e)
		fail_msg(STR_FMT, STR_ARG(c->message));
}

static struct str text_of(struct call *c, const struct merge *m, enum snapshot_file file)
{
	struct pieces pieces = merge_file(m, file);
	struct buf b = { .mem = &c->mem };

	for (size_t i = 0; i < pieces.count; i++)
		buf_put(&b, pieces.piece[i]);
	return buf_str(&b);
}

/* Beads of which nothing or only a part is said are in no commit. */
static bool whole(const struct state *s)
{
	for (size_t i = 0; i < s->slots.count; i++) {
		const struct slot *slot = s->slots.entry[i].value;

		if (slot->bead && !bead_whole(slot->bead))
			return false;
	}
	return true;
}

static void show(const char *what, struct str text)
{
	print_error("%s:\n" STR_FMT "\n", what, STR_ARG(text));
}

static void assert_same(struct call *c, const struct merge *m, const struct state *want, uint64_t n)
{
	struct snapshot files = snapshot_encode(&c->mem, want);

	for (int f = 0; f < FILE_META; f++) {
		struct str got = text_of(c, m, (enum snapshot_file)f);

		if (str_eq(got, files.file[f]))
			continue;
		for (size_t i = 0; i < m->sides; i++)
			show("side", m->side[i].file[f]);
		show("got", got);
		show("want", files.file[f]);
		fail_msg("%s of %llu", snapshot_name((enum snapshot_file)f), (unsigned long long)n);
	}
}

/* The join of files as lines is the join of the states that they hold. */
static bool check_join(struct call *c, uint64_t n)
{
	struct state *a = any_state(&c->mem, n), *b = any_state(&c->mem, n + 1),
		     *change = any_state(&c->mem, n + 2), *all = state_new(&c->mem);
	struct merge m = { .c = c, .sides = 2 };

	if (!whole(a) || !whole(b))
		return false;
	m.side[0] = snapshot_encode(&c->mem, a);
	m.side[1] = snapshot_encode(&c->mem, b);
	m.change = n % 2 ? change : NULL;
	check(c, merge_run(&m));
	state_add(all, a);
	state_add(all, b);
	if (m.change)
		state_add(all, change);
	if (!whole(all))
		return false;
	assert_same(c, &m, all, n);
	return true;
}

static void it_is_the_join_of_states(void **arg)
{
	uint64_t checked = 0;

	(void)arg;
	for (uint64_t n = 0; checked < trials(25000); n++) {
		struct call c = { 0 };

		assert_true(n < 1000000);
		checked += check_join(&c, n * 3);
		call_release(&c);
	}
}

/* --- what is read --- */

static struct str bead(struct call *c, int n, const char *title)
{
	return arena_fmt(&c->mem,
			 "{\"_at\":[5,0],\"_by\":\"a\",\"created_at\":[1,0],"
			 "\"created_by\":\"a\",\"id\":\"bd-%05d\",\"priority\":2,"
			 "\"status\":\"open\",\"title\":\"%s\",\"type\":\"task\"}\n",
			 n, title);
}

/* `count` beads; one in `apart` has another title. */
static struct snapshot many(struct call *c, int count, int apart, const char *title)
{
	struct snapshot s = snapshot_encode(&c->mem, state_new(&c->mem));
	struct buf b = { .mem = &c->mem };

	for (int i = 0; i < count; i++)
		buf_put(&b, bead(c, i, i % apart ? "same" : title));
	s.file[FILE_STATE] = buf_str(&b);
	return s;
}

static void only_what_differs_is_decoded(void **arg)
{
	struct call c = { 0 };
	struct merge m = { .c = &c, .sides = 2 };

	(void)arg;
	m.side[0] = many(&c, 10000, 1000, "one");
	m.side[1] = many(&c, 10000, 1000, "other");
	check(&c, merge_run(&m));
	assert_int_equal(m.decoded, 20); /* ten lines, on both sides */
	call_release(&c);
}

/* --- what is refused --- */

static const struct {
	const char *name, *text, *why;
	size_t line;
} damages[] = {
	{ "not JSON", "{\"id\":\"bd-1\",\n", "a key is missing", 1 },
	{ "no key", "{\"di\":\"bd-1\"}\n", "key", 1 },
	{ "an array", "[]\n", "key", 1 },
	{ "no end", "@1", "no end", 1 },
	{ "twice", "@1\n@1\n", "twice", 2 },
	{ "out of order", "@2\n@1\n", "out of order, after", 2 },
	{ "spaces", "@1 \n", "canonical", 1 },
	{ "CRLF", "@1\r\n", "canonical", 1 },
	{ "an empty line", "@1\n\n@2\n", "key", 2 },
};

/* "@1" stands for a bead. */
static struct str spelled(struct call *c, const char *text)
{
	struct buf b = { .mem = &c->mem };

	for (; *text; text++)
		if (*text == '@') {
			struct str line = bead(c, *++text - '0', "t");

			buf_put(&b, str_head(line, line.n - 1));
		} else {
			buf_char(&b, *text);
		}
	return buf_str(&b);
}

static void damage_is_named(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
		struct call c = { 0 };
		struct merge m = { .c = &c, .sides = 2 };

		m.side[0] = snapshot_encode(&c.mem, state_new(&c.mem));
		m.side[1] = m.side[0];
		m.side[1].file[FILE_STATE] = spelled(&c, damages[i].text);
		assert_int_equal(merge_run(&m), ERR_REMOTE_DAMAGED);
		if (!str_has(c.message, str_of(damages[i].why)) ||
		    !str_has(c.details, arena_fmt(&c.mem, "\"line\":%zu", damages[i].line)))
			fail_msg("%s: " STR_FMT " " STR_FMT, damages[i].name, STR_ARG(c.message),
				 STR_ARG(c.details));
		call_release(&c);
	}
}

/* --- lines --- */

static void lines_are_found_by_their_keys(void **arg)
{
	struct call c = { 0 };
	struct str text = many(&c, 200, 7, "x").file[FILE_STATE];

	(void)arg;
	for (int i = 0; i < 200; i++) {
		struct str key = arena_fmt(&c.mem, "bd-%05d", i),
			   line = lines_find(&c.mem, FILE_STATE, text, key);

		assert_true(str_eq(lines_key(&c.mem, FILE_STATE, line), key));
	}
	assert_true(!lines_find(&c.mem, FILE_STATE, text, STR("a")).n);
	assert_ptr_equal(lines_find(&c.mem, FILE_STATE, text, STR("a")).p, text.p);
	assert_ptr_equal(lines_find(&c.mem, FILE_STATE, text, STR("z")).p, text.p + text.n);
	call_release(&c);
}

static void a_key_is_a_member_of_the_line_itself(void **arg)
{
	static const char *const lines[] = {
		"{\"a\":{\"id\":\"no\"},\"id\":\"yes\"}",
		"{\"a\":\"\\\"id\\\":\\\"no\\\"\",\"id\":\"yes\"}",
		"{\"a\":[{\"id\":\"no\"}],\"b\":\"{\",\"id\":\"yes\"}",
		"{\"bead\":{\"id\":\"no\",\"notes\":[{\"id\":\"n\"}]},\"id\":\"yes\"}",
	};
	struct call c = { 0 };

	(void)arg;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		assert_str(lines_key(&c.mem, FILE_STATE, str_of(lines[i])), "yes");
	assert_str(lines_key(&c.mem, FILE_DEPS,
			     STR("{\"from\":\"a\",\"kind\":\"x\\\"y\",\"to\":\"b\"}")),
		   "a b x\"y");
	call_release(&c);
}

int merge_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_join_of_states),
		cmocka_unit_test(only_what_differs_is_decoded),
		cmocka_unit_test(damage_is_named),
		cmocka_unit_test(lines_are_found_by_their_keys),
		cmocka_unit_test(a_key_is_a_member_of_the_line_itself),
	};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
