#include "beads/lost.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/line.h"
#include "beads/model/state.h"

enum { NOTED_MOST = 1 << 20 }; /* bytes; more is not noted until the next sync */

static struct str claims_path(struct call *c, struct str home)
{
	return path_join(&c->mem, home, STR("claims.jsonl"));
}

static struct str lost_path(struct call *c, struct str home, struct str actor)
{
	struct str name = str_head(sha256_hex(&c->mem, actor), 32);

	return path_join(&c->mem, path_join(&c->mem, home, STR("lost")),
			 arena_fmt(&c->mem, STR_FMT ".jsonl", STR_ARG(name)));
}

/* --- claims that were made here --- */

/* A claim as this clone knows it. */
struct claim_note {
	struct str id, holder;
	struct mark created; /* of the bead, which may get another id; absent in older files */
	struct stamp epoch;
	int64_t until_ms; /* 0: there is no live lease */
};

static void note_encode(struct buf *out, const struct claim_note *n)
{
	struct json j = json_new(out->mem);

	json_object(&j);
	json_put_str(&j, "id", n->id);
	json_put_str(&j, "holder", n->holder);
	if (n->created.by.p) {
		json_key(&j, STR("created"));
		mark_encode(&j, n->created);
	}
	json_key(&j, STR("epoch"));
	stamp_encode(&j, n->epoch);
	json_put_int(&j, "until_ms", n->until_ms);
	json_end(&j);
	buf_put(out, json_text(&j));
	buf_char(out, '\n');
}

static bool note_decode(struct arena *mem, struct str line, struct claim_note *out)
{
	const struct value *v = value_read(mem, line);

	*out = (struct claim_note){ .id = value_str(v, "id"), .holder = value_str(v, "holder") };
	if (!mark_decode(value_find(v, "created"), &out->created))
		out->created = (struct mark){ 0 };
	return out->id.p && out->holder.p && stamp_decode(value_find(v, "epoch"), &out->epoch) &&
	       value_int(v, "until_ms", &out->until_ms);
}

/* The actor's changes to the claim of a bead: it claimed, renewed, reassigned or ended it. */
static void add_note(struct call *c, const struct bead *b, struct buf *out)
{
	struct claim_note note = { .id = b->id,
				   .holder = bead_text(&c->mem, b, MEMBER_ASSIGNEE),
				   .created = b->created,
				   .epoch = bead_stamp(b, MEMBER_ASSIGNEE_AT),
				   .until_ms = bead_int(b, MEMBER_ASSIGNEE_EXPIRES, 0) };

	if (!str_eq(b->mark[REG_ASSIGNEE].by, c->actor))
		return;
	/* a bead that was created without an assignee was never claimed */
	if (!note.holder.p && !stamp_cmp(b->mark[REG_ASSIGNEE].at, b->created.at))
		return;
	if (!note.holder.p)
		note = (struct claim_note){ .id = b->id,
					    .holder = c->actor,
					    .created = b->created };
	note_encode(out, &note);
}

static void lost_put_notes(struct call *c, struct beads *b, struct buf *lines)
{
	if (lines->n && file_size(&c->mem, claims_path(c, b->home)) < NOTED_MOST)
		file_append_hint(c, claims_path(c, b->home), buf_str(lines), 0600);
}

void lost_note_claim(struct call *c, struct beads *b, const struct bead_row *row,
		     struct stamp epoch)
{
	struct buf lines = { .mem = &c->mem };
	struct claim_note note = {
		.id = row->id, .holder = row->assignee, .epoch = epoch, .until_ms = row->lease
	};
	struct bead now;
	struct str why;

	if (line_decode(&c->mem, value_read(&c->mem, row->line), &now, &why))
		note.created = now.created;
	if (row->assignee.p && row->lease)
		note_encode(&lines, &note);
	lost_put_notes(c, b, &lines);
}

void lost_note(struct call *c, struct beads *b)
{
	struct buf lines = { .mem = &c->mem };

	for (size_t i = 0; i < b->change->slots.count; i++) {
		const struct slot *slot = b->change->slots.entry[i].value;

		if (slot->bead && slot->bead->mark[REG_ASSIGNEE].by.p)
			add_note(c, slot->bead, &lines);
	}
	lost_put_notes(c, b, &lines);
}

/* --- the state of a claim now --- */

/* The id that a bead of this lineage got when it had to leave an id; absent: it did not. */
static enum err lost_find_moved(struct call *c, struct beads *b, const struct claim_note *n,
				struct str *to)
{
	struct str line;
	enum err e = cache_find_tombstone(c, &b->cache, n->id, &line);

