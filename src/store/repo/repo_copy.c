/*
 * Fetches from a folder. libgit2 would also fetch all other branches of the folder, and fail if one
 * of their commits cannot be parsed. Objects that cannot be parsed are copied unchanged;
 * repo_check() finds them afterwards.
 */
#if __has_include(<git2/sys/errors.h>)
#include <git2/sys/errors.h>
#endif

#include "base/map.h"
#include "store/repo/repo_parts.h"

struct fetching {
	struct arena mem;
	git_repository *from;
	git_odb *there, *here;
	struct repo *into; /* has the limit for files; NULL: no limit */
	git_packbuilder *pack;
	struct map seen;
	struct repo_todo commits, trees; /* trees of the visited commits */
	size_t large;                    /* bytes of large trees */
	struct repo_beside beside;
	bool overfull; /* the files beside the store in this commit are too large together */
	bool checked;  /* objects may be missing: 'git fetch --depth' leaves some out */
	bool again;    /* also those that are there already */
};

static bool first_time(struct fetching *f, const git_oid *oid)
{
	struct str key = repo_oid_key(oid);

	if (map_find(&f->seen, key))
		return false;
	*map_put(&f->seen, arena_copy(&f->mem, key)) = f;
	return true;
}

/*
 * Fails the fetch as a whole: after a partial fetch, the object would not be fetched again once it
 * is restored.
 */
static int repo_copy_lost(const git_oid *oid)
{
	char text[24 + GIT_OID_HEXSZ] = "it has lost the object ";

	git_oid_tostr(text + strlen(text), GIT_OID_HEXSZ + 1, oid);
	git_error_set_str(GIT_ERROR_ODB, text);
	return -1;
}

/*
 * The name is a hint for delta compression: objects with the same name become deltas of each other.
 */
static int repo_copy_take(struct fetching *f, const git_oid *oid, const char *name)
{
	if (!f->again && git_odb_exists_ext(f->here, oid, GIT_ODB_LOOKUP_NO_REFRESH))
		return 0;
	if (git_odb_exists(f->there, oid))
		return git_packbuilder_insert(f->pack, oid, name);
	return f->checked ? 0 : repo_copy_lost(oid);
}

/* False: unknown, or the object was fetched before. */
static bool repo_copy_size(struct fetching *f, const git_oid *oid, size_t *size)
{
	git_object_t type;

	return f->into && !git_odb_exists_ext(f->here, oid, GIT_ODB_LOOKUP_NO_REFRESH) &&
	       !git_odb_read_header(size, &type, f->there, oid);
}

static void repo_copy_leave_out(struct fetching *f, const git_oid *oid, size_t size)
{
	struct map *left_out = &f->into->left_out;
	struct str key = repo_oid_key(oid);
	size_t *kept = arena_new(left_out->mem, size_t);

	*kept = size;
	*map_put(left_out, arena_copy(left_out->mem, key)) = kept;
}

/* Is the file small enough, alone and together with all other files beside the store? */
static bool repo_copy_fits(struct fetching *f, const git_tree_entry *entry, int depth, size_t size)
{
	if (size > (size_t)f->into->file_most)
		return false;
	if (!repo_is_beside(f->into, entry, depth))
		return true;
	if (f->overfull)
		return false;
	f->into->beside = repo_size_add(f->into->beside, size);
	return f->into->beside <= repo_fetch_most(f->into);
}

/* A few bytes of a pack can inflate to gigabytes, and the pack builder holds them in memory. */
static int take_file(struct fetching *f, const git_tree_entry *entry, int depth)
{
	const git_oid *oid = git_tree_entry_id(entry);
	size_t size;

	if (!first_time(f, oid))
		return 0;
	if (!repo_copy_size(f, oid, &size) || repo_copy_fits(f, entry, depth, size))
		return repo_copy_take(f, oid, git_tree_entry_name(entry));
	repo_copy_leave_out(f, oid, size);
	return 0;
}

static bool tree_too_large(struct fetching *f, const git_oid *oid)
{
	size_t size;

	if (!repo_copy_size(f, oid, &size) || size <= REPO_LARGE)
		return false;
	if ((f->large += size) <= REPO_LARGE_MOST)
		return false;
	repo_copy_leave_out(f, oid, size);
	return true;
}

static int take_tree(struct fetching *f, const git_oid *oid, const char *name, int depth)
{
	git_tree *tree = NULL;
	int code;

	if (depth > REPO_DEPTH || !first_time(f, oid) || tree_too_large(f, oid))
		return 0;
	code = repo_copy_take(f, oid, name);
	/* libgit2 reports a file that it failed to open as missing, so a failure is retried once */
	if (!code && git_tree_lookup(&tree, f->from, oid) && git_tree_lookup(&tree, f->from, oid))
		return 0;
	for (size_t i = 0; !code && i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
		const git_oid *id = git_tree_entry_id(entry);

		name = git_tree_entry_name(entry);
		if (git_tree_entry_type(entry) == GIT_OBJECT_TREE)
			code = take_tree(f, id, name, depth + 1);
		else if (git_tree_entry_type(entry) == GIT_OBJECT_BLOB)
			code = take_file(f, entry, depth);
	}
	git_tree_free(tree);
	return code;
}

