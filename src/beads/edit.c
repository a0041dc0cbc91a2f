#include "beads/edit.h"

#include "base/id.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/claim.h"
#include "beads/graph.h"
#include "beads/model/line.h"
#include "beads/model/state.h"
#include "beads/public.h"
#include "store/db/bead_query.h"

/* Makes the mark of the edit later than this one, too. */
static void edit_after(struct edit *e, struct mark known)
{
	if (mark_cmp(e->mark, known) <= 0)
		e->mark = beads_mark_after(e->c, e->b, known);
}

enum err edit_begin(struct call *c, struct beads *b, struct bead_row *row, struct edit *out)
{
	const struct value *line = value_read(&c->mem, row->line);
	struct str why = STR("not JSON");

	*out = (struct edit){ .c = c, .b = b, .row = row, .mark = beads_mark(c, b) };
	if (!line || !line_decode(&c->mem, line, &out->now, &why))
		return call_fail(c, ERR_DAMAGED,
				 "the cache has a wrong entry for '" STR_FMT "': " STR_FMT,
				 STR_ARG(row->id), STR_ARG(why));
	out->change.id = out->now.id;
	out->change.created = out->now.created;
	edit_after(out, bead_top(&out->now));
	return ERR_OK;
}

static enum err edit_refuse_changed(struct edit *e, struct str expected, struct str actual)
{
	struct call *c = e->c;
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "id", e->row->id);
	json_put_str(&j, "expected", expected);
	json_put_str(&j, "actual", actual);
	json_end(&j);
	call_fail(c, ERR_CAS_MISMATCH,
		  "'" STR_FMT "' has changed; its content_hash is now " STR_FMT ", not " STR_FMT,
		  STR_ARG(e->row->id), STR_ARG(actual), STR_ARG(expected));
	call_step(c,
		  "Read it again with 'bd show " STR_FMT
		  " --json', decide again, and pass its content_hash.",
		  STR_ARG(spawn_word(&c->mem, e->row->id)));
	return call_detail(c, json_text(&j));
}

enum err edit_guard(struct edit *e, const struct guard *guard)
{
	struct str hash = guard->if_hash.p ? row_hash(&e->c->mem, e->row) : STR_NONE;

	e->force = guard->force;
	if (guard->if_hash.p && !str_eq(guard->if_hash, hash))
		return edit_refuse_changed(e, guard->if_hash, hash);
	if (guard->epoch.ms != INT64_MIN)
		return claim_check(e, guard->epoch);
	return ERR_OK;
}

/* A register is written as a whole, so its other members are copied. */
static void edit_touch(struct edit *e, enum reg reg)
{
	struct arena *mem = &e->c->mem;

	if (bead_mark(&e->change, reg).by.p)
		return;
	for (int m = 0; m < MEMBERS; m++)
		if (member_reg((enum member)m) == reg)
			bead_put(mem, &e->change, (enum member)m,
				 bead_member(&e->now, (enum member)m));
	bead_put_mark(mem, &e->change, reg, e->mark);
}

void edit_set(struct edit *e, enum member m, struct str text)
{
	enum reg reg = member_reg(m);

	if (!bead_mark(&e->change, reg).by.p && str_eq(text, bead_member(&e->now, m)))
		return;
	edit_touch(e, reg);
	bead_put(&e->c->mem, &e->change, m, text);
}

void edit_text(struct edit *e, enum member m, struct str text)
{
	struct bead made = { 0 };

	bead_put_text(&e->c->mem, &made, m, text);
	edit_set(e, m, bead_member(&made, m));
}

void edit_int(struct edit *e, enum member m, int64_t v)
{
	struct bead made = { 0 };

	bead_put_int(&e->c->mem, &made, m, v);
	edit_set(e, m, bead_member(&made, m));
}

void edit_stamp(struct edit *e, enum member m, struct stamp s)
{
	struct bead made = { 0 };

	bead_put_stamp(&e->c->mem, &made, m, s);
	edit_set(e, m, bead_member(&made, m));
}

void edit_word(struct edit *e, enum member m, const struct names *names, int value)
{
	edit_text(e, m, str_of(names_word(names, value)));
}

void edit_labels(struct edit *e, struct str *labels, size_t count)
{
	edit_set(e, MEMBER_LABELS, labels_encode(&e->c->mem, labels, count));
}

void edit_note(struct edit *e, struct str content)
{
	struct bead *b = &e->change;

	b->note = arena_grow(&e->c->mem, b->note, b->notes * sizeof *b->note,
			     (b->notes + 1) * sizeof *b->note);
	b->note[b->notes++] = (struct note){
		.id = id_random(&e->c->mem, 12),
		.author = e->mark.by,
		.content = content,
		.at = e->mark.at,
	};
}

struct str edit_extra_now(const struct edit *e, const char *key)
{
	for (size_t i = 0; i < e->now.extras; i++)
		if (str_is(e->now.extra[i].key, key) && !str_is(e->now.extra[i].value, "null"))
			return e->now.extra[i].value;
	return STR_NONE;
}

