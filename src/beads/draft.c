#include "beads/draft.h"

#include "base/text/json.h"
#include "base/text/utf8.h"
#include "beads/edit.h"
#include "beads/find.h"
#include "beads/model/bead.h"
#include "beads/model/state.h"
#include "store/db/bead_query.h"

void draft_need(struct call *c, struct draft *d, struct str kind, struct str id)
{
	d->needs = arena_grow(&c->mem, d->needs, d->need_count * sizeof *d->needs,
			      (d->need_count + 1) * sizeof *d->needs);
	d->needs[d->need_count++] = (struct need){ kind, id };
}

enum err draft_need_text(struct call *c, struct draft *d, struct str text)
{
	struct str rest = text, word;
	int kind = EDGE_BLOCKS;

	str_next(&rest, ':', &word);
	if (rest.p)
		kind = names_value(&edge_kinds, word);
	else
		rest = text;
	if (kind < 0)
		return call_fail(c, ERR_INVALID_INPUT,
				 "'" STR_FMT "' is not a kind of dependency; the kinds are "
				 "blocks, parent, related, discovered_from",
				 STR_ARG(word));
	if (!bead_id_valid(rest))
		return call_fail(c, ERR_INVALID_INPUT,
				 "'" STR_FMT "' is not a dependency: write KIND:ID or ID",
				 STR_ARG(text));
	draft_need(c, d, str_of(names_word(&edge_kinds, kind)), rest);
	return ERR_OK;
}

static enum err draft_choose_id(struct call *c, struct beads *b, const struct state *change,
				struct draft *d)
{
	struct bead_row *row;
	struct str line;
	enum err e;

	if (!d->id.p)
		return find_free_id(c, b, change, &d->id);
	if (d->id.n > ID_CHOSEN_MOST)
		return call_fail(c, ERR_INVALID_INPUT,
				 "the id has %zu characters; at most %d are allowed", d->id.n,
				 ID_CHOSEN_MOST);
	if ((e = cache_find_bead(c, &b->cache, d->id, &row)) ||
	    (e = cache_find_tombstone(c, &b->cache, d->id, &line)))
		return e;
	if (!row && !line.p)
		return ERR_OK;
	return call_fail(c, ERR_ALREADY_EXISTS, "there %s a bead '" STR_FMT "' already",
			 row ? "is" : "was", STR_ARG(d->id));
}

static struct extra *draft_branch(struct call *c, struct str branch, struct mark mark)
{
	struct extra *x = arena_new(&c->mem, struct extra);
	struct json j = json_new(&c->mem);

	json_str(&j, branch);
	*x = (struct extra){ STR("created_on_branch"), json_text(&j), mark };
	return x;
}

/* Each bead of a command is stamped later than the one before, so that the order stays. */
static struct mark draft_mark_of(struct call *c, const struct beads *b, const struct draft *d)
{
	struct mark mark = beads_mark(c, b);

	mark.at.n += d->order;
	return mark;
}

static enum err draft_make_bead(struct call *c, struct beads *b, const struct draft *d,
				struct bead *out)
{
	struct mark mark = draft_mark_of(c, b, d);
	struct arena *mem = &c->mem;
	struct str branch;
	enum err e = place_branch(c, &b->repo, &branch);

	*out = (struct bead){ .id = d->id, .created = mark };
	bead_mark_all(out, mark);
	for (int i = 0; i < MEMBERS; i++)
		if (d->text[i].p)
			bead_put_text(mem, out, (enum member)i, d->text[i]);
	for (int i = 0; i < MEMBERS; i++)
		if (d->extension[i].p && !str_is(d->extension[i], "null")) {
			bead_put(out, (enum member)i, d->extension[i]);
			out->mark[member_reg((enum member)i)] = mark;
		}
	bead_put_text(mem, out, MEMBER_STATUS, str_of(names_word(&bead_statuses, BEAD_OPEN)));
	bead_put_text(mem, out, MEMBER_TYPE, str_of(names_word(&bead_types, d->type)));
	bead_put_int(mem, out, MEMBER_PRIORITY, d->priority);
	bead_put(out, MEMBER_LABELS, labels_encode(mem, d->labels, d->label_count));
	if (d->assignee.n) {
		bead_put_text(mem, out, MEMBER_ASSIGNEE, d->assignee);
		bead_put_stamp(mem, out, MEMBER_ASSIGNEE_AT, mark.at);
	}
	if (!e && branch.p) {
		out->extra = draft_branch(c, branch, mark);
		out->extras = 1;
	}
	if (b->receipt.id.p)
		bead_put_request(mem, out, receipt_key(c, b->receipt.actor, b->receipt.id),
				 b->receipt.args, mark);
	if (d->rank.p)
		bead_put_extra(mem, out, STR("rank"), d->rank, mark);
	if (d->project.p)
		bead_put_extra(mem, out, STR("project"), d->project, mark);
	return e;
}

