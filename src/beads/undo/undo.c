/*
 * Restores what the actor's last change has replaced. Each bead and each edge is a step of its own,
 * which is joined to the cache before the next one, so that every rule is checked against the
 * result of the steps before.
 */
#include "beads/undo/undo.h"

#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/claim.h"
#include "beads/edit.h"
#include "beads/model/state.h"
#include "beads/undo/undo_log.h"

struct undo {
	struct call *c;
	struct beads *b;
	const struct undo_options *options;
	struct state *before, *after; /* of the change that is undone */
	struct bead_row *batch;       /* the beads that it changed and that exist now */
	struct json beads, deps;      /* what the undo does */
	struct str comment;           /* a bead that got a comment; or absent */
	struct str renewed;           /* a bead whose lease was renewed; or absent */
	size_t steps;
};

/* --- the last change --- */

static enum err undo_visit(struct call *c, const struct journal_record *r, void *arg)
{
	(void)c;
	undo_log_add(arg, r->json);
	return ERR_OK;
}

static enum err undo_nothing(struct call *c)
{
	call_fail(c, ERR_NOT_FOUND, "there is no change by '" STR_FMT "' to undo in this clone",
		  STR_ARG(c->actor));
	return call_step(c, "Only the last change of each actor is kept, in the clone where it was "
			    "made. 'bd history ID' shows the published changes of a bead.");
}

static bool undo_read_state(const struct value *v, struct state *out)
{
	static const struct {
		const char *key;
		bool (*read)(struct state *s, const struct value *line, struct str *why);
	} part[] = { { "tombstones", state_read_tombstone },
		     { "beads", state_read_bead },
		     { "deps", state_read_edge } };
	struct str why;

	for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
		const struct value *list = value_find(v, part[i].key);

		VALUE_EACH(one, list)
			if (!part[i].read(out, one, &why))
				return false;
	}
	return true;
}

/* The journal has the note, so neither a sync nor a lost cache changes what is found. */
static enum err undo_find(struct undo *u)
{
	struct call *c = u->c;
	struct undo_log log = { .mem = &c->mem, .actor = c->actor };
	struct journal_place place = { 0 };
	enum err e = journal_each(c, u->b->home, &place, undo_visit, &log);
	const struct value *note, *final;
	struct str text = undo_log_find(&log, c->actor);

	arena_release(&log.scratch);
	if (e)
		return e;
	if (!text.p)
		return undo_nothing(c);
	u->before = state_new(&c->mem);
	u->after = state_new(&c->mem);
	note = value_read(&c->mem, text);
	if (!note || !undo_read_state(value_find(note, "before"), u->before) ||
	    !undo_read_state(value_find(note, "after"), u->after))
		return call_fail(c, ERR_DAMAGED, "the journal's note for 'bd undo' is damaged");
	final = value_find(note, "final");
	if (!final || !final->yes)
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT,
		  "your last change was an import or a repair, which can't be undone");
	return call_step(c, "'bd history ID' shows the published changes of a bead.");
}

/* --- changes since --- */

static enum err undo_refuse(struct undo *u, struct str id, const char *what, struct mark by)
{
	struct call *c = u->c;
	struct json j = json_new(&c->mem);
	struct str at = moment_format(&c->mem, by.at.ms);

	json_object(&j);
	json_put_str(&j, "id", id);
	json_put_str(&j, "change", str_of(what));
	json_put_str(&j, "by", by.by);
	json_put_str(&j, "at", at);
	json_end(&j);
	call_fail(c, ERR_CAS_MISMATCH,
		  "your last change can't be undone: " STR_FMT " %s '" STR_FMT "' since, at %s",
		  STR_ARG(by.by), what, STR_ARG(id), at.p);
	call_step(c, "To see what it is now: bd show " STR_FMT, STR_ARG(spawn_word(&c->mem, id)));
	return call_detail(c, json_text(&j));
}

