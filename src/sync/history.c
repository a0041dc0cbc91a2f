/*
 * History is read from the commits themselves; there is no index. The changes of one bead are found
 * by bisection over the commits (history_search), and comparing two commits walks their sorted
 * files side by side. A damaged commit ends the history: everything after it is reported, with a
 * warning.
 */
#include "sync/history.h"

#include "base/map.h"
#include "base/moment.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/lines.h"
#include "beads/model/snapshot.h"
#include "beads/model/stamp.h"
#include "beads/model/state.h"
#include "store/repo/repo.h"
#include "sync/commits.h"

/* --- commits --- */

struct commits {
	struct str *name; /* oldest first */
	size_t count;
};

static enum err history_tip(struct call *c, struct repo *r, struct str ref, struct str *out)
{
	enum err e = repo_ref(c, r, ref, out);

	if (e || out->p)
		return e;
	call_fail(c, ERR_NOT_FOUND, "nothing was published to '" STR_FMT "' yet", STR_ARG(ref));
	return call_step(c, "Run 'bd sync' to make the first commit.");
}

/*
 * The history may contain a damaged commit that another clone pushed. The commits after it are
 * still reported, with a warning.
 */
static enum err stop_at(struct call *c, enum err e, struct str commit)
{
	if (e != ERR_DAMAGED)
		return e;
	c->warning = arena_fmt(&c->mem,
			       "the history can be read back to the commit after " STR_FMT
			       " only: " STR_FMT "; 'bd repair' shows details",
			       STR_ARG(commit), STR_ARG(c->message));
	return call_forgive(c);
}

/* Reads the commit `at` and moves `at` to its parent, which is absent at the first commit. */
static enum err step_back(struct call *c, struct repo *r, struct str *at, struct commit *one)
{
	struct str name = *at;
	enum err e = repo_commit(c, r, name, one);

	*at = e ? STR_NONE : one->parent;
	return e;
}

static enum err list_commits(struct call *c, struct repo *r, struct str ref, struct commits *out)
{
	struct str at;
	enum err e = history_tip(c, r, ref, &at);

	*out = (struct commits){ 0 };
	while (!e && at.p) {
		struct str name = at;
		struct commit one;

		if ((e = step_back(c, r, &at, &one))) {
			e = out->count ? stop_at(c, e, name) : e;
			break;
		}
		out->name = arena_room(&c->mem, out->name, out->count, sizeof at);
		out->name[out->count++] = name;
	}
	for (size_t i = 0; i < out->count / 2; i++) {
		struct str swap = out->name[i];

		out->name[i] = out->name[out->count - 1 - i];
		out->name[out->count - 1 - i] = swap;
	}
	return e;
}

/* Clocks differ between clones, so commit times are not sorted: search from the newest commit. */
static enum err find_at(struct call *c, struct repo *r, struct str ref, int64_t ms,
			struct str *commit)
{
	struct str at, last = { 0 };
	struct commit one = { 0 };
	int64_t first_ms = 0;
	bool stopped = false;
	enum err e = history_tip(c, r, ref, &at);

	*commit = STR_NONE;
	while (!e && at.p && !commit->p) {
		struct str name = at;

		if ((e = step_back(c, r, &at, &one))) {
			e = last.p ? stop_at(c, e, name) : e;
			stopped = !e;
			break;
		}
		last = name;
		first_ms = one.time_ms;
		if (one.time_ms <= ms)
			*commit = name;
	}
	if (e || commit->p)
		return e;
	if (stopped) { /* the commits before the damaged one cannot be read */
		*commit = last;
		return ERR_OK;
	}
	call_fail(c, ERR_NOT_FOUND, "nothing was published before %s",
		  moment_format(&c->mem, ms).p);
	return call_step(c, "The first commit was made at %s.", moment_format(&c->mem, first_ms).p);
}

enum err history_find(struct call *c, struct repo *r, struct str ref, int64_t at_ms,
		      struct str spec, struct str *commit)
{
	bool relative = spec.n && (spec.p[0] == '~' || spec.p[0] == '^');
	enum err e;