/* A dependency may be created by the same command, so it is not in the cache yet. */
static enum err draft_find_need(struct call *c, struct beads *b, const struct state *change,
				struct str id, struct bead *out)
{
	const struct slot *slot = state_find(change, id);
	struct bead_row *row;
	struct edit other;
	enum err e;

	*out = (struct bead){ 0 };
	if (slot && slot->bead) {
		*out = (struct bead){ .id = id, .created = slot->bead->created };
		return ERR_OK;
	}
	if ((e = find_bead(c, b, id, &row)) || (e = edit_begin(c, b, row, &other)))
		return e;
	*out = (struct bead){ .id = row->id, .created = other.now.created };
	return ERR_OK;
}

static enum err draft_put_needs(struct call *c, struct beads *b, const struct draft *d,
				struct state *change)
{
	struct mark mark = draft_mark_of(c, b, d);
	enum err e;

	for (size_t i = 0; i < d->need_count; i++) {
		struct edge edge = {
			.from = d->id, .kind = d->needs[i].kind, .created = mark, .life = mark
		};
		struct bead to;

		if ((e = draft_find_need(c, b, change, d->needs[i].id, &to)))
			return e;
		if (str_eq(to.id, d->id))
			return call_fail(c, ERR_SELF_DEPENDENCY,
					 "'" STR_FMT "' cannot depend on itself", STR_ARG(d->id));
		edge.to = to.id;
		state_put_bead(change, &to);
		state_put_edge(change, &edge);
	}
	return ERR_OK;
}

static enum err draft_refuse(struct call *c, const struct draft *d, const char *what,
			     struct str value, const char *step)
{
	call_fail(c, ERR_INVALID_INPUT, "the %s of '" STR_FMT "' cannot be '" STR_FMT "'", what,
		  STR_ARG(utf8_shorten(&c->mem, d->text[MEMBER_TITLE], 60)), STR_ARG(value));
	return call_step(c, "%s", step);
}

static enum err draft_too_long(struct call *c, const struct draft *d, const char *what, size_t most)
{
	call_fail(c, ERR_INVALID_INPUT, "the %s of '" STR_FMT "' is longer than %zu bytes", what,
		  STR_ARG(utf8_shorten(&c->mem, d->text[MEMBER_TITLE], 60)), most);
	return call_step(c, "Shorten the %s; longer text belongs in a comment.", what);
}

static enum err draft_check_line(struct call *c, const struct draft *d, const char *what,
				 struct str text, size_t most)
{
	if (text.n > most)
		return draft_too_long(c, d, what, most);
	if (!utf8_has_control(text))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "the %s '" STR_FMT "' contains control characters", what,
		  STR_ARG(utf8_shorten(&c->mem, text, 60)));
	return call_step(c, "Write the %s on one line, without tabs or escapes.", what);
}

/* Text from a file was not checked by a field of the request. */
static enum err draft_check(struct call *c, const struct draft *d)
{
	enum err e;

	if ((e = draft_check_line(c, d, "title", d->text[MEMBER_TITLE], TITLE_MOST)) ||
	    (e = draft_check_line(c, d, "assignee", d->assignee, NAME_MOST)))
		return e;
	for (size_t i = 0; i < d->label_count; i++)
		if ((e = draft_check_line(c, d, "label", d->labels[i], WORD_MOST)))
			return e;
	for (int i = 0; i < MEMBERS; i++)
		if (d->text[i].n > TEXT_MOST)
			return draft_too_long(c, d, "text", TEXT_MOST);
	return ERR_OK;
}

enum err draft_put(struct call *c, struct beads *b, struct draft *d, struct state *change)
{
	struct bead made;
	enum err e;

	if ((e = draft_check(c, d)) || (e = draft_choose_id(c, b, change, d)) ||
	    (e = draft_make_bead(c, b, d, &made)))
		return e;
	state_put_bead(change, &made);
	return draft_put_needs(c, b, d, change);
}

/* --- Markdown --- */

enum part {
	PART_DESCRIPTION,
	PART_PRIORITY,
	PART_TYPE,
	PART_ASSIGNEE,
	PART_LABELS,
	PART_DEPENDENCIES,
	PARTS, /* the members with an option of their own follow */
};

static bool draft_is_option(struct str head, const char *option)
{
	return option && str_eq(head, str_of(option));
}

/* "acceptance criteria" is acceptance_criteria. */
static bool draft_same_words(struct str head, struct str key)
{
	for (size_t i = 0; i < head.n && i < key.n; i++)
		if (head.p[i] != (key.p[i] == '_' ? ' ' : key.p[i]))
			return false;
	return head.n == key.n;
}

