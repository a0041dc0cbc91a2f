/*
 * bd update: changes the members of beads. Every bead is one edit, and all of them are one change.
 */
#include "base/text/json.h"
#include "beads/claim.h"
#include "ops/ops.h"
#include "ops/plan/extension.h"
#include "ops/work/touches.h"

struct body {
	struct list ids, add_labels, remove_labels, set_labels;
	struct guard guard;
	struct str title, description, body_file, note, assignee, parent;
	struct str text[MEMBERS]; /* members with an option of their own */
	struct extension_body extension;
	struct touches_body touches;
	int status, type;
	int64_t priority, lease, timeout;
	int exclusive;
	bool claim;
};

#define AT(member) offsetof(struct body, member)

static const struct field fields[] = {
	IDS_FIELD(struct body, ids),
	{ "status", &kind_word, AT(status), .letter = 's', .words = &bead_statuses,
	  .help = "new status",
	  .hint = "A bead is blocked by another one with 'bd dep add ID BLOCKER', and put off with "
		  "'bd defer ID'." },
	{ "priority", &kind_priority, AT(priority), .letter = 'p',
	  .help = "priority: 0 (most urgent) to 4" },
	{ "type", &kind_word, AT(type), .letter = 't', .words = &bead_types, .help = "new type" },
	{ "title", &kind_line, AT(title), .min = 1, .max = MAX_TITLE, .help = "title" },
	{ "description", &kind_str, AT(description), FIELD_STDIN, .letter = 'd', .also = "body",
	  .max = MAX_TEXT, .help = "description" },
	{ "body_file", &kind_str, AT(body_file), FIELD_CLI | FIELD_FILE, .arg = "FILE",
	  .max = MAX_TEXT, .help = "file to read the description from ('-' reads standard input)" },
#define TEXT(NAME, key, place, flags, ...) TEXT_FIELD(struct body, NAME, __VA_ARGS__),
#define LINE(NAME, key, place, flags, ...) LINE_FIELD(struct body, NAME, __VA_ARGS__),
#include "beads/model/members.def"
	EXTENSION_FIELDS(struct body, extension),
	{ "append_notes", &kind_str, AT(note), .min = 1, .max = MAX_TEXT,
	  .help = "comment to add" },
	{ "assignee", &kind_line, AT(assignee), .letter = 'a', .arg = "NAME", .max = MAX_NAME,
	  .help = "assignee; \"\" removes it" },
	{ "add_labels", &kind_line, AT(add_labels), FIELD_LIST | FIELD_COMMAS, .flag = "add-label",
	  .arg = "LABEL", .min = 1, .max = MAX_WORD, .help = "labels to add" },
	{ "remove_labels", &kind_str, AT(remove_labels), FIELD_LIST | FIELD_COMMAS,
	  .flag = "remove-label", .arg = "LABEL", .help = "labels to remove" },
	{ "set_labels", &kind_line, AT(set_labels), FIELD_LIST | FIELD_COMMAS, .arg = "A,B",
	  .max = MAX_WORD, .help = "labels that replace the present ones" },
	TOUCHES_FIELD(struct body, touches, FIELD_CLI,
		      "files and folders that it will change; \"\" removes all"),
	TOUCHES_CHANGE_FIELDS(struct body, touches),
	{ "parent", &kind_str, AT(parent), .arg = "BEAD", .help = "parent bead; \"\" removes it" },
	{ "claim", &kind_bool, AT(claim), FIELD_CLAIMS, .role = ROLE_CLAIM,
	  .help = "claim it, as 'bd claim' does" },
	{ "lease", &kind_duration, AT(lease), .help = "lease duration, with --claim" },
	EXCLUSIVE_FIELDS(struct body, exclusive, timeout, FIELD_CLI),
	FORCE_FIELD(struct body, guard,
		    "change the status despite another agent's claim, open blockers or open "
		    "children"),
	GUARD_FIELDS(struct body, guard),
	{ 0 },
};

static bool bead_update_listed(const struct list *list, struct str word)
{
	const struct str *one = list->item;

	for (size_t i = 0; i < list->n; i++)
		if (str_eq(one[i], word))
			return true;
	return false;
}

static void bead_update_set_labels(struct edit *e, const struct body *in)
{
	const struct str *add = in->add_labels.item, *set = in->set_labels.item;
	struct arena *mem = &e->c->mem;
	size_t have, n = 0;
	struct str *now = bead_labels(mem, &e->now, &have);
	struct str *out =
		arena_array(mem, have + in->add_labels.n + in->set_labels.n + 1, sizeof *out);

	if (!in->add_labels.item && !in->remove_labels.item && !in->set_labels.item)
		return;
	for (size_t i = 0; !in->set_labels.item && i < have; i++)
		out[n++] = now[i];
	for (size_t i = 0; i < in->set_labels.n; i++)
		if (set[i].n)
			out[n++] = set[i];
	for (size_t i = 0; i < in->add_labels.n; i++)
		out[n++] = add[i];
	have = n;
	n = 0;
	for (size_t i = 0; i < have; i++)
		if (!bead_update_listed(&in->remove_labels, out[i]))
			out[n++] = out[i];
	edit_labels(e, out, n);
}