static enum err undo_refuse_deleted(struct undo *u, struct str id, struct mark by)
{
	undo_refuse(u, id, "deleted", by);
	return call_step(u->c, "To restore it: bd undelete " STR_FMT,
			 STR_ARG(spawn_word(&u->c->mem, id)));
}

static enum err undo_expect(struct undo *u, struct str id, const char *what, struct mark written,
			    struct mark now)
{
	if (u->options->force || !mark_cmp(written, now))
		return ERR_OK;
	undo_refuse(u, id, what, now);
	return call_step(u->c,
			 "Look at it with 'bd show " STR_FMT
			 "'. To undo your change nevertheless: bd undo --force",
			 STR_ARG(spawn_word(&u->c->mem, id)));
}

/* --- what the undo does --- */

static void undo_begin_bead(struct undo *u, struct str id, struct str title, const char *change)
{
	struct json *j = &u->beads;

	json_object(j);
	json_put_str(j, "id", id);
	json_put_str(j, "title", title);
	json_put_str(j, "change", str_of(change));
	json_put_array(j, "fields");
	u->steps++;
}

static void undo_end_bead(struct undo *u)
{
	json_end(&u->beads);
	json_end(&u->beads);
}

static void undo_put_field(struct undo *u, struct str name, struct str old, struct str new)
{
	if (str_eq(old, new))
		return;
	json_object(&u->beads);
	json_put_str(&u->beads, "field", name);
	json_put_raw(&u->beads, "old", old);
	json_put_raw(&u->beads, "new", new);
	json_end(&u->beads);
}

static void undo_put_edit(struct undo *u, const struct edit *e)
{
	const struct bead *change = &e->change;

	undo_begin_bead(u, e->row->id, e->row->title, "updated");
	for (int i = 0; i < MEMBERS; i++)
		if (bead_mark(change, member_reg((enum member)i)).by.p)
			undo_put_field(u, str_of(names_word(&bead_members, i)),
				       bead_member(&e->now, (enum member)i),
				       bead_member(change, (enum member)i));
	for (size_t i = 0; i < change->extras; i++)
		undo_put_field(u, change->extra[i].key,
			       edit_extra_now(e, arena_cstr(&u->c->mem, change->extra[i].key)),
			       change->extra[i].value);
	undo_end_bead(u);
}

/* --- beads --- */

/* Every write by the claim's actor renews the lease; the claim itself does not change. */
static bool undo_is_renewal(const struct bead *before, const struct bead *after)
{
	return after->member[MEMBER_ASSIGNEE_EXPIRES].p &&
	       str_eq(before->member[MEMBER_ASSIGNEE], after->member[MEMBER_ASSIGNEE]) &&
	       str_eq(before->member[MEMBER_ASSIGNEE_AT], after->member[MEMBER_ASSIGNEE_AT]);
}

static enum err undo_set_status(struct edit *e, const struct bead *before)
{
	bool closes = bead_status(before) == BEAD_CLOSED && bead_status(&e->now) != BEAD_CLOSED;
	enum err err = closes ? edit_may_close(e) : claim_permit(e);

	for (int i = 0; !err && i < MEMBERS; i++)
		if (member_reg((enum member)i) == REG_STATUS)
			edit_set(e, (enum member)i, bead_member(before, (enum member)i));
	return err;
}

static enum err undo_set_register(struct edit *e, const struct bead *before, enum reg reg)
{
	if (reg == REG_STATUS)
		return undo_set_status(e, before);
	if (reg == REG_ASSIGNEE) {
		claim_restore(e, before);
		return ERR_OK;
	}
	for (int i = 0; i < MEMBERS; i++)
		if (member_reg((enum member)i) == reg)
			edit_set(e, (enum member)i, bead_member(before, (enum member)i));
	return ERR_OK;
}

static struct mark undo_extra_mark(const struct bead *b, struct str key)
{
	for (size_t i = 0; i < b->extras; i++)
		if (str_eq(b->extra[i].key, key))
			return b->extra[i].mark;
	return (struct mark){ 0 };
}