static int draft_part(struct str head)
{
	static const char *const words[] = { "description", "priority", "type",
					     "assignee",    "labels",   "dependencies" };
	static const struct synonym more[] = { { "deps", PART_DEPENDENCIES }, { NULL, 0 } };
	static const struct names names = { words, PARTS, more };
	char lower[32];
	struct str word = { lower, 0 };

	for (; word.n < head.n && word.n < sizeof lower; word.n++) {
		char ch = head.p[word.n];

		lower[word.n] = ch >= 'A' && ch <= 'Z' ? (char)(ch | 0x20) : ch;
	}
	for (int i = 0; i < MEMBERS; i++) {
		const struct member_option *m = member_option((enum member)i);

		if (m->section && (draft_is_option(word, m->option) ||
				   draft_same_words(word, str_of(names_word(&bead_members, i)))))
			return PARTS + i;
	}
	return names_value(&names, word);
}

/* The items of a list, separated by commas or lines, with or without bullets. */
static bool draft_next_item(struct str *rest, struct str *item)
{
	while (rest->n) {
		size_t n = 0;

		while (n < rest->n && rest->p[n] != ',' && rest->p[n] != '\n')
			n++;
		*item = str_trim(str_head(*rest, n));
		*rest = str_skip(*rest, n < rest->n ? n + 1 : n);
		if (item->n && (item->p[0] == '-' || item->p[0] == '*'))
			*item = str_trim(str_skip(*item, 1));
		if (item->n)
			return true;
	}
	return false;
}

static enum err draft_add_needs(struct call *c, struct draft *d, struct str text)
{
	struct str item;
	enum err e = ERR_OK;

	while (!e && draft_next_item(&text, &item))
		e = draft_need_text(c, d, item);
	return e;
}

static enum err draft_set_part(struct call *c, struct draft *d, int part, struct str text)
{
	struct str item;

	text = str_trim(text);
	if (part >= PARTS) {
		d->text[part - PARTS] = text;
		return ERR_OK;
	}
	switch ((enum part)part) {
	case PARTS:
		break;
	case PART_DESCRIPTION:
		if (text.n)
			d->text[MEMBER_DESCRIPTION] = text;
		break;
	case PART_ASSIGNEE:
		d->assignee = text;
		break;
	case PART_PRIORITY:
		return priority_parse(text, &d->priority) ?
			       ERR_OK :
			       draft_refuse(c, d, "priority", text,
					    "Write 0 to 4, or P0 to P4; 0 is the most urgent.");
	case PART_TYPE:
		d->type = names_value(&bead_types, text);
		return d->type < 0 ? draft_refuse(c, d, "type", text,
						  "Write bug, feature, task, epic or chore.") :
				     ERR_OK;
	case PART_LABELS:
		while (draft_next_item(&text, &item)) {
			d->labels = arena_grow(&c->mem, d->labels, d->label_count * sizeof item,
					       (d->label_count + 1) * sizeof item);
			d->labels[d->label_count++] = item;
		}
		break;
	case PART_DEPENDENCIES:
		return draft_add_needs(c, d, text);
	}
	return ERR_OK;
}

enum err draft_parse(struct call *c, struct str text, struct draft **out)
{
	struct draft *d = NULL;
	struct str line;
	const char *from = text.p, *end = text.p + text.n;
	int part = PART_DESCRIPTION;
	bool fenced = false; /* inside a fenced code block */
	enum err e = ERR_OK;

	*out = NULL;
	while (!e && str_next(&text, '\n', &line)) {
		bool bead = str_starts(line, STR("## ")), head = str_starts(line, STR("### "));

		if (str_starts(str_trim(line), STR("```")) ||
		    str_starts(str_trim(line), STR("~~~")))
			fenced = !fenced;
		if (fenced || (!bead && !head))
			continue;
		if (d)
			e = draft_set_part(c, d, part,
					   (struct str){ from, (size_t)(line.p - from) });
		from = line.p + line.n;
		if (bead) {
			d = arena_new(&c->mem, struct draft);
			d->text[MEMBER_TITLE] = str_trim(str_skip(line, 3));
			d->type = BEAD_TASK;
			d->priority = 2;
			*out = d;
			out = &d->next;
			part = PART_DESCRIPTION;
			if (!d->text[MEMBER_TITLE].n)
				e = call_fail(c, ERR_INVALID_INPUT,
					      "a line begins with '##' and has no title");
		} else if (d && (part = draft_part(str_trim(str_skip(line, 4)))) < 0) {
			e = draft_refuse(c, d, "section", str_trim(str_skip(line, 4)),
					 "Sections are Description, Priority, Type, Design, "
					 "Acceptance, Assignee, Labels and Dependencies.");
		}
	}
	if (!e && d && from)
		e = draft_set_part(c, d, part, (struct str){ from, (size_t)(end - from) });
	if (!e && !d)
		e = call_fail(c, ERR_INVALID_INPUT, "the file has no line that begins with '## '");
	return e;
}
