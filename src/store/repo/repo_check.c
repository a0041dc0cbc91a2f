/*
 * Checks whether a history from another clone can be used by us, and by the user's own Git once one
 * of our refs points to it. A missing object makes `git gc` and `git log --all` fail, a date out of
 * range makes `git gc` loop for ever, and one malformed commit or tree makes `git fsck` fail from
 * then on.
 */
#include <git2/sys/path.h>
#include <stdarg.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "store/repo/repo_fsck.h"
#include "store/repo/repo_parts.h"

enum {
	KNOWN_STEPS = 4, /* commits that are known, for each one that is checked */
};

/* Git's commit-graph has 34 bits for the seconds of a date, and `git fsck` compares the two. */
static const int64_t DATE_LAST = ((int64_t)1 << 34) - 1;

static const size_t COMMIT_MOST = (size_t)16 << 20;

struct check {
	struct call *c;
	struct arena mem;
	struct repo *repo;
	git_repository *git;
	git_odb *odb;
	struct map commits;          /* known or already checked */
	struct map files;            /* already checked */
	struct map trees;            /* already checked; value: int, the greatest depth */
	struct map shallow;          /* commits whose parents 'git fetch --depth' left out */
	struct repo_todo new, known; /* commits */
	const git_oid *commit;       /* the commit being checked */
	size_t large;                /* bytes of large commits and trees */
	struct repo_beside beside;
	size_t fetched;           /* bytes of fetched files beside the store */
	const char *fetched_name; /* the last of these files */
	bool lacks;               /* the fetch left one of them out */
	struct repo_fault *fault;
	enum err failed; /* I/O error: says nothing about the history */
};

/* False if the object was marked before. */
static bool repo_check_mark(struct check *k, struct map *map, const git_oid *oid)
{
	if (map_find(map, repo_oid_key(oid)))
		return false;
	*map_put(map, arena_copy(&k->mem, repo_oid_key(oid))) = k;
	return true;
}

/* --- faults --- */