	if (at_ms)
		return find_at(c, r, ref, at_ms, commit);
	if (!spec.n || str_is(spec, "@"))
		return history_tip(c, r, ref, commit);
	e = repo_find(c, r,
		      relative ? arena_fmt(&c->mem, STR_FMT STR_FMT, STR_ARG(ref), STR_ARG(spec)) :
				 spec,
		      commit);
	if (e != ERR_NOT_FOUND)
		return e;
	return call_step(c, "A commit is a hash, or '~1' for the one before the last; a time is "
			    "2026-01-31, 2026-01-31T12:00:00Z, or 2h for two hours ago.");
}

enum err history_read(struct call *c, struct repo *r, struct str commit, struct snapshot *out)
{
	enum err e = commit_read(c, r, commit, out);

	if (e || out->file[FILE_META].p || out->file[FILE_STATE].p)
		return e;
	call_fail(c, ERR_NOT_FOUND, "there are no beads in commit '%.10s'", commit.p);
	return call_step(
		c, "It belongs to another ref; 'bd history ID' lists commits that have beads.");
}

/* --- one bead --- */

/* The lines that one commit has for the bead. */
struct version {
	struct str line, tombstone; /* absent: the commit has no such line */
	bool known;
};

struct past {
	struct call *c;
	struct repo *repo;
	struct str id;
	struct commits commits;
	struct version *at;
	size_t *changed; /* indices of the commits that changed the bead, newest first */
	size_t changes, limit;
	size_t broken; /* index of the commit with unreadable files, plus one; 0: none */
};

static enum err history_line_of(struct past *p, struct str commit, enum snapshot_file file,
				struct str *out)
{
	struct str text, blob, line;
	enum err e = repo_file(p->c, p->repo, commit, snapshot_name(file), &text, &blob);

	*out = STR_NONE;
	if (e || !text.p)
		return e;
	line = lines_find(&p->c->mem, file, text, p->id);
	if (line.n)
		*out = arena_copy(&p->c->mem, line);
	repo_forget(p->repo);
	return ERR_OK;
}

static enum err history_look(struct past *p, size_t i)
{
	struct version *v = &p->at[i];
	enum err e = ERR_OK;

	if (v->known)
		return ERR_OK;
	if (!(e = history_line_of(p, p->commits.name[i], FILE_STATE, &v->line)) && !v->line.p)
		e = history_line_of(p, p->commits.name[i], FILE_TOMBSTONES, &v->tombstone);
	if (e)
		p->broken = i + 1;
	v->known = !e;
	return e;
}

static bool history_same(const struct version *a, const struct version *b)
{
	return str_eq(a->line, b->line) && str_eq(a->tombstone, b->tombstone);
}

/*
 * A bead never returns to an earlier version, so if two commits have the same lines, so have all
 * commits between them. Bisecting therefore reads few commits; the newer half comes first.
 */
static enum err history_search(struct past *p, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2;
	enum err e;

	if (p->changes == p->limit)
		return ERR_OK;
	if ((e = history_look(p, low)) || (e = history_look(p, high)) ||
	    history_same(&p->at[low], &p->at[high]))
		return e;
	if (high - low == 1) {
		p->changed[p->changes++] = high;
		return ERR_OK;
	}
	if ((e = history_search(p, middle, high)))
		return e;
	return history_search(p, low, middle);
}

static enum err search_all(struct past *p)
{
	enum err e;

	p->changes = p->broken = 0;
	if (!(e = history_look(p, p->commits.count - 1)) &&
	    !(e = history_search(p, 0, p->commits.count - 1)))
		e = history_look(p, 0);
	return e;
}

/* Drops the commits up to and including the damaged one. */
static void forget_before(struct past *p)
{
	stop_at(p->c, ERR_DAMAGED, p->commits.name[p->broken - 1]);
	p->commits.name += p->broken;
	p->commits.count -= p->broken;
	p->at += p->broken;
}

/*
 * The tombstone of an old deletion is removed. The history of such a bead ends with the last commit
 * that has its tombstone; the commits after it are dropped. Tombstones are few, so each version of
 * their file is read until one has it.
 */
static enum err forget_after_removal(struct past *p)
{
	size_t last = p->commits.count - 1;
	struct str seen = { 0 };
	enum err e = history_look(p, last);