	*to = STR_NONE;
	if (e || !line.p)
		return e;
	VALUE_EACH(one, value_find(value_read(&c->mem, line), "remap")) {
		struct mark created = { .by = value_str(one, "created_by") };

		if (stamp_decode(value_find(one, "created_at"), &created.at) &&
		    !mark_cmp(created, n->created))
			*to = value_str(one, "to");
	}
	return ERR_OK;
}

/*
 * Finds the claimed bead, and puts the id that it has now into the note. NULL: it was deleted.
 * Another bead may have its old id, and anybody who can push can make a bead move any number of
 * times.
 */
static enum err lost_find_bead(struct call *c, struct beads *b, struct claim_note *n,
			       struct bead_row **row, struct bead *now)
{
	struct map seen = { .mem = &c->mem };
	struct str why, to;
	enum err e;

	for (;;) {
		if ((e = cache_find_bead(c, &b->cache, n->id, row)))
			return e;
		if (*row && !line_decode(&c->mem, value_read(&c->mem, (*row)->line), now, &why))
			*row = NULL;
		if (*row && !n->created.by.p)
			n->created = now->created;
		if (!n->created.by.p || (*row && !mark_cmp(now->created, n->created)))
			return ERR_OK;
		*row = NULL;
		map_put(&seen, n->id);
		if ((e = lost_find_moved(c, b, n, &to)) || !to.p || map_find(&seen, to))
			return e;
		n->id = to;
	}
}

/*
 * The mark of the write that ended a claim. The assignee decides, not the epoch: another clone
 * chooses its epochs, and may repeat that of the claim.
 */
static struct mark ended_by(struct call *c, const struct bead *b, const struct claim_note *n)
{
	if (!str_eq(bead_text(&c->mem, b, MEMBER_ASSIGNEE), n->holder) ||
	    bead_status(b) != BEAD_CLOSED)
		return b->mark[REG_ASSIGNEE]; /* the lease is in the same register */
	return b->mark[REG_STATUS]; /* it was closed by an actor that did not see the claim */
}

static bool still_held(struct call *c, const struct bead *b, const struct claim_note *n)
{
	return str_eq(bead_text(&c->mem, b, MEMBER_ASSIGNEE), n->holder) &&
	       bead_status(b) != BEAD_CLOSED;
}

/*
 * Does the lease end earlier than the holder was told, or has the claim another epoch? Without a
 * lease, a bead in progress stays claimed, but an open bead does not.
 */
static enum lease_cut lost_cut(const struct bead *b, const struct claim_note *n)
{
	int64_t end = bead_int(b, MEMBER_ASSIGNEE_EXPIRES, 0);

	if (end ? end < n->until_ms : bead_status(b) == BEAD_OPEN)
		return end ? LEASE_SHORTENED : LEASE_ENDED;
	return stamp_cmp(bead_stamp(b, MEMBER_ASSIGNEE_AT), n->epoch) ? LEASE_NEW_EPOCH :
									LEASE_WHOLE;
}

/*
 * A write by the holder is no loss, unless it gives the bead to another agent (`to`): then it was
 * made in another clone, perhaps in the holder's name. Nor is a write after the lease, or one
 * before the claim: that claim was noted, but never made. Other clones choose their stamps, so a
 * stamp after the lease counts only once the lease is over by the local clock, and of two writes
 * with the stamp of the claim the other one may have won.
 */
static bool is_loss(const struct call *c, const struct claim_note *n, struct mark by, struct str to)
{
	bool during = by.at.ms < n->until_ms || c->now_ms < n->until_ms;
	bool others = !str_eq(by.by, n->holder) || (to.p && !str_eq(to, n->holder));

	return by.by.p && others && during && stamp_cmp(by.at, n->epoch) >= 0;
}

static enum err look_deleted(struct call *c, struct beads *b, const struct claim_note *n,
			     struct lost_claim *lost, bool *is)
{
	const struct value *v;
	struct mark by = { 0 };
	struct str line;
	enum err e = cache_find_tombstone(c, &b->cache, n->id, &line);

	if (e)
		return e;
	lost->status = "deleted";
	if (!line.p) { /* old deletions are removed; its date may be false */
		lost->by = STR("somebody");
		*is = c->now_ms < n->until_ms;
		return ERR_OK;
	}
	v = value_read(&c->mem, line);
	by.by = value_str(v, "deleted_by");
	*is = stamp_decode_deletion(value_find(v, "deleted_at"), &by.at) &&
	      is_loss(c, n, by, STR_NONE);
	lost->by = by.by;
	lost->title = value_str(value_find(v, "bead"), "title");
	return ERR_OK;
}