static enum err undo_set_extras(struct undo *u, struct edit *e, const struct bead *before,
				const struct bead *after)
{
	enum err err = ERR_OK;

	for (size_t i = 0; !err && i < before->extras; i++) {
		struct str key = before->extra[i].key, value = before->extra[i].value;

		err = undo_expect(u, after->id, "changed", undo_extra_mark(after, key),
				  undo_extra_mark(&e->now, key));
		edit_extra(e, arena_cstr(&u->c->mem, key),
			   str_is(value, "null") ? STR_NONE : value);
	}
	return err;
}

static enum err undo_update(struct undo *u, struct edit *e, const struct bead *before,
			    const struct bead *after)
{
	struct state *change = state_new(&u->c->mem);
	enum err err = ERR_OK;

	for (int r = 0; !err && r < REGS; r++) {
		const char *what =
			arena_fmt(&u->c->mem, "changed the %s of", reg_word((enum reg)r)).p;

		if (!bead_mark(after, (enum reg)r).by.p)
			continue;
		if (r == REG_ASSIGNEE && undo_is_renewal(before, after)) {
			u->renewed = after->id;
			continue;
		}
		if (!(err = undo_expect(u, after->id, what, bead_mark(after, (enum reg)r),
					bead_mark(&e->now, (enum reg)r))))
			err = undo_set_register(e, before, (enum reg)r);
	}
	if (err || (err = undo_set_extras(u, e, before, after)))
		return err;
	if (bead_blank(&e->change))
		return ERR_OK;
	undo_put_edit(u, e); /* without the new end of the holder's lease */
	edit_end(e, change);
	return beads_put(u->c, u->b, change);
}

/* Edges that others have added to a bead would lose their meaning with it. */
static enum err undo_check_edges(struct undo *u, const struct bead *after)
{
	struct edge_row *row;
	enum err e = cache_edges_of(u->c, &u->b->cache, after->id, &row);

	for (; !e && row; row = row->next) {
		struct edge edge;
		struct str why;

		if (!row->active ||
		    !edge_decode(&u->c->mem, value_read(&u->c->mem, row->line), &edge, &why) ||
		    map_find(&u->after->edges, edge_key(&u->c->mem, &edge)) ||
		    mark_cmp(edge.life, bead_top(after)) < 0)
			continue;
		e = undo_expect(u, after->id, "added a dependency to", (struct mark){ 0 },
				edge.life);
	}
	return e;
}

/* For a bead that the change has created or restored. */
static enum err undo_creation(struct undo *u, struct edit *e, const struct bead *before,
			      const struct bead *after)
{
	struct state *change = state_new(&u->c->mem);
	struct bead reason = { .member[MEMBER_TITLE] = before ? before->reason : STR_NONE };
	enum err err;

	if ((err = undo_expect(u, after->id, "changed", bead_top(after), bead_top(&e->now))) ||
	    (err = undo_check_edges(u, after)) ||
	    (err = edit_delete(e, change,
			       before ? bead_text(&u->c->mem, &reason, MEMBER_TITLE) :
					STR("creation undone"))))
		return err;
	undo_begin_bead(u, e->row->id, e->row->title, "deleted");
	undo_end_bead(u);
	return beads_put(u->c, u->b, change);
}

/* For a bead that the change has deleted, or that somebody else has deleted since. */
static enum err undo_restore(struct undo *u, const struct bead *after)
{
	struct call *c = u->c;
	struct state *change = state_new(&c->mem);
	struct mark deleted;
	struct edit e;
	struct str line;
	enum err err = cache_find_tombstone(c, &u->b->cache, after->id, &line);