	if (e == ERR_DAMAGED)
		return call_forgive(p->c); /* search_all() reports it */
	if (e || p->at[last].line.p || p->at[last].tombstone.p)
		return e;
	for (size_t i = last; !e && i-- > 0;) {
		struct str text, blob;

		e = repo_file(p->c, p->repo, p->commits.name[i], snapshot_name(FILE_TOMBSTONES),
			      &text, &blob);
		if (!e && text.p && !str_eq(blob, seen) &&
		    lines_find(&p->c->mem, FILE_TOMBSTONES, text, p->id).n) {
			p->commits.count = i + 1;
			i = 0;
		}
		seen = blob;
		repo_forget(p->repo);
	}
	return e == ERR_DAMAGED ? call_forgive(p->c) : e;
}

/* The commits that may have the bead. */
static enum err history_begin(struct call *c, struct repo *r, struct str ref, struct str id,
			      struct past *p)
{
	enum err e;

	*p = (struct past){ .c = c, .repo = r, .id = id, .limit = SIZE_MAX };
	if ((e = list_commits(c, r, ref, &p->commits)))
		return e;
	p->at = arena_array(&c->mem, p->commits.count, sizeof *p->at);
	return forget_after_removal(p);
}

static enum err history_no_commit(struct past *p, struct str ref)
{
	call_fail(p->c, ERR_NOT_FOUND, "no commit of '" STR_FMT "' has '" STR_FMT "'", STR_ARG(ref),
		  STR_ARG(p->id));
	return call_step(p->c, "If it is new, run 'bd sync' to put it into a commit.");
}

static enum err history_look_back(struct call *c, struct repo *r, struct str ref, struct str id,
				  int64_t limit, struct past *p)
{
	enum err e = history_begin(c, r, ref, id, p);

	if (e)
		return e;
	if (limit > 0)
		p->limit = (size_t)limit;
	p->changed = arena_array(&c->mem, p->commits.count + 1, sizeof *p->changed);
	while ((e = search_all(p)) == ERR_DAMAGED && p->broken && p->broken < p->commits.count)
		forget_before(p);
	if (e)
		return e;
	if (p->changes < p->limit && (p->at[0].line.p || p->at[0].tombstone.p))
		p->changed[p->changes++] = 0;
	return p->changes ? ERR_OK : history_no_commit(p, ref);
}

enum err history_tombstone(struct call *c, struct repo *r, struct str ref, struct str id,
			   struct json *reply)
{
	struct state *read = state_new(&c->mem);
	struct str line, why;
	struct past p;
	enum err e = history_begin(c, r, ref, id, &p);

	if (e || (e = history_look(&p, p.commits.count - 1)))
		return e;
	line = p.at[p.commits.count - 1].tombstone;
	/*
	 * a sync reads only the last of the commits that it fetches, so this line may be malformed
	 */
	if (!line.p || !snapshot_take_text(read, FILE_TOMBSTONES, line, false, &why))
		return history_no_commit(&p, ref);
	json_raw(reply, line);
	return ERR_OK;
}

/* --- comparing two lines --- */

static const struct value *history_parse(struct arena *mem, struct str line)
{
	return line.p ? value_read(mem, line) : NULL;
}

static bool is_inner(struct str key)
{
	return str_is(key, "_at") || str_is(key, "_by") || str_is(key, "_v") || str_is(key, "id");
}

static struct str history_text_of(struct arena *mem, const struct value *v)
{
	return v ? json_canonical_text(mem, v) : STR("null");
}

/* The members of an object by name: a pushed bead may have thousands of them. */
static struct map history_members(struct arena *mem, const struct value *object)
{
	struct map members = { .mem = mem };

	VALUE_EACH(one, object)
		*map_put(&members, one->key) = (void *)one;
	return members;
}

/* The canonical text of a member; a missing one counts as null. */
static struct str history_member_text(const struct map *members, struct str key)
{
	void **at = map_find(members, key);

	return history_text_of(members->mem, at ? *at : NULL);
}

