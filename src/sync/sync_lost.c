/*
 * Finds data that a commit has lost. A commit that descends from our base should contain everything
 * the base has, so merging it with the base should change nothing. If its author made a mistake, or
 * removed data that others rely on, the merge has lines that the commit lacks: these are lost. Old
 * deletions are the exception, because collecting them is how tombstones are removed.
 */
#include "base/text/value.h"
#include "beads/model/edge.h"
#include "beads/model/lines.h"
#include "sync/sync_parts.h"

enum { COMMITS_MOST = 1000 }; /* maximum number of commits searched for a deletion */

/* Deletions are kept for at least a week; clocks may differ by a day. */
static const int64_t COLLECTED_AFTER_MS = INT64_C(6) * 24 * 3600 * 1000;

/* A bead or an edge that the commit lacks. */
struct missing {
	enum snapshot_file file; /* the file that would contain its deletion */
	struct str deletion;     /* its latest deletion in the commits since the base; or absent */
};

struct losing {
	struct sync *s;
	struct merge *m;
	struct map gone;    /* ids whose deletion was collected */
	struct map missing; /* by key: struct missing */
	struct arena line;  /* for one change */
};

static bool sync_lost_collected(struct losing *l, struct str line)
{
	const struct value *v = value_read(&l->line, line);
	struct stamp at;

	return v && !value_find(v, "remap") && stamp_decode(value_find(v, "deleted_at"), &at) &&
	       at.ms < l->s->c->now_ms - COLLECTED_AFTER_MS;
}

/* --- deletions that were collected --- */

static void find_missing(struct losing *l)
{
	for (size_t i = 0; i < l->m->count; i++) {
		const struct line_change *change = &l->m->changes[i];
		struct missing *missing;

		if (change->file == FILE_TOMBSTONES || change->old.p || !change->new.p)
			continue;
		missing = arena_new(l->m->mem, struct missing);
		missing->file = change->file == FILE_STATE ? FILE_TOMBSTONES : FILE_DEPS;
		*map_put(&l->missing, change->key) = missing;
	}
}

/* Reads each line once, because a pusher chooses how many lines and how many commits there are. */
static void find_deletions(struct losing *l, enum snapshot_file file, struct str text)
{
	struct arena *mem = l->m->mem, scratch = { 0 };
	struct str line;

	while (text.n && str_next(&text, '\n', &line)) {
		struct missing *missing;
		struct str key;
		void **at;

		arena_reset(&scratch);
		if (!str_has(line, STR("\"deleted_at\":")))
			continue;
		key = lines_key(&scratch, file, line);
		at = key.p ? map_find(&l->missing, key) : NULL;
		missing = at ? *at : NULL;
		if (missing && missing->file == file && !missing->deletion.p)
			missing->deletion = arena_copy(mem, line);
	}
	arena_release(&scratch);
}

/* Walks from the commit back to our base, and finds the latest deletion of each missing line. */
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

/*
 * Whether a commit since the base deleted the line in the version we know, long enough ago to be
 * collected.
 */
static bool was_deleted(struct losing *l, const struct line_change *change)
{
	void **at = map_find(&l->missing, change->key);
	const struct missing *missing = at ? *at : NULL;
	struct state *both = state_new(&l->line);
	struct str why;

	return missing && missing->deletion.p && sync_lost_collected(l, missing->deletion) &&
	       snapshot_take_text(both, change->file, change->new, false, &why) &&
	       snapshot_take_text(both, missing->file, missing->deletion, false, &why) &&
	       !still_there(both, change);
}

/* --- which changes are a loss --- */

static bool is_collected(struct losing *l, const struct line_change *change)
{
	if (change->old.p || !change->new.p)
		return false;
	if (change->file == FILE_DEPS)
		return sync_lost_collected(l, change->new) || was_deleted(l, change) ||
		       edge_key_touches(change->key, &l->gone);
	if (change->file == FILE_STATE ? !was_deleted(l, change) :
					 !sync_lost_collected(l, change->new))
		return false;
	map_put(&l->gone, change->key);
	return true;
}

/* Whether the two lines mean the same and differ only in formatting. */
static bool is_respelled(struct losing *l, const struct line_change *change)
{
	const struct value *v =
		change->old.p && change->new.p ? value_read(&l->line, change->old) : NULL;

	return v && str_eq(snapshot_spelled(&l->line, change->file, v), change->new);
}

/*
 * Changes are sorted by file with the edges last, so the collected ids are known before their edges
 * are checked.
 */
static void drop_collected(struct losing *l)
{
	size_t count = 0;

	for (size_t i = 0; i < l->m->count; i++) {
		arena_reset(&l->line);
		if (!is_collected(l, &l->m->changes[i]) && !is_respelled(l, &l->m->changes[i]))
			l->m->changes[count++] = l->m->changes[i];
	}
	l->m->count = count;
	arena_release(&l->line);
}

enum err sync_lost(struct sync *s, struct merge *m, bool *lost)
{
	struct losing l = { .s = s, .m = m, .gone.mem = m->mem, .missing.mem = m->mem };
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
