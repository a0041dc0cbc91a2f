#include "beads/model/join.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/line.h"
#include "beads/model/snapshot.h"
#include "beads/model/state.h"
#include "unit/beads/states.h"
#include "unit/test.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

/*
 * States are written as their canonical lines, with ' in place of ". Each line begins with a word
 * for its file.
 */
static const struct {
	const char *word;
	bool (*read)(struct state *s, const struct value *line, struct str *why);
} kinds[] = {
	[FILE_STATE] = { "bead ", state_read_bead },
	[FILE_TOMBSTONES] = { "gone ", state_read_tombstone },
	[FILE_DEPS] = { "edge ", state_read_edge },
};

static struct str requoted(struct arena *mem, struct str text, char old, char new)
{
	char *out = arena_alloc(mem, text.n + 1);

	for (size_t i = 0; i < text.n; i++)
		out[i] = text.p[i] == old ? new : text.p[i];
	return (struct str){ out, text.n };
}

static void read_line(struct state *s, enum snapshot_file file, struct str line)
{
	struct value_error error;
	const struct value *v = value_parse(s->mem, line, &error);
	struct str why = { 0 };

	if (!v)
		fail_msg(STR_FMT ": at %zu: %s", STR_ARG(line), error.offset, error.why);
	if (!kinds[file].read(s, v, &why))
		fail_msg(STR_FMT ": " STR_FMT, STR_ARG(line), STR_ARG(why));
}

static struct state *read_state(struct arena *mem, const char *text)
{
	struct state *s = state_new(mem);
	struct str rest = requoted(mem, str_of(text), '\'', '"'), line;

	while (str_next(&rest, '\n', &line))
		for (size_t i = 0; i < COUNT(kinds); i++)
			if (str_starts(line, str_of(kinds[i].word)))
				read_line(s, (enum snapshot_file)i,
					  str_skip(line, strlen(kinds[i].word)));
	return s;
}

static struct str state_text(struct arena *mem, const struct state *s)
{
	struct snapshot files = snapshot_encode(mem, s);
	struct buf out = { .mem = mem };

	for (size_t i = 0; i < COUNT(kinds); i++) {
		struct str rest = files.file[i], line;

		while (str_next(&rest, '\n', &line))
			if (line.n)
				buf_fmt(&out, "%s" STR_FMT "\n", kinds[i].word, STR_ARG(line));
	}
	return requoted(mem, buf_str(&out), '"', '\'');
}

static struct state *both(struct state *a, const struct state *b)
{
	state_add(a, b);
	return a;
}

struct row {
	const char *a, *b, *want;
};

/* The result is the same in either order, and if a side is joined again. */
static void check_rows(const struct row *row, size_t count)
{
	struct arena mem = { 0 };

	for (size_t i = 0; i < count; i++) {
		const char *a = row[i].a, *b = row[i].b;
		struct state *s = both(read_state(&mem, a), read_state(&mem, b));

		assert_str(state_text(&mem, s), row[i].want);
		assert_str(state_text(&mem, both(s, read_state(&mem, a))), row[i].want);
		s = both(read_state(&mem, b), read_state(&mem, a));
		assert_str(state_text(&mem, s), row[i].want);
		assert_str(state_text(&mem, both(s, read_state(&mem, b))), row[i].want);
		assert_str(state_text(&mem, read_state(&mem, row[i].want)), row[i].want);
	}
	arena_release(&mem);
}

/* Three lineages with the id a-1. The first is the earliest; of the other two, which were created
 * at one time, the one of the lesser actor comes first. */
#define FIRST  "'created_at':[1,0],'created_by':'x','id':'a-1'"
#define SECOND "'created_at':[2,0],'created_by':'x','id':'a-1'"
#define THIRD  "'created_at':[2,0],'created_by':'y','id':'a-1'"

#define V(reg, at, by)           "'" reg "':[[" #at ",0],'" by "']"
#define TITLE(who, at, by, text) "{'_v':{" V("title", at, by) "}," who ",'title':'" text "'}"

#define NEW_LINE(at, text)                                                                        \
	"{'_at':[" #at ",0],'_by':'x'," FIRST ",'priority':2,'status':'open','title':'" text "'," \
	"'type':'task'}"

/* --- registers --- */

