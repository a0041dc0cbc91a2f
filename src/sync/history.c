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
#include "beads/model/stamp.h"
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
	v->known = true;
	if (!(e = history_line_of(p, p->commits.name[i], FILE_STATE, &v->line)) && !v->line.p)
		e = history_line_of(p, p->commits.name[i], FILE_TOMBSTONES, &v->tombstone);
	if (e)
		p->broken = i + 1;
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

static enum err history_look_back(struct call *c, struct repo *r, struct str ref, struct str id,
				  int64_t limit, struct past *p)
{
	enum err e;

	*p = (struct past){ .c = c, .repo = r, .id = id };
	if ((e = list_commits(c, r, ref, &p->commits)))
		return e;
	p->limit = limit > 0 ? (size_t)limit : SIZE_MAX;
	p->at = arena_array(&c->mem, p->commits.count, sizeof *p->at);
	p->changed = arena_array(&c->mem, p->commits.count + 1, sizeof *p->changed);
	while ((e = search_all(p)) == ERR_DAMAGED && p->broken && p->broken < p->commits.count)
		forget_before(p);
	if (e)
		return e;
	if (p->changes < p->limit && (p->at[0].line.p || p->at[0].tombstone.p))
		p->changed[p->changes++] = 0;
	if (p->changes)
		return ERR_OK;
	call_fail(c, ERR_NOT_FOUND, "no commit of '" STR_FMT "' has '" STR_FMT "'", STR_ARG(ref),
		  STR_ARG(id));
	return call_step(c, "If it is new, run 'bd sync' to put it into a commit.");
}

/* --- comparing two lines --- */

static const struct value *history_parse(struct call *c, struct str line)
{
	return line.p ? value_read(&c->mem, line) : NULL;
}

static bool is_inner(struct str key)
{
	return str_is(key, "_at") || str_is(key, "_by") || str_is(key, "_v") || str_is(key, "id");
}

static struct str history_text_of(struct call *c, const struct value *v)
{
	return v ? json_canonical_text(&c->mem, v) : STR("null");
}

static void put_field(struct call *c, struct json *j, struct str key, const struct value *old,
		      const struct value *new)
{
	const char *name = arena_cstr(&c->mem, key);
	struct str before = history_text_of(c, value_find(old, name)),
		   now = history_text_of(c, value_find(new, name));

	if (is_inner(key) || str_eq(before, now))
		return;
	json_object(j);
	json_put_str(j, "field", key);
	json_put_raw(j, "old", before);
	json_put_raw(j, "new", now);
	json_end(j);
}

/* Writes the members that differ, each with its old and new value. */
static void put_fields(struct call *c, struct json *j, const struct value *old,
		       const struct value *new)
{
	json_put_array(j, "fields");
	for (size_t i = 0; new &&i < new->count; i++)
		put_field(c, j, new->item[i].key, old, new);
	for (size_t i = 0; old && new &&i < old->count; i++)
		if (!value_find(new, arena_cstr(&c->mem, old->item[i].key)))
			put_field(c, j, old->item[i].key, old, new);
	json_end(j);
}

