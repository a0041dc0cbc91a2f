/*
 * bd create: makes a bead from its options, or with --file all beads of a Markdown plan, in one
 * change.
 */
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "beads/draft.h"
#include "beads/plan/plan.h"
#include "ops/ops.h"
#include "ops/plan/extension.h"
#include "ops/work/touches.h"
#include "store/db/bead_similar.h"

struct body {
	struct str title, description, body_file, assignee, id, parent, file;
	struct str text[MEMBERS]; /* members with an option of their own */
	struct extension_body extension;
	struct list labels, deps;
	struct touches_body touches;
	int type;
	int64_t priority;
	bool dry_run, if_new;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	{ "title", &kind_line, AT(title), FIELD_PLACE | FIELD_REQUIRED | FIELD_ASSUMED,
	  .flag = "title", .arg = "TITLE", .min = 1, .max = MAX_TITLE, .help = "title" },
	{ "description", &kind_str, AT(description), FIELD_STDIN, .letter = 'd', .also = "body",
	  .max = MAX_TEXT, .help = "description" },
	{ "body_file", &kind_str, AT(body_file), FIELD_CLI | FIELD_FILE, .arg = "FILE",
	  .max = MAX_TEXT, .help = "file to read the description from ('-' reads standard input)" },
	{ "type", &kind_word, AT(type), .letter = 't', .words = &bead_types,
	  .help = "type (default task)" },
	{ "priority", &kind_priority, AT(priority), .letter = 'p',
	  .help = "priority: 0 (most urgent) to 4 (default 2)" },
	{ "labels", &kind_line, AT(labels), FIELD_LIST | FIELD_COMMAS, .also = "label",
	  .letter = 'l', .arg = "A,B", .min = 1, .max = MAX_WORD, .help = "labels" },
	TOUCHES_FIELD(struct body, touches, 0, "files and folders that it will change"),
	{ "assignee", &kind_line, AT(assignee), .letter = 'a', .arg = "NAME", .max = MAX_NAME,
	  .help = "assignee" },
	{ "deps", &kind_str, AT(deps), FIELD_LIST | FIELD_COMMAS, .arg = "KIND:ID",
	  .help = "dependencies, such as blocks:ID or discovered-from:ID" },
	{ "parent", &kind_bead, AT(parent), .help = "parent bead" },
#define TEXT(NAME, key, place, flags, ...) TEXT_FIELD(struct body, NAME, __VA_ARGS__),
#define LINE(NAME, key, place, flags, ...) LINE_FIELD(struct body, NAME, __VA_ARGS__),
#include "beads/model/members.def"
	EXTENSION_FIELDS(struct body, extension),
	{ "id", &kind_new_bead, AT(id), .help = "id (default: generated)" },
	{ "if_new", &kind_bool, AT(if_new), FIELD_CLI,
	  .help = "refuse if the title of an open bead is at least 90% similar" },
	{ "dry_run", &kind_bool, AT(dry_run), FIELD_CLI, .role = ROLE_DRY_RUN,
	  .help = "show the result without creating anything" },
	{ "file", &kind_str, AT(file), FIELD_CLI | FIELD_FILE, .letter = 'f', .arg = "FILE.md",
	  .help = "Markdown plan to create beads from" },
	{ 0 },
};

static enum err bead_create_draft(struct call *c, struct beads *b, const struct body *in,
				  struct draft *d)
{
	const struct str *dep = in->deps.item;
	struct bead_row *row;
	enum err e;

	if (in->description.p && in->body_file.p)
		return call_fail(c, ERR_INVALID_INPUT, TWO_PLACES, "--description", "--body-file");
	if (!in->title.p)
		return call_fail(c, ERR_USAGE, "%s is missing", c->wire ? "title" : "TITLE");
	*d = (struct draft){
		.assignee = in->assignee,
		.id = in->id,
		.type = in->type < 0 ? BEAD_TASK : in->type,
		.priority = in->priority == ABSENT ? 2 : in->priority,
		.labels = in->labels.item,
		.label_count = in->labels.n,
	};
	memcpy(d->text, in->text, sizeof d->text);
	d->text[MEMBER_TITLE] = in->title;
	d->text[MEMBER_DESCRIPTION] = in->body_file.p ? in->body_file : in->description;
	if ((e = extension_values(c, &in->extension, d->extension)) ||
	    (e = touches_value(c, b, &in->touches.set, &d->extension[MEMBER_TOUCHES])))
		return e;
	for (size_t i = 0; i < in->deps.n; i++)
		if ((e = draft_need_text(c, d, dep[i])))
			return e;
	if (!in->parent.p)
		return ERR_OK;
	if ((e = find_bead(c, b, in->parent, &row)))
		return e;
	draft_need(c, d, str_of(names_word(&edge_kinds, EDGE_PARENT)), row->id);
	return ERR_OK;
}

static bool bead_create_only_file(const struct body *in)
{
	const struct extension_body *x = &in->extension;

	for (int i = 0; i < MEMBERS; i++)
		if (in->text[i].p)
			return false;
	if (x->due != ABSENT || x->defer != ABSENT || x->estimate != ABSENT || x->metadata.p ||
	    x->notes.p || x->spec_id.p)
		return false;
	return !in->title.p && !in->description.p && !in->body_file.p && !in->assignee.p &&
	       !in->id.p && !in->labels.n && !in->deps.n && !in->touches.set.n && in->type < 0 &&
	       in->priority == ABSENT;
}

