/*
 * Packs the objects that syncs have written, because each commit adds loose objects. Most runs pack
 * only the commits since the last pack; a full pack replaces the small ones whenever the history
 * has doubled. The names of the small packs are in a file of the store, which a program in a
 * sandbox may have changed, so nothing is removed unless the new pack has it.
 */
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "beads/sync_state.h"
#include "sync/sync_parts.h"

enum {
	PACK_AFTER = 64,    /* new commits before a pack is worthwhile */
	PACK_LOOK = 100000, /* maximum number of commits counted */
};

/* Packs the new commits, or the whole history if it has doubled since the last full pack. */
static enum err pack_some(struct sync *s, struct sync_state *known, int64_t new)
{
	struct call *c = s->c;
	bool all = !known->packed.p || new >= known->packed_commits ||
		   !repo_reaches(s->repo, s->here, known->packed);
	struct str before = all ? STR_NONE : known->packed, pack, old;
	bool ours = known->packed.p && repo_reaches(s->repo, s->here, known->packed);
	enum err e;

	if ((e = repo_pack(c, s->repo, s->here, before, &pack)) ||
	    (e = repo_tidy(c, s->repo, s->here, ours ? known->packed : STR_NONE, pack)))
		return e;
	if (all) {
		struct str rest = known->packs;

		while (!e && ours && rest.n && str_next(&rest, ' ', &old))
			e = repo_replace_pack(c, s->repo, old, pack);
		known->packs = pack;
		known->packed_commits = repo_distance(s->repo, STR_NONE, s->here, INT64_MAX);
	} else {
		known->packs = arena_fmt(&c->mem, STR_FMT " " STR_FMT, STR_ARG(known->packs),
					 STR_ARG(pack));
	}
	known->packed = s->here;
	return e;
}

enum err sync_pack(struct call *c)
{
	struct sync s = { .c = c, .wants = &(const struct sync_wants){ 0 } };
	AUTO_LOCK alone = LOCK_NONE;
	struct sync_state known, now;
	int64_t new;
	enum err e = beads_home(c, &s.b);

	if (e || (e = lock_take(c, path_join(&c->mem, s.b.home, STR("pack.lock")), 0, &alone)) ||
	    (e = sync_open(&s)) || (e = repo_ref(c, s.repo, s.ref, &s.here)) || !s.here.p)
		return e;
	repo_sweep_objects(c, s.repo);
	known = sync_state_read(c, s.b.home);
	new = repo_distance(s.repo, known.packed, s.here, PACK_LOOK);
	if (new < 0) /* history was replaced */
		new = repo_distance(s.repo, STR_NONE, s.here, PACK_LOOK);
	if (new >= PACK_AFTER && !(e = pack_some(&s, &known, new))) {
		now = sync_state_read(c, s.b.home);
		now.packed = known.packed;
		now.packs = known.packs;
		now.packed_commits = known.packed_commits;
		e = sync_state_write(c, s.b.home, &now);
	}
	repo_close(s.repo);
	return e;
}

void sync_pack_later(struct sync *s, struct str commit)
{
	struct call *c = s->c;
	struct str packed = sync_state_read(c, s->b.home).packed;
	const char *argv[] = { arena_cstr(&c->mem, spawn_self(&c->mem)), "pack",
			       arena_cstr(&c->mem, s->b.repo.common), NULL };
	int64_t new = commit.p ? repo_distance(s->repo, packed, commit, PACK_AFTER) : 0;

	if (new < 0 || new >= PACK_AFTER)
		spawn_away(argv);
}