static bool repo_check_blame(struct check *k, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static bool repo_check_blame(struct check *k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	k->fault->commit = repo_hex(&k->c->mem, k->commit);
	k->fault->why = arena_vfmt(&k->c->mem, fmt, ap);
	va_end(ap);
	return false;
}

/* "commit …", "the tree … of commit …" */
static const char *repo_check_naming(struct check *k, const char *kind, const git_oid *oid)
{
	if (git_oid_equal(oid, k->commit))
		return arena_fmt(&k->c->mem, "commit %s", repo_hex(&k->c->mem, oid).p).p;
	return arena_fmt(&k->c->mem, "the %s %s of commit %s", kind, repo_hex(&k->c->mem, oid).p,
			 repo_hex(&k->c->mem, k->commit).p)
		.p;
}

static bool repo_check_unreadable(struct check *k, int code, const char *kind, const git_oid *oid)
{
	if (repo_error_is(GIT_ERROR_OS) || repo_error_is(GIT_ERROR_NOMEMORY)) {
		k->failed = repo_fail(k->c, ERR_INTERNAL_ERROR, "read the object",
				      repo_hex(&k->c->mem, oid));
		return false;
	}
	if (code == GIT_ENOTFOUND)
		return repo_check_blame(k, "%s is missing", repo_check_naming(k, kind, oid));
	return repo_check_blame(k, "%s cannot be read: %s", repo_check_naming(k, kind, oid),
				repo_error_text());
}

/*
 * libgit2 also reports an object that it failed to open as missing, so a failure is retried once.
 */
static int repo_check_header(struct check *k, const git_oid *oid, size_t *size, git_object_t *type)
{
	git_error_clear();
	if (!git_odb_read_header(size, type, k->odb, oid))
		return 0;
	git_error_clear();
	return git_odb_read_header(size, type, k->odb, oid);
}

static bool repo_check_too_many_names(struct check *k)
{
	return repo_check_blame(k, "the commits up to %s have more than %zu bytes of names",
				repo_hex(&k->c->mem, k->commit).p, REPO_LARGE_MOST);
}

/*
 * Does the object exist, with the right type, and is it small enough to be read? Only the header is
 * read.
 */
static bool check_object(struct check *k, const git_oid *oid, git_object_t wanted)
{
	const char *kind = git_object_type2string(wanted);
	size_t size, most = wanted == GIT_OBJECT_TREE ? REPO_TREE_MOST : COMMIT_MOST;
	git_object_t type;
	int code;

	if (map_find(&k->repo->left_out, repo_oid_key(oid)))
		return repo_check_too_many_names(k);
	if ((code = repo_check_header(k, oid, &size, &type)))
		return repo_check_unreadable(k, code, kind, oid);
	if (type != wanted)
		return repo_check_blame(k, "%s is a %s", repo_check_naming(k, kind, oid),
					git_object_type2string(type));
	k->large += size > REPO_LARGE ? size : 0;
	if (size > most)
		return repo_check_blame(k, "%s has %zu bytes; at most %zu are read",
					repo_check_naming(k, kind, oid), size, most);
	return k->large <= REPO_LARGE_MOST || repo_check_too_many_names(k);
}

/* Like check_object(), for a file; `beside`: it is none of the store's. */
static bool check_file(struct check *k, const git_tree_entry *entry, bool beside)
{
	const git_oid *oid = git_tree_entry_id(entry);
	void **left_out = map_find(&k->repo->left_out, repo_oid_key(oid));
	git_object_t type = GIT_OBJECT_BLOB;
	size_t size = left_out ? *(size_t *)*left_out : 0;
	int code = left_out ? 0 : repo_check_header(k, oid, &size, &type);

	if (code)
		return repo_check_unreadable(k, code, "blob", oid);
	if (type != GIT_OBJECT_BLOB)
		return repo_check_blame(k, "%s is a %s", repo_check_naming(k, "blob", oid),
					git_object_type2string(type));
	if (size <= (size_t)k->repo->file_most) {
		if (beside && repo_was_fetched(k->repo, oid)) {
			k->fetched = repo_size_add(k->fetched, size);
			k->fetched_name = arena_cstr(&k->mem, str_of(git_tree_entry_name(entry)));
			k->lacks = k->lacks || left_out;
		}
		return true;
	}
	k->fault->size = size;
	return repo_check_blame(k,
				"the file '%s' of commit %s has %zu bytes; at most %lld are read",
				git_tree_entry_name(entry), repo_hex(&k->c->mem, k->commit).p, size,
				(long long)k->repo->file_most);
}

/* Applies the checks of `git fsck`; its wording is used for the fault. */
static bool check_strictly(struct check *k, const git_oid *oid, git_object_t kind)
{
	git_odb_object *object = NULL;
	struct arena scratch = { 0 };
	const char *fault;
	struct str bytes;

	if (git_odb_read(&object, k->odb, oid))
		return repo_check_unreadable(k, -1, git_object_type2string(kind), oid);
	bytes = (struct str){ git_odb_object_data(object), git_odb_object_size(object) };
	fault = kind == GIT_OBJECT_TREE ? repo_fsck_tree(&scratch, bytes) : repo_fsck_commit(bytes);
	git_odb_object_free(object);
	arena_release(&scratch);
	return !fault ||
	       repo_check_blame(k, "%s %s", repo_check_naming(k, git_object_type2string(kind), oid),
				fault);
}

/* --- trees --- */

static bool repo_check_is_called(const git_tree_entry *entry, git_path_gitfile file)
{
	const char *name = git_tree_entry_name(entry);

	return git_path_is_gitfile(name, strlen(name), file, GIT_PATH_FS_GENERIC) > 0;
}

/* `git fsck` rejects a .gitattributes file with a line of 2048 bytes or more. */
static bool check_attributes(struct check *k, const git_oid *oid)
{
	enum { ATTRIBUTES_MOST = 1 << 20, LINE_MOST = 2047 };
	git_odb_object *object = NULL;
	struct str text, line;
	git_object_t type;
	size_t size;
	bool sound = true;

	if (repo_check_header(k, oid, &size, &type) || type != GIT_OBJECT_BLOB)
		return true; /* another check reports this fault */
	if (size > ATTRIBUTES_MOST || git_odb_read(&object, k->odb, oid))
		return false;
	text = (struct str){ git_odb_object_data(object), git_odb_object_size(object) };
	while (sound && text.n && str_next(&text, '\n', &line))
		sound = line.n <= LINE_MOST;
	git_odb_object_free(object);
	return sound;
}

/*
 * Files that Git interprets: `git fsck` reads their content and may reject it. Our history has no
 * submodules.
 */
static bool check_obeyed(struct check *k, const git_oid *tree, const git_tree_entry *entry)
{
	if (repo_check_is_called(entry, GIT_PATH_GITFILE_GITMODULES))
		return repo_check_blame(k, "%s has a file '.gitmodules'",
					repo_check_naming(k, "tree", tree));
	if (repo_check_is_called(entry, GIT_PATH_GITFILE_GITATTRIBUTES) &&
	    (git_tree_entry_type(entry) != GIT_OBJECT_BLOB ||
	     !check_attributes(k, git_tree_entry_id(entry))))
		return repo_check_blame(k, "%s has a file '.gitattributes' that Git refuses",
					repo_check_naming(k, "tree", tree));
	return true;
}

static git_tree *read_tree(struct check *k, const git_oid *oid)
{
	git_tree *tree = NULL;
	git_object_t type;
	size_t size;

	return !repo_check_header(k, oid, &size, &type) && size <= REPO_TREE_MOST &&
			       !git_tree_lookup(&tree, k->git, oid) ?
		       tree :
		       NULL;
}

static bool check_tree(struct check *k, const git_oid *oid, const git_oid *before, int depth);

/* A submodule's commit is in another repository, so it is not checked. */
static bool check_entry(struct check *k, const git_tree_entry *entry, const git_tree_entry *before,
			int depth)
{
	const git_oid *oid = git_tree_entry_id(entry);
	git_object_t type = git_tree_entry_type(entry);

	if (before && git_tree_entry_type(before) != type)
		before = NULL;
	if (type == GIT_OBJECT_COMMIT || (before && git_oid_equal(git_tree_entry_id(before), oid)))
		return true;
	if (type == GIT_OBJECT_TREE)
		return check_tree(k, oid, before ? git_tree_entry_id(before) : NULL, depth + 1);
	return !repo_check_mark(k, &k->files, oid) ||
	       check_file(k, entry, repo_is_beside(k->repo, entry, depth));
}

/* Was this tree already checked at this depth or deeper? */
static bool was_checked(struct check *k, const git_oid *oid, int depth)
{
	void **at = map_find(&k->trees, repo_oid_key(oid));
	int *known = at ? *at : NULL;

	if (known && *known >= depth)
		return true;
	if (!known) {
		known = arena_new(&k->mem, int);
		*map_put(&k->trees, arena_copy(&k->mem, repo_oid_key(oid))) = known;
	}
	*known = depth;
	return false;
}

/*
 * Entries that are also in `before`, the same tree of the parent commit (or NULL), are checked with
 * that commit.
 */
static bool check_tree(struct check *k, const git_oid *oid, const git_oid *before, int depth)
{
	git_tree *tree, *old;
	bool sound = true;

	if ((before && git_oid_equal(oid, before)) || was_checked(k, oid, depth))
		return true;
	if (depth > REPO_DEPTH)
		return repo_check_blame(k,
					"commit %s has folders that are nested more than %d deep",
					repo_hex(&k->c->mem, k->commit).p, REPO_DEPTH);
	if (!check_object(k, oid, GIT_OBJECT_TREE))
		return false;
	if (!(tree = read_tree(k, oid)))
		return repo_check_unreadable(k, -1, "tree", oid);
	sound = check_strictly(k, oid, GIT_OBJECT_TREE);
	old = before ? read_tree(k, before) : NULL;
	for (size_t i = 0; sound && i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);

		sound = check_obeyed(k, oid, entry) &&
			check_entry(k, entry,
				    old ? git_tree_entry_byname(old, git_tree_entry_name(entry)) :
					  NULL,
				    depth);
	}
	git_tree_free(tree);
	git_tree_free(old);
	return sound;
}