/* `is`: the claim is lost; `holds`: it still holds; neither: it ended properly. */
static enum err lost_look_at(struct call *c, struct beads *b, struct claim_note *n,
			     struct lost_claim *lost, bool *is, bool *holds)
{
	struct bead_row *row;
	struct bead now;
	struct mark by;
	enum err e = lost_find_bead(c, b, n, &row, &now);

	*is = *holds = false;
	*lost = (struct lost_claim){ .id = n->id, .holder = n->holder, .epoch = n->epoch };
	if (e || !row)
		return e ? e : look_deleted(c, b, n, lost, is);
	by = ended_by(c, &now, n);
	lost->title = row->title;
	lost->by = by.by;
	lost->to = row->status == BEAD_CLOSED ? STR_NONE : row->assignee;
	*is = is_loss(c, n, by, lost->to);
	if (still_held(c, &now, n)) {
		lost->cut = *is ? lost_cut(&now, n) : LEASE_WHOLE;
		*is = lost->cut != LEASE_WHOLE;
		*holds = !*is;
		if (row->lease <= c->now_ms)
			lost->to = STR_NONE;
	}
	lost->until_ms = lost->to.p ? row->lease : 0;
	lost->status = names_word(&bead_statuses, row->status);
	return ERR_OK;
}

static void lost_append(struct call *c, struct str home, struct str actor, struct json *j)
{
	struct str path = lost_path(c, home, actor);

	buf_char(&j->out, '\n');
	if (!file_make_folder(c, path_parent(path), 0700))
		file_append_hint(c, path, buf_str(&j->out), 0600);
	call_forgive(c);
}

static void lost_keep(struct call *c, struct str home, const struct lost_claim *lost)
{
	struct json j = json_new(&c->mem);

	lost_encode(&j, lost);
	lost_append(c, home, lost->holder, &j);
}

void lost_keep_scope(struct call *c, struct str home, struct str actor, struct str scope,
		     struct str message)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "scope", scope);
	json_put_str(&j, "message", message);
	json_end(&j);
	lost_append(c, home, actor, &j);
}

/* The notes of one bead under one id have the same key. */
static struct str note_key(struct arena *mem, const struct claim_note *n)
{
	if (!n->created.by.p)
		return n->id;
	return arena_fmt(mem, STR_FMT " %lld.%lld " STR_FMT, STR_ARG(n->id),
			 (long long)n->created.at.ms, (long long)n->created.at.n,
			 STR_ARG(n->created.by));
}

/*
 * The last line of each bead, in the order of the beads' first lines. A line without the lineage of
 * its bead is replaced by any later line of that id.
 */
static struct map lost_read_notes(struct call *c, struct str text)
{
	struct map notes = { .mem = &c->mem };
	struct str line;

	while (str_next(&text, '\n', &line)) {
		struct claim_note *n = arena_new(&c->mem, struct claim_note);
		void **older;

		if (!note_decode(&c->mem, line, n))
			continue;
		if ((older = map_find(&notes, n->id)))
			((struct claim_note *)*older)->until_ms = 0;
		*map_put(&notes, note_key(&c->mem, n)) = n;
	}
	return notes;
}

static enum err lost_check_all(struct call *c, struct beads *b, struct str text, lost_tell *tell,
			       struct lost_claim **out)
{
	struct map notes = lost_read_notes(c, text);
	struct buf left = { .mem = &c->mem };
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < notes.count; i++) {
		struct claim_note *n = notes.entry[i].value;
		struct str id = n->id;
		struct lost_claim *lost = arena_new(&c->mem, struct lost_claim);
		bool is, holds;

		if (!n->until_ms)
			continue;
		if ((e = lost_look_at(c, b, n, lost, &is, &holds)))
			return e;
		if (!str_eq(id, n->id) && map_find(&notes, note_key(&c->mem, n)))
			continue; /* there is a later note, with the new id */
		if (holds)
			note_encode(&left, n);
		if (!is)
			continue;
		lost_keep(c, b->home, lost);
		if (tell)
			tell(c, lost);
		*out = lost;
		out = &lost->next;
	}
	if (str_eq(buf_str(&left), text))
		return ERR_OK;
	return left.n ? file_swap(c, claims_path(c, b->home),
				  path_join(&c->mem, b->home, STR("claims.new")),
				  &(struct str){ left.p, left.n }, 1) :
			file_remove(c, claims_path(c, b->home));
}

