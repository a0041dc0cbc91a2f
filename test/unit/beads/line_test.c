#include "beads/model/line.h"

#include "base/text/value.h"
#include "beads/model/edge.h"
#include "beads/model/join.h"
#include "beads/model/state.h"
#include "unit/test.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

/* Lines are written here with ' for ". */
static const struct value *parse(struct arena *mem, const char *text)
{
	struct value_error error;
	struct str copy = arena_copy(mem, str_of(text));
	char *p = (char *)copy.p;
	const struct value *v;

	for (size_t i = 0; i < copy.n; i++)
		if (p[i] == '\'')
			p[i] = '"';
	v = value_parse(mem, copy, &error);
	if (!v)
		fail_msg("%s: at %zu: %s", text, error.offset, error.why);
	return v;
}

static void with_single_quotes(struct str text)
{
	for (char *p = (char *)text.p; p < text.p + text.n; p++)
		if (*p == '"')
			*p = '\'';
}

struct row {
	const char *line, *want;
};

/* --- beads --- */

#define MADE          "'created_at':[1,0],'created_by':'x','id':'a-1'"
#define ALL_AT5       "'_at':[5,0],'_by':'x'"
#define BEAD(members) "{" ALL_AT5 "," MADE "," members ",'title':'t'}"
#define V_WHY         "\"_v\" is not an object of marks [[ms,n],\"by\"]"
#define NOTES_WHY     "\"notes\" is not a list of notes with id, content, author and at"