	if (err || (err = edit_begin_deleted(c, u->b, after->id, line, &e, &deleted)))
		return err;
	if (bead_live(after) || mark_cmp(deleted, after->deleted))
		return undo_refuse_deleted(u, after->id, deleted);
	if (!stamp_has_later(deleted.at)) {
		call_fail(c, ERR_INVALID_INPUT,
			  "'" STR_FMT "' has the highest possible stamp, so it can't get its id "
			  "back",
			  STR_ARG(after->id));
		return call_step(c, "Restore it as a copy: bd undelete " STR_FMT,
				 STR_ARG(spawn_word(&c->mem, after->id)));
	}
	edit_restore(&e, change, deleted);
	undo_begin_bead(u, after->id, bead_text(&c->mem, &e.now, MEMBER_TITLE), "restored");
	undo_end_bead(u);
	return beads_put(c, u->b, change);
}

static enum err undo_bead(struct undo *u, const struct bead *after)
{
	const struct slot *slot = state_find(u->before, after->id);
	const struct bead *before = slot ? slot->bead : NULL;
	struct bead_row *row;
	struct edit e;
	enum err err = cache_find_bead(u->c, &u->b->cache, after->id, &row);

	if (err || bead_blank(after))
		return err;
	if (after->notes)
		u->comment = after->id;
	if (!row)
		return undo_restore(u, after);
	if ((err = edit_begin(u->c, u->b, row, &e)))
		return err;
	e.force = u->options->force;
	e.batch = u->batch;
	if (mark_cmp(e.now.created, after->created))
		return undo_refuse(u, after->id, "created another bead as", e.now.created);
	if (!bead_live(after))
		return undo_refuse(u, after->id, "restored", bead_top(&e.now));
	if (!before || !bead_live(before))
		return undo_creation(u, &e, before, after);
	return undo_update(u, &e, before, after);
}

/* The beads of the change, for rules that look at all beads of a command. */
static enum err undo_collect(struct undo *u)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < u->after->slots.count; i++) {
		const struct slot *slot = u->after->slots.entry[i].value;
		struct bead_row *row;

		if (!slot->bead || bead_blank(slot->bead))
			continue;
		if (!(e = cache_find_bead(u->c, &u->b->cache, slot->id, &row)) && row) {
			row->next = u->batch;
			u->batch = row;
		}
	}
	return e;
}

static enum err undo_beads(struct undo *u)
{
	enum err e = undo_collect(u);

	for (size_t i = 0; !e && i < u->after->slots.count; i++) {
		const struct slot *slot = u->after->slots.entry[i].value;

		if (slot->bead)
			e = undo_bead(u, slot->bead);
	}
	return e;
}

/* --- edges --- */

/* Was the bead created or restored by the change? The undo deletes it, and with it its edges. */
static bool undo_deletes(const struct undo *u, struct str id)
{
	const struct slot *after = state_find(u->after, id), *before = state_find(u->before, id);

	if (!after || !after->bead || bead_blank(after->bead) || !bead_live(after->bead))
		return false;
	return !before || !before->bead || !bead_live(before->bead);
}

static enum err undo_gone(struct undo *u, struct str id)
{
	struct mark deleted;
	struct edit e;
	struct str line;
	enum err err = cache_find_tombstone(u->c, &u->b->cache, id, &line);

	if (err || (err = edit_begin_deleted(u->c, u->b, id, line, &e, &deleted)))
		return err;
	return undo_refuse_deleted(u, id, deleted);
}

static enum err undo_set_edge(struct undo *u, const struct edge *after, bool there)
{
	struct call *c = u->c;
	struct state *change = state_new(&c->mem);
	struct bead_row *from, *to;
	struct edit e;
	enum err err;

	if ((err = cache_find_bead(c, &u->b->cache, after->from, &from)) ||
	    (err = cache_find_bead(c, &u->b->cache, after->to, &to)))
		return err;
	if (!from || !to)
		return undo_gone(u, from ? after->to : after->from);
	if ((err = edit_begin(c, u->b, from, &e)) ||
	    (err = edit_depend(&e, change, to, after->kind, there)))
		return err;
	edit_end(&e, change);
	json_object(&u->deps);
	json_put_str(&u->deps, "change", there ? STR("added") : STR("removed"));
	json_put_str(&u->deps, "from", after->from);
	json_put_str(&u->deps, "to", after->to);
	json_put_str(&u->deps, "kind", after->kind);
	json_end(&u->deps);
	u->steps++;
	return beads_put(c, u->b, change);
}