enum err lost_check(struct call *c, struct str home, lost_tell *tell, struct lost_claim **out)
{
	struct beads b;
	struct str text;
	enum err e;

	*out = NULL;
	if (file_size(&c->mem, claims_path(c, home)) <= 0)
		return ERR_OK;
	if ((e = beads_open(c, BEADS_WRITE,
			    &b))) /* no other process appends to the file meanwhile */
		return e;
	if (!(e = file_own_read(c, claims_path(c, home), &text)) && text.p)
		e = lost_check_all(c, &b, text, tell, out);
	if (!e)
		e = beads_settle(c, &b);
	beads_close(&b);
	return e;
}

/* --- telling --- */

bool lost_waits(struct call *c, struct str home, struct str actor)
{
	return file_exists(&c->mem, lost_path(c, home, actor));
}

static void lost_put_lines(struct call *c, struct json *list, struct str text)
{
	struct str line;

	while (text.p && str_next(&text, '\n', &line)) {
		const struct value *v = value_read(&c->mem, line);

		if (value_str(v, "message").n)
			json_value(list, v);
	}
}

struct str lost_take(struct call *c, struct str home, struct str actor)
{
	struct json list = json_new(&c->mem);
	struct str text;

	if (file_own_take(c, lost_path(c, home, actor), &text) || !text.p)
		return STR_NONE;
	json_array(&list);
	lost_put_lines(c, &list, text);
	json_end(&list);
	return json_text(&list);
}

struct lost_folder {
	struct call *c;
	struct str dir;
	struct json *list;
};

static void lost_see_file(void *arg, struct str name)
{
	struct lost_folder *f = arg;
	struct str text;

	if (!str_ends(name, STR(".jsonl")))
		return;
	if (!file_own_read(f->c, path_join(&f->c->mem, f->dir, name), &text))
		lost_put_lines(f->c, f->list, text);
	call_forgive(f->c);
}

struct str lost_list(struct call *c, struct str home)
{
	struct json list = json_new(&c->mem);
	struct lost_folder f = { c, path_join(&c->mem, home, STR("lost")), &list };

	json_array(&list);
	file_each(c, f.dir, lost_see_file, &f);
	call_forgive(c);
	json_end(&list);
	return json_text(&list);
}

void lost_encode(struct json *j, const struct lost_claim *lost)
{
	json_object(j);
	json_put_str(j, "id", lost->id);
	json_put_str(j, "title", lost->title);
	json_put_str(j, "holder", lost->holder);
	json_key(j, STR("epoch"));
	stamp_encode(j, lost->epoch);
	json_put_str(j, "status", str_of(lost->status));
	json_put_str(j, "by", lost->by);
	json_put_str(j, "to", lost->to);
	json_put_moment(j, "until", lost->until_ms);
	json_put_str(j, "message", lost_text(j->out.mem, lost));
	json_end(j);
}

struct str lost_text(struct arena *mem, const struct lost_claim *lost)
{
	struct str head = arena_fmt(mem, "the claim of " STR_FMT " on '" STR_FMT "' is lost: ",
				    STR_ARG(lost->holder), STR_ARG(lost->id));

	if (lost->cut)
		return arena_fmt(mem, STR_FMT STR_FMT " %s%s", STR_ARG(head), STR_ARG(lost->by),
				 !lost->until_ms ? "ended its lease" :
				 lost->cut == LEASE_NEW_EPOCH ?
						   "changed its epoch; its lease ends at " :
						   "shortened its lease, which ends at ",
				 lost->until_ms ? moment_format(mem, lost->until_ms).p : "");
	if (lost->to.p && lost->until_ms)
		return arena_fmt(mem, STR_FMT STR_FMT " has claimed it until %s", STR_ARG(head),
				 STR_ARG(lost->to), moment_format(mem, lost->until_ms).p);
	if (lost->to.p)
		return arena_fmt(mem, STR_FMT STR_FMT " gave it to " STR_FMT, STR_ARG(head),
				 STR_ARG(lost->by), STR_ARG(lost->to));
	return arena_fmt(mem, STR_FMT STR_FMT " %s it", STR_ARG(head), STR_ARG(lost->by),
			 !strcmp(lost->status, "open")        ? "opened" :
			 !strcmp(lost->status, "in_progress") ? "released" :
								lost->status);
}
