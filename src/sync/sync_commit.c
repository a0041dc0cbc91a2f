/*
 * Writes commits. The base and the local changes since then are merged, the merge is checked for
 * lines that other clones could not read, and only then a tree and a commit are written. Files that
 * did not change keep their blob.
 */
#include "base/hash.h"
#include "beads/message.h"
#include "beads/model/lines.h"
#include "sync/commits.h"
#include "sync/sync_parts.h"

enum err sync_write_commit(struct sync *s, struct merge *m, struct str parent, struct str *commit,
			   bool *same)
{
	struct call *c = s->c;
	struct repo_file files[SNAPSHOT_FILES];
	struct pieces pieces[SNAPSHOT_FILES];
	struct str sum[FILE_META], tree, meta, keep[REPO_KEEP] = { 0 };
	struct commit before = { 0 };
	enum err e = sync_fits(s, m);

	if (e)
		return e;
	for (int f = 0; f < FILE_META; f++) {
		pieces[f] = merge_file(m, (enum snapshot_file)f);
		sum[f] = sha256_pieces(&c->mem, pieces[f].piece, pieces[f].count);
		files[f] = (struct repo_file){ snapshot_name((enum snapshot_file)f),
					       pieces[f].piece,
					       pieces[f].count,
					       { 0 } };
		if (!merge_touches(m, (enum snapshot_file)f))
			files[f].blob = m->side[0].blob[f];
	}
	meta = snapshot_meta(&c->mem, m->joined, sum);
	files[FILE_META] = (struct repo_file){ snapshot_name(FILE_META), &meta, 1, { 0 } };
	for (size_t i = 0; i < m->sides; i++)
		if (!m->side[i].foreign) /* a converted commit already contains its other files */
			keep[i] = m->side[i].commit;
	if ((e = repo_tree(c, s->repo, keep, files, SNAPSHOT_FILES, &tree)) ||
	    (parent.p && (e = repo_commit(c, s->repo, parent, &before))))
		return e;
	*same = str_eq(tree, before.tree);
	*commit = parent;
	if (*same)
		return ERR_OK;
	return repo_commit_tree(c, s->repo, tree, parent, message_of(&c->mem, m->changes, m->count),
				commit);
}

static enum err nothing_yet(struct call *c, struct snapshot *out)
{
	*out = snapshot_encode(&c->mem, state_new(&c->mem));
	return ERR_OK;
}

static enum err count_pair(void *arg, const struct line_pair *pair)
{
	(void)pair;
	++*(int64_t *)arg;
	return ERR_OK;
}

/* Counts the lines in which the base differs from the published commit. */
static enum err count_unpublished(struct sync *s, const struct snapshot *base, int64_t *count)
{
	struct snapshot there;
	size_t number;
	struct str why;
	enum err e;

	*count = 0;
	if (!s->remote.url.p || !s->base.p || str_eq(s->base, s->there))
		return ERR_OK;
	if ((e = s->there.p ? commit_read(s->c, s->repo, s->there, &there) :
			      nothing_yet(s->c, &there)))
		return e;
	for (int f = 0; !e && f < FILE_META; f++)
		e = lines_diff(&s->c->mem, (enum snapshot_file)f, there.file[f], base->file[f],
			       count_pair, count, &number, &why);
	return e;
}

enum err sync_join(struct sync *s, struct str *commit)
{
	struct call *c = s->c;
	struct merge m = { .c = c,
			   .sides = 1,
			   .change = s->pending.change,
			   .collect_before = s->wants->collect_before_ms };
	int64_t unpublished;
	bool same;
	enum err e;

	*commit = s->base;
	if (s->rewritten)
		state_add(s->pending.change, s->rewritten);
	if ((e = s->base.p ? commit_read(c, s->repo, s->base, &m.side[0]) :
			     nothing_yet(c, &m.side[0])) ||
	    (e = merge_run(&m)) || (e = count_unpublished(s, &m.side[0], &unpublished)))
		return e;
	s->pushed = (int64_t)m.count + unpublished;
	s->pushed += !s->pushed && m.meta_changed; /* only the prefix in meta.json changed */
	sync_report_remaps(s, m.joined, m.part[0]);
	news_of_merge(&m, &s->forgot);
	if (!s->wants->dry && (m.count || m.meta_changed || m.side[0].foreign || !s->base.p)) {
		sync_doing(s, "writing a commit for");
		e = sync_write_commit(s, &m, sync_parent(s), commit, &same);
	}
	repo_forget(s->repo);
	return e;
}