/* --- files beside the store --- */

static bool repo_check_blame_fetched(struct check *k)
{
	size_t sum = k->fetched > k->repo->beside ? k->fetched : k->repo->beside;

	k->fault->size = sum / 2 + 1; /* what the limit has to be */
	return repo_check_blame(k,
				"the files beside the store that were fetched, with '%s' of commit "
				"%s, have %zu bytes together; at most %zu are read",
				k->fetched_name, repo_hex(&k->c->mem, k->commit).p, sum,
				repo_fetch_most(k->repo));
}

/*
 * Every file that was fetched is inflated and hashed, in all commits together. But a file that is
 * in the tree of a commit costs the same again in every new clone, and later commits keep it.
 */
static bool check_beside(struct check *k, const git_oid *oid)
{
	size_t most = (size_t)k->repo->file_most, sum;
	git_tree *tree = read_tree(k, oid);
	struct str name;

	if (!tree)
		return repo_check_unreadable(k, -1, "tree", oid);
	if ((sum = repo_beside_sum(&k->beside, tree, &name)) > most) {
		k->fault->size = sum;
		repo_check_blame(k,
				 "the files of commit %s beside the store have %zu bytes together, "
				 "most of them in '" STR_FMT "'; at most %zu are read",
				 repo_hex(&k->c->mem, k->commit).p, sum, STR_ARG(name), most);
	}
	git_tree_free(tree);
	return sum <= most &&
	       (k->fetched <= repo_fetch_most(k->repo) || repo_check_blame_fetched(k));
}

