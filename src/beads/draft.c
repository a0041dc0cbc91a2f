#include "beads/draft.h"

#include "base/text/json.h"
#include "base/text/utf8.h"
#include "beads/edit.h"
#include "beads/find.h"
#include "beads/model/bead.h"
#include "beads/model/state.h"

void draft_need(struct call *c, struct draft *d, struct str kind, struct str id)
{
	d->needs = arena_room(&c->mem, d->needs, d->need_count, sizeof *d->needs);
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
	if (!bead_id_starts(rest))
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
			bead_put(mem, out, (enum member)i, d->extension[i]);
			bead_put_mark(mem, out, member_reg((enum member)i), mark);
		}
	bead_put_text(mem, out, MEMBER_STATUS, str_of(names_word(&bead_statuses, BEAD_OPEN)));
	bead_put_text(mem, out, MEMBER_TYPE, str_of(names_word(&bead_types, d->type)));
	bead_put_int(mem, out, MEMBER_PRIORITY, d->priority);
	bead_put(mem, out, MEMBER_LABELS, labels_encode(mem, d->labels, d->label_count));
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

enum err draft_put_needs(struct call *c, struct beads *b, const struct draft *d,
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

enum err draft_put_bead(struct call *c, struct beads *b, struct draft *d, struct state *change)
{
	struct bead made;
	enum err e;

	if ((e = draft_check(c, d)) || (e = draft_choose_id(c, b, change, d)) ||
	    (e = draft_make_bead(c, b, d, &made)))
		return e;
	state_put_bead(change, &made);
	return ERR_OK;
}

enum err draft_put(struct call *c, struct beads *b, struct draft *d, struct state *change)
{
	enum err e = draft_put_bead(c, b, d, change);

	return e ? e : draft_put_needs(c, b, d, change);
}