static void put_field(struct json *j, struct str key, const struct map *old, const struct map *new)
{
	struct str before = history_member_text(old, key), now = history_member_text(new, key);

	if (is_inner(key) || str_eq(before, now))
		return;
	json_object(j);
	json_put_str(j, "field", key);
	json_put_raw(j, "old", before);
	json_put_raw(j, "new", now);
	json_end(j);
}

/* Writes the members that differ, each with its old and new value. */
static void put_fields(struct json *j, const struct value *old, const struct value *new)
{
	struct arena scratch = { 0 };
	struct map before = history_members(&scratch, old), now = history_members(&scratch, new);

	json_put_array(j, "fields");
	for (size_t i = 0; i < now.count; i++)
		put_field(j, now.entry[i].key, &before, &now);
	for (size_t i = 0; new &&i < before.count; i++)
		if (!map_find(&now, before.entry[i].key))
			put_field(j, before.entry[i].key, &before, &now);
	json_end(j);
	arena_release(&scratch);
}

static const char *history_act_of(const struct value *old, const struct value *new,
				  bool was_deleted)
{
	bool closed = str_is(value_str(new, "status"), "closed"),
	     was = str_is(value_str(old, "status"), "closed");

	return !new          ? "deleted" :
	       !old          ? (was_deleted ? "restored" : "created") :
	       closed == was ? "updated" :
	       closed        ? "closed" :
			       "reopened";
}

/*
 * Writes the author and time of the creation of the bead, of its last write, or of its deletion. A
 * commit may contain later writes to a bead that it creates.
 */
static void put_writer(struct json *j, const struct value *line, const struct value *tombstone,
		       bool created)
{
	const char *when = !line   ? "deleted_at" :
			   created ? "created_at" :
				     "_at",
		   *who = !line   ? "deleted_by" :
			  created ? "created_by" :
				    "_by";
	struct stamp at;

	if (stamp_decode(value_find(line ? line : tombstone, when), &at))
		json_put_moment(j, "at", at.ms);
	json_put_str(j, "by", value_str(line ? line : tombstone, who));
}

/* `scratch` is for the parsed lines. */
static enum err put_version(struct past *p, size_t i, struct arena *scratch, struct json *reply)
{
	static const struct version nothing;
	const struct version *now = &p->at[i], *before = i ? &p->at[i - 1] : &nothing;
	const struct value *new = history_parse(scratch, now->line),
			   *old = history_parse(scratch, before->line);
	struct commit commit;
	enum err e = repo_commit(p->c, p->repo, p->commits.name[i], &commit);

	if (e)
		return e;
	json_object(reply);
	json_put_str(reply, "commit", commit.name);
	json_put_moment(reply, "committed_at", commit.time_ms);
	json_put_str(reply, "change", str_of(history_act_of(old, new, before->tombstone.p)));
	put_writer(reply, new, history_parse(scratch, now->tombstone),
		   !old && !before->tombstone.p);
	put_fields(reply, old, new);
	json_end(reply);
	return ERR_OK;
}

enum err history_of(struct call *c, struct repo *r, struct str ref, struct str id, int64_t limit,
		    struct json *reply)
{
	struct arena scratch = { 0 };
	struct past p;
	enum err e = history_look_back(c, r, ref, id, limit, &p);

	if (e)
		return e;
	json_array(reply);
	for (size_t i = 0; !e && i < p.changes; i++) {
		e = put_version(&p, p.changed[i], &scratch, reply);
		arena_reset(&scratch);
	}
	json_end(reply);
	arena_release(&scratch);
	return e;
}

/* --- blame --- */

/* A member of the bead's last line, and the commit that gave it this value. */
struct blamed {
	struct str key, text, commit; /* commit absent: not found yet */
};

struct blame {
	struct past *past;
	struct blamed *member;
	size_t count, found;
	struct mark last, created; /* of the bead's last write, and of its creation */
	struct map marks;          /* of registers: struct value */
};

/*
 * A member that differs in the version before a commit has got its value in this commit. Commits
 * come newest first, and each version is parsed once: then time is proportional to the versions'
 * size, and memory to the size of one of them.
 */