static enum err bead_create_reply(struct call *c, struct beads *b, struct str id,
				  const struct similar *similar, size_t count, struct json *reply)
{
	struct shape shape = { .brief = c->terse };
	struct bead_row *row;
	enum err e = cache_find_bead(c, &b->cache, id, &row);

	if (e || !row)
		return e;
	json_object(reply);
	public_put(reply, row, &shape);
	if (count)
		json_put_array(reply, "similar");
	for (size_t i = 0; i < count; i++) {
		json_object(reply);
		json_put_str(reply, "id", similar[i].id);
		json_put_str(reply, "title", similar[i].title);
		json_put_int(reply, "score", similar[i].score);
		json_end(reply);
	}
	if (count)
		json_end(reply);
	json_end(reply);
	return e;
}

static enum err bead_create_refuse(struct call *c, const struct similar *same)
{
	call_fail(c, ERR_ALREADY_EXISTS, "'" STR_FMT "' is nearly the same (%d%%): " STR_FMT,
		  STR_ARG(same->id), same->score, STR_ARG(same->title));
	return call_step(c,
			 "Look at it with 'bd show " STR_FMT "', or create yours without --if-new.",
			 STR_ARG(spawn_word(&c->mem, same->id)));
}

/* The beads that a plan's bead waits for, so that a preview can show the order. */
static void bead_create_put_blockers(struct json *reply, const struct bead_row *row)
{
	struct str rest = row->waits, id;

	json_put_array(reply, "blocked_by");
	while (str_next(&rest, ',', &id))
		json_str(reply, id);
	json_end(reply);
}

static enum err bead_create_reply_plan(struct call *c, struct beads *b,
				       const struct bead_plan *plan, struct json *reply)
{
	struct shape shape = { .brief = c->terse };
	struct bead_row *row;
	enum err e = ERR_OK;

	json_array(reply);
	for (const struct plan_bead *one = plan->first; !e && one; one = one->next) {
		if ((e = cache_find_bead(c, &b->cache, one->draft.id, &row)) || !row)
			continue;
		json_object(reply);
		public_put(reply, row, &shape);
		bead_create_put_blockers(reply, row);
		json_end(reply);
	}
	json_end(reply);
	return e;
}

static enum err bead_create_plan(struct call *c, struct beads *b, const struct body *in,
				 struct json *reply)
{
	struct state *change = state_new(&c->mem);
	struct bead_row *parent = NULL;
	struct bead_plan plan;
	enum err e;

	if (!bead_create_only_file(in))
		return call_fail(c, ERR_INVALID_INPUT,
				 "--file can't be combined with options that describe a single "
				 "bead");
	if ((in->parent.p && (e = find_bead(c, b, in->parent, &parent))) ||
	    (e = plan_parse(c, in->file, &plan)) ||
	    (e = plan_put(c, b, &plan, parent ? parent->id : STR_NONE, change)) ||
	    (e = beads_put(c, b, change)))
		return e;
	if (plan.done)
		call_warn(c, "%zu task%s of the file %s checked, and left out", plan.done,
			  plan.done == 1 ? "" : "s", plan.done == 1 ? "is" : "are");
	return bead_create_reply_plan(c, b, &plan, reply);
}

static enum err bead_create_one(struct call *c, struct beads *b, const struct body *in,
				struct json *reply)
{
	struct state *change = state_new(&c->mem);
	struct similar similar[SIMILAR_MOST];
	struct draft one;
	size_t count = 0;
	enum err e;

	if ((e = bead_create_draft(c, b, in, &one)) ||
	    (e = similar_find(c, &b->cache, in->title, similar, &count)))
		return e;
	if (in->if_new && count && similar[0].score >= SIMILAR_SAME)
		return bead_create_refuse(c, similar);
	if ((e = draft_put(c, b, &one, change)) || (e = beads_put(c, b, change)))
		return e;
	return bead_create_reply(c, b, one.id, similar, count, reply);
}

static enum err bead_create_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	enum err e = in->file.p ? bead_create_plan(c, s->beads, in, reply) :
				  bead_create_one(c, s->beads, in, reply);

	if (!e && in->dry_run)
		beads_forget(s->beads);
	return e;
}

const struct op op_bead_create = {
	.name = "bead create",
	.help = "Create a bead",
	.more = "Prints the new bead. With --silent, or as 'bd q TITLE', it prints only the id.\n\n"
		"With --file, all beads of a Markdown plan are created, or none: '# Title' is an "
		"epic, '## Title' a task of the epic above it. The text below a title is its "
		"description. Lines such as 'needs: Other title, bd-a1b2', 'labels: a, b', "
		"'priority: 1' and 'type: bug' at the start of a paragraph are fields, and a "
		"checklist ('- [ ] ...') is its acceptance criteria. --parent puts the plan below "
		"an existing bead, --dry-run shows the tree. The tasks.md of spec-kit and "
		"OpenSpec is read too: phases become epics, and the order of the tasks becomes "
		"dependencies; checked tasks are left out.",
	.examples = "bd create \"Parser fails on empty input\" -t bug -p 1 -l parser\n"
		    "bd create \"Found on the way\" --deps discovered-from:bd-a1b2 --json\n"
		    "bd create -f plan.md",
	.flags = BEAD_WRITE | OP_CREATES,
	OP_BODY(struct body, fields),
	.reply = &bead_reply,
	.run = bead_create_run,
};