void edit_extra(struct edit *e, const char *key, struct str value)
{
	if (str_eq(edit_extra_now(e, key), value))
		return;
	bead_put_extra(&e->c->mem, &e->change, str_of(key), value.p ? value : STR("null"), e->mark);
}

enum err edit_delete(struct edit *e, struct state *change, struct str reason)
{
	struct bead made = { 0 };
	enum err err = claim_permit(e);

	if (err)
		return err;
	bead_put_text(&e->c->mem, &made, MEMBER_TITLE, reason);
	e->change.deleted = e->mark;
	e->change.reason = made.member[MEMBER_TITLE];
	state_put_bead(change, &e->change);
	return ERR_OK;
}

static enum err edit_nothing_left(struct call *c, struct str id)
{
	call_fail(c, ERR_NOT_FOUND, "'" STR_FMT "' was deleted, and its content was not kept",
		  STR_ARG(id));
	return call_step(c, "The program that deleted the bead did not keep its content. Create "
			    "the bead again under another id.");
}

enum err edit_begin_deleted(struct call *c, struct beads *b, struct str id, struct str tombstone,
			    struct edit *out, struct mark *deleted)
{
	const struct value *line = value_read(&c->mem, tombstone), *bead = value_find(line, "bead");
	struct bead_row *row = arena_new(&c->mem, struct bead_row);

	if (!bead || !stamp_decode_deletion(value_find(line, "deleted_at"), &deleted->at))
		return edit_nothing_left(c, id);
	deleted->by = value_str(line, "deleted_by");
	row->id = id;
	row->line = json_canonical_text(&c->mem, bead);
	return edit_begin(c, b, row, out);
}

void edit_restore(struct edit *e, struct state *change, struct mark deleted)
{
	edit_after(e, deleted);
	edit_touch(e, REG_STATUS);
	state_put_bead(change, &e->now); /* the store may have removed the tombstone */
	state_put_bead(change, &e->change);
}

/* --- closing --- */

/* Open children or blockers, because of which the bead cannot be closed. */
struct open_beads {
	struct str first; /* the first ids, for the message */
	struct json list; /* all ids */
	size_t count;
};

static void open_beads_add(struct edit *e, struct open_beads *open, struct str id)
{
	enum { FEW = 10 };

	if (!open->count)
		json_array(&open->list);
	if (open->count < FEW)
		open->first = arena_fmt(&e->c->mem, STR_FMT "%s" STR_FMT, STR_ARG(open->first),
					open->count ? ", " : "", STR_ARG(id));
	else if (open->count == FEW)
		open->first = arena_fmt(&e->c->mem, STR_FMT ", …", STR_ARG(open->first));
	json_str(&open->list, id);
	open->count++;
}

static enum err edit_refuse_close(struct edit *e, struct open_beads *open, const char *what,
				  const char *key)
{
	struct json j = json_new(&e->c->mem);

	json_end(&open->list);
	json_object(&j);
	json_put_str(&j, "id", e->row->id);
	json_put_raw(&j, key, json_text(&open->list));
	json_end(&j);
	call_fail(e->c, ERR_BLOCKED, "'" STR_FMT "' %s: " STR_FMT, STR_ARG(e->row->id), what,
		  STR_ARG(open->first));
	call_step(e->c,
		  "Run 'bd why " STR_FMT "' to see what blocks it. To close it anyway, "
		  "run the command again with --force.",
		  STR_ARG(spawn_word(&e->c->mem, e->row->id)));
	return call_detail(e->c, json_text(&j));
}

/* Does the same command change this bead, too? */
static bool edit_in_batch(const struct edit *e, struct str id)
{
	for (const struct bead_row *row = e->batch; row; row = row->next)
		if (str_eq(row->id, id))
			return true;
	return false;
}

static enum err edit_check_children(struct edit *e)
{
	struct bead_filter filter = { .parent = e->row->id,
				      .statuses = 1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS,
				      .lean = true };
	struct open_beads open = { .first = STR(""), .list.out.mem = &e->c->mem };
	struct bead_row *row;
	enum err err;

	if (e->force || !e->row->children)
		return ERR_OK;
	if ((err = query_each(e->c, &e->b->cache, &filter, &row)))
		return err;
	for (; row; row = row->next)
		if (!edit_in_batch(e, row->id))
			open_beads_add(e, &open, row->id);
	return open.count ? edit_refuse_close(e, &open, "has open children", "children") : ERR_OK;
}

static enum err edit_check_blockers(struct edit *e)
{
	struct open_beads open = { .first = STR(""), .list.out.mem = &e->c->mem };
	struct str rest = e->row->waits, id;

	if (e->force || !e->row->blockers)
		return ERR_OK;
	while (str_next(&rest, ',', &id))
		if (!edit_in_batch(e, id))
			open_beads_add(e, &open, id);
	return open.count ? edit_refuse_close(e, &open, "is blocked by", "blockers") : ERR_OK;
}

enum err edit_may_close(struct edit *e)
{
	enum err err;