/* --- commits --- */

/*
 * A name may contain '>' as well, and versions of Git differ in which '>' ends the address: a date
 * after any of them is checked.
 */
static bool check_date(struct str line)
{
	for (const char *at; line.n && (at = memchr(line.p, '>', line.n));) {
		size_t i = 0;
		int64_t seconds = 0;

		line = str_skip(line, (size_t)(at - line.p) + 1);
		while (i < line.n && strchr(" \t\v\f\r+0", line.p[i]))
			i++;
		if (i < line.n && line.p[i] == '-')
			return false;
		for (; i < line.n && line.p[i] >= '0' && line.p[i] <= '9'; i++)
			if ((seconds = 10 * seconds + (line.p[i] - '0')) > DATE_LAST)
				return false;
	}
	return true;
}

/* The next line of a commit's header; the header ends with an empty line. */
static bool next_line(struct str *text, struct str *line)
{
	return text->n && str_next(text, '\n', line) && line->n;
}

static bool check_dates(struct check *k, const git_oid *oid)
{
	git_odb_object *object = NULL;
	struct str text, line;
	bool sound = true;

	if (git_odb_read(&object, k->odb, oid))
		return repo_check_unreadable(k, -1, "commit", oid);
	text = (struct str){ git_odb_object_data(object), git_odb_object_size(object) };
	while (sound && next_line(&text, &line))
		sound = !(str_starts(line, STR("author ")) ||
			  str_starts(line, STR("committer "))) ||
			check_date(line);
	git_odb_object_free(object);
	return sound || repo_check_blame(k, "commit %s has a date that Git cannot represent",
					 repo_hex(&k->c->mem, oid).p);
}

static void add_parents(struct check *k, struct repo_todo *todo, const git_commit *commit)
{
	if (map_find(&k->shallow, repo_oid_key(git_commit_id(commit))))
		return;
	for (unsigned int i = git_commit_parentcount(commit); i > 0; i--)
		repo_todo_add(&k->mem, todo, git_commit_parent_id(commit, i - 1));
}

static git_commit *repo_check_read_commit(struct check *k, const git_oid *oid)
{
	git_commit *commit = NULL;
	git_object_t type;
	size_t size;

	return !repo_check_header(k, oid, &size, &type) && size <= COMMIT_MOST &&
			       !git_commit_lookup(&commit, k->git, oid) ?
		       commit :
		       NULL;
}

static bool repo_check_check_commit(struct check *k, const git_oid *oid)
{
	git_commit *commit, *before = NULL;
	bool sound;

	k->commit = oid;
	if (!check_object(k, oid, GIT_OBJECT_COMMIT) || !check_dates(k, oid))
		return false;
	if (!(commit = repo_check_read_commit(k, oid)))
		return repo_check_unreadable(k, -1, "commit", oid);
	if (git_commit_parentcount(commit))
		before = repo_check_read_commit(k, git_commit_parent_id(commit, 0));
	sound = check_strictly(k, oid, GIT_OBJECT_COMMIT) &&
		check_tree(k, git_commit_tree_id(commit),
			   before ? git_commit_tree_id(before) : NULL, 0) &&
		check_beside(k, git_commit_tree_id(commit));
	if (sound)
		add_parents(k, &k->new, commit);
	git_commit_free(before);
	git_commit_free(commit);
	return sound;
}

/* Marks the next known commit. Its ancestors are known as well. */
static void step_known(struct check *k)
{
	git_oid oid;
	git_commit *commit;

	if (!k->known.count)
		return;
	oid = k->known.oid[--k->known.count];
	if (!repo_check_mark(k, &k->commits, &oid) || !(commit = repo_check_read_commit(k, &oid)))
		return;
	add_parents(k, &k->known, commit);
	git_commit_free(commit);
}

