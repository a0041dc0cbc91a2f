/*
 * A fetched commit and the local data may each be valid, but too large when merged. Then the two
 * versions of a bead are split: the commit's version keeps the id, and the local version becomes a
 * bead of its own. The new id and its lineage are derived from the bead alone, so that all clones
 * that split the same bead make the same copy. A bead that was deleted here stays deleted under
 * both ids.
 */
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "beads/model/edge.h"
#include "beads/model/join.h"
#include "beads/model/line.h"
#include "beads/model/lines.h"
#include "beads/model/state.h"
#include "sync/commits.h"
#include "sync/sync_parts.h"

enum {
	ROUNDS = 8,   /* a copy may not fit either and is then split again */
	SHOWN = 2000, /* columns of a line shown in the report */
};

struct parting {
	struct sync *s;
	struct json *report; /* an open list of lines */
	struct snapshot commit;
	struct snapshot known; /* the base without the split lines; only if `two` */
	bool two;
	struct state *pending;
	size_t count;
	/* members below are reset each round */
	struct merge m;
	struct map done;            /* ids already split in this round */
	struct map gone[FILE_META]; /* keys of lines to drop from `known` */
};

/* --- the local version of a bead --- */

/* A bead with only the members that are never large. */
static struct bead outline_of(const struct bead *b)
{
	static const enum member kept[] = { MEMBER_TITLE, MEMBER_TYPE, MEMBER_PRIORITY };
	struct bead out = { .id = b->id, .created = b->created };

	bead_mark_all(&out, b->created);
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		out.member[kept[i]] = b->member[kept[i]];
		out.mark[member_reg(kept[i])] = b->mark[member_reg(kept[i])];
	}
	out.member[MEMBER_STATUS] = STR("\"open\"");
	return out;
}

static void read_known(struct parting *p, struct str id, struct state *out)
{
	static const enum snapshot_file order[] = { FILE_TOMBSTONES, FILE_STATE };
	struct arena *mem = &p->s->c->mem;

	for (size_t i = 0; p->two && i < sizeof order / sizeof *order; i++) {
		struct str why, line = lines_find(mem, order[i], p->known.file[order[i]], id);

		if (line.n)
			snapshot_take_text(out, order[i], line, false, &why);
	}
}

/* The beads with one id in the base and in the journal. */
static struct state *known_of(struct parting *p, struct str id)
{
	struct state *out = state_new(&p->s->c->mem), *written = state_new(out->mem);
	struct slot *slot = state_find(p->pending, id);

	read_known(p, id, out);
	if (slot) {
		*map_put(&written->slots, id) = slot;
		written->has_every = p->pending->has_every;
		state_add(out, written);
	}
	return out;
}

/* --- removing it from the base and the journal --- */

static void forget_line(struct parting *p, enum snapshot_file file, struct str key)
{
	map_put(&p->gone[file], key);
}

/* Runs at the end of a round, so that each file is copied only once. */
static void drop_forgotten(struct parting *p)
{
	for (int f = 0; p->two && f < FILE_META; f++) {
		struct buf out = { .mem = &p->s->c->mem };
		struct str text = p->known.file[f], line;
		struct arena scratch = { 0 };

		if (!p->gone[f].count)
			continue;
		while (text.n && str_next(&text, '\n', &line)) {
			struct str key = lines_key(&scratch, (enum snapshot_file)f, line);

			if (!map_find(&p->gone[f], key)) {
				buf_put(&out, line);
				buf_char(&out, '\n');
			}
			arena_reset(&scratch);
		}
		arena_release(&scratch);
		p->known.file[f] = out.n ? buf_str(&out) : STR("");
	}
}

