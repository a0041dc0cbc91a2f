/*
 * 'bd repair'. It first resets refs that do not point to a store, then checks the histories and the
 * lines of the remote's commit, our own ref and the base. Readable lines of damaged commits are
 * merged with everything else into one new commit, which is published; beads that cannot be merged
 * are split (sync_part.c).
 */
#include "base/text/value.h"
#include "beads/repair/foreign.h"
#include "beads/repair/salvage.h"
#include "sync/commits.h"
#include "sync/sync_parts.h"

struct repair {
	struct sync *s;
	struct json *reply; /* an open list of commits */
	bool apply;
	int64_t damaged, aside;
	struct str lines[2];         /* commits with damaged lines */
	struct snapshot readable[2]; /* their readable lines */
	size_t line_count;
	struct snapshot all;                 /* the merged files to publish; absent at first */
	struct repo_fault there, here, base; /* faults in the histories */
	struct str made;                     /* the commit to publish; or absent */
	struct str reset; /* the commit that the remote's ref was reset to; or absent */
	bool parted;      /* beads were split, so the journal has a new base */
	bool again;       /* the history of the remote was fetched again */
	bool ended;       /* a ref is unusable, and must be repaired before the other checks */
};

/* --- finding damage --- */

static void sync_repair_report(struct repair *r, struct str commit, const char *where)
{
	r->damaged++;
	json_object(r->reply);
	json_put_str(r->reply, "commit", commit);
	json_put_str(r->reply, "where", str_of(where));
}

/* Reports an object that is damaged as a whole. */
static void report_whole(struct repair *r, struct str object, const char *where, struct str why)
{
	sync_repair_report(r, object, where);
	json_put_str(r->reply, "why", why);
	json_put_array(r->reply, "lines");
	json_end(r->reply);
	json_end(r->reply);
}

/* --- objects that are damaged in this clone --- */

/*
 * Is the history of a commit in this clone whole, and can the files of the commit itself be read?
 * Those of older commits are many. `fault`: what is wrong, also if it is an error.
 */
static bool repair_is_whole(struct sync *s, struct str commit, struct repo_fault *fault)
{
	size_t held = repo_held(s->repo);
	struct snapshot raw;
	enum err e = repo_check(s->c, s->repo, commit, STR_NONE, fault);

	if (!e && !fault->why.p &&
	    (e = commit_read_raw(s->c, s->repo, commit, &raw)) != ERR_DAMAGED)
		e = ERR_OK; /* something else than the objects */
	if (e)
		*fault = (struct repo_fault){ .commit = commit, .why = s->c->message };
	call_forgive(s->c);
	repo_forget_after(s->repo, held);
	return !fault->why.p;
}

/*
 * Fetches the whole history of the remote, whatever this clone has of it. If that history is sound,
 * the fault is in this clone: the objects are taken over, and the fault is cleared. Otherwise they
 * stay in the quarantine.
 */
static enum err repair_fetch_again(struct repair *r, struct repo_fault *fault)
{
	struct sync *s = r->s;
	struct call *c = s->c;
	struct repo_fault still;
	struct str commit;

	if (r->again || !s->remote.url.p)
		return ERR_OK;
	if (remote_fetch_whole(c, &s->remote, s->ref, &commit)) {
		call_forgive(c);
		repo_quarantine_drop(s->repo);
		return s->there.p ? sync_fetch(s) : ERR_OK;
	}
	if (!commit.p || !repair_is_whole(s, commit, &still))
		return ERR_OK;
	r->again = true;
	report_whole(r, fault->commit, "here", fault->why);
	fault->why = STR_NONE;
	if (r->apply)
		return repo_quarantine_admit_whole(c, s->repo, commit);
	repo_quarantine_drop(s->repo);
	r->ended = true;
	return ERR_OK;
}