static void a_bead_line_is_refused_by_the_name_of_the_field(void **state)
{
	static const struct row row[] = {
		{ "[]", "it is not an object" },
		{ "null", "it is not an object" },
		{ "{}", "\"id\" is not an id" },
		{ "{'id':7}", "\"id\" is not an id" },
		{ "{'id':''}", "\"id\" is not an id" },
		{ "{'id':'a b'}", "\"id\" is not an id" },
		{ "{'id':'-a'}", "\"id\" is not an id" },
		{ "{'id':'a-'}", "\"id\" is not an id" },
		{ "{'id':'a.'}", "\"id\" is not an id" },
		{ "{'id':'a/b'}", "\"id\" is not an id" },
		{ "{'id':'\xc3\xa9'}", "\"id\" is not an id" },
		{ "{'id':'a-1'}", "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':5,'created_by':'x'}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':'2024-01-01T00:00:00Z','created_by':'x'}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':[1],'created_by':'x'}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':[1,2,3],'created_by':'x'}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':[-1,0],'created_by':'x'}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':[1,-1],'created_by':'x'}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':[1.5,0],'created_by':'x'}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':['1',0],'created_by':'x'}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':[253402300800000,0],'created_by':'x'}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':[1,9007199254740992],'created_by':'x'}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-1','created_at':[1,0]}",
		  "\"created_by\" is not a name of at most 4 KiB" },
		{ "{'id':'a-1','created_at':[1,0],'created_by':''}",
		  "\"created_by\" is not a name of at most 4 KiB" },
		{ "{'id':'a-1','created_at':[1,0],'created_by':null}",
		  "\"created_by\" is not a name of at most 4 KiB" },
		{ "{'_at':5,'_by':'x'," MADE "}", "\"_at\" is not a stamp [ms,n]" },
		{ "{'_at':null,'_by':'x'," MADE "}", "\"_at\" is not a stamp [ms,n]" },
		{ "{'_at':[5,0]," MADE "}", "\"_by\" is not a name of at most 4 KiB" },
		{ "{'_at':[5,0],'_by':''," MADE "}", "\"_by\" is not a name of at most 4 KiB" },
		{ "{'_v':[]," MADE "}", V_WHY },
		{ "{'_v':{'title':[5,0]}," MADE "}", V_WHY },
		{ "{'_v':{'title':[[5,0]]}," MADE "}", V_WHY },
		{ "{'_v':{'title':[[5,0],'']}," MADE "}", V_WHY },
		{ "{'_v':{'title':[[5,0],7]}," MADE "}", V_WHY },
		{ "{'_v':{'unknown':[[5],'x']}," MADE "}", V_WHY },
		{ "{" ALL_AT5 "," MADE "}", "\"title\" is not there" },
		{ "{" ALL_AT5 "," MADE ",'title':null}", "\"title\" is not there" },
		{ "{'_v':{'title':[[5,0],'x']}," MADE "}", "\"title\" is not there" },
		{ "{" ALL_AT5 "," MADE ",'title':''}",
		  "\"title\" is not a text of 1 byte to 64 KiB" },
		{ "{" ALL_AT5 "," MADE ",'title':['t']}",
		  "\"title\" is not a text of 1 byte to 64 KiB" },
		{ BEAD("'acceptance_criteria':1"),
		  "\"acceptance_criteria\" is not a string of at most 8 MiB" },
		{ BEAD("'assignee':''"), "\"assignee\" is not a name of at most 4 KiB" },
		{ BEAD("'assignee':{}"), "\"assignee\" is not a name of at most 4 KiB" },
		{ BEAD("'assignee_at':5"), "\"assignee_at\" is not a stamp [ms,n]" },
		{ BEAD("'assignee_expires':[5,0]"),
		  "\"assignee_expires\" is not milliseconds since 1970" },
		{ BEAD("'assignee_expires':-1"),
		  "\"assignee_expires\" is not milliseconds since 1970" },
		{ BEAD("'assignee_expires':1.5"),
		  "\"assignee_expires\" is not milliseconds since 1970" },
		{ BEAD("'closed_at':'x'"), "\"closed_at\" is not a stamp [ms,n]" },
		{ BEAD("'closed_by':''"), "\"closed_by\" is not a name of at most 4 KiB" },
		{ BEAD("'closed_on_branch':true"),
		  "\"closed_on_branch\" is not a string of at most 8 MiB" },
		{ BEAD("'closed_reason':[]"),
		  "\"closed_reason\" is not a string of at most 8 MiB" },
		{ BEAD("'description':7"), "\"description\" is not a string of at most 8 MiB" },
		{ BEAD("'design':{}"), "\"design\" is not a string of at most 8 MiB" },
		{ BEAD("'external_ref':false"),
		  "\"external_ref\" is not a string of at most 8 MiB" },
		{ BEAD("'labels':'a'"), "\"labels\" is not a list of at most 1000 words" },
		{ BEAD("'labels':['a',1]"), "\"labels\" is not a list of at most 1000 words" },
		{ BEAD("'labels':['']"), "\"labels\" is not a list of at most 1000 words" },
		{ BEAD("'priority':5"), "\"priority\" is not a whole number from 0 to 4" },
		{ BEAD("'priority':-1"), "\"priority\" is not a whole number from 0 to 4" },
		{ BEAD("'priority':'1'"), "\"priority\" is not a whole number from 0 to 4" },
		{ BEAD("'priority':1.0"), "\"priority\" is not a whole number from 0 to 4" },
		{ BEAD("'source_repo':7"), "\"source_repo\" is not a string of at most 8 MiB" },
		{ BEAD("'status':'done'"), "\"status\" is not open, in_progress or closed" },
		{ BEAD("'status':''"), "\"status\" is not open, in_progress or closed" },
		{ BEAD("'status':'Open'"), "\"status\" is not open, in_progress or closed" },
		{ BEAD("'type':'story'"), "\"type\" is not bug, feature, task, epic or chore" },
		{ BEAD("'notes':{}"), "\"notes\" is not a list of at most 20000 notes" },
		{ BEAD("'notes':[7]"), NOTES_WHY },
		{ BEAD("'notes':[{'at':[1,0],'author':'x','content':'c'}]"), NOTES_WHY },
		{ BEAD("'notes':[{'at':[1,0],'author':'x','content':'c','id':''}]"), NOTES_WHY },
		{ BEAD("'notes':[{'at':[1,0],'author':'','content':'c','id':'n'}]"), NOTES_WHY },
		{ BEAD("'notes':[{'at':1,'author':'x','content':'c','id':'n'}]"), NOTES_WHY },
		{ BEAD("'notes':[{'at':[1,0],'author':'x','content':null,'id':'n'}]"), NOTES_WHY },
		{ BEAD("'notes':[{'at':[1,0],'author':'x','content':'c','id':'n'},"
		       "{'at':[2,0],'author':'x','content':'c','id':'n'}]"),
		  "\"notes\" is not a list of notes with different ids" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		struct str why = { 0 };
		struct bead bead;

		if (line_decode(&mem, parse(&mem, row[i].line), &bead, &why))
			fail_msg("not refused: %s", row[i].line);
		assert_str(why, row[i].want);
		arena_reset(&mem);
	}
	arena_release(&mem);
}

#define PLAIN ",'priority':2,'status':'open','title':'t','type':'task'}"

static void a_bead_line_is_normalised(void **state)
{
	static const struct row row[] = {
		/* the seed's own examples have no creation; with one they are these */
		{ "{'id':'bd-a1','title':'fix bug','status':'open',"
		  "'_at':[1702234567890,42],'_by':'claude@mac',"
		  "'created_at':[1702234567890,42],'created_by':'claude@mac'}",
		  "{'_at':[1702234567890,42],'_by':'claude@mac',"
		  "'created_at':[1702234567890,42],'created_by':'claude@mac',"
		  "'id':'bd-a1','priority':2,'status':'open','title':'fix bug',"
		  "'type':'task'}" },
		/* what is empty is left out, what must be there is put in */
		{ "{" ALL_AT5 "," MADE ",'acceptance_criteria':'','assignee':null,"
		  "'description':'','design':null,'labels':[],'notes':[],'priority':null,"
		  "'status':null,'title':'t','type':null}",
		  "{" ALL_AT5 "," MADE PLAIN },
		{ "{" ALL_AT5 "," MADE ",'notes':null,'title':'t'}", "{" ALL_AT5 "," MADE PLAIN },
		{ BEAD("'priority':-0"),
		  "{" ALL_AT5 "," MADE ",'priority':0,'status':'open','title':'t',"
		  "'type':'task'}" },
		/* labels are a set */
		{ "{'_v':{'labels':[[5,0],'x']}," MADE ",'labels':['b','a','b','\xc3\xa9',"
		  "'B']}",
		  "{'_v':{'labels':[[5,0],'x']}," MADE ",'labels':['B','a','b',"
		  "'\xc3\xa9']}" },
		/* what is only computed from the rest is not kept */
		{ "{" ALL_AT5 "," MADE ",'content_hash':'0','title':'t','updated_at':[9,0],"
		  "'updated_by':'z'}",
		  "{" ALL_AT5 "," MADE PLAIN },
		/* `_v` that says the same as `_at` */
		{ "{" ALL_AT5 ",'_v':{'title':[[5,0],'x']}," MADE ",'title':'t'}",
		  "{" ALL_AT5 "," MADE PLAIN },
		/* `_v` of members, and of what has no mark of its own */
		{ "{" ALL_AT5 ",'_v':{'closed_at':[[3,0],'x'],'closed_reason':[[4,0],'x'],"
		  "'created_at':[[9,0],'x'],'notes':[[9,0],'x']}," MADE ",'title':'t'}",
		  "{" ALL_AT5 ",'_v':{'status':[[4,0],'x']}," MADE PLAIN },
		/* a change has only the registers of which it has marks */
		{ "{'_v':{'priority':[[5,0],'x']}," MADE ",'priority':1,'title':'t',"
		  "'zeta':1}",
		  "{'_v':{'priority':[[5,0],'x']}," MADE ",'priority':1}" },
		{ "{'_v':{}," MADE "}", "{" MADE "}" },
		/* fields not known here, in their place and canonical */
		{ "{" ALL_AT5 "," MADE ",'zz':{'b':1.50,'a':[ ]},'Aa':null,'title':'t'}",
		  "{'Aa':null," ALL_AT5 "," MADE
		  ",'priority':2,'status':'open','title':'t','type':'task',"
		  "'zz':{'a':[],'b':1.5}}" },
		{ "{" ALL_AT5 ",'_v':{'gone':[[3,0],'x']}," MADE ",'title':'t'}",
		  "{" ALL_AT5 ",'_v':{'gone':[[3,0],'x']},'created_at':[1,0],"
		  "'created_by':'x','gone':null,'id':'a-1'" PLAIN },
		/* extensions of any type, only where they were written */
		{ "{" ALL_AT5 ",'_v':{'due_at':[[3,0],'x']}," MADE ",'metadata':[],'owner':'',"
		  "'pinned':null,'title':'t'}",
		  "{" ALL_AT5 ",'_v':{'due_at':[[3,0],'x']},'created_at':[1,0],'created_by':'x',"
		  "'due_at':null,'id':'a-1','metadata':[],'owner':'','pinned':null" PLAIN },
		/* notes by time, then by id; a later one is the last write */
		{ "{" ALL_AT5 "," MADE ",'notes':["
		  "{'id':'b','content':'','author':'x','at':[4,0]},"
		  "{'id':'c','content':'2','author':'x','at':[3,1]},"
		  "{'id':'a','content':'1','author':'y','at':[4,0]}],'title':'t'}",
		  "{" ALL_AT5 "," MADE ",'notes':["
		  "{'at':[3,1],'author':'x','content':'2','id':'c'},"
		  "{'at':[4,0],'author':'y','content':'1','id':'a'},"
		  "{'at':[4,0],'author':'x','content':'','id':'b'}]" PLAIN },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		const char *line = row[i].line;

		for (int again = 0; again < 2; again++, line = row[i].want) {
			struct str why = { 0 }, text;
			struct bead bead;

			if (!line_decode(&mem, parse(&mem, line), &bead, &why))
				fail_msg("%s: " STR_FMT, line, STR_ARG(why));
			text = line_text(&mem, &bead);
			with_single_quotes(text);
			assert_str(text, row[i].want);
		}
		arena_reset(&mem);
	}
	arena_release(&mem);
}

/* `_at` is the last write to anything, though nothing of the registers may be so new. */
static void a_note_can_be_the_last_write(void **state)
{
	static const char line[] =
		"{" ALL_AT5 "," MADE ",'notes':[{'at':[9,0],'author':'y','content':'c',"
		"'id':'n'}],'title':'t'}";
	struct arena mem = { 0 };
	struct str why = { 0 };
	struct bead bead;
	const struct value *v;
	size_t count = 0;

	(void)state;
	assert_true(line_decode(&mem, parse(&mem, line), &bead, &why));
	v = value_parse(&mem, line_text(&mem, &bead), &(struct value_error){ 0 });
	assert_str(value_str(v, "_by"), "y");
	for (int i = 0; i < REGS; i++)
		count += !reg_is_extension((enum reg)i);
	assert_int_equal(value_find(v, "_v")->count, count);
	arena_release(&mem);
}

/* --- edges --- */

#define ENDS "'from':'a','kind':'blocks','to':'b'"

static void an_edge_line_is_refused_by_the_name_of_the_field(void **state)
{
	static const struct row row[] = {
		{ "7", "it is not an object" },
		{ "{'to':'b','kind':'blocks','created_at':[1,0],'created_by':'x'}",
		  "\"from\" is not an id" },
		{ "{'from':'a','to':'b c','kind':'blocks'}", "\"to\" is not an id" },
		{ "{'from':'a','to':'b'}", "\"kind\" is not a word" },
		{ "{'from':'a','to':'b','kind':''}", "\"kind\" is not a word" },
		{ "{'from':'a','to':'b','kind':'two words'}", "\"kind\" is not a word" },
		{ "{" ENDS "}", "\"created_at\" and \"created_by\" are not a mark" },
		{ "{" ENDS ",'created_at':[1,0]}",
		  "\"created_at\" and \"created_by\" are not a mark" },
		{ "{" ENDS ",'created_at':1,'created_by':'x'}",
		  "\"created_at\" and \"created_by\" are not a mark" },
		{ "{" ENDS ",'created_at':[1,0],'created_by':'x','_at':[1,0]}",
		  "\"_at\" and \"_by\" are not a mark" },
		{ "{" ENDS ",'created_at':[1,0],'created_by':'x','deleted_at':[1,0]}",
		  "\"deleted_at\" and \"deleted_by\" are not a mark" },
		{ "{" ENDS ",'created_at':[1,0],'created_by':'x','deleted_at':1,"
		  "'deleted_by':'x'}",
		  "\"deleted_at\" and \"deleted_by\" are not a mark" },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		struct str why = { 0 };
		struct edge edge;

		if (edge_decode(&mem, parse(&mem, row[i].line), &edge, &why))
			fail_msg("not refused: %s", row[i].line);
		assert_str(why, row[i].want);
		arena_reset(&mem);
	}
	arena_release(&mem);
}

static void an_edge_line_is_normalised(void **state)
{
#define EDGE(life, rest) "{'_at':" life ",'_by':'x','created_at':[1,0],'created_by':'x'" rest "}"
	static const struct row row[] = {
		{ "{" ENDS ",'created_at':[1,0],'created_by':'x'}", EDGE("[1,0]", "," ENDS) },
		{ "{" ENDS ",'created_at':[1,0],'created_by':'x','_at':null,"
		  "'deleted_at':null,'deleted_by':null}",
		  EDGE("[1,0]", "," ENDS) },
		/* the seed's: a deletion, and no life of its own */
		{ "{" ENDS ",'created_at':[1,0],'created_by':'x','deleted_at':[2,0],"
		  "'deleted_by':'x'}",
		  EDGE("[2,0]", ",'deleted_at':[2,0],'deleted_by':'x'," ENDS) },
		/* made again since */
		{ "{" ENDS ",'created_at':[1,0],'created_by':'x','_at':[3,0],'_by':'x',"
		  "'deleted_at':[2,0],'deleted_by':'x'}",
		  EDGE("[3,0]", "," ENDS) },
		{ "{'from':'a','kind':'parent-child','to':'b','created_at':[1,0],"
		  "'created_by':'x'}",
		  EDGE("[1,0]", ",'from':'a','kind':'parent','to':'b'") },
		{ "{" ENDS ",'created_at':[1,0],'created_by':'x','zz':{'b':1,'a':2}}",
		  EDGE("[1,0]", "," ENDS ",'zz':{'a':2,'b':1}") },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		const char *line = row[i].line;

		for (int again = 0; again < 2; again++, line = row[i].want) {
			struct str why = { 0 }, text;
			struct edge edge;

			if (!edge_decode(&mem, parse(&mem, line), &edge, &why))
				fail_msg("%s: " STR_FMT, line, STR_ARG(why));
			text = edge_text(&mem, &edge);
			with_single_quotes(text);
			assert_str(text, row[i].want);
		}
		arena_reset(&mem);
	}
	arena_release(&mem);
}

/* --- tombstones --- */

#define DELETED "'deleted_at':[5,0],'deleted_by':'x'"

static void a_tombstone_line_is_refused_by_the_name_of_the_field(void **state)
{
	static const char mark[] =
		"\"deleted_at\", \"deleted_by\" and \"reason\" are not a deletion";
	static const char remap[] = "\"remap\" is not a list of where beads went";
	const struct row row[] = {
		{ "[]", "\"id\" is not an id" },
		{ "{" DELETED "}", "\"id\" is not an id" },
		{ "{'id':'a b'," DELETED "}", "\"id\" is not an id" },
		{ "{'id':'a-1'}", mark },
		{ "{'id':'a-1','deleted_at':[5,0]}", mark },
		{ "{'id':'a-1','deleted_at':5,'deleted_by':'x'}", mark },
		{ "{'id':'a-1','deleted_at':[5,0],'deleted_by':''}", mark },
		{ "{'id':'a-1'," DELETED ",'reason':7}", mark },
		{ "{'id':'a-1'," DELETED ",'bead':7}", "it is not an object" },
		{ "{'id':'a-1'," DELETED ",'bead':{'id':'a-1'}}",
		  "\"created_at\" is not a stamp [ms,n]" },
		{ "{'id':'a-2'," DELETED ",'bead':{" MADE "}}", "\"bead\" has another id" },
		{ "{'id':'a-1'," DELETED ",'every':7}", "\"every\" is not a deletion" },
		{ "{'id':'a-1'," DELETED ",'every':{'deleted_by':'x'}}",
		  "\"every\" is not a deletion" },
		{ "{'id':'a-1'," DELETED ",'remap':{}}", remap },
		{ "{'id':'a-1'," DELETED ",'remap':[]}", remap },
		{ "{'id':'a-1'," DELETED ",'remap':['a-34mki']}", remap },
		{ "{'id':'a-1'," DELETED ",'remap':[{'created_at':[2,0],'to':'a-34mki'}]}", remap },
		{ "{'id':'a-1'," DELETED
		  ",'remap':[{'created_at':2,'created_by':'x','to':'a-34mki'}]}",
		  remap },
		/* it must lead away, to a longer id, or the way might have no end */
		{ "{'id':'a-1'," DELETED
		  ",'remap':[{'created_at':[2,0],'created_by':'x','to':'a-1'}]}",
		  remap },
		{ "{'id':'a-1'," DELETED
		  ",'remap':[{'created_at':[2,0],'created_by':'x','to':'a-2'}]}",
		  remap },
		{ "{'id':'a-1'," DELETED
		  ",'remap':[{'created_at':[2,0],'created_by':'x','to':'a 34mki'}]}",
		  remap },
		/* twice the same lineage */
		{ "{'id':'a-1'," DELETED
		  ",'remap':[{'created_at':[2,0],'created_by':'x','to':'a-34mki'},"
		  "{'created_at':[2,0],'created_by':'x','to':'a-34mki'}]}",
		  remap },
	};
	struct arena mem = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++) {
		struct state *s = state_new(&mem);
		struct str why = { 0 };

		if (state_read_tombstone(s, parse(&mem, row[i].line), &why))
			fail_msg("not refused: %s", row[i].line);
		assert_str(why, row[i].want);
		assert_int_equal(s->slots.count, 0);
		arena_reset(&mem);
	}
	arena_release(&mem);
}

