/*
 * The files that each commit changed. Only the trees that differ are read: libgit2's own diff also
 * looks at attributes of files and submodules, and parses every tree, which takes several times as
 * long.
 */
#include <git2.h>

#include "store/repo/repo_fsck.h"
#include "store/repo/repo_parts.h"

/* Trees that two commits in a row share are read once, if they fit into the cache. */
enum { TREE_CACHED = 256 << 10 };

struct repo_differ {
	git_odb *odb;
	struct arena mem; /* paths of the present commit */
	struct str *file;
	size_t count, most;
	size_t entries, bytes; /* files and folders that differ; the length of their paths */
	int depth;
};

/* Does too much differ: more files than asked for, too many folders without files, or very long
 * names? */
static bool repo_differ_is_full(const struct repo_differ *d)
{
	enum { ENTRIES = 16, PATH_BYTES = 256 }; /* for each file that is asked for */

	return d->count > d->most || d->entries / ENTRIES > d->most ||
	       d->bytes / PATH_BYTES > d->most;
}

/* An entry of a tree, as Git stores it: "100644 name", a NUL, the bytes of the hash. */
struct repo_entry {
	struct str mode, name;
	const unsigned char *oid; /* NULL: there is no entry */
};

static bool repo_entry_is_tree(const struct repo_entry *e)
{
	return e->oid && str_is(e->mode, "40000");
}

/* Removes the first entry from the front of a tree. A malformed rest counts as the end. */
static struct repo_entry repo_entry_next(struct str *tree)
{
	const char *space = tree->n ? memchr(tree->p, ' ', tree->n) : NULL, *end = str_end(*tree),
		   *nul = space ? memchr(space, 0, (size_t)(end - space)) : NULL;
	struct repo_entry e = { 0 };

	if (!nul || end - nul <= GIT_OID_RAWSZ) {
		*tree = STR_NONE;
		return e;
	}
	e.mode = (struct str){ tree->p, (size_t)(space - tree->p) };
	e.name = (struct str){ space + 1, (size_t)(nul - space - 1) };
	e.oid = (const unsigned char *)nul + 1;
	*tree = str_skip(*tree, (size_t)(nul + 1 + GIT_OID_RAWSZ - tree->p));
	return e;
}

static int repo_diff_trees(struct repo_differ *d, const unsigned char *old,
			   const unsigned char *new, struct str path);

/* An entry that one of the trees lacks, or that differs. */
static int repo_diff_entry(struct repo_differ *d, const struct repo_entry *old,
			   const struct repo_entry *new, struct str path)
{
	bool was_tree = repo_entry_is_tree(old), is_tree = repo_entry_is_tree(new);
	struct str name = new->oid ? new->name : old->name;

	path = path.n ? arena_fmt(&d->mem, STR_FMT "/" STR_FMT, STR_ARG(path), STR_ARG(name)) :
			arena_copy(&d->mem, name);
	d->entries++;
	d->bytes += path.n;
	if ((old->oid && !was_tree) || (new->oid && !is_tree)) {
		d->file = arena_room(&d->mem, d->file, d->count, sizeof *d->file);
		d->file[d->count++] = path;
	}
	if ((!was_tree && !is_tree) || repo_differ_is_full(d))
		return 0;
	return repo_diff_trees(d, was_tree ? old->oid : NULL, is_tree ? new->oid : NULL, path);
}

/* Both trees are sorted in Git's order. Stops when too much differs. */
static int repo_diff_walk(struct repo_differ *d, struct str old, struct str new, struct str path)
{
	static const struct repo_entry none;
	struct repo_entry a = repo_entry_next(&old), b = repo_entry_next(&new);
	int code = 0;

	while (!code && (a.oid || b.oid) && !repo_differ_is_full(d)) {
		int order = !a.oid ? 1 :
			    !b.oid ? -1 :
				     repo_tree_cmp(a.name, repo_entry_is_tree(&a), b.name,
						   repo_entry_is_tree(&b));

		if (order || memcmp(a.oid, b.oid, GIT_OID_RAWSZ) || !str_eq(a.mode, b.mode))
			code = repo_diff_entry(d, order <= 0 ? &a : &none, order >= 0 ? &b : &none,
					       path);
		if (order <= 0)
			a = repo_entry_next(&old);
		if (order >= 0)
			b = repo_entry_next(&new);
	}
	return code;
}

static int repo_read_tree(struct repo_differ *d, const unsigned char *raw, git_odb_object **out,
			  struct str *text)
{
	git_oid oid;
	int code = git_oid_fromraw(&oid, raw);

	if (!code)
		code = git_odb_read(out, d->odb, &oid);
	if (!code && git_odb_object_type(*out) != GIT_OBJECT_TREE)
		code = -1;
	if (!code)
		*text = (struct str){ git_odb_object_data(*out), git_odb_object_size(*out) };
	return code;
}

static int repo_diff_trees(struct repo_differ *d, const unsigned char *old,
			   const unsigned char *new, struct str path)
{
	git_odb_object *was = NULL, *is = NULL;
	struct str before = { 0 }, after = { 0 };
	int code = d->depth++ < REPO_DEPTH ? 0 : -1;

	if (!code && old)
		code = repo_read_tree(d, old, &was, &before);
	if (!code && new)
		code = repo_read_tree(d, new, &is, &after);
	if (!code)
		code = repo_diff_walk(d, before, after, path);
	git_odb_object_free(was);
	git_odb_object_free(is);
	d->depth--;
	return code;
}

/* The files of a commit, compared with its only parent. A merge has none of its own. A history
 * that was cloned in part ends at a commit whose parent is missing: that commit has none either. */