static const char *history_act_of(const struct value *old, const struct value *new, bool was_buried)
{
	bool closed = str_is(value_str(new, "status"), "closed"),
	     was = str_is(value_str(old, "status"), "closed");

	return !new          ? "deleted" :
	       !old          ? (was_buried ? "restored" : "created") :
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

static enum err put_version(struct past *p, size_t i, struct json *reply)
{
	static const struct version nothing;
	struct call *c = p->c;
	const struct version *now = &p->at[i], *before = i ? &p->at[i - 1] : &nothing;
	const struct value *new = history_parse(c, now->line),
			   *old = history_parse(c, before->line);
	struct commit commit;
	enum err e = repo_commit(c, p->repo, p->commits.name[i], &commit);

	if (e)
		return e;
	json_object(reply);
	json_put_str(reply, "commit", commit.name);
	json_put_moment(reply, "committed_at", commit.time_ms);
	json_put_str(reply, "change", str_of(history_act_of(old, new, before->tombstone.p)));
	put_writer(reply, new, history_parse(c, now->tombstone), !old && !before->tombstone.p);
	put_fields(c, reply, old, new);
	json_end(reply);
	return ERR_OK;
}

enum err history_of(struct call *c, struct repo *r, struct str ref, struct str id, int64_t limit,
		    struct json *reply)
{
	struct past p;
	enum err e = history_look_back(c, r, ref, id, limit, &p);

	if (e)
		return e;
	json_array(reply);
	for (size_t i = 0; !e && i < p.changes; i++)
		e = put_version(&p, p.changed[i], reply);
	json_end(reply);
	return e;
}

/* --- blame --- */

/* Finds the commit that gave a member its current value. */
static struct str came_in(struct past *p, struct str key, struct str value)
{
	const char *name = arena_cstr(&p->c->mem, key);

	for (size_t i = 0; i < p->changes; i++) {
		size_t at = p->changed[i];
		const struct value *before = at ? history_parse(p->c, p->at[at - 1].line) : NULL;

		if (!before || !str_eq(history_text_of(p->c, value_find(before, name)), value))
			return p->commits.name[at];
	}
	return STR_NONE;
}

/* The mark of a member's register; without one, the mark of the bead's last write. */
static struct mark history_mark_of(const struct value *line, struct str key)
{
	static const char *const registers[][2] = {
		{ "closed_", "status" },
		{ "assignee", "assignee" },
	};
	struct mark mark = { .by = value_str(line, "_by") };
	struct str name = key;

	if (str_starts(key, STR("created_"))) {
		mark.by = value_str(line, "created_by");
		stamp_decode(value_find(line, "created_at"), &mark.at);
		return mark;
	}
	stamp_decode(value_find(line, "_at"), &mark.at);
	for (size_t i = 0; i < sizeof registers / sizeof *registers; i++)
		if (str_starts(key, str_of(registers[i][0])))
			name = str_of(registers[i][1]);
	VALUE_EACH(item, value_find(line, "_v"))
		if (str_eq(item->key, name))
			mark_decode(item, &mark);
	return mark;
}

static void put_blame(struct past *p, struct json *reply, const struct value *line,
		      const struct value *member)
{
	struct mark mark = history_mark_of(line, member->key);

	if (is_inner(member->key) || str_is(member->key, "notes"))
		return;
	json_object(reply);
	json_put_str(reply, "field", member->key);
	json_put_raw(reply, "value", history_text_of(p->c, member));
	json_put_moment(reply, "at", mark.at.ms);
	json_put_str(reply, "by", mark.by);
	json_put_str(reply, "commit", came_in(p, member->key, history_text_of(p->c, member)));
	json_end(reply);
}

enum err history_blame(struct call *c, struct repo *r, struct str ref, struct str id,
		       struct json *reply)
{
	struct past p;
	const struct value *line;
	enum err e = history_look_back(c, r, ref, id, 0, &p);

	if (e)
		return e;
	line = history_parse(c, p.at[p.commits.count - 1].line);
	if (!line) {
		call_fail(c, ERR_DELETED, "'" STR_FMT "' was deleted", STR_ARG(id));
		return call_step(c, "'bd history " STR_FMT "' shows when.",
				 STR_ARG(spawn_word(&c->mem, id)));
	}
	json_array(reply);
	VALUE_EACH(one, line)
		put_blame(&p, reply, line, one);
	json_end(reply);
	return ERR_OK;
}

/* --- comparing two commits --- */

struct history_comparing {
	struct call *c;
	struct json *j;
	enum snapshot_file file;
	struct map buried; /* ids that had a tombstone in the older commit */
};

static enum err note_buried(void *arg, const struct line_pair *pair)
{
	struct history_comparing *k = arg;

	if (pair->a.p)
		map_put(&k->buried, arena_copy(&k->c->mem, pair->key));
	return ERR_OK;
}

static enum err history_parse_pair(struct call *c, const struct line_pair *pair,
				   const struct value **old, const struct value **new)
{
	*old = history_parse(c, pair->a);
	*new = history_parse(c, pair->b);
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
		     str_of(history_act_of(old, new, map_find(&k->buried, pair->key))));
	json_put_str(k->j, "title", value_str(new ? new : old, "title"));
	put_fields(k->c, k->j, old, new);
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
	return call_step(k->c, "To see all that is wrong with it: bd validate --at %.10s",
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
	struct history_comparing k = { .c = c, .j = reply, .buried.mem = &c->mem };
	struct snapshot a, b;
	enum err e;

	if ((e = history_read(c, r, from, &a)) || (e = history_read(c, r, to, &b)) ||
	    (e = history_compare(&k, FILE_TOMBSTONES, &a, &b, note_buried)))
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