/* The history was fetched again, and is still damaged here: libgit2 reads another copy of it. */
static enum err repair_give_up(struct repair *r, const struct repo_fault *fault)
{
	call_fail(
		r->s->c, ERR_DAMAGED,
		"the remote has a history that this clone cannot read, although it has fetched it "
		"again: " STR_FMT,
		STR_ARG(fault->why));
	return call_step(r->s->c, "Nothing was changed at the remote. This names the damaged "
				  "files, which can be moved away then: git fsck --full");
}

/* Checks what was seen of the remote before anything reads it. */
static enum err repair_seen(struct repair *r)
{
	struct sync *s = r->s;
	struct repo_fault fault = { 0 };
	struct str seen;

	if (repo_ref(s->c, s->repo, s->tracking, &seen)) {
		fault.why = s->c->message;
		call_forgive(s->c);
	} else if (!seen.p || repair_is_whole(s, seen, &fault)) {
		return ERR_OK;
	}
	return repair_fetch_again(r, &fault);
}

/* --- histories --- */

/* Checks the whole history, because this clone may have fetched the damage long ago. */
static enum err check_history(struct repair *r, struct str commit, struct str known,
			      const char *where, struct repo_fault *fault)
{
	enum err e = repo_check(r->s->c, r->s->repo, commit, known, fault);

	if (!e && fault->why.p && (fault == &r->there || !str_eq(fault->commit, r->there.commit)))
		report_whole(r, fault->commit, where, fault->why);
	return e;
}

/* Resets the remote's ref, which points to an unusable object. */
static enum err reset_remote(struct repair *r, struct str object)
{
	enum err e = r->apply ? sync_reset_remote(r->s, object, &r->reset) : ERR_OK;

	r->ended = !r->reset.p;
	return e;
}

/*
 * Checks the history of the remote's ref; if the ref's own commit is unusable, resets the ref and
 * checks again.
 */
static enum err check_remote_history(struct repair *r)
{
	struct sync *s = r->s;
	enum err e;

	if (s->there.p && !repair_is_whole(s, s->there, &r->there) &&
	    ((e = repair_fetch_again(r, &r->there)) || r->ended))
		return e;
	if (r->again && !repair_is_whole(s, s->there, &r->there))
		return repair_give_up(r, &r->there);
	e = check_history(r, s->there, STR_NONE, "remote", &r->there);
	if (!e && !r->there.why.p)
		return s->there.p ? repo_quarantine_admit(s->c, s->repo, s->there) : ERR_OK;
	if (e || !str_eq(r->there.commit, s->there))
		return e;
	if ((e = reset_remote(r, s->there)) || r->ended)
		return e;
	return check_history(r, s->there, STR_NONE, "remote", &r->there);
}

static enum err check_histories(struct repair *r)
{
	struct sync *s = r->s;
	struct str sound;
	enum err e = check_remote_history(r);

	if (e || r->ended)
		return e;
	sound = r->there.why.p ? STR_NONE : s->there;
	if (str_eq(s->here, s->there))
		r->here = r->there;
	else if ((e = check_history(r, s->here, sound, "here", &r->here)))
		return e;
	if (str_eq(s->base, s->there) || str_eq(s->base, s->here)) {
		r->base = str_eq(s->base, s->there) ? r->there : r->here;
		return ERR_OK;
	}
	return repo_check(s->c, s->repo, s->base, sound, &r->base);
}

/* --- refs that do not point to a store --- */

static enum err repair_own_refs(struct repair *r)
{
	struct sync *s = r->s;
	const struct str refs[] = { s->ref, s->tracking };
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < sizeof refs / sizeof *refs; i++) {
		struct str object, why;

		if ((e = sync_find_stray(s, refs[i], &object, &why)) || !why.p)
			continue;
		report_whole(r, object, "here",
			     arena_fmt(&s->c->mem, "the ref '" STR_FMT "' " STR_FMT,
				       STR_ARG(refs[i]), STR_ARG(why)));
		if (r->apply)
			e = sync_set_aside(s, refs[i], object);
		else
			r->ended = true;
	}
	return e;
}