static void blame_commit(struct blame *b, size_t at, struct arena *scratch)
{
	const struct past *p = b->past;
	const struct value *line = at ? history_parse(scratch, p->at[at - 1].line) : NULL;
	struct map before = history_members(scratch, line);

	for (size_t i = 0; i < b->count; i++) {
		struct blamed *one = &b->member[i];

		if (one->commit.p ||
		    (line && str_eq(history_member_text(&before, one->key), one->text)))
			continue;
		one->commit = p->commits.name[at];
		b->found++;
	}
}

static void blame_find_commits(struct blame *b)
{
	struct arena scratch = { 0 };

	for (size_t i = 0; i < b->past->changes && b->found < b->count; i++) {
		blame_commit(b, b->past->changed[i], &scratch);
		arena_reset(&scratch);
	}
	arena_release(&scratch);
}

/* The mark of a member's register; without one, the mark of the bead's last write. */
static struct mark blame_mark(const struct blame *b, struct str key)
{
	static const char *const registers[][2] = {
		{ "closed_", "status" },
		{ "assignee", "assignee" },
	};
	struct mark mark = b->last;
	struct str name = key;
	void **at;

	if (str_starts(key, STR("created_")))
		return b->created;
	for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
		if (str_starts(key, str_of(registers[i][0])))
			name = str_of(registers[i][1]);
	if ((at = map_find(&b->marks, name)))
		mark_decode(*at, &mark);
	return mark;
}

static void blame_read(struct blame *b, const struct value *line)
{
	struct arena *mem = &b->past->c->mem;

	b->last.by = value_str(line, "_by");
	stamp_decode(value_find(line, "_at"), &b->last.at);
	b->created.by = value_str(line, "created_by");
	stamp_decode(value_find(line, "created_at"), &b->created.at);
	b->marks = history_members(mem, value_find(line, "_v"));
	b->member = arena_array(mem, line->count, sizeof *b->member);
	VALUE_EACH(one, line)
		if (!is_inner(one->key) && !str_is(one->key, "notes"))
			b->member[b->count++] =
				(struct blamed){ .key = one->key,
						 .text = history_text_of(mem, one) };
}

static void blame_put(const struct blame *b, const struct blamed *one, struct json *reply)
{
	struct mark mark = blame_mark(b, one->key);

	json_object(reply);
	json_put_str(reply, "field", one->key);
	json_put_raw(reply, "value", one->text);
	json_put_moment(reply, "at", mark.at.ms);
	json_put_str(reply, "by", mark.by);
	json_put_str(reply, "commit", one->commit);
	json_end(reply);
}

enum err history_blame(struct call *c, struct repo *r, struct str ref, struct str id,
		       struct json *reply)
{
	struct past p;
	struct blame b = { .past = &p };
	const struct value *line;
	enum err e = history_look_back(c, r, ref, id, 0, &p);

	if (e)
		return e;
	line = history_parse(&c->mem, p.at[p.commits.count - 1].line);
	if (!line) {
		call_fail(c, ERR_DELETED, "'" STR_FMT "' was deleted", STR_ARG(id));
		return call_step(c, "'bd history " STR_FMT "' shows when.",
				 STR_ARG(spawn_word(&c->mem, id)));
	}
	blame_read(&b, line);
	blame_find_commits(&b);
	json_array(reply);
	for (size_t i = 0; i < b.count; i++)
		blame_put(&b, &b.member[i], reply);
	json_end(reply);
	return ERR_OK;
}

/* --- comparing two commits --- */

struct history_comparing {
	struct call *c;
	struct json *j;
	enum snapshot_file file;
	struct map deleted; /* ids that had a tombstone in the older commit */
};

static enum err note_deleted(void *arg, const struct line_pair *pair)
{
	struct history_comparing *k = arg;

	if (pair->a.p)
		map_put(&k->deleted, arena_copy(&k->c->mem, pair->key));
	return ERR_OK;
}

static enum err history_parse_pair(struct call *c, const struct line_pair *pair,
				   const struct value **old, const struct value **new)
{
	*old = history_parse(&c->mem, pair->a);
	*new = history_parse(&c->mem, pair->b);
	if ((pair->a.p && !*old) || (pair->b.p && !*new))
		return call_fail(c, ERR_REMOTE_DAMAGED,
				 "the line of '" STR_FMT "' in one of the commits is not JSON",
				 STR_ARG(pair->key));
	return ERR_OK;
}