static void repo_diff_commit(struct repo_differ *d, git_commit *commit)
{
	unsigned parents = git_commit_parentcount(commit);
	git_commit *parent = NULL;
	int code = 0;

	arena_reset(&d->mem);
	d->file = NULL;
	d->count = d->entries = d->bytes = 0;
	if (parents == 1)
		code = git_commit_parent(&parent, commit, 0);
	if (!code && parents < 2)
		code = repo_diff_trees(d, parent ? git_commit_tree_id(parent)->id : NULL,
				       git_commit_tree_id(commit)->id, STR(""));
	git_commit_free(parent);
	if (code || repo_differ_is_full(d))
		d->count = 0;
}

/* --- where to begin --- */

static void repo_add_tip(struct call *c, struct repo_changes *changes, struct str tip)
{
	for (size_t i = 0; i < changes->tip_count; i++)
		if (str_eq(changes->tips[i], tip))
			return;
	changes->tips = arena_room(&c->mem, changes->tips, changes->tip_count, sizeof tip);
	changes->tips[changes->tip_count++] = tip;
}

enum err repo_find_tips(struct call *c, struct repo *r, struct repo_changes *changes)
{
	struct str *name, commit, fault;
	size_t count;
	git_oid head;
	enum err e = repo_refs_below(c, r, STR("refs/heads/"), &name, &count);

	changes->tips = NULL;
	changes->tip_count = 0;
	changes->head = STR_NONE;
	for (size_t i = 0; !e && i < count; i++) {
		if ((e = repo_ref_fault(c, r, name[i], &commit, &fault)))
			return e;
		if (commit.p && !fault.p)
			repo_add_tip(c, changes, commit);
	}
	if (!git_reference_name_to_id(&head, r->git, "HEAD"))
		changes->head = repo_hex(&c->mem, &head);
	if (changes->head.p && repo_is_commit(r, changes->head))
		repo_add_tip(c, changes, changes->head);
	if (changes->also.p && repo_is_commit(r, changes->also))
		repo_add_tip(c, changes, changes->also);
	return e;
}

/* --- the visit --- */

static int repo_walk_from(struct repo *r, const struct repo_changes *changes, git_revwalk **walk)
{
	git_oid oid;
	int code = git_revwalk_new(walk, r->git);

	if (!code)
		code = git_revwalk_sorting(*walk, GIT_SORT_TOPOLOGICAL | GIT_SORT_TIME);
	for (size_t i = 0; !code && i < changes->tip_count; i++)
		if (!(code = git_oid_fromstrn(&oid, changes->tips[i].p, changes->tips[i].n)))
			code = git_revwalk_push(*walk, &oid);
	for (size_t i = 0; !code && i < changes->known_count; i++)
		if (repo_is_commit(r, changes->known[i]) &&
		    !(code = git_oid_fromstrn(&oid, changes->known[i].p, changes->known[i].n)))
			code = git_revwalk_hide(*walk, &oid);
	return code;
}

static enum err repo_visit_change(struct repo *r, const struct repo_changes *changes,
				  struct repo_differ *d, const git_oid *oid)
{
	struct repo_change one = { 0 };
	git_commit *commit;
	enum err e;

	if (git_commit_lookup(&commit, r->git, oid))
		return ERR_OK; /* damaged; 'bd doctor' is about that */
	repo_diff_commit(d, commit);
	one.name = repo_hex(&d->mem, oid);
	one.author = str_of(git_commit_author(commit)->name);
	one.message = str_of(git_commit_message(commit));
	one.time_ms = (int64_t)git_commit_time(commit) * 1000;
	one.files = d->file;
	one.file_count = d->count;
	e = changes->visit(changes->arg, &one);
	git_commit_free(commit);
	return e;
}

enum err repo_each_change(struct call *c, struct repo *r, struct repo_changes *changes)
{
	struct repo_differ d = { .odb = r->odb, .most = changes->files_most };
	git_revwalk *walk = NULL;
	git_oid *oid = NULL, one;
	size_t count = 0;
	enum err e = ERR_OK;

	git_libgit2_opts(GIT_OPT_SET_CACHE_OBJECT_LIMIT, GIT_OBJECT_TREE, (size_t)TREE_CACHED);
	if (changes->tip_count && repo_walk_from(r, changes, &walk))
		e = repo_fail(c, ERR_DAMAGED, "read the history of", changes->tips[0]);
	while (!e && walk && count < changes->most && !git_revwalk_next(&one, walk)) {
		oid = arena_room(&c->mem, oid, count, sizeof *oid);
		oid[count++] = one;
	}
	git_revwalk_free(walk);
	while (!e && count)
		e = repo_visit_change(r, changes, &d, &oid[--count]);
	arena_release(&d.mem);
	return e;
}

/* --- all files --- */

enum err repo_list_files(struct call *c, struct repo *r, struct str commit, size_t most,
			 struct str **out, size_t *count, bool *more)
{
	struct repo_differ d = { .odb = r->odb, .most = most };
	git_commit *at = NULL;
	git_oid oid;
	int code = git_oid_fromstrn(&oid, commit.p, commit.n);

	if (!code)
		code = git_commit_lookup(&at, r->git, &oid);
	if (!code)
		code = repo_diff_trees(&d, NULL, git_commit_tree_id(at)->id, STR(""));
	git_commit_free(at);
	*out = arena_array(&c->mem, d.count, sizeof **out);
	*more = repo_differ_is_full(&d);
	*count = d.count > most ? most : d.count;
	for (size_t i = 0; i < *count; i++)
		(*out)[i] = arena_copy(&c->mem, d.file[i]);
	arena_release(&d.mem);
	return code ? repo_fail(c, ERR_DAMAGED, "read the files of", commit) : ERR_OK;
}