/* Forgets the local version of a bead, which now has another id. Only its deletion is kept. */
static void forget_bead(struct parting *p, const struct slot *known, bool same)
{
	struct slot *slot = arena_new(&p->s->c->mem, struct slot);

	forget_line(p, FILE_STATE, known->id);
	forget_line(p, FILE_TOMBSTONES, known->id);
	*slot = (struct slot){ .id = known->id, .every = known->every, .reason = known->reason };
	if (same) {
		slot->bead = arena_new(&p->s->c->mem, struct bead);
		slot->bead->id = known->id;
		slot->bead->created = known->bead->created;
	}
	if (same && !bead_live(known->bead)) {
		slot->bead->deleted = known->bead->deleted;
		slot->bead->reason = known->bead->reason;
	}
	*map_put(&p->pending->slots, known->id) = slot;
}

/* Moves the locally written edges of a bead of another lineage to its new id. */
static void sync_part_move_edges(struct parting *p, struct str from, struct str to)
{
	struct map old = p->pending->edges;

	p->pending->edges = (struct map){ .mem = old.mem };
	for (size_t i = 0; i < old.count; i++) {
		struct edge edge = *(const struct edge *)old.entry[i].value;

		edge.from = str_eq(edge.from, from) ? to : edge.from;
		edge.to = str_eq(edge.to, from) ? to : edge.to;
		state_put_edge(p->pending, &edge);
	}
}

static void forget_edge(struct parting *p, struct str key)
{
	struct map old = p->pending->edges;

	forget_line(p, FILE_DEPS, key);
	p->pending->edges = (struct map){ .mem = old.mem };
	for (size_t i = 0; i < old.count; i++)
		if (!str_eq(old.entry[i].key, key))
			state_put_edge(p->pending, old.entry[i].value);
}

/* Reduces the local meta.json to the members this program writes itself. */
static void forget_meta(struct parting *p)
{
	struct state *own = state_new(&p->s->c->mem);
	struct str sum[FILE_META] = { STR(""), STR(""), STR("") };

	if (!p->two || snapshot_read_meta(p->s->c, &p->known, own))
		return;
	own->meta = STR_NONE;
	p->known.file[FILE_META] = snapshot_meta(own->mem, own, sum);
}

/* --- the copy --- */

/* A repeated request must find the original bead, so the copy drops the request id. */
static void drop_request(struct bead *b)
{
	size_t count = 0;

	for (size_t i = 0; i < b->extras; i++)
		if (!str_is(b->extra[i].key, "request"))
			b->extra[count++] = b->extra[i];
	b->extras = count;
}

static void sync_part_relate(struct parting *p, struct str from, struct str to, struct mark mark)
{
	struct edge edge = { .from = from,
			     .to = to,
			     .kind = str_of(names_word(&edge_kinds, EDGE_RELATED)),
			     .created = mark,
			     .life = mark };

	state_put_edge(p->pending, &edge);
}

static void sync_part_tell(struct parting *p, const struct misfit *misfit, const char *action,
			   struct str why, struct str text)
{
	struct sync *s = p->s;
	enum snapshot_file file;
	size_t line = sync_place_of(s, &p->commit, misfit, &file);

	p->count++;
	json_object(p->report);
	json_put_str(p->report, "file", str_of(snapshot_name(file)));
	json_put_int(p->report, "line", (int64_t)line);
	json_put_str(p->report, "action", str_of(action));
	json_put_str(p->report, "why", why);
	json_put_str(p->report, "text", utf8_shorten(&s->c->mem, text, SHOWN));
	json_end(p->report);
}

static enum err cannot_part(struct parting *p, const struct misfit *misfit)
{
	sync_refuse(p->s, &p->commit, misfit);
	return call_step(p->s->c,
			 "Your own work is safe. Remove the last commit from the remote's ref.");
}