static void a_bead_has_memory_for_extensions_only_once_one_is_set(void **state)
{
	struct arena mem = { 0 };
	struct str why = { 0 };
	struct bead plain, due, joined, copy;

	(void)state;
	assert_true(line_decode(&mem,
				parse(&mem, "{'id':'a-1','created_at':[1,0],"
					    "'created_by':'x','_at':[2,0],'_by':'x',"
					    "'title':'t'}"),
				&plain, &why));
	assert_true(line_decode(&mem,
				parse(&mem, "{'id':'a-1','created_at':[1,0],"
					    "'created_by':'x','_at':[3,0],'_by':'x',"
					    "'title':'t','due_at':'soon'}"),
				&due, &why));
	assert_null(plain.extension);
	bead_join(&mem, &plain, &plain, &joined);
	assert_null(joined.extension);
	assert_false(bead_mark(&plain, REG_DUE_AT).by.p);
	assert_false(bead_member(&plain, MEMBER_DUE_AT).p);

	bead_join(&mem, &plain, &due, &joined);
	assert_str(bead_member(&joined, MEMBER_DUE_AT), "\"soon\"");
	copy = due;
	bead_own_extensions(&mem, &copy);
	bead_drop_register(&copy, REG_DUE_AT);
	assert_str(bead_member(&due, MEMBER_DUE_AT), "\"soon\"");
	assert_false(bead_member(&copy, MEMBER_DUE_AT).p);
	arena_release(&mem);
}

int line_group(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bead_line_is_refused_by_the_name_of_the_field),
		cmocka_unit_test(a_bead_line_is_normalised),
		cmocka_unit_test(a_bead_has_memory_for_extensions_only_once_one_is_set),
		cmocka_unit_test(a_note_can_be_the_last_write),
		cmocka_unit_test(an_edge_line_is_refused_by_the_name_of_the_field),
		cmocka_unit_test(an_edge_line_is_normalised),
		cmocka_unit_test(a_tombstone_line_is_refused_by_the_name_of_the_field),
	};

	return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