/*
 * Checks from the tip back to the known commits. If the remote was reset to an older commit, the
 * tip is in the middle of the known history: the walk over known commits must be the faster one, so
 * that it gets there first.
 */
static bool repo_check_check_line(struct check *k, const git_oid *tip)
{
	bool sound = true;

	repo_todo_add(&k->mem, &k->new, tip);
	while (sound && k->new.count) {
		git_oid oid = k->new.oid[--k->new.count];

		for (int i = 0; i < KNOWN_STEPS; i++)
			step_known(k);
		if (repo_check_mark(k, &k->commits, &oid))
			sound = repo_check_check_commit(k, &oid);
	}
	return sound && k->lacks ? repo_check_blame_fetched(k) : sound;
}

/* --- interface --- */

static enum err read_shallow(struct check *k)
{
	struct str text, line,
		path = path_join(&k->mem, str_of(git_repository_commondir(k->git)), STR("shallow"));
	git_oid oid;
	enum err e;

	if (git_repository_is_shallow(k->git) != 1)
		return ERR_OK;
	if ((e = file_read(k->c, path, &text)))
		return e;
	while (text.n && str_next(&text, '\n', &line))
		if (repo_oid_of(line, &oid))
			repo_check_mark(k, &k->shallow, &oid);
	return ERR_OK;
}

static enum err repo_check_begin(struct call *c, struct repo *r, struct repo_fault *fault,
				 struct check *k)
{
	*fault = (struct repo_fault){ 0 };
	*k = (struct check){ .c = c, .repo = r, .git = repo_git(r), .fault = fault };
	k->commits.mem = k->files.mem = k->trees.mem = k->shallow.mem = &k->mem;
	k->beside = (struct repo_beside){ .repo = r, .names = r, .sizes.mem = &k->mem };
	if (git_repository_odb(&k->odb, k->git))
		return repo_fail(c, ERR_INTERNAL_ERROR, "open the objects of",
				 str_of(git_repository_commondir(k->git)));
	return read_shallow(k);
}

static void repo_check_end(struct check *k)
{
	git_odb_free(k->odb);
	arena_release(&k->mem);
}

enum err repo_check(struct call *c, struct repo *r, struct str tip, struct str known,
		    struct repo_fault *fault)
{
	struct check k;
	git_oid oid;
	enum err e = repo_check_begin(c, r, fault, &k);

	if (!e && repo_oid_of(tip, &oid)) {
		git_oid old;

		if (repo_oid_of(known, &old))
			repo_todo_add(&k.mem, &k.known, &old);
		repo_check_check_line(&k, &oid);
		e = k.failed;
	}
	if (!e && fault->why.p)
		e = repo_check_loose(c, r);
	repo_check_end(&k);
	return e;
}

/* --- the intact part of a damaged history --- */

/* The first parent, even of a commit that libgit2 cannot parse. */
static bool first_parent(struct check *k, const git_oid *oid, git_oid *parent)
{
	git_odb_object *object = NULL;
	git_object_t type;
	struct str text, line;
	size_t size;
	bool found = false;

	if (repo_check_header(k, oid, &size, &type) || type != GIT_OBJECT_COMMIT ||
	    size > COMMIT_MOST || git_odb_read(&object, k->odb, oid))
		return false;
	text = (struct str){ git_odb_object_data(object), git_odb_object_size(object) };
	while (!found && next_line(&text, &line))
		found = str_starts(line, STR("parent ")) && repo_oid_of(str_skip(line, 7), parent);
	git_odb_object_free(object);
	return found;
}

static void repo_check_add_line(struct check *k, struct repo_todo *line, git_oid at)
{
	struct map seen = { .mem = &k->mem };

	do {
		if (!repo_check_mark(k, &seen, &at))
			break;
		repo_todo_add(&k->mem, line, &at);
	} while (first_parent(k, &at, &at));
}

enum err repo_last_sound(struct call *c, struct repo *r, struct str tip, struct str *commit)
{
	struct repo_todo line = { 0 };
	struct repo_fault fault;
	struct check k;
	git_oid oid;
	enum err e = repo_check_begin(c, r, &fault, &k);

	*commit = STR_NONE;
	if (!e && repo_oid_of(tip, &oid)) {
		repo_check_add_line(&k, &line, oid);
		while (line.count && repo_check_check_line(&k, &line.oid[line.count - 1]))
			*commit = repo_hex(&k.c->mem, &line.oid[--line.count]);
		e = k.failed;
	}
	repo_check_end(&k);
	return e;
}