/* Finds the local bead; a remap may have moved it to the id in question. */
static const struct slot *find_known(struct parting *p, struct str id)
{
	const struct slot *known = state_find(known_of(p, id), id);
	const struct map *slots = &p->m.joined->slots;

	for (size_t i = 0; (!known || !known->bead) && i < slots->count; i++) {
		const struct slot *left = slots->entry[i].value;

		for (size_t k = 0; k < left->remaps; k++) {
			const struct slot *other;

			if (!str_eq(left->remap[k].to, id))
				continue;
			other = state_find(known_of(p, left->id), left->id);
			if (other && other->bead &&
			    !mark_cmp(other->bead->created, left->remap[k].created))
				return other;
		}
	}
	return known;
}

/* Makes a complete copy of the local version under a new id. */
static bool copy_known(struct parting *p, const struct slot *known, const struct bead *there,
		       struct bead *out)
{
	struct arena *mem = &p->s->c->mem;
	struct bead outline;

	*out = *known->bead;
	if (there && !bead_whole(out)) {
		outline = outline_of(there);
		bead_join(mem, &outline, known->bead, out);
	}
	bead_own(mem, out); /* the state shares its lists with others */
	out->id = bead_other_id(mem, known->id, (struct mark){ out->created.at, STR("parted") });
	drop_request(out);
	return bead_whole(out);
}

static enum err part_bead(struct parting *p, const struct misfit *misfit)
{
	struct arena *mem = &p->s->c->mem;
	const struct slot *known = find_known(p, misfit->key),
			  *there = state_find(p->m.part[0], misfit->key);
	bool same = known && known->bead && there && there->bead &&
		    !mark_cmp(there->bead->created, known->bead->created);
	struct bead copy;

	if (!known || (known->bead && !bead_top(known->bead).by.p))
		return cannot_part(p, misfit);
	if (!known->bead) { /* the slot has only remaps; those beads have slots of their own */
		forget_bead(p, known, false);
		sync_part_tell(p, misfit, "set_aside", misfit->why, known->id);
		return ERR_OK;
	}
	if (!copy_known(p, known, same ? there->bead : NULL, &copy))
		return cannot_part(p, misfit);
	sync_part_tell(p, misfit, "kept_as",
		       arena_fmt(mem,
				 "'" STR_FMT "' cannot be merged with the local data (" STR_FMT
				 "), which is kept as '" STR_FMT "'",
				 STR_ARG(misfit->key), STR_ARG(misfit->why), STR_ARG(copy.id)),
		       line_text(mem, &copy));
	forget_bead(p, known, same);
	state_put_bead(p->pending, &copy);
	if (!same)
		sync_part_move_edges(p, known->id, copy.id);
	else if (bead_live(&copy))
		sync_part_relate(p, copy.id, known->id, copy.created);
	return ERR_OK;
}

static enum err part_one(struct parting *p, const struct misfit *misfit)
{
	void **seen;

	if (misfit->file == FILE_META) {
		forget_meta(p);
		sync_part_tell(p, misfit, "set_aside",
			       STR("merged with the local members, it would be too large"),
			       STR(""));
		return ERR_OK;
	}
	if (!misfit->key.p) /* a whole file is too large: no single line is at fault */
		return sync_refuse(p->s, &p->commit, misfit);
	if (misfit->file == FILE_DEPS) {
		forget_edge(p, misfit->key);
		sync_part_tell(p, misfit, "set_aside", misfit->why, misfit->key);
		return ERR_OK;
	}
	seen = map_put(&p->done, misfit->key);
	if (*seen) /* the bead is in both files, and was split already */
		return ERR_OK;
	*seen = p;
	return part_bead(p, misfit);
}

static enum err part_all(struct parting *p)
{
	struct call *c = p->s->c;
	enum err e = ERR_OK;

