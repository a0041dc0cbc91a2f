#include "beads/model/limits.h"

#include "beads/model/line.h"
#include "unit/test.h"

/* A whole bead with so many comments and members, and so many bytes of text. */
struct size {
	int notes, members, text;
};

static struct bead bead_of(struct arena *mem, struct size size)
{
	struct mark mark = { { 1, 0 }, STR("x") };
	struct bead b = { .id = STR("a-1"), .created = mark };
	static const enum member texts[] = { MEMBER_DESCRIPTION, MEMBER_DESIGN,
					     MEMBER_ACCEPTANCE_CRITERIA, MEMBER_EXTERNAL_REF,
					     MEMBER_SOURCE_REPO };
	const size_t count = sizeof texts / sizeof *texts, bytes = (size_t)size.text / count;
	char *text = arena_array(mem, bytes + 1, 1);

	bead_mark_all(&b, mark);
	bead_put_text(mem, &b, MEMBER_TITLE, STR("title"));
	memset(text, 'x', bytes);
	for (size_t i = 0; i < count; i++)
		bead_put_text(mem, &b, texts[i], (struct str){ text, bytes });
	b.note = arena_array(mem, (size_t)size.notes + 1, sizeof *b.note);
	for (; b.notes < (size_t)size.notes; b.notes++)
		b.note[b.notes] = (struct note){ .id = arena_fmt(mem, "%06zu", b.notes),
						 .author = mark.by,
						 .content = STR(""),
						 .at = mark.at };
	b.extra = arena_array(mem, (size_t)size.members + 1, sizeof *b.extra);
	for (; b.extras < (size_t)size.members; b.extras++)
		b.extra[b.extras] =
			(struct extra){ arena_fmt(mem, "x%06zu", b.extras), STR("1"), mark };
	return b;
}

static struct str tombstone_of(struct arena *mem, struct str line)
{
	return arena_fmt(mem, "{\"bead\":" STR_FMT "}", STR_ARG(line));
}

enum how { NEW, CHANGED, RESTORED, COPIED };
enum { MB = 1 << 20 };

static const struct row {
	struct size before, after;
	enum how how;
	const char *over; /* NULL: it is allowed */
} rows[] = {
	{ { 0, 0, 0 }, { 1, 1, 10 }, NEW, NULL },
	{ { 0, 0, 0 }, { 10000, 0, 0 }, NEW, NULL },
	{ { 0, 0, 0 }, { 10001, 0, 0 }, NEW, "comments" },
	{ { 10000, 0, 0 }, { 10001, 0, 0 }, CHANGED, "comments" },
	{ { 20000, 0, 0 }, { 20000, 0, 100 }, CHANGED, NULL },
	{ { 20000, 0, 0 }, { 20000, 0, 100 }, RESTORED, NULL },
	{ { 0, 0, 0 }, { 20000, 0, 0 }, COPIED, NULL },
	{ { 0, 0, 0 }, { 20001, 0, 0 }, COPIED, "comments" },
	{ { 0, 4999, 0 }, { 0, 5000, 0 }, CHANGED, NULL },
	{ { 0, 5000, 0 }, { 0, 5001, 0 }, CHANGED, "extra members" },
	{ { 0, 9999, 0 }, { 0, 9999, 100 }, CHANGED, NULL },
	{ { 0, 0, 0 }, { 0, 0, 9 * MB }, NEW, "bytes" },
	{ { 0, 0, 9 * MB }, { 0, 0, 9 * MB + 1000 }, CHANGED, NULL },
	{ { 0, 0, 9 * MB }, { 1, 0, 9 * MB }, CHANGED, "bytes" },
	{ { 0, 0, 9 * MB }, { 0, 0, 10 * MB }, CHANGED, "bytes" },
	{ { 0, 0, 25 * MB }, { 0, 0, 25 * MB + 10 }, CHANGED, "bytes" },
	{ { 0, 0, 25 * MB }, { 0, 0, 25 * MB - 10 }, CHANGED, NULL },
	{ { 0, 0, 25 * MB }, { 0, 0, 25 * MB + 100 }, RESTORED, NULL },
	{ { 0, 0, 40 * MB }, { 0, 0, 40 * MB }, RESTORED, "bytes" },
};

static void limits_bound_what_grows(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *row = &rows[i];
		struct arena mem = { 0 };
		struct bead old = bead_of(&mem, row->before), new = bead_of(&mem, row->after);
		struct growth g = { .bead = &new,
				    .after = line_text(&mem, &new),
				    .restored = row->how == RESTORED,
				    .copied = row->how == COPIED };
		struct excess excess = { 0 };

		if (row->how == CHANGED)
			g.before = line_text(&mem, &old);
		if (row->how == RESTORED)
			g.before = tombstone_of(&mem, line_text(&mem, &old));
		if (limits_allow(&mem, &g, &excess) != !row->over)
			fail_msg("row %zu: %s", i, row->over ? row->over : "allowed");
		if (row->over)
			assert_string_equal(excess.what, row->over);
		arena_release(&mem);
	}
}

int limits_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_bound_what_grows),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