static void the_last_write_of_a_register_wins(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		{ "bead " TITLE(FIRST, 5, "x", "old") "\n",
		  "bead " TITLE(FIRST, 6, "x", "new") "\n",
		  "bead " TITLE(FIRST, 6, "x", "new") "\n" },
		/* within a millisecond, the count decides */
		{ "bead {'_v':{'title':[[5,2],'x']}," FIRST ",'title':'new'}\n",
		  "bead {'_v':{'title':[[5,1],'y']}," FIRST ",'title':'old'}\n",
		  "bead {'_v':{'title':[[5,2],'x']}," FIRST ",'title':'new'}\n" },
		/* same stamp: the greater actor wins */
		{ "bead " TITLE(FIRST, 5, "x", "by x") "\n",
		  "bead " TITLE(FIRST, 5, "y", "by y") "\n",
		  "bead " TITLE(FIRST, 5, "y", "by y") "\n" },
		/* same mark: the greater value wins */
		{ "bead " TITLE(FIRST, 5, "x", "b") "\n",
		  "bead " TITLE(FIRST, 5, "x", "a") "\n",
		  "bead " TITLE(FIRST, 5, "x", "b") "\n" },
		{ "bead " TITLE(FIRST, 5, "x", "a") "\n",
		  "bead " TITLE(FIRST, 5, "x", "ab") "\n",
		  "bead " TITLE(FIRST, 5, "x", "ab") "\n" },
		/* a stamp in the far future is accepted */
		{ "bead " TITLE(FIRST, 253402300799999, "x", "ahead") "\n",
		  "bead " TITLE(FIRST, 6, "y", "now") "\n",
		  "bead " TITLE(FIRST, 253402300799999, "x", "ahead") "\n" },
		/* emptied later */
		{ "bead {'_v':{" V("labels", 5, "x") "}," FIRST ",'labels':['l']}\n",
		  "bead {'_v':{" V("labels", 6, "x") "}," FIRST "}\n",
		  "bead {'_v':{" V("labels", 6, "x") "}," FIRST "}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

static void different_registers_are_both_kept(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		{ "bead " TITLE(FIRST, 5, "x", "t") "\n",
		  "bead {'_v':{" V("priority", 9, "y") "}," FIRST ",'priority':0}\n",
		  "bead {'_v':{" V("priority", 9, "y") "," V("title", 5, "x") "}," FIRST
		  ",'priority':0,'title':'t'}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* A program that does not know an extension writes lines without it, or keeps what it read. */
static void a_line_without_an_extension_leaves_it_as_it_is(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		/* a whole line that is newer */
		{ "bead {'_v':{" V("due_at", 5, "x") "},'due_at':'d'," FIRST "}\n"
		  "bead " NEW_LINE(4, "old") "\n",
		  "bead " NEW_LINE(9, "new") "\n",
		  "bead {'_at':[9,0],'_by':'x','_v':{" V("due_at", 5, "x") "},'created_at':[1,0],"
		  "'created_by':'x','due_at':'d','id':'a-1','priority':2,'status':'open','title':'new',"
		  "'type':'task'}\n" },
		/* removed later */
		{ "bead {'_v':{" V("due_at", 5, "x") "},'due_at':'d'," FIRST "}\n",
		  "bead {'_v':{" V("due_at", 6, "x") "},'due_at':null," FIRST "}\n",
		  "bead {'_v':{" V("due_at", 6, "x") "},'created_at':[1,0],'created_by':'x',"
		  "'due_at':null,'id':'a-1'}\n" },
		/* same mark: the greater text wins, as for unknown members */
		{ "bead {'_v':{" V("estimated_minutes", 5, "x") "},'estimated_minutes':1," FIRST "}\n",
		  "bead {'_v':{" V("estimated_minutes", 5, "x") "},'estimated_minutes':12," FIRST "}\n",
		  "bead {'_v':{" V("estimated_minutes", 5, "x") "},'created_at':[1,0],"
		  "'created_by':'x','estimated_minutes':12,'id':'a-1'}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

static void labels_are_one_value(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		{ "bead {'_v':{" V("labels", 5, "x") "}," FIRST ",'labels':['a','b']}\n",
		  "bead {'_v':{" V("labels", 6, "x") "}," FIRST ",'labels':['c']}\n",
		  "bead {'_v':{" V("labels", 6, "x") "}," FIRST ",'labels':['c']}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* Closed by one and reopened by the other: never a mixture of the two. */
static void members_of_one_register_go_together(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		{ "bead {'_v':{" V("status", 5, "x")
		  "},'closed_at':[5,0],'closed_by':'x','closed_reason':'done'," FIRST
		  ",'status':'closed'}\n",
		  "bead {'_v':{" V("status", 6, "y") "}," FIRST ",'status':'open'}\n",
		  "bead {'_v':{" V("status", 6, "y") "}," FIRST ",'status':'open'}\n" },
		{ "bead {'_v':{" V("assignee", 5, "x")
		  "},'assignee':'x','assignee_at':[5,0],'assignee_expires':9," FIRST
		  "}\n",
		  "bead {'_v':{" V("assignee", 6, "y")
		  "},'assignee':'y','assignee_at':[6,0]," FIRST "}\n",
		  "bead {'_v':{" V("assignee", 6, "y")
		  "},'assignee':'y','assignee_at':[6,0]," FIRST "}\n" },
		/* same mark: all members of the greater value */
		{ "bead {'_v':{" V("assignee", 5, "x")
		  "},'assignee':'x','assignee_expires':8," FIRST "}\n",
		  "bead {'_v':{" V("assignee", 5, "x")
		  "},'assignee':'x','assignee_expires':9," FIRST "}\n",
		  "bead {'_v':{" V("assignee", 5, "x")
		  "},'assignee':'x','assignee_expires':9," FIRST "}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

static void unknown_fields_survive(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		{ "bead {'_v':{" V("zeta", 5, "x") "}," FIRST ",'zeta':{'k':[1]}}\n",
		  "bead " TITLE(FIRST, 6, "x", "t") "\n",
		  "bead {'_v':{" V("title", 6, "x") "," V("zeta", 5, "x") "}," FIRST
		  ",'title':'t','zeta':{'k':[1]}}\n" },
		{ "bead {'_v':{" V("zeta", 5, "x") "}," FIRST ",'zeta':1}\n",
		  "bead {'_v':{" V("zeta", 5, "y") "}," FIRST ",'zeta':0}\n",
		  "bead {'_v':{" V("zeta", 5, "y") "}," FIRST ",'zeta':0}\n" },
		{ "bead {'_v':{" V("zeta", 5, "x") "}," FIRST ",'zeta':1}\n",
		  "bead {'_v':{" V("zeta", 5, "x") "}," FIRST ",'zeta':2}\n",
		  "bead {'_v':{" V("zeta", 5, "x") "}," FIRST ",'zeta':2}\n" },
		/* only the mark is left: the field was emptied */
		{ "bead {'_v':{" V("zeta", 6, "x") "}," FIRST "}\n",
		  "bead {'_v':{" V("zeta", 5, "x") "}," FIRST ",'zeta':2}\n",
		  "bead {'_v':{" V("zeta", 6, "x") "}," FIRST ",'zeta':null}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* `_v` has no marks of the last write; a join may change which write is the last. */
static void marks_of_the_last_write_are_left_out(void **state)
{
#define WHOLE(last, by, v, title)                              \
	"bead {'_at':[" #last ",0],'_by':'" by "'" v "," FIRST \
	",'priority':2,'status':'open','title':'" title "','type':'task'}\n"
	/* clang-format off */
	static const struct row row[] = {
		{ WHOLE(5, "x", "", "old"),
		  "bead " TITLE(FIRST, 6, "y", "new") "\n",
		  "bead {'_at':[6,0],'_by':'y','_v':{" V("acceptance_criteria", 5, "x")
		  "," V("assignee", 5, "x") "," V("description", 5, "x") ","
		  V("design", 5, "x") "," V("external_ref", 5, "x") ","
		  V("labels", 5, "x") "," V("priority", 5, "x") ","
		  V("source_repo", 5, "x") "," V("status", 5, "x") "," V("type", 5, "x")
		  "}," FIRST
		  ",'priority':2,'status':'open','title':'new','type':'task'}\n" },
		/* `_v` newer than `_at` */
		{ WHOLE(5, "x", ",'_v':{" V("title", 4, "x") "}", "old"),
		  WHOLE(3, "x", ",'_v':{" V("title", 9, "y") "}", "new"),
		  "bead {'_at':[9,0],'_by':'y','_v':{" V("acceptance_criteria", 5, "x")
		  "," V("assignee", 5, "x") "," V("description", 5, "x") ","
		  V("design", 5, "x") "," V("external_ref", 5, "x") ","
		  V("labels", 5, "x") "," V("priority", 5, "x") ","
		  V("source_repo", 5, "x") "," V("status", 5, "x") "," V("type", 5, "x")
		  "}," FIRST
		  ",'priority':2,'status':'open','title':'new','type':'task'}\n" },
		/* `_v` under the names of members: the latest counts */
		{ "bead {'_v':{" V("closed_at", 7, "x") "," V("closed_by", 5, "x")
		  "},'closed_at':[5,0],'closed_by':'x'," FIRST ",'status':'closed'}\n",
		  "bead {'_v':{" V("status", 6, "y") "}," FIRST ",'status':'open'}\n",
		  "bead {'_v':{" V("status", 7, "x")
		  "},'closed_at':[5,0],'closed_by':'x'," FIRST ",'status':'closed'}\n" },
		{ "bead {'_v':{" V("assignee_expires", 7, "x") "},'assignee':'x'," FIRST
		  "}\n",
		  "bead {'_v':{" V("assignee", 6, "y") "},'assignee':'y'," FIRST "}\n",
		  "bead {'_v':{" V("assignee", 7, "x") "},'assignee':'x'," FIRST "}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* --- notes --- */

#define NOTE(at, by, text, id) \
	"{'at':[" #at ",0],'author':'" by "','content':'" text "','id':'" id "'}"

static void all_notes_are_kept(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		{ "bead {" FIRST ",'notes':[" NOTE(7, "x", "late", "n1") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "y", "early", "n2") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "y", "early", "n2") ","
		  NOTE(7, "x", "late", "n1") "]}\n" },
		/* same time: sorted by id */
		{ "bead {" FIRST ",'notes':[" NOTE(5, "x", "b", "n2") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "y", "a", "n1") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "y", "a", "n1") ","
		  NOTE(5, "x", "b", "n2") "]}\n" },
		/*
		 * same id: both are kept; the earlier keeps the id, then the lesser author, then
		 * text
		 */
		{ "bead {" FIRST ",'notes':[" NOTE(7, "x", "a", "n") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "y", "b", "n") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "y", "b", "n") ","
		  NOTE(7, "x", "a", "n~0485de9685b2ef9a404a4edb64bc3441") "]}\n" },
		{ "bead {" FIRST ",'notes':[" NOTE(5, "y", "a", "n") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "x", "b", "n") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "x", "b", "n") ","
		  NOTE(5, "y", "a", "n~e5b8838c6aa36cd5be96fc7230503d12") "]}\n" },
		{ "bead {" FIRST ",'notes':[" NOTE(5, "x", "", "n") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "x", "b", "n") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "x", "", "n") ","
		  NOTE(5, "x", "b", "n~8fb03acd3e920349560e0054a67bbbe4") "]}\n" },
		/* a renamed note is recognised by its id, and keeps it */
		{ "bead {" FIRST ",'notes':[" NOTE(5, "x", "", "n") ","
		  NOTE(5, "x", "b", "n~8fb03acd3e920349560e0054a67bbbe4") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "x", "b", "n") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "x", "", "n") ","
		  NOTE(5, "x", "b", "n~8fb03acd3e920349560e0054a67bbbe4") "]}\n" },
		{ "bead {" FIRST ",'notes':[" NOTE(5, "x", "", "n") ","
		  NOTE(5, "x", "b", "n~8fb03acd3e920349560e0054a67bbbe4") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(3, "z", "c", "n") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(3, "z", "c", "n") ","
		  NOTE(5, "x", "", "n~2ac3b4f7c8a4c0a34317f3f1fd52935e") ","
		  NOTE(5, "x", "b", "n~8fb03acd3e920349560e0054a67bbbe4") "]}\n" },
		{ "bead {" FIRST ",'notes':[" NOTE(5, "x", "", "n") ","
		  NOTE(5, "x", "b", "n~8fb03acd3e920349560e0054a67bbbe4") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(9, "y", "q", "n~8fb03acd3e920349560e0054a67bbbe4") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "x", "", "n") ","
		  NOTE(5, "x", "b", "n~8fb03acd3e920349560e0054a67bbbe4") ","
		  NOTE(9, "y", "q", "n~8fb03acd3e920349560e0054a67bbbe4~ba63aa248ca50177306165344fca23e6") "]}\n" },
		/* an id that is not needed any more is dropped */
		{ "bead {" FIRST ",'notes':[" NOTE(5, "x", "b", "n~8fb03acd3e920349560e0054a67bbbe4") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "x", "b", "n~8fb03acd3e920349560e0054a67bbbe4") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(5, "x", "b", "n") "]}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* --- deletion --- */

#define GONE(at, by, bead, more)                                                                   \
	"gone {'bead':" bead ",'deleted_at':[" #at ",0],'deleted_by':'" by "','id':'a-1'" more "}" \
	"\n"

static void a_deletion_covers_writes_that_are_not_later(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		/* the earlier write is kept in the tombstone */
		{ "bead " TITLE(FIRST, 5, "x", "t") "\n",
		  GONE(6, "x", "{" FIRST "}", ""),
		  GONE(6, "x", TITLE(FIRST, 5, "x", "t"), "") },
		/* the same mark as the write */
		{ "bead " TITLE(FIRST, 6, "x", "t") "\n",
		  GONE(6, "x", "{" FIRST "}", ""),
		  GONE(6, "x", TITLE(FIRST, 6, "x", "t"), "") },
		/* same stamp: the greater actor wins */
		{ "bead " TITLE(FIRST, 6, "x", "t") "\n",
		  GONE(6, "y", "{" FIRST "}", ""),
		  GONE(6, "y", TITLE(FIRST, 6, "x", "t"), "") },
		{ "bead " TITLE(FIRST, 6, "y", "t") "\n",
		  GONE(6, "x", "{" FIRST "}", ""),
		  "bead " TITLE(FIRST, 6, "y", "t") "\n" },
		/* restored whole by a later write to one register */
		{ GONE(6, "x", TITLE(FIRST, 5, "x", "t"), ",'reason':'r'"),
		  "bead {'_v':{" V("priority", 7, "y") "}," FIRST ",'priority':0}\n",
		  "bead {'_v':{" V("priority", 7, "y") "," V("title", 5, "x") "}," FIRST
		  ",'priority':0,'title':'t'}\n" },
		/* or by a later note, but not by an earlier one */
		{ GONE(6, "x", "{" FIRST "}", ""),
		  "bead {" FIRST ",'notes':[" NOTE(7, "y", "c", "n") "]}\n",
		  "bead {" FIRST ",'notes':[" NOTE(7, "y", "c", "n") "]}\n" },
		{ GONE(6, "x", "{" FIRST "}", ""),
		  "bead {" FIRST ",'notes':[" NOTE(5, "y", "c", "n") "]}\n",
		  GONE(6, "x", "{" FIRST ",'notes':[" NOTE(5, "y", "c", "n") "]}", "") },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

static void the_last_deletion_gives_actor_and_reason(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		{ GONE(6, "x", "{" FIRST "}", ",'reason':'z'"),
		  GONE(7, "x", "{" FIRST "}", ",'reason':'a'"),
		  GONE(7, "x", "{" FIRST "}", ",'reason':'a'") },
		{ GONE(6, "x", "{" FIRST "}", ",'reason':'z'"),
		  GONE(6, "y", "{" FIRST "}", ""),
		  GONE(6, "y", "{" FIRST "}", "") },
		{ GONE(6, "x", "{" FIRST "}", ",'reason':'a'"),
		  GONE(6, "x", "{" FIRST "}", ""),
		  GONE(6, "x", "{" FIRST "}", ",'reason':'a'") },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* A tombstone that another program wrote, without the deleted bead. */
static void a_tombstone_without_a_bead_deletes_every_bead_of_the_id(void **state)
{
#define EVERY(at) "gone {'deleted_at':[" #at ",0],'deleted_by':'x','id':'a-1'}\n"
#define BOTH(at)  ",'every':{'deleted_at':[" #at ",0],'deleted_by':'x'},'id':'a-1'}\n"
	/* clang-format off */
	static const struct row row[] = {
		{ EVERY(6),
		  "bead " TITLE(FIRST, 5, "x", "t") "\n",
		  "gone {'bead':" TITLE(FIRST, 5, "x", "t")
		  ",'deleted_at':[6,0],'deleted_by':'x'" BOTH(6) },
		{ EVERY(6),
		  "bead " TITLE(FIRST, 7, "x", "t") "\n",
		  "bead " TITLE(FIRST, 7, "x", "t") "\n"
		  EVERY(6) },
		{ EVERY(6),
		  EVERY(7),
		  EVERY(7) },
		/* the bead's own deletion may be the later one */
		{ EVERY(6),
		  GONE(7, "y", TITLE(FIRST, 5, "x", "t"), ""),
		  "gone {'bead':" TITLE(FIRST, 5, "x", "t")
		  ",'deleted_at':[7,0],'deleted_by':'y'" BOTH(6) },
		{ EVERY(6),
		  "bead {'_v':{" V("title", 5, "x")
		  "},'created_at':[1,0],'created_by':'x','id':'b','title':'t'}\n",
		  "bead {'_v':{" V("title", 5, "x")
		  "},'created_at':[1,0],'created_by':'x','id':'b','title':'t'}\n"
		  EVERY(6) },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* --- edges --- */

#define EDGE(at, by, made, maker, dead)                                                          \
	"edge {'_at':[" #at ",0],'_by':'" by "','created_at':[" #made ",0],'created_by':'" maker \
	"'" dead ",'from':'a-1','kind':'blocks',"                                                \
	"'to':'b'}\n"
#define DEAD(at, by) ",'deleted_at':[" #at ",0],'deleted_by':'" by "'"

static void the_last_write_of_an_edge_wins(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		/* the earliest creation is kept */
		{ EDGE(5, "x", 5, "x", ""),
		  EDGE(6, "y", 6, "y", ""),
		  EDGE(6, "y", 5, "x", "") },
		{ EDGE(5, "x", 5, "x", ""),
		  EDGE(5, "y", 5, "y", ""),
		  EDGE(5, "y", 5, "x", "") },
		/* deleted later, and created again after that */
		{ EDGE(5, "x", 5, "x", ""),
		  EDGE(6, "x", 5, "x", DEAD(6, "x")),
		  EDGE(6, "x", 5, "x", DEAD(6, "x")) },
		{ EDGE(7, "x", 5, "x", ""),
		  EDGE(6, "x", 5, "x", DEAD(6, "x")),
		  EDGE(7, "x", 5, "x", "") },
		{ EDGE(7, "x", 7, "x", ""),
		  EDGE(6, "x", 5, "x", DEAD(6, "x")),
		  EDGE(7, "x", 5, "x", "") },
		/* same stamp: the greater actor wins; same mark: the deletion wins */
		{ EDGE(6, "y", 5, "x", ""),
		  EDGE(6, "x", 5, "x", DEAD(6, "x")),
		  EDGE(6, "y", 5, "x", "") },
		{ EDGE(6, "x", 5, "x", ""),
		  EDGE(6, "y", 5, "x", DEAD(6, "y")),
		  EDGE(6, "y", 5, "x", DEAD(6, "y")) },
		{ EDGE(6, "x", 5, "x", ""),
		  EDGE(6, "x", 5, "x", DEAD(6, "x")),
		  EDGE(6, "x", 5, "x", DEAD(6, "x")) },
		/* without a last write, the creation counts as one */
		{ "edge {'created_at':[5,0],'created_by':'x','from':'a-1',"
		  "'kind':'blocks','to':'b'}\n",
		  "edge {'created_at':[5,0],'created_by':'x','deleted_at':[6,0],"
		  "'deleted_by':'x','from':'a-1','kind':'blocks','to':'b'}\n",
		  EDGE(6, "x", 5, "x", DEAD(6, "x")) },
		/* unknown fields belong to the last write */
		{ "edge {'_at':[5,0],'_by':'x','a':1,'created_at':[5,0],"
		  "'created_by':'x','from':'a-1','kind':'blocks','to':'b'," "'z':[]}\n",
		  EDGE(4, "x", 4, "x", ""),
		  "edge {'_at':[5,0],'_by':'x','a':1,'created_at':[4,0],"
		  "'created_by':'x','from':'a-1','kind':'blocks','to':'b'," "'z':[]}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

static void edges_with_other_ends_or_kinds_are_all_kept(void **state)
{
#define ARC(from, kind, to)                                                             \
	"edge {'_at':[5,0],'_by':'x','created_at':[5,0],'created_by':'x','from':'" from \
	"','kind':'" kind "','to':'" to "'}\n"
	/* clang-format off */
	static const struct row row[] = {
		{ ARC("b", "blocks", "a-1")
		  ARC("a-1", "related", "b")
		  ARC("a-1", "later_kind", "b"),
		  ARC("a", "blocks", "b")
		  ARC("a-1", "parent", "b")
		  ARC("a-1", "blocks", "b")
		  ARC("a-1", "blocks", "a-1"),
		  ARC("a", "blocks", "b")
		  ARC("a-1", "blocks", "a-1")
		  ARC("a-1", "blocks", "b")
		  ARC("a-1", "later_kind", "b")
		  ARC("a-1", "parent", "b")
		  ARC("a-1", "related", "b")
		  ARC("b", "blocks", "a-1") },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* --- two beads of one id --- */

/* The new ids of the lineages of a-1, computed by another program. */
#define SECOND_TO    "a-34mki"
#define THIRD_TO     "a-2y2aj"
#define SECOND_MOVED "'created_at':[2,0],'created_by':'x','id':'" SECOND_TO "'"
#define THIRD_MOVED  "'created_at':[2,0],'created_by':'y','id':'" THIRD_TO "'"
#define WENT(by, to) "{'created_at':[2,0],'created_by':'" by "','to':'" to "'}"
#define LEFT(by, remaps) \
	"gone {'deleted_at':[2,0],'deleted_by':'" by "','id':'a-1','remap':[" remaps "]}\n"

static void the_new_id_depends_on_the_lineage_alone(void **state)
{
	struct arena mem = { 0 };
	struct mark second = { { 2, 0 }, STR("x") }, third = { { 2, 0 }, STR("y") };

	(void)state;
	assert_str(bead_other_id(&mem, STR("a-1"), second), SECOND_TO);
	assert_str(bead_other_id(&mem, STR("a-1"), third), THIRD_TO);
	assert_str(bead_other_id(&mem, STR("b"), second), "b-5ug6");
	assert_str(bead_other_id(&mem, STR("my-proj-abc"), second), "my-proj-5g284dm");
	arena_release(&mem);
}

/* A copy never gets the id that the bead itself would move to. */
static void the_ids_of_copies_depend_on_the_lineage_alone(void **state)
{
	struct arena mem = { 0 };
	struct mark second = { { 2, 0 }, STR("x") };

	(void)state;
	assert_str(bead_copy_id(&mem, STR("a-1"), second, 0), "a-2605z");
	assert_str(bead_copy_id(&mem, STR("a-1"), second, 1), "a-2q7nf");
	arena_release(&mem);
}

static void of_two_beads_with_one_id_the_earlier_keeps_it(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		/* the earlier one, whatever was written last */
		{ "bead " TITLE(FIRST, 5, "x", "first") "\n",
		  "bead " TITLE(SECOND, 9, "x", "second") "\n",
		  "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(SECOND_MOVED, 9, "x", "second") "\n"
		  LEFT("x", WENT("x", SECOND_TO)) },
		/* created at the same time: the lesser actor */
		{ "bead " TITLE(THIRD, 5, "x", "third") "\n",
		  "bead " TITLE(SECOND, 5, "x", "second") "\n",
		  "bead " TITLE(SECOND, 5, "x", "second") "\n"
		  "bead " TITLE(THIRD_MOVED, 5, "x", "third") "\n"
		  LEFT("y", WENT("y", THIRD_TO)) },
		/* even if it is deleted, or the other is */
		{ GONE(6, "x", TITLE(FIRST, 5, "x", "first"), ""),
		  "bead " TITLE(SECOND, 5, "x", "second") "\n",
		  "bead " TITLE(SECOND_MOVED, 5, "x", "second") "\n"
		  "gone {'bead':" TITLE(FIRST, 5, "x", "first")
		  ",'deleted_at':[6,0],'deleted_by':'x','id':'a-1','remap':["
		  WENT("x", SECOND_TO) "]}\n" },
		{ "bead " TITLE(FIRST, 5, "x", "first") "\n",
		  GONE(6, "x", TITLE(SECOND, 5, "x", "second"), ""),
		  "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  LEFT("x", WENT("x", SECOND_TO))
		  "gone {'bead':" TITLE(SECOND_MOVED, 5, "x", "second")
		  ",'deleted_at':[6,0],'deleted_by':'x','id':'" SECOND_TO "'}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

static void of_three_beads_with_one_id_two_move(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		{ "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(THIRD, 5, "x", "third") "\n",
		  "bead " TITLE(SECOND, 5, "x", "second") "\n",
		  "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(THIRD_MOVED, 5, "x", "third") "\n"
		  "bead " TITLE(SECOND_MOVED, 5, "x", "second") "\n"
		  LEFT("y", WENT("x", SECOND_TO) "," WENT("y", THIRD_TO)) },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* A write in another clone to the bead's old id follows the bead. */
static void a_later_edit_of_the_old_id_reaches_the_moved_bead(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		{ "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(SECOND_MOVED, 5, "x", "second") "\n"
		  LEFT("x", WENT("x", SECOND_TO)),
		  "bead " TITLE(SECOND, 9, "y", "edited") "\n",
		  "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(SECOND_MOVED, 9, "y", "edited") "\n"
		  LEFT("x", WENT("x", SECOND_TO)) },
		/* so does a deletion of that lineage */
		{ "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(SECOND_MOVED, 5, "x", "second") "\n"
		  LEFT("x", WENT("x", SECOND_TO)),
		  GONE(9, "y", "{" SECOND "}", ""),
		  "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  LEFT("x", WENT("x", SECOND_TO))
		  "gone {'bead':" TITLE(SECOND_MOVED, 5, "x", "second")
		  ",'deleted_at':[9,0],'deleted_by':'y','id':'" SECOND_TO "'}\n" },
		/* a deletion of every bead of the id deletes both */
		{ "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(SECOND_MOVED, 5, "x", "second") "\n"
		  LEFT("x", WENT("x", SECOND_TO)),
		  EVERY(6),
		  "gone {'bead':" TITLE(FIRST, 5, "x", "first")
		  ",'deleted_at':[6,0],'deleted_by':'x','every':{'deleted_at':[6,"
		  "0],'deleted_by':'x'},'id':'a-1','remap':[" WENT("x", SECOND_TO)
		  "]}\n"
		  "gone {'bead':" TITLE(SECOND_MOVED, 5, "x", "second")
		  ",'deleted_at':[6,0],'deleted_by':'x','id':'" SECOND_TO "'}\n" },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* The new id may belong to a third bead: the earlier one keeps that id, too. */
static void a_moved_bead_may_have_to_move_again(void **state)
{
#define NATIVE "'created_at':[1,0],'created_by':'x','id':'" SECOND_TO "'"
#define FAR_TO "a-20c2evtxr"
#define FAR    "'created_at':[2,0],'created_by':'x','id':'" FAR_TO "'"
#define LEFT_AGAIN                                                   \
	"gone {'deleted_at':[2,0],'deleted_by':'x','id':'" SECOND_TO \
	"','remap':[" WENT("x", FAR_TO) "]}\n"
	/* clang-format off */
	static const struct row row[] = {
		{ "bead " TITLE(FIRST, 7, "x", "first") "\n"
		  "bead " TITLE(NATIVE, 5, "x", "native") "\n",
		  "bead " TITLE(SECOND, 5, "x", "second") "\n",
		  "bead " TITLE(FIRST, 7, "x", "first") "\n"
		  "bead " TITLE(FAR, 5, "x", "second") "\n"
		  "bead " TITLE(NATIVE, 5, "x", "native") "\n"
		  LEFT("x", WENT("x", SECOND_TO))
		  LEFT_AGAIN },
		/* a deletion of every bead of the first id reaches it, and no other bead */
		{ "bead " TITLE(FIRST, 7, "x", "first") "\n"
		  "bead " TITLE(FAR, 5, "x", "second") "\n"
		  "bead " TITLE(NATIVE, 5, "x", "native") "\n"
		  LEFT("x", WENT("x", SECOND_TO))
		  LEFT_AGAIN,
		  EVERY(6),
		  "bead " TITLE(FIRST, 7, "x", "first") "\n"
		  "bead " TITLE(NATIVE, 5, "x", "native") "\n"
		  "gone {'deleted_at':[2,0],'deleted_by':'x',"
		  "'every':{'deleted_at':[6,0],'deleted_by':'x'},'id':'a-1',"
		  "'remap':[" WENT("x", SECOND_TO) "]}\n"
		  "gone {'bead':" TITLE(FAR, 5, "x", "second")
		  ",'deleted_at':[6,0],'deleted_by':'x','id':'" FAR_TO "'}\n"
		  LEFT_AGAIN },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* Even if the bead that took its id is not known yet. */
static void a_bead_that_moved_in_another_clone_moves_here(void **state)
{
	/* clang-format off */
	static const struct row row[] = {
		{ "bead " TITLE(SECOND, 5, "x", "second") "\n"
		  ARC("a-1", "blocks", "a-1"),
		  LEFT("x", WENT("x", SECOND_TO)),
		  "bead " TITLE(SECOND_MOVED, 5, "x", "second") "\n"
		  LEFT("x", WENT("x", SECOND_TO))
		  ARC(SECOND_TO, "blocks", SECOND_TO) },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

static void edges_move_with_their_bead(void **state)
{
#define B "'created_at':[1,0],'created_by':'x','id':'b'"
	/* clang-format off */
	static const struct row row[] = {
		{ "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(B, 5, "x", "b") "\n"
		  ARC("a-1", "blocks", "b")
		  ARC("a-1", "related", "b"),
		  "bead " TITLE(SECOND, 5, "x", "second") "\n"
		  "bead " TITLE(B, 5, "x", "b") "\n"
		  ARC("a-1", "blocks", "b")
		  ARC("b", "parent", "a-1"),
		  "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(SECOND_MOVED, 5, "x", "second") "\n"
		  "bead " TITLE(B, 5, "x", "b") "\n"
		  LEFT("x", WENT("x", SECOND_TO))
		  ARC("a-1", "blocks", "b")
		  ARC("a-1", "related", "b")
		  ARC(SECOND_TO, "blocks", "b")
		  ARC("b", "parent", SECOND_TO) },
		/* an edge that a clone creates later, before it knows of the move */
		{ "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(SECOND_MOVED, 5, "x", "second") "\n"
		  LEFT("x", WENT("x", SECOND_TO)),
		  "bead {" SECOND "}\nbead {" B "}\n"
		  ARC("a-1", "blocks", "b"),
		  "bead " TITLE(FIRST, 5, "x", "first") "\n"
		  "bead " TITLE(SECOND_MOVED, 5, "x", "second") "\n"
		  LEFT("x", WENT("x", SECOND_TO))
		  ARC(SECOND_TO, "blocks", "b") },
	};
	/* clang-format on */

	(void)state;
	check_rows(row, COUNT(row));
}

/* --- the laws --- */

static bool same(const struct snapshot *a, const struct snapshot *b)
{
	for (int i = 0; i < SNAPSHOT_FILES; i++)
		if (!str_eq(a->file[i], b->file[i]))
			return false;
	return true;
}

static void show(struct arena *mem, const char *what, const struct state *s)
{
	print_error("%s:\n" STR_FMT, what, STR_ARG(state_text(mem, s)));
}

/* All files, without the checksums in meta.json, which would take most of the time. */
static struct snapshot without_checksums(struct arena *mem, const struct state *s)
{
	struct str none[FILE_META] = { STR(""), STR(""), STR("") };
	struct snapshot out = snapshot_encode_lines(mem, s);

	out.file[FILE_META] = snapshot_meta(mem, s, none);
	return out;
}

/* Prints the joined states if the two results differ. */
static void check_same(struct arena *mem, const char *law, uint64_t number, const struct state *a,
		       const struct state *b)
{
	struct snapshot x = without_checksums(mem, a), y = without_checksums(mem, b);

	if (same(&x, &y))
		return;
	print_error("not %s: %" PRIu64 "\n", law, number);
	show(mem, "a", any_state(mem, number));
	show(mem, "b", any_state(mem, number + 1));
	show(mem, "c", any_state(mem, number + 2));
	show(mem, "one way", a);
	show(mem, "the other", b);
	fail();
}

static struct state *read_snapshot(struct arena *mem, const struct snapshot *files)
{
	static const enum snapshot_file order[] = { FILE_TOMBSTONES, FILE_STATE, FILE_DEPS };
	struct state *s = state_new(mem);

	for (size_t i = 0; i < COUNT(order); i++) {
		struct str rest = files->file[order[i]], line;

		while (str_next(&rest, '\n', &line))
			if (line.n)
				read_line(s, order[i], line);
	}
	return s;
}

/* Joins another state, whose memory is freed afterwards. */
static struct state *with(struct state *s, uint64_t number)
{
	struct arena passing = { 0 };

	state_add(s, any_state(&passing, number));
	arena_release(&passing);
	return s;
}

static void check_laws(struct arena *mem, uint64_t n)
{
	struct arena passing = { 0 };
	struct state *a_bc = any_state(mem, n), *ab = with(any_state(mem, n), n + 1);

	check_same(mem, "commutative", n, ab, with(any_state(mem, n + 1), n));
	state_add(a_bc, with(any_state(&passing, n + 1), n + 2));
	arena_release(&passing);
	check_same(mem, "associative", n, with(ab, n + 2), a_bc);
	check_same(mem, "idempotent", n, any_state(mem, n), with(any_state(mem, n), n));
}

static uint64_t triples(void)
{
	const char *wish = getenv("JOIN_TRIPLES");

	return wish ? strtoull(wish, NULL, 10) : trials(100000);
}

static void the_join_is_commutative_associative_and_idempotent(void **state)
{
	struct arena mem = { 0 };

	(void)state;
	for (uint64_t i = 0, end = triples(); i < end; i++) {
		check_laws(&mem, 3 * i);
		arena_reset(&mem);
	}
	arena_release(&mem);
}

static void a_snapshot_that_is_read_is_written_the_same(void **state)
{
	struct arena mem = { 0 };

	(void)state;
	for (uint64_t i = 0, end = triples() / 10; i < end; i++) {
		struct state *s = both(any_state(&mem, 2 * i), any_state(&mem, 2 * i + 1));
		struct snapshot first = snapshot_encode(&mem, s), second;

		s = read_snapshot(&mem, &first);
		second = snapshot_encode(&mem, s);
		for (size_t k = 0; k < COUNT(kinds); k++)
			assert_true(str_eq(first.file[k], second.file[k]));
		arena_reset(&mem);
	}
	arena_release(&mem);
}

int join_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_write_of_a_register_wins),
		cmocka_unit_test(different_registers_are_both_kept),
		cmocka_unit_test(a_line_without_an_extension_leaves_it_as_it_is),
		cmocka_unit_test(labels_are_one_value),
		cmocka_unit_test(members_of_one_register_go_together),
		cmocka_unit_test(unknown_fields_survive),
		cmocka_unit_test(marks_of_the_last_write_are_left_out),
		cmocka_unit_test(all_notes_are_kept),
		cmocka_unit_test(a_deletion_covers_writes_that_are_not_later),
		cmocka_unit_test(the_last_deletion_gives_actor_and_reason),
		cmocka_unit_test(a_tombstone_without_a_bead_deletes_every_bead_of_the_id),
		cmocka_unit_test(the_last_write_of_an_edge_wins),
		cmocka_unit_test(edges_with_other_ends_or_kinds_are_all_kept),
		cmocka_unit_test(the_new_id_depends_on_the_lineage_alone),
		cmocka_unit_test(of_two_beads_with_one_id_the_earlier_keeps_it),
		cmocka_unit_test(of_three_beads_with_one_id_two_move),
		cmocka_unit_test(a_later_edit_of_the_old_id_reaches_the_moved_bead),
		cmocka_unit_test(the_ids_of_copies_depend_on_the_lineage_alone),
		cmocka_unit_test(a_moved_bead_may_have_to_move_again),
		cmocka_unit_test(a_bead_that_moved_in_another_clone_moves_here),
		cmocka_unit_test(edges_move_with_their_bead),
		cmocka_unit_test(the_join_is_commutative_associative_and_idempotent),
		cmocka_unit_test(a_snapshot_that_is_read_is_written_the_same),
	};

	return cmocka_run_group_tests_name("join", tests, NULL, NULL);
}
