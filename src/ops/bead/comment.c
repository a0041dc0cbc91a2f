#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

struct body {
	struct str id, text, file, author;
	struct guard guard;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	ID_FIELD(struct body, id),
	{ "text", &kind_str, AT(text), FIELD_PLACE | FIELD_STDIN | FIELD_ASKED, .arg = "TEXT",
	  .min = 1, .max = MAX_TEXT, .help = "text of the comment" },
	{ "file", &kind_str, AT(file), FIELD_CLI | FIELD_FILE, .letter = 'f', .arg = "FILE",
	  .min = 1, .max = MAX_TEXT, .help = "file to read the text from" },
	{ "author", &kind_str, AT(author), FIELD_ACTOR | FIELD_CLI | FIELD_HIDDEN, .arg = "NAME",
	  .min = 1, .max = MAX_NAME, .help = "author of the comment; the same as --as" },
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static void bead_comment_put(struct call *c, struct json *j, struct str bead, const struct note *n)
{
	json_object(j);
	json_put_str(j, "id", n->id);
	json_put_str(j, "issue_id", bead);
	json_put_str(j, "author", n->author);
	json_put_str(j, "text", n->content);
	json_put_str(j, "created_at", moment_of(c, n->at));
	json_end(j);
}

static enum err bead_comment_run(struct call *c, struct stores *s, const void *body,
				 struct json *reply)
{
	const struct body *in = body;
	struct str text = in->file.p ? in->file : in->text;
	struct state *change = state_new(&c->mem);
	struct bead_row *row;
	struct edit edit;
	enum err e;

	if (in->file.p && in->text.p)
		return call_fail(c, ERR_INVALID_INPUT, TWO_PLACES, "TEXT", "--file");
	if (!text.p)
		return call_fail(c, ERR_USAGE, "%s is missing", c->wire ? "text" : "TEXT");
	if ((e = find_bead(c, s->beads, in->id, &row)) ||
	    (e = edit_begin(c, s->beads, row, &edit)) || (e = edit_guard(&edit, &in->guard)))
		return e;
	edit_note(&edit, text);
	bead_comment_put(c, reply, row->id, &edit.change.note[0]);
	edit_end(&edit, change);
	return beads_put(c, s->beads, change);
}

const struct op op_bead_comment = {
	.name = "bead comment",
	.help = "Add a comment to a bead",
	.examples = "bd comment bd-a1b2 \"the test is flaky on macOS\"\n"
		    "git diff --stat | bd comment bd-a1b2 -",
	.flags = BEAD_WRITE,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "comment", comment_props },
	.run = bead_comment_run,
};

/* --- comments --- */

struct bead_comment_list_body {
	struct str id;
};

static const struct field list_fields[] = {
	ID_FIELD(struct bead_comment_list_body, id),
	{ 0 },
};

static enum err bead_comment_run_list(struct call *c, struct stores *s, const void *body,
				      struct json *reply)
{
	const struct bead_comment_list_body *in = body;
	const struct value *notes;
	struct bead_row *row;
	enum err e = find_bead(c, s->beads, in->id, &row);

	if (e)
		return e;
	notes = value_find(value_read(&c->mem, row->line), "notes");
	json_array(reply);
	VALUE_EACH(one, notes) {
		struct note n = { .id = value_str(one, "id"),
				  .author = value_str(one, "author"),
				  .content = value_str(one, "content") };

		stamp_decode(value_find(one, "at"), &n.at);
		bead_comment_put(c, reply, row->id, &n);
	}
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_comments = {
	.name = "bead comments",
	.help = "Show a bead's comments, oldest first",
	.flags = BEAD_READ,
	OP_BODY(struct bead_comment_list_body, list_fields),
	.reply = &(const struct prop){ "comments[]", comment_props },
	.run = bead_comment_run_list,
};