static enum err history_put_bead(void *arg, const struct line_pair *pair)
{
	struct history_comparing *k = arg;
	const struct value *old, *new;
	enum err e = history_parse_pair(k->c, pair, &old, &new);

	if (e)
		return e;
	json_object(k->j);
	json_put_str(k->j, "id", pair->key);
	json_put_str(k->j, "change",
		     str_of(history_act_of(old, new, map_find(&k->deleted, pair->key))));
	json_put_str(k->j, "title", value_str(new ? new : old, "title"));
	put_fields(k->j, old, new);
	json_end(k->j);
	return ERR_OK;
}

static enum err history_put_edge(void *arg, const struct line_pair *pair)
{
	struct history_comparing *k = arg;
	const struct value *old, *new, *any;
	enum err e = history_parse_pair(k->c, pair, &old, &new);
	bool was = old && !value_find(old, "deleted_at"),
	     is = new && !value_find(new, "deleted_at");

	if (e || was == is)
		return e;
	any = new ? new : old;
	json_object(k->j);
	json_put_str(k->j, "change", is ? STR("added") : STR("removed"));
	json_put_str(k->j, "from", value_str(any, "from"));
	json_put_str(k->j, "to", value_str(any, "to"));
	json_put_str(k->j, "kind", value_str(any, "kind"));
	json_end(k->j);
	return ERR_OK;
}

static enum err history_visit_nothing(void *arg, const struct line_pair *pair)
{
	(void)arg, (void)pair;
	return ERR_OK;
}

/* Only the last commit of a history was checked when it was fetched. */
static enum err history_lines(struct history_comparing *k, enum snapshot_file file,
			      struct str before, const struct snapshot *now, lines_visit *visit)
{
	size_t number;
	struct str why;
	enum err e = lines_diff(&k->c->mem, file, before, now->file[file], visit, k, &number, &why);

	if (!e || !why.p)
		return e;
	snapshot_fail(k->c, now, file, number, why);
	return call_step(k->c, "To list all errors in it: bd validate --at %.10s",
			 now->commit.p ? now->commit.p : "COMMIT");
}

static enum err history_compare(struct history_comparing *k, enum snapshot_file file,
				const struct snapshot *a, const struct snapshot *b,
				lines_visit *visit)
{
	enum err e = history_lines(k, file, STR(""), a, history_visit_nothing);

	return e ? e : history_lines(k, file, a->file[file], b, visit);
}

enum err history_diff(struct call *c, struct repo *r, struct str from, struct str to,
		      struct json *reply)
{
	struct history_comparing k = { .c = c, .j = reply, .deleted.mem = &c->mem };
	struct snapshot a, b;
	enum err e;

	if ((e = history_read(c, r, from, &a)) || (e = history_read(c, r, to, &b)) ||
	    (e = history_compare(&k, FILE_TOMBSTONES, &a, &b, note_deleted)))
		return e;
	json_object(reply);
	json_put_str(reply, "from", from);
	json_put_str(reply, "to", to);
	json_put_array(reply, "beads");
	e = history_compare(&k, FILE_STATE, &a, &b, history_put_bead);
	json_end(reply);
	json_put_array(reply, "dependencies");
	if (!e)
		e = history_compare(&k, FILE_DEPS, &a, &b, history_put_edge);
	json_end(reply);
	json_end(reply);
	return e;
}

/* --- listing commits --- */

enum err history_commits(struct call *c, struct repo *r, struct str ref, int64_t limit,
			 struct json *out)
{
	struct str at;
	enum err e = repo_ref(c, r, ref, &at);

	json_array(out);
	for (int64_t i = 0; !e && at.p && (!limit || i < limit); i++) {
		struct str name = at;
		struct commit one;

		if ((e = step_back(c, r, &at, &one))) {
			e = i ? stop_at(c, e, name) : e;
			break;
		}
		json_object(out);
		json_put_str(out, "commit", name);
		json_put_moment(out, "committed_at", one.time_ms);
		json_end(out);
	}
	json_end(out);
	return e;
}
