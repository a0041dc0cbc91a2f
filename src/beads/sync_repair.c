#include "beads/commits.h"
#include "beads/foreign.h"
#include "beads/salvage.h"
#include "beads/sync_parts.h"

struct repair {
	struct sync *s;
	struct json *reply; /* an open list, of commits */
	bool apply;
	int64_t damaged, aside;
	struct str made; /* what is to be published; or absent */
};

static bool sound(struct sync *s, const struct snapshot *files)
{
	bool well = !sync_check(s, files);

	s->c->code = ERR_OK;
	return well;
}

/* Nothing that is known here is lost with a line that cannot be read. */
static enum err join_known(struct sync *s, struct str except, struct state *all)
{
	struct state *known = state_new(&s->c->mem);
	struct snapshot base;
	enum err e;

	if (!s->base.p || str_eq(s->base, except))
		return ERR_OK;
	if ((e = commit_read(s->c, s->repo, s->base, &base)) ||
	    (e = snapshot_read(s->c, &base, known)))
		return e;
	state_add(all, known);
	return ERR_OK;
}

/* On top of the remote's commit, unless that is the damaged one: history only goes on. */
static enum err publish_repaired(struct repair *r, struct str commit,
				 const struct state *all)
{
	struct sync *s = r->s;
	struct call *c = s->c;
	struct snapshot mended = snapshot_encode(&c->mem, all);
	struct repo_file files[SNAPSHOT_FILES];
	struct str tree, message, keep[REPO_KEEP] = { commit };
	enum err e = sync_backup(s, commit);

	for (int f = 0; f < SNAPSHOT_FILES; f++)
		files[f] = (struct repo_file){
			snapshot_name((enum snapshot_file)f), &mended.file[f], 1, { 0 }
		};
	message = arena_fmt(&c->mem,
			    "beads: repaired\n\nThe commit before could not be used; it "
			    "is kept as refs/beads/backup/" STR_FMT ".\n",
			    STR_ARG(commit));
	if (e || (e = repo_tree(c, s->repo, keep, files, SNAPSHOT_FILES, &tree)))
		return e;
	return repo_commit_tree(c, s->repo, tree, s->there.p ? s->there : commit, message,
				&r->made);
}

static enum err repair_commit(struct repair *r, struct str commit, const char *where)
{
	struct sync *s = r->s;
	struct call *c = s->c;
	struct state *all = state_new(&c->mem);
	struct snapshot raw;
	enum err e;

	if (!commit.p)
		return ERR_OK;
	if ((e = commit_read_raw(c, s->repo, commit, &raw)))
		return e;
	if (foreign_files(&c->mem, &raw)) {
		if (!(e = commit_read(c, s->repo, commit, &raw)) ||
		    e != ERR_REMOTE_DAMAGED)
			return e;
		return call_step(c, "Another program wrote it, and only that can mend "
				    "it. 'bd init --ref REF' publishes to another ref "
				    "meanwhile.");
	}
	if (sound(s, &raw))
		return ERR_OK;
	r->damaged++;
	json_object(r->reply);
	json_put_str(r->reply, "commit", commit);
	json_put_str(r->reply, "where", str_of(where));
	json_put_array(r->reply, "lines");
	r->aside += (int64_t)salvage(&c->mem, &raw, all, r->reply);
	json_end(r->reply);
	json_end(r->reply);
	snapshot_read_meta(c, &raw, all);
	c->code = ERR_OK; /* the prefix is known here, if it is not known there */
	if ((e = join_known(s, commit, all)) || !r->apply)
		return e;
	return publish_repaired(r, commit, all);
}

static enum err repair_all(struct repair *r)
{
	struct sync *s = r->s;
	bool moved = true;
	enum err e;

	if ((e = sync_fetch(s)) || (e = repo_ref(s->c, s->repo, s->ref, &s->here)) ||
	    (e = repair_commit(r, s->there, "remote")))
		return e;
	if (!str_eq(s->here, s->there) && (e = repair_commit(r, s->here, "here")))
		return e;
	if (!r->made.p)
		return ERR_OK;
	if ((e = sync_move_here(s, r->made, &moved)))
		return e;
	if (moved && s->remote.url.p &&
	    (e = remote_push(s->c, &s->remote, s->ref, r->made, s->there, &moved)))
		return e;
	if (moved)
		return ERR_OK;
	return call_fail(s->c, ERR_SYNC_FAILED, "another one has written meanwhile");
}

enum err sync_repair(struct call *c, const struct sync_wants *wants, bool apply,
		     struct json *reply)
{
	struct sync s = { .c = c, .wants = wants };
	struct repair r = { .s = &s, .reply = reply, .apply = apply };
	struct pending pending;
	AUTO_LOCK alone = LOCK_NONE;
	enum err e = beads_home(c, &s.b);

	if (e || (e = sync_alone(&s, &alone)) || (e = beads_pending(c, &s.b, &pending)) ||
	    (e = sync_open(&s)))
		return e;
	s.base = pending.base;
	json_object(reply);
	json_put_array(reply, "commits");
	e = repair_all(&r);
	json_end(reply);
	json_put_int(reply, "damaged", r.damaged);
	json_put_int(reply, "set_aside", r.aside);
	json_put_bool(reply, "applied", apply && r.made.p);
	json_put_str(reply, "commit", r.made);
	json_end(reply);
	repo_close(s.repo);
	return e;
}