static enum err undo_edge(struct undo *u, const struct map_entry *entry, bool there)
{
	const struct edge *after = entry->value;
	void **at = map_find(&u->before->edges, entry->key);
	bool was = at && !((const struct edge *)*at)->deleted;
	struct edge now;
	struct str line, why;
	enum err e;

	if (was != there || was == !after->deleted ||
	    (undo_deletes(u, after->from) && undo_deletes(u, after->to)))
		return ERR_OK;
	e = cache_find_edge(u->c, &u->b->cache, after->from, after->to, after->kind, &line);
	if (e)
		return e;
	if (line.p && edge_decode(&u->c->mem, value_read(&u->c->mem, line), &now, &why) &&
	    (e = undo_expect(u, after->from, "changed this dependency of", after->life, now.life)))
		return e;
	return undo_set_edge(u, after, there);
}

static enum err undo_edges(struct undo *u, bool there)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < u->after->edges.count; i++)
		e = undo_edge(u, &u->after->edges.entry[i], there);
	return e;
}

/* --- all of it --- */

static enum err undo_cannot(struct undo *u)
{
	struct call *c = u->c;

	if (u->comment.p) {
		call_fail(c, ERR_INVALID_INPUT,
			  "your last change added a comment to '" STR_FMT
			  "', which can't be undone: comments are append-only",
			  STR_ARG(u->comment));
		return call_step(c, "Correct it with another comment: bd comment " STR_FMT " TEXT",
				 STR_ARG(spawn_word(&c->mem, u->comment)));
	}
	if (!u->renewed.p)
		return undo_nothing(c);
	call_fail(c, ERR_INVALID_INPUT,
		  "your last change only renewed the lease of '" STR_FMT "', which can't be undone",
		  STR_ARG(u->renewed));
	return call_step(c, "To end your claim, run: bd unclaim " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, u->renewed)));
}

static enum err undo_check_expected(struct undo *u, struct stamp at)
{
	if (u->options->expected.ms == INT64_MIN || !stamp_cmp(u->options->expected, at))
		return ERR_OK;
	call_fail(u->c, ERR_CAS_MISMATCH, "your last change is now a different one, made at %s",
		  moment_format(&u->c->mem, at.ms).p);
	return call_step(u->c, "See what would be undone: bd undo --dry-run");
}

enum err undo_run(struct call *c, struct beads *b, const struct undo_options *options,
		  struct json *reply)
{
	struct undo u = { .c = c,
			  .b = b,
			  .options = options,
			  .beads = json_new(&c->mem),
			  .deps = json_new(&c->mem) };
	struct stamp at;
	enum err e = undo_find(&u);

	if (e)
		return e;
	at = state_clock(u.after, INT64_MAX);
	json_array(&u.beads);
	json_array(&u.deps);
	if ((e = undo_check_expected(&u, at)) || (e = undo_edges(&u, false)) ||
	    (e = undo_beads(&u)) || (e = undo_edges(&u, true)))
		return e;
	if (!u.steps)
		return undo_cannot(&u);
	if (u.comment.p)
		call_warn(c, "the comment on '" STR_FMT "' stays: comments are append-only",
			  STR_ARG(u.comment));
	json_end(&u.beads);
	json_end(&u.deps);
	json_key(reply, STR("write"));
	stamp_encode(reply, at);
	json_put_str(reply, "written_at", moment_format(&c->mem, at.ms));
	json_put_raw(reply, "beads", json_text(&u.beads));
	json_put_raw(reply, "dependencies", json_text(&u.deps));
	return ERR_OK;
}