static enum err repair_fetch(struct repair *r)
{
	struct sync *s = r->s;
	struct remote *m = &s->remote;
	enum err e = sync_fetch(s);

	if (e == ERR_REMOTE_DAMAGED && m->unusable.p) {
		call_forgive(s->c);
	} else if (e || !m->url.p || !s->there.p || !repo_is_commit(s->repo, s->there) ||
		   sync_has_store(s, s->there)) {
		return e;
	} else {
		m->unusable = s->there;
		m->why = sync_no_store(s, s->there);
	}
	report_whole(r, m->unusable, "remote",
		     arena_fmt(&s->c->mem, "the ref '" STR_FMT "' " STR_FMT, STR_ARG(s->ref),
			       STR_ARG(m->why)));
	return reset_remote(r, m->unusable);
}

/* Removes backup refs to unreadable commits, because `git gc` would fail on them. */
static enum err check_backups(struct repair *r)
{
	struct sync *s = r->s;
	struct str *names, sound = r->there.why.p ? STR_NONE : s->there;
	size_t count;
	enum err e = repo_refs_below(s->c, s->repo, STR("refs/beads/backup/"), &names, &count);

	for (size_t i = 0; !e && i < count; i++) {
		struct repo_fault fault;
		struct str commit, wrong;

		if (!(e = repo_ref_fault(s->c, s->repo, names[i], &commit, &wrong)) &&
		    !wrong.p && /* otherwise the ref keeps an object that is not a commit */
		    !(e = check_history(r, commit, sound, "backup", &fault)) && fault.why.p &&
		    r->apply)
			e = repo_ref_drop(s->c, s->repo, names[i]);
	}
	return e;
}

static bool sync_repair_sound(struct sync *s, const struct snapshot *files)
{
	bool well = !sync_check(s, files) && !sync_fits_itself(s, files);

	call_forgive(s->c);
	return well;
}

/*
 * Refuses files of a newer format version: rewriting them would lose members this version does not
 * know.
 */
static enum err sync_repair_check_version(struct repair *r, const struct snapshot *files)
{
	struct call *c = r->s->c;
	struct str why;
	const struct value *v = snapshot_parse_meta(&c->mem, files, &why);
	int64_t version;

	if (!value_int(v, "format_version", &version) || version <= FORMAT_VERSION)
		return ERR_OK;
	snapshot_read_meta(c, files, state_new(&c->mem));
	return call_step(c,
			 "Your own work is safe. Install a newer version of Abacus, which supports "
			 "that format. If there is none, set the ref back to the last commit that "
			 "a clone has of this format, in that clone: " STR_FMT,
			 STR_ARG(remote_force_command(c, &r->s->remote, r->s->ref)));
}

/* Reports that meta.json is rewritten; all lines of the other files are valid. */
static void report_meta(struct repair *r, const struct snapshot *files)
{
	struct call *c = r->s->c;

	if (!snapshot_check(c, files))
		snapshot_read_meta(c, files, state_new(&c->mem));
	json_object(r->reply);
	json_put_str(r->reply, "file", str_of(snapshot_name(FILE_META)));
	json_put_int(r->reply, "line", 1);
	json_put_str(r->reply, "action", STR("rewritten"));
	json_put_str(r->reply, "why", c->code ? c->message : STR("it was damaged"));
	json_put_str(r->reply, "text", STR(""));
	json_end(r->reply);
	call_forgive(c);
}

/* Checks the lines of a commit. If any is damaged, the readable ones are kept in `readable`. */
static enum err sync_repair_check_lines(struct repair *r, struct str commit, const char *where)
{
	struct sync *s = r->s;
	struct call *c = s->c;
	struct snapshot raw;
	size_t told, aside = 0;
	enum err e;