/* The tree of a commit; `overfull` makes the fetch leave its files out before any is inflated. */
static int repo_copy_take_root(struct fetching *f, const git_oid *oid)
{
	git_tree *tree = NULL;
	struct str name;

	f->overfull = false;
	if (f->into && !git_tree_lookup(&tree, f->from, oid))
		f->overfull = repo_beside_sum(&f->beside, tree, &name) > (size_t)f->into->file_most;
	git_tree_free(tree);
	return take_tree(f, oid, "", 0);
}

/* Parses the header itself, because libgit2 refuses some commits that Git accepts. */
static int take_commit(struct fetching *f, const git_oid *oid)
{
	git_odb_object *object = NULL;
	struct str text, line;
	git_oid other;
	int code = repo_copy_take(f, oid, NULL);

	if (code || git_odb_read(&object, f->there, oid))
		return code;
	text = (struct str){ git_odb_object_data(object), git_odb_object_size(object) };
	if (git_odb_object_type(object) != GIT_OBJECT_COMMIT)
		text.n = 0;
	while (!code && text.n && str_next(&text, '\n', &line) && line.n) {
		bool tree = str_starts(line, STR("tree "));

		if (!tree && !str_starts(line, STR("parent ")))
			break;
		line = str_skip(line, tree ? 5 : 7);
		if (line.n != GIT_OID_HEXSZ || git_oid_fromstrn(&other, line.p, line.n))
			break;
		repo_todo_add(&f->mem, tree ? &f->trees : &f->commits, &other);
	}
	git_odb_object_free(object);
	return code;
}

struct repo_copy_writing {
	git_odb_writepack *pack;
	git_indexer_progress progress;
};

static int repo_copy_append(void *bytes, size_t count, void *arg)
{
	struct repo_copy_writing *w = arg;

	return w->pack->append(w->pack, bytes, count, &w->progress);
}

static int write_pack(struct fetching *f)
{
	struct repo_copy_writing w = { 0 };
	int code;

	if (!git_packbuilder_object_count(f->pack))
		return 0;
	if (!(code = git_odb_write_pack(&w.pack, f->here, NULL, NULL)) &&
	    !(code = git_packbuilder_foreach(f->pack, repo_copy_append, &w)))
		code = w.pack->commit(w.pack, &w.progress);
	if (w.pack)
		w.pack->free(w.pack);
	return code;
}

/* Builds a pack of the missing objects. */
static int repo_copy_collect(struct fetching *f, struct str commit, const struct str *known,
			     size_t count)
{
	git_oid oid;
	int code;

	f->seen.mem = &f->mem;
	if (!(code = git_repository_odb(&f->there, f->from)) && !(code = git_odb_refresh(f->here)))
		code = git_packbuilder_new(&f->pack, f->from);
	for (size_t i = 0; i < count; i++)
		if (known[i].n == GIT_OID_HEXSZ && !git_oid_fromstrn(&oid, known[i].p, known[i].n))
			first_time(f, &oid);
	if (!code && !(code = git_oid_fromstrn(&oid, commit.p, commit.n)))
		repo_todo_add(&f->mem, &f->commits, &oid);
	while (!code && f->commits.count) {
		oid = f->commits.oid[--f->commits.count];
		if (first_time(f, &oid))
			code = take_commit(f, &oid);
	}
	/* the oldest first: what a later commit has too much leaves no older file out */
	while (!code && f->trees.count)
		code = repo_copy_take_root(f, &f->trees.oid[--f->trees.count]);
	return code;
}

static void repo_copy_release(struct fetching *f)
{
	git_packbuilder_free(f->pack);
	git_odb_free(f->there);
	arena_release(&f->mem);
}

int repo_copy_objects(git_repository *from, git_odb *to, struct str commit, const struct str *known,
		      size_t count, size_t most, bool again, bool *all)
{
	struct fetching f = { .from = from, .here = to, .checked = true, .again = again };
	int code = repo_copy_collect(&f, commit, known, count);

	*all = !code && most && git_packbuilder_object_count(f.pack) == most;
	if (!code && !*all)
		code = write_pack(&f);
	repo_copy_release(&f);
	return code;
}

int repo_copy_from(struct repo *there, struct repo *here, struct str commit,
		   const struct str *known, size_t count)
{
	struct fetching f = { .from = repo_git(there), .here = here->odb, .into = here };
	int code;

	f.beside = (struct repo_beside){ .repo = there, .names = here, .sizes.mem = &f.mem };
	code = repo_copy_collect(&f, commit, known, count);

	if (!code)
		code = write_pack(&f);
	repo_copy_release(&f);
	return code;
}