	for (int round = 0; !e; round++) {
		const struct misfit *misfit;

		p->done = (struct map){ .mem = &c->mem };
		for (int f = 0; f < FILE_META; f++)
			p->gone[f] = (struct map){ .mem = &c->mem };
		p->m = (struct merge){ .c = c,
				       .side = { p->commit, p->known },
				       .sides = p->two ? 2 : 1,
				       .change = p->pending };
		if ((e = merge_run(&p->m)) || !(misfit = sync_misfits(p->s, &p->m)))
			return e;
		if (round == ROUNDS)
			return cannot_part(p, misfit);
		for (; !e && misfit; misfit = misfit->next)
			e = part_one(p, misfit);
		drop_forgotten(p);
	}
	return e;
}

/* --- writing the result --- */

/* Writes the commit merged with the local data that was not split. */
static enum err write_joined(struct parting *p, struct str *commit)
{
	struct sync *s = p->s;
	struct merge m = { .c = s->c, .side = { p->commit, p->known }, .sides = 2 };
	bool lost, same;
	enum err e;

	*commit = p->commit.commit;
	if (!p->two)
		return ERR_OK;
	if (repo_reaches(s->repo, *commit, s->base)) {
		e = sync_lost(s, &m, &lost);
	} else {
		e = merge_run(&m);
		lost = m.count || m.meta_changed;
	}
	if (e || !lost)
		return e;
	return sync_write_commit(s, &m, p->commit.commit, commit, &same);
}

/*
 * Moves the refs from the base to the new commit. They must not keep the base: the next sync would
 * merge the split lines in again.
 */
static enum err move_refs(struct parting *p, struct str commit)
{
	struct sync *s = p->s;
	bool known = s->here.p && s->base.p && repo_reaches(s->repo, s->base, s->here),
	     moved = false;
	enum err e = ERR_OK;

	if (!s->here.p || known || repo_reaches(s->repo, commit, s->here))
		e = sync_move_here(s, commit, &moved);
	if (!e && !moved) /* some ref has to keep the commit */
		e = sync_backup(s, commit);
	if (e || !p->two || !s->seen.p || !s->there.p || !repo_reaches(s->repo, commit, s->there) ||
	    !repo_reaches(s->repo, s->base, s->seen))
		return e;
	s->seen = s->there;
	return repo_ref_put(s->c, s->repo, s->tracking, s->there);
}

static enum err move_to(struct parting *p)
{
	struct sync *s = p->s;
	struct str commit;
	enum err e = write_joined(p, &commit);

	if (e || (!repo_reaches(s->repo, commit, s->base) && (e = sync_backup(s, s->base))))
		return e;
	return (e = move_refs(p, commit)) ? e : sync_restart(s, commit, p->pending);
}

/* Holds the writer's lock, so that no command writes to the journal meanwhile. */
static enum err write_parted(struct parting *p)
{
	enum err e = sync_hold(p->s);

	if (e)
		return e;
	e = move_to(p);
	beads_close(&p->s->b);
	return e;
}

enum err sync_part(struct sync *s, struct str commit, bool apply, struct json *report,
		   size_t *count)
{
	struct parting p = { .s = s,
			     .report = report,
			     .two = s->base.p && !str_eq(s->base, commit),
			     .pending = state_new(&s->c->mem) };
	enum err e;

	*count = 0;
	state_add(p.pending, s->pending.change);
	if ((e = commit_read(s->c, s->repo, commit, &p.commit)) ||
	    (p.two && (e = commit_read(s->c, s->repo, s->base, &p.known))) || (e = part_all(&p)))
		return e;
	*count = p.count;
	if (!p.count)
		return ERR_OK;
	s->pending.change = p.pending;
	return apply ? write_parted(&p) : ERR_OK;
}

enum err sync_part_known(struct sync *s, const struct snapshot *known, struct snapshot *all,
			 struct json *report, size_t *count)
{
	struct parting p = { .s = s,
			     .report = report,
			     .commit = *all,
			     .known = *known,
			     .two = true,
			     .pending = state_new(&s->c->mem) };
	enum err e = part_all(&p);

	if (e)
		return e;
	*count = p.count;
	*all = merge_files(&p.m);
	return ERR_OK;
}
