/*
 * What a commit has lost. A commit that goes on from our base should have all that the base has:
 * its own files and the base joined are its own files again. Its writer may have made a mistake,
 * or may want to take something away that others were told is safe. So both are joined, and what
 * the join has and the commit has not is lost; but for deletions that were collected because they
 * are old, which is how tombstones ever go away.
 */
#include "base/text/value.h"
#include "beads/model/lines.h"
#include "sync/commits.h"
#include "sync/sync_parts.h"

enum { COMMITS_MOST = 1000 }; /* that are looked through for a deletion */

/* Deletions are kept for a week at least; clocks may differ by a day. */
static const int64_t COLLECTED_AFTER_MS = INT64_C(6) * 24 * 3600 * 1000;

/* A bead or an edge that the commit lacks. */
struct missing {
	enum snapshot_file file; /* that would tell of its deletion */
	struct str deletion;     /* the latest line there, in a commit between; or absent */
};

struct losing {
	struct sync *s;
	struct merge *m;
	struct map gone;    /* ids whose deletion was collected */
	struct map missing; /* by key: struct missing */
};

static bool sync_lost_collected(struct losing *l, struct str line)
{
	const struct value *v = value_read(&l->s->c->mem, line);
	struct stamp at;

	return v && !value_find(v, "remap") && stamp_decode(value_find(v, "deleted_at"), &at) &&
	       at.ms < l->s->c->now_ms - COLLECTED_AFTER_MS;
}

/* --- what was deleted, and whose deletion was collected since --- */

static void find_missing(struct losing *l)
{
	for (size_t i = 0; i < l->m->count; i++) {
		const struct line_change *change = &l->m->changes[i];
		struct missing *missing;

		if (change->file == FILE_TOMBSTONES || change->old.p || !change->new.p)
			continue;
		missing = arena_new(&l->s->c->mem, struct missing);
		missing->file = change->file == FILE_STATE ? FILE_TOMBSTONES : FILE_DEPS;
		*map_put(&l->missing, change->key) = missing;
	}
}

static void find_deletions(struct losing *l, enum snapshot_file file, struct str text)
{
	struct arena *mem = &l->s->c->mem;

	for (size_t i = 0; text.p && i < l->missing.count; i++) {
		struct missing *missing = l->missing.entry[i].value;
		struct str line;

		if (missing->file != file || missing->deletion.p)
			continue;
		line = lines_find(mem, file, text, l->missing.entry[i].key);
		if (str_has(line, STR("\"deleted_at\":")))
			missing->deletion = arena_copy(mem, line);
	}
}

/* From the commit back to our base: the latest deletion of each thing that is missing. */
static enum err look_between(struct losing *l, enum snapshot_file file)
{
	struct sync *s = l->s;
	struct str at = l->m->side[0].commit, before = { 0 };
	enum err e = ERR_OK;

	for (int n = 0; !e && at.p && !str_eq(at, s->base) && n < COMMITS_MOST; n++) {
		size_t held = repo_held(s->repo);
		struct commit about;
		struct str text, blob;

		if ((e = repo_commit(s->c, s->repo, at, &about)) ||
		    (e = repo_file(s->c, s->repo, at, snapshot_name(file), &text, &blob)))
			return e;
		if (!str_eq(blob, before))
			find_deletions(l, file, text);
		repo_forget_after(s->repo, held);
		before = blob;
		at = about.parent;
	}
	return e;
}

static bool still_there(const struct state *s, const struct line_change *change)
{
	void **edge = map_find(&s->edges, change->key);

	return change->file == FILE_STATE ? slot_live(state_find(s, change->key)) :
					    !((const struct edge *)*edge)->deleted;
}

/* Is it, as we know it, deleted by what a commit between says, and long enough ago? */
static bool was_deleted(struct losing *l, const struct line_change *change)
{
	void **at = map_find(&l->missing, change->key);
	const struct missing *missing = at ? *at : NULL;
	struct state *both = state_new(&l->s->c->mem);
	struct str why;

	return missing && missing->deletion.p && sync_lost_collected(l, missing->deletion) &&
	       snapshot_take_text(both, change->file, change->new, false, &why) &&
	       snapshot_take_text(both, missing->file, missing->deletion, false, &why) &&
	       !still_there(both, change);
}

/* --- which changes are a loss --- */

static bool sync_lost_has_lost_an_end(struct losing *l, struct str key)
{
	struct str from, to;

	str_next(&key, ' ', &from);
	str_next(&key, ' ', &to);
	return map_find(&l->gone, from) || map_find(&l->gone, to);
}

static bool is_collected(struct losing *l, const struct line_change *change)
{
	if (change->old.p || !change->new.p)
		return false;
	if (change->file == FILE_DEPS)
		return sync_lost_collected(l, change->new) || was_deleted(l, change) ||
		       sync_lost_has_lost_an_end(l, change->key);
	if (change->file == FILE_STATE ? !was_deleted(l, change) :
					 !sync_lost_collected(l, change->new))
		return false;
	map_put(&l->gone, change->key);
	return true;
}

/* Does the line only say the same in another way than this program would? */
static bool is_respelled(struct losing *l, const struct line_change *change)
{
	struct arena *mem = &l->s->c->mem;
	const struct value *v =
		change->old.p && change->new.p ? value_read(mem, change->old) : NULL;

	return v && str_eq(snapshot_spelled(mem, change->file, v), change->new);
}

/* Changes are sorted by file, and edges come last: then it is known which ids are gone. */
static void drop_collected(struct losing *l)
{
	size_t count = 0;

	for (size_t i = 0; i < l->m->count; i++)
		if (!is_collected(l, &l->m->changes[i]) && !is_respelled(l, &l->m->changes[i]))
			l->m->changes[count++] = l->m->changes[i];
	l->m->count = count;
}

enum err sync_lost(struct sync *s, struct merge *m, bool *lost)
{
	struct losing l = { .s = s, .m = m, .gone.mem = &s->c->mem, .missing.mem = &s->c->mem };
	enum err e = merge_run(m);

	*lost = false;
	if (e || (!m->count && !m->meta_changed))
		return e;
	find_missing(&l);
	if (l.missing.count &&
	    ((e = look_between(&l, FILE_TOMBSTONES)) || (e = look_between(&l, FILE_DEPS))))
		return e;
	drop_collected(&l);
	*lost = m->count || m->meta_changed;
	return ERR_OK;
}