	if (!commit.p)
		return ERR_OK;
	if ((e = commit_read_raw(c, s->repo, commit, &raw)) ||
	    (e = sync_repair_check_version(r, &raw)))
		return e;
	if (foreign_files(&c->mem, &raw)) {
		if (!(e = commit_read(c, s->repo, commit, &raw)) || e != ERR_REMOTE_DAMAGED)
			return e;
		return call_step(c, "Another program wrote it, and only that program can repair "
				    "it. Run 'bd init --ref REF' to publish to another ref "
				    "meanwhile.");
	}
	if (sync_repair_sound(s, &raw))
		return ERR_OK;
	sync_repair_report(r, commit, where);
	json_put_array(r->reply, "lines");
	told = r->reply->out.n;
	e = salvage(c, &raw, r->reply, &r->readable[r->line_count], &aside);
	r->aside += (int64_t)aside;
	if (!e && r->reply->out.n == told)
		report_meta(r, &raw);
	json_end(r->reply);
	json_end(r->reply);
	r->lines[r->line_count++] = commit;
	return e;
}

/* --- repairing it --- */

static void report_parted(struct repair *r, struct str commit, const char *where,
			  struct json *lines)
{
	sync_repair_report(r, commit, where);
	json_put_raw(r->reply, "lines", json_text(lines));
	json_end(r->reply);
}

static enum err join_files(struct repair *r, const struct snapshot *files, struct str commit)
{
	struct sync *s = r->s;
	struct json lines = json_new(&s->c->mem);
	size_t count = 0;
	enum err e;

	if (!r->all.file[FILE_META].p) {
		r->all = *files;
		return ERR_OK;
	}
	json_array(&lines);
	if ((e = sync_part_known(s, files, &r->all, &lines, &count)))
		return e;
	json_end(&lines);
	if (count)
		report_parted(r, commit, "here", &lines);
	return ERR_OK;
}

/* Merges a commit into the repaired files, so that the repair loses no readable data. */
static enum err join_commit(struct repair *r, struct str commit)
{
	struct snapshot files;
	enum err e;

	if (!commit.p)
		return ERR_OK;
	for (size_t i = 0; i < r->line_count; i++)
		if (str_eq(commit, r->lines[i]))
			return ERR_OK;
	e = commit_read(r->s->c, r->s->repo, commit, &files);
	return e ? e : join_files(r, &files, commit);
}

/*
 * Whether our own ref has commits of its own that can be read. If not, its beads are in the base.
 */
static bool usable_here(const struct repair *r)
{
	return r->s->here.p && !str_eq(r->s->here, r->s->there) &&
	       !(r->here.why.p && str_eq(r->here.commit, r->s->here));
}

static bool is_news(const struct sync *s, struct str commit)
{
	return commit.p && !(s->base.p && repo_reaches(s->repo, s->base, commit));
}

static bool sync_repair_sound_commit(struct sync *s, struct str commit)
{
	size_t held = repo_held(s->repo);
	struct snapshot files;
	bool sound = !commit_read(s->c, s->repo, commit, &files) && sync_repair_sound(s, &files);

	call_forgive(s->c);
	repo_forget_after(s->repo, held);
	return sound;
}

/*
 * A damaged commit may lack what was published before it, and this clone may not have fetched that
 * yet: merges the last sound commit before the damaged one.
 */
static enum err join_before(struct repair *r, struct str damaged)
{
	enum { TRIES = 64 };
	struct sync *s = r->s;
	struct commit at = { .parent = damaged };

	for (int i = 0; i < TRIES; i++) {
		if (repo_commit(s->c, s->repo, at.parent, &at)) {
			call_forgive(s->c); /* the history itself is damaged there */
			return ERR_OK;
		}
		if (!is_news(s, at.parent))
			return ERR_OK;
		if (sync_repair_sound_commit(s, at.parent))
			return join_commit(r, at.parent);
	}
	return ERR_OK;
}