	if (bead_status(&e->now) == BEAD_CLOSED)
		return ERR_OK;
	if ((err = claim_permit(e)) || (err = edit_check_children(e)))
		return err;
	return edit_check_blockers(e);
}

enum err edit_close(struct edit *e, struct str reason)
{
	struct str branch;
	enum err err;

	if (bead_status(&e->now) == BEAD_CLOSED)
		return ERR_OK;
	if ((err = claim_permit(e)) || (err = edit_check_children(e)) ||
	    (err = place_branch(e->c, &e->b->repo, &branch)))
		return err;
	edit_word(e, MEMBER_STATUS, &bead_statuses, BEAD_CLOSED);
	edit_stamp(e, MEMBER_CLOSED_AT, e->mark.at);
	edit_text(e, MEMBER_CLOSED_BY, e->mark.by);
	edit_text(e, MEMBER_CLOSED_REASON, reason);
	edit_text(e, MEMBER_CLOSED_ON_BRANCH, branch);
	claim_drop(e);
	return ERR_OK;
}

enum err edit_reopen(struct edit *e, int status)
{
	static const enum member closing[] = { MEMBER_CLOSED_AT, MEMBER_CLOSED_BY,
					       MEMBER_CLOSED_REASON, MEMBER_CLOSED_ON_BRANCH };

	enum err err = claim_permit(e);

	if (err)
		return err;
	edit_word(e, MEMBER_STATUS, &bead_statuses, status);
	for (size_t i = 0; i < sizeof closing / sizeof *closing; i++)
		edit_set(e, closing[i], STR_NONE);
	return ERR_OK;
}

/* Names both ends by their lineage, so that the record has the same meaning in every clone. */
static enum err edit_put_ends(struct edit *e, struct state *change, const struct bead_row *to)
{
	struct bead_row copy = *to;
	struct edit other;
	enum err err = edit_begin(e->c, e->b, &copy, &other);

	if (err)
		return err;
	state_put_bead(change, &other.change);
	state_put_bead(change, &(struct bead){ .id = e->now.id, .created = e->now.created });
	return ERR_OK;
}

enum err edit_edge_at_the_end(struct call *c, struct beads *b, const struct edge *edge)
{
	struct bead_row *from;
	enum err e = cache_find_bead(c, &b->cache, edge->from, &from);

	if (e)
		return e;
	call_fail(c, ERR_INVALID_INPUT,
		  "the dependency of '" STR_FMT "' on '" STR_FMT "' (" STR_FMT
		  ") has the highest possible stamp, so nothing can be written after it",
		  STR_ARG(edge->from), STR_ARG(edge->to), STR_ARG(edge->kind));
	if (!from)
		return call_step(c,
				 "It has no effect, because '" STR_FMT "' is deleted; 'bd deleted' "
				 "shows the reason.",
				 STR_ARG(edge->from));
	return call_step(c,
			 "'bd repair --stamps --apply' copies '" STR_FMT
			 "' to a new bead whose dependencies can be changed, and deletes it.",
			 STR_ARG(edge->from));
}

enum err edit_depend(struct edit *e, struct state *change, const struct bead_row *to,
		     struct str kind, bool there)
{
	struct edge edge = { .from = e->row->id,
			     .to = to->id,
			     .kind = kind,
			     .created = e->mark,
			     .life = e->mark,
			     .deleted = !there };
	struct str line;
	enum err err;

	if (there && (err = graph_check(e->c, e->b, e->row->id, to->id, kind)))
		return err;
	if ((err = cache_find_edge(e->c, &e->b->cache, e->row->id, to->id, kind, &line)))
		return err;
	if (line.p) {
		struct edge old;
		struct str why;
		const struct value *v = value_read(&e->c->mem, line);

		if (v && edge_decode(&e->c->mem, v, &old, &why)) {
			if (old.deleted == !there)
				return ERR_OK;
			edge.created = old.created;
			edge.life = beads_mark_after(e->c, e->b, old.life);
			edge.more = old.more;
			if (!stamp_valid(edge.life.at))
				return edit_edge_at_the_end(e->c, e->b, &edge);
		}
	} else if (!there) {
		return ERR_OK;
	}
	if ((err = edit_put_ends(e, change, to)))
		return err;
	state_put_edge(change, &edge);
	return ERR_OK;
}

/* Drops registers whose values are the same as before. */
static void edit_drop_unchanged(struct edit *e)
{
	for (int r = 0; r < REGS; r++)
		if (bead_mark(&e->change, (enum reg)r).by.p &&
		    bead_same_register(&e->change, &e->now, (enum reg)r))
			bead_drop_register(&e->change, (enum reg)r);
}

void edit_end(struct edit *e, struct state *change)
{
	claim_go_on(e);
	edit_drop_unchanged(e);
	if (e->change.mark[REG_STATUS].by.p && !bead_mark(&e->change, REG_ORIGINAL_STATUS).by.p)
		edit_set(e, MEMBER_ORIGINAL_STATUS, STR_NONE);
	if (!bead_blank(&e->change))
		state_put_bead(change, &e->change);
}