/* A bead has one parent, so the other parent edges are removed. */
static enum err bead_update_set_parent(struct edit *e, struct state *change, struct str parent)
{
	struct str kind = str_of(names_word(&edge_kinds, EDGE_PARENT));
	struct bead_row *to = NULL;
	struct link *link;
	enum err err;

	if (parent.n && (err = find_bead(e->c, e->b, parent, &to)))
		return err;
	if ((err = query_links(e->c, &e->b->cache, e->row->id, SIDE_OUT, true, &link)))
		return err;
	for (; link; link = link->next)
		if (str_eq(link->kind, kind) && (!to || !str_eq(link->bead->id, to->id)) &&
		    (err = edit_depend(e, change, link->bead, kind, false)))
			return err;
	return to ? edit_depend(e, change, to, kind, true) : ERR_OK;
}

static enum err bead_update_set_status(struct edit *e, int status)
{
	int now = bead_status(&e->now);
	enum err err;

	if (status >= 0)
		edit_set(e, MEMBER_ORIGINAL_STATUS, STR_NONE);
	if (status < 0 || status == now)
		return ERR_OK;
	if (status == BEAD_CLOSED) {
		err = edit_may_close(e);
		return err ? err : edit_close(e, STR_NONE);
	}
	if ((err = edit_reopen(e, status)))
		return err;
	if (status == BEAD_OPEN && e->now.member[MEMBER_ASSIGNEE_EXPIRES].p)
		claim_drop(e);
	return ERR_OK;
}

static void bead_update_set_texts(struct edit *e, const struct body *in)
{
	struct str description = in->body_file.p ? in->body_file : in->description;

	if (in->title.p)
		edit_text(e, MEMBER_TITLE, in->title);
	if (description.p)
		edit_text(e, MEMBER_DESCRIPTION, description);
	for (int i = 0; i < MEMBERS; i++)
		if (in->text[i].p)
			edit_text(e, (enum member)i, in->text[i]);
	if (in->note.p)
		edit_note(e, in->note);
	if (in->priority != ABSENT)
		edit_int(e, MEMBER_PRIORITY, in->priority);
	if (in->type >= 0)
		edit_word(e, MEMBER_TYPE, &bead_types, in->type);
	if (in->type >= 0)
		edit_set(e, MEMBER_ORIGINAL_TYPE, STR_NONE);
}

static enum err bead_update_step(struct edit *e, struct state *change, const void *body)
{
	const struct body *in = body;
	int64_t lease;
	enum err err;

	if (in->description.p && in->body_file.p)
		return call_fail(e->c, ERR_INVALID_INPUT, TWO_PLACES, "--description",
				 "--body-file");
	bead_update_set_texts(e, in);
	bead_update_set_labels(e, in);
	if ((err = extension_edit(e, &in->extension)) || (err = touches_edit(e, &in->touches)))
		return err;
	if (in->claim && in->status >= 0 && in->status != BEAD_IN_PROGRESS)
		return call_fail(e->c, ERR_INVALID_INPUT,
				 "--claim sets the status to in_progress, so it can't be "
				 "combined with the status %s",
				 names_word(&bead_statuses, in->status));
	if (in->claim &&
	    ((err = lease_of(e->c, e->b, in->lease, &lease)) || (err = claim_take(e, lease))))
		return err;
	if (in->claim && in->assignee.p && !str_eq(in->assignee, e->c->actor))
		return call_fail(e->c, ERR_INVALID_INPUT,
				 "--claim assigns the bead to you, so it can't be combined with "
				 "the assignee '" STR_FMT "'",
				 STR_ARG(in->assignee));
	if ((err = bead_update_set_status(e, in->status)))
		return err;
	if (in->assignee.p && !in->claim)
		claim_assign(e, in->assignee);
	return in->parent.p ? bead_update_set_parent(e, change, in->parent) : ERR_OK;
}

static enum err bead_update_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	const struct body *in = body;
	struct bead_row *rows;
	bool changed;
	enum err e = edit_each(c, s->beads, &in->ids, &in->guard, bead_update_step, body, &rows,
			       &changed);

	return e ? e : edit_encode(c, s->beads, rows, changed, reply);
}

const struct op op_bead_update = {
	.name = "bead update",
	.help = "Update beads",
	.more = "All changes to all beads are made in one step, or none.",
	.examples = "bd update bd-a1b2 --claim --json\n"
		    "bd update bd-a1b2 -p 0 --add-label urgent --append-notes \"customer waits\"\n"
		    "bd update bd-a1b2 --title \"Better\" --if-hash 4f1c…",
	.flags = BEAD_WRITE,
	OP_BODY(struct body, fields),
	.reply = &beads_reply,
	.run = bead_update_run,
};