static enum err sync_repair_join_all(struct repair *r)
{
	struct sync *s = r->s;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < r->line_count; i++)
		if (!(e = join_files(r, &r->readable[i], r->lines[i])))
			e = join_before(r, r->lines[i]);
	if (e || (e = join_commit(r, s->there)) ||
	    (usable_here(r) && (e = join_commit(r, s->here))))
		return e;
	return str_eq(s->base, s->there) || str_eq(s->base, s->here) ? ERR_OK :
								       join_commit(r, s->base);
}

/*
 * Finds the parent of the repaired commit: the tip, or where the history is damaged the last
 * readable commit.
 */
static enum err find_parent(struct repair *r, struct str *parent)
{
	struct sync *s = r->s;
	bool far = s->there.p;

	*parent = far ? s->there : s->here;
	if (!(far ? r->there : r->here).why.p)
		return ERR_OK;
	s->remote.replaces = far;
	return repo_last_sound(s->c, s->repo, *parent, parent);
}

static struct str message_for(struct repair *r)
{
	struct arena *mem = &r->s->c->mem;
	const struct repo_fault *fault = r->there.why.p ? &r->there : &r->here;

	if (!fault->why.p)
		return arena_fmt(mem,
				 "beads: repaired\n\nThe commit before could not be used; it is "
				 "kept as refs/beads/backup/" STR_FMT ".\n",
				 STR_ARG(r->lines[0]));
	return arena_fmt(mem,
			 "beads: repaired\n\nCommit %.10s cannot be read. It and those after it "
			 "are no part of the history any more.\n",
			 fault->commit.p);
}

/*
 * Finds the commits whose other files are kept: only the last sound commit, if files beside the
 * store are too large, because each later file may be one of them.
 */
static void find_kept(const struct repair *r, struct str parent, struct str keep[REPO_KEEP])
{
	keep[0] = r->there.size || r->here.size ? parent : r->s->there;
	keep[1] = usable_here(r) && !r->there.size && !r->here.size ? r->s->here : STR_NONE;
}

static enum err write_repaired(struct repair *r)
{
	struct sync *s = r->s;
	struct call *c = s->c;
	struct repo_file files[SNAPSHOT_FILES];
	struct str tree, parent, keep[REPO_KEEP];
	enum err e;

	if ((e = sync_repair_join_all(r)) || (e = find_parent(r, &parent)))
		return e;
	find_kept(r, parent, keep);
	for (int f = 0; f < SNAPSHOT_FILES; f++)
		files[f] = (struct repo_file){
			snapshot_name((enum snapshot_file)f), &r->all.file[f], 1, { 0 }
		};
	if ((e = repo_tree(c, s->repo, keep, files, SNAPSHOT_FILES, &tree)))
		return e;
	return repo_commit_tree(c, s->repo, tree, parent, message_for(r), &r->made);
}

/* Without a journal there is no local store yet; 'bd init' makes one. */
static bool has_journal(const struct sync *s)
{
	return s->base.p || s->pending.records;
}

/* Makes the repaired commit the base, because no ref points to the old base any more. */
static enum err leave_base(struct repair *r)
{
	struct sync *s = r->s;
	struct journal_place upto = { .segment = s->pending.segment, .offset = s->pending.offset };
	struct news all = { .change = state_new(&s->c->mem), .forgets = true };

	return sync_rebase(s, r->made, upto, &all);
}

static enum err publish_repaired(struct repair *r)
{
	struct sync *s = r->s;
	bool moved = true;
	enum err e;

	if ((e = repo_quarantine_admit(s->c, s->repo, r->made)) ||
	    (e = sync_move_here(s, r->made, &moved)))
		return e;
	if (moved && s->remote.url.p &&
	    (e = remote_push(s->c, &s->remote, s->ref, s->ref, r->made, s->there, &moved)))
		return e;
	if (!moved)
		return call_fail(s->c, ERR_SYNC_FAILED,
				 "another process has written in the "
				 "meantime");
	if (!r->there.why.p && !r->here.why.p && !r->base.why.p)
		return ERR_OK;
	if (s->remote.url.p && (e = repo_ref_put(s->c, s->repo, s->tracking, r->made)))
		return e;
	return has_journal(s) ? leave_base(r) : ERR_OK;
}

