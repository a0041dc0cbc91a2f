/*
 * Finds the published commit that the journal builds on. The last base record of the journal names
 * it. A journal whose end was lost has an older base record or none, but the ref still has what
 * was published. So the commit of the ref is used if it is a descendant of the base.
 */
#include "beads/beads_parts.h"
#include "beads/config.h"
#include "beads/git_process.h"
#include "beads/model/lines.h"
#include "beads/model/merge.h"
#include "beads/model/state.h"
#include "beads/repair/validate.h"

/* The files that the journal knows: its base commit joined with its records. */
static enum err base_read_known(struct call *c, const struct replay *replay, struct snapshot *out)
{
	struct merge m = { .c = c, .sides = 1, .change = replay->since };
	enum err e;

	if (!replay->base.base.p) {
		*out = snapshot_encode(&c->mem, replay->since);
		return ERR_OK;
	}
	if ((e = git_process_read(c, replay->b->repo.common, replay->base.base, &m.side[0])) ||
	    (e = merge_run(&m)))
		return e;
	*out = merge_files(&m);
	return ERR_OK;
}

struct base_unknown {
	const struct snapshot *known;
	struct arena scratch;
	bool found;
};

static enum err base_compare(void *arg, const struct line_pair *pair)
{
	struct base_unknown *u = arg;
	struct str gone = u->known->file[FILE_TOMBSTONES];

	arena_reset(&u->scratch);
	u->found = !pair->a.p && !lines_find(&u->scratch, FILE_TOMBSTONES, gone, pair->key).n;
	return u->found ? ERR_DAMAGED : ERR_OK; /* one such bead is enough */
}

/* A bead that the journal does not know is news. Looking for one first avoids a costly join where
 * there are very many. */
static bool base_has_unknown_bead(const struct snapshot *known, const struct snapshot *commit)
{
	struct base_unknown u = { .known = known };
	struct arena mem = { 0 };
	struct str why;
	size_t number;

	lines_diff(&mem, FILE_STATE, known->file[FILE_STATE], commit->file[FILE_STATE],
		   base_compare, &u, &number, &why);
	arena_release(&mem);
	arena_release(&u.scratch);
	return u.found;
}

/* Does the commit have anything that the journal lacks? */
static enum err base_has_news(struct call *c, const struct replay *replay,
			      const struct snapshot *commit, bool *news)
{
	struct merge m = { .c = c, .side[1] = *commit, .sides = 2 };
	enum err e = base_read_known(c, replay, &m.side[0]);

	*news = !e && base_has_unknown_bead(&m.side[0], commit);
	if (e || *news)
		return e;
	e = merge_run(&m);
	*news = m.count;
	return e;
}

static void base_warn(struct call *c, struct str ref, struct str commit)
{
	c->warning = arena_fmt(&c->mem,
			       "the journal does not reach commit %.10s of '" STR_FMT
			       "': its last records are missing, or the ref was moved. What is "
			       "published is shown; changes that were not published may be lost. "
			       "Run 'bd sync' to go on from that commit.",
			       commit.p, STR_ARG(ref));
}

/* Reads the commit of the ref, and whether it has news. It counts if it is valid and a descendant
 * of the base. */
static enum err base_read_tip(struct call *c, const struct replay *replay, struct str ref,
			      struct snapshot *out, bool *news)
{
	struct str base = replay->base.base;
	enum err e = git_process_read_latest(c, replay->b->repo.common, base, ref, out);

	*news = false;
	if (e || str_eq(out->commit, base))
		return e;
	if ((e = validate_usable(c, out, state_new(&c->mem))))
		return e;
	return base_has_news(c, replay, out, news);
}

enum err base_read(struct call *c, const struct replay *replay, struct snapshot *out)
{
	const struct beads *b = replay->b;
	struct str ref, base = replay->base.base;
	bool news;
	enum err e = config_get(c, b->home, CONFIG_SYNC_REF, &ref);

	*out = (struct snapshot){ 0 };
	/* a journal without records belongs to a new store, or is damaged */
	if (e || (!base.p &&
		  ((!replay->oldest && !replay->lenient) || !place_has_ref(c, &b->repo, ref))))
		return e;
	e = base_read_tip(c, replay, ref, out, &news);
	if (!e && news && !replay->lenient)
		base_warn(c, ref, out->commit);
	if (!base.p || (!e && (news || str_eq(out->commit, base))))
		return e;
	/* the ref has nothing new, or 'bd doctor' reports what is wrong with it */
	call_forgive(c);
	return git_process_read(c, b->repo.common, base, out);
}