static enum err repair_all(struct repair *r)
{
	struct sync *s = r->s;
	bool history;
	enum err e;

	if ((e = repo_check_packs(s->c, s->repo)) ||
	    (e = remote_check_packs(s->c, &s->remote, s->ref)) || (e = repair_seen(r)) ||
	    r->ended || (e = repair_own_refs(r)) || r->ended || (e = repair_fetch(r)) || r->ended ||
	    (e = repo_ref(s->c, s->repo, s->ref, &s->here)) || (e = check_histories(r)) ||
	    r->ended || (e = sync_repair_check_lines(r, s->there, "remote")))
		return e;
	if (usable_here(r) && (e = sync_repair_check_lines(r, s->here, "here")))
		return e;
	history = r->there.why.p || r->here.why.p || r->base.why.p;
	for (size_t i = 0; r->apply && !history && i < r->line_count; i++)
		if ((e = sync_backup(s, r->lines[i])))
			return e;
	if (r->apply && (r->line_count || history) &&
	    ((e = write_repaired(r)) || (e = publish_repaired(r))))
		return e;
	return check_backups(r);
}

/* --- valid commits that cannot be merged with the local data --- */

static enum err repair_join(struct repair *r, struct str commit, const char *where)
{
	struct json lines = json_new(&r->s->c->mem);
	size_t count;
	enum err e;

	json_array(&lines);
	e = sync_part(r->s, commit, r->apply, &lines, &count);
	json_end(&lines);
	if (e || !count)
		return e;
	r->parted = true;
	report_parted(r, commit, where, &lines);
	return ERR_OK;
}

/*
 * Checks the base first, because an older version of this program may have accepted data that does
 * not fit.
 */
static enum err repair_joins(struct repair *r)
{
	struct sync *s = r->s;
	bool damaged = r->line_count || r->there.why.p || r->here.why.p || r->base.why.p;
	enum err e;

	if (r->ended || !has_journal(s) || (damaged && !r->made.p)) /* first repair the damage */
		return ERR_OK;
	if (r->made.p && (e = sync_seal(s)))
		return e;
	if (r->made.p)
		s->there = r->made;
	if (s->base.p && (e = repair_join(r, s->base, "journal")))
		return e;
	if (is_news(s, s->there) && (e = repair_join(r, s->there, "remote")))
		return e;
	return is_news(s, s->here) ? repair_join(r, s->here, "here") : ERR_OK;
}

enum err sync_repair(struct call *c, const struct sync_wants *wants, bool apply, struct json *reply)
{
	struct sync s = { .c = c, .wants = wants, .repairs = true };
	struct repair r = { .s = &s, .reply = reply, .apply = apply };
	AUTO_LOCK alone = LOCK_NONE;
	enum err e = beads_home(c, &s.b);

	if (e || (e = sync_alone(&s, &alone)) || (e = beads_pending(c, &s.b, &s.pending)) ||
	    (e = sync_open(&s)))
		return e;
	repo_sweep_fetched(c, s.repo);
	s.base = s.pending.base;
	s.sealed = s.b.about.place;
	json_object(reply);
	json_put_array(reply, "commits");
	if ((e = repair_all(&r)) || (e = repair_joins(&r)))
		e = repo_set_aside_loose(c, s.repo);
	json_end(reply);
	json_put_int(reply, "damaged", r.damaged);
	json_put_int(reply, "set_aside", r.aside);
	json_put_bool(reply, "applied", apply && r.damaged);
	if (r.again)
		json_put_bool(reply, "refetched", true);
	json_put_str(reply, "commit", apply && r.parted ? s.base : r.made.p ? r.made : r.reset);
	json_end(reply);
	repo_close(s.repo);
	return e;
}
