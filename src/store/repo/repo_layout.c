/*
 * Checks whether a tree can be checked out with libgit2, which follows the links that it has made:
 * where a link and a folder have the same name, it writes the links of that folder through the
 * first one, to any place. Git itself does not, so a clone of such a tree succeeds. libgit2 also
 * takes much more memory for attributes than Git, and reads files that .gitmodules includes.
 */
#include <limits.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/system/path.h"
#include "store/repo/repo_fsck.h"
#include "store/repo/repo_parts.h"

/*
 * libgit2 reads each .gitattributes on the way to a file, and copies what a macro stands for into
 * each line that uses it, also into the lines of other macros. So the memory is the product of
 * their sizes, which is limited; Git itself needs memory in proportion to the files.
 */
enum {
	LAYOUT_ATTRIBUTES_MOST = 32 << 20, /* bytes, times the words in macros and LAYOUT_WORD */
	LAYOUT_WORD = 8, /* words of a macro that cost as much as a rule without */
};

struct repo_layout {
	struct call *c;
	struct repo *repo;
	struct map trees; /* those already checked; value: struct repo_layout_tree */
};

/* What is in a folder or below. */
struct repo_layout_tree {
	bool links;
	size_t attributes; /* bytes of all .gitattributes; at most REPO_SIZE_MOST */
};

/* A folder, and the way to it. */
struct repo_layout_folder {
	const struct repo_layout_folder *up;
	const char *name;
	int depth;
	size_t bytes; /* of its tree and of those above it, which are in memory */
};

enum repo_layout_kind { LAYOUT_FILE = 0, LAYOUT_FOLDER = 1, LAYOUT_LINKS = 2 };

struct repo_layout_name {
	const char *name;
	unsigned kind; /* several of enum repo_layout_kind */
};

/* The end of the path, if it is longer than any that could be opened. */
static struct str repo_layout_path(struct arena *mem, const struct repo_layout_folder *f)
{
	struct str path = str_of(f->name);

	for (; f->depth > 1 && path.n < PATH_MAX; f = f->up)
		path = path_join(mem, str_of(f->up->name), path);
	return path;
}

static enum err repo_layout_refuse(struct repo_layout *l, const struct repo_layout_folder *f,
				   const char *why)
{
	call_fail(l->c, ERR_UNSAFE_PATH, "the folder '" STR_FMT "' of the commit %s",
		  STR_ARG(repo_layout_path(&l->c->mem, f)), why);
	return call_step(l->c, "List the faults of the repository with 'git fsck'. Git can make a "
			       "worktree of it: git worktree add FOLDER");
}

/* libgit2 accepts trees that break the rules of Git, so their bytes are checked, too. */
static enum err repo_layout_read(struct repo_layout *l, const git_oid *oid,
				 struct repo_layout_folder *f, git_tree **out)
{
	git_odb_object *object = NULL;
	struct arena scratch = { 0 };
	const char *fault = NULL;
	git_object_t type;
	size_t size = 0;
	int code = git_odb_read_header(&size, &type, l->repo->odb, oid);

	f->bytes += size;
	if (f->depth > REPO_DEPTH)
		return repo_layout_refuse(l, f, "is nested too deep");
	if (f->bytes > REPO_TREE_MOST)
		return repo_layout_refuse(l, f, "has too many names");
	if (!code && !(code = git_odb_read(&object, l->repo->odb, oid)))
		fault = repo_fsck_tree(&scratch, (struct str){ git_odb_object_data(object),
							       git_odb_object_size(object) });
	git_odb_object_free(object);
	arena_release(&scratch);
	if (fault)
		return repo_layout_refuse(l, f, fault);
	return code || git_tree_lookup(out, l->repo->git, oid) ?
		       repo_fail(l->c, ERR_DAMAGED, "read the folder",
				 repo_layout_path(&l->c->mem, f)) :
		       ERR_OK;
}

/* What is in a folder; NULL: it was not checked yet. */
static const struct repo_layout_tree *repo_layout_known(const struct repo_layout *l,
							const git_oid *oid)
{
	void **at = map_find(&l->trees, repo_oid_key(oid));

	return at ? *at : NULL;
}

/* The kind of an entry; a folder must have been checked before. */
static unsigned repo_layout_kind(const struct repo_layout *l, const git_tree_entry *entry)
{
	const struct repo_layout_tree *tree;

	if (git_tree_entry_type(entry) != GIT_OBJECT_TREE)
		return S_ISLNK(git_tree_entry_filemode_raw(entry)) ? LAYOUT_LINKS : LAYOUT_FILE;
	tree = repo_layout_known(l, git_tree_entry_id(entry));
	return LAYOUT_FOLDER | (tree && tree->links ? LAYOUT_LINKS : 0);
}

static int repo_layout_cmp(const void *a, const void *b)
{
	return strcasecmp(((const struct repo_layout_name *)a)->name,
			  ((const struct repo_layout_name *)b)->name);
}

/*
 * Many file systems take names for the same that differ only in case. That matters where one of
 * them is a folder, and one a link or a folder with links.
 */
static enum err repo_layout_check_names(struct repo_layout *l, const struct repo_layout_folder *f,
					const git_tree *tree)
{
	size_t most = git_tree_entrycount(tree), count = 0;
	struct arena scratch = { 0 };
	struct repo_layout_name *names = arena_array(&scratch, most, sizeof *names);
	enum err e = ERR_OK;

	for (size_t i = 0; i < most; i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
		unsigned kind = repo_layout_kind(l, entry);

		if (kind)
			names[count++] =
				(struct repo_layout_name){ git_tree_entry_name(entry), kind };
	}
	qsort(names, count, sizeof *names, repo_layout_cmp);
	for (size_t i = 1; !e && i < count; i++) {
		if (repo_layout_cmp(&names[i - 1], &names[i]))
			continue;
		names[i].kind |= names[i - 1].kind;
		if (names[i].kind == (LAYOUT_FOLDER | LAYOUT_LINKS))
			e = repo_layout_refuse(
				l, f,
				arena_fmt(&scratch,
					  "has a link and a folder whose names differ "
					  "only in case, '%s' and '%s'",
					  names[i - 1].name, names[i].name)
					.p);
	}
	arena_release(&scratch);
	return e;
}

/* --- files that libgit2 reads --- */

static bool repo_layout_is_file(const git_tree_entry *entry, const char *name)
{
	return git_tree_entry_type(entry) == GIT_OBJECT_BLOB &&
	       !S_ISLNK(git_tree_entry_filemode_raw(entry)) &&
	       !strcasecmp(git_tree_entry_name(entry), name);
}

static bool repo_layout_is_attributes(const git_tree_entry *entry)
{
	return repo_layout_is_file(entry, ".gitattributes");
}

/* "[include" in any case, with or without blanks. */
static bool repo_layout_includes(struct str text)
{
	const struct str word = STR("include");

	for (size_t i = 0; i < text.n; i++) {
		struct str rest = str_skip(text, i + 1);

		if (text.p[i] != '[')
			continue;
		while (rest.n && (rest.p[0] == ' ' || rest.p[0] == '\t'))
			rest = str_skip(rest, 1);
		if (rest.n >= word.n && !strncasecmp(rest.p, word.p, word.n))
			return true;
	}
	return false;
}

/*
 * For each submodule, libgit2 reads .gitmodules as a file of settings: with all files that it
 * includes, wherever they are. Git ignores such lines.
 */
static enum err repo_layout_check_modules(struct repo_layout *l, const git_tree *root)
{
	for (size_t i = 0; i < git_tree_entrycount(root); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(root, i);
		bool link = S_ISLNK(git_tree_entry_filemode_raw(entry));
		git_odb_object *object = NULL;
		bool includes;

		if (strcasecmp(git_tree_entry_name(entry), ".gitmodules") ||
		    git_odb_read(&object, l->repo->odb, git_tree_entry_id(entry)))
			continue;
		includes = repo_layout_includes(
			(struct str){ git_odb_object_data(object), git_odb_object_size(object) });
		git_odb_object_free(object);
		if (!link && !includes)
			continue;
		call_fail(l->c, ERR_UNSAFE_PATH, "the commit's '%s' %s", git_tree_entry_name(entry),
			  link ? "is a symbolic link" : "includes other files");
		return call_step(l->c, "Git ignores that: git worktree add FOLDER");
	}
	return ERR_OK;
}

/* --- attributes --- */

/* The size of an object; one that is missing stops the checkout itself. */
static size_t repo_layout_size(const struct repo_layout *l, const git_oid *oid)
{
	git_object_t type;
	size_t size = 0;

	return git_odb_read_header(&size, &type, l->repo->odb, oid) ? 0 : size;
}

static size_t repo_layout_words(struct str text)
{
	size_t n = 0;
	bool inside = false;

	for (size_t i = 0; i < text.n; i++) {
		bool blank = memchr(" \t\v\f\r", text.p[i], 5);

		n += !blank && !inside;
		inside = !blank;
	}
	return n;
}

/*
 * The words in the lines that define macros, which count only in the root. "[attr]" begins such a
 * line, perhaps after white space, a byte order mark or a quote.
 */
static size_t repo_layout_macros(const struct repo_layout *l, const git_tree *root)
{
	size_t n = 0;

	for (size_t i = 0; i < git_tree_entrycount(root); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(root, i);
		git_odb_object *object = NULL;
		struct str rest, line;

		if (!repo_layout_is_attributes(entry) ||
		    git_odb_read(&object, l->repo->odb, git_tree_entry_id(entry)))
			continue;
		rest = (struct str){ git_odb_object_data(object), git_odb_object_size(object) };
		while (rest.n && str_next(&rest, '\n', &line))
			if (str_has(line, STR("[attr]")))
				n += repo_layout_words(line);
		git_odb_object_free(object);
	}
	return n;
}

static enum err repo_layout_check_attributes(struct repo_layout *l, const git_tree *root,
					     size_t bytes)
{
	size_t macros = 0;

	if (bytes <= LAYOUT_ATTRIBUTES_MOST / LAYOUT_WORD)
		macros = repo_layout_macros(l, root);
	if (bytes <= LAYOUT_ATTRIBUTES_MOST / (LAYOUT_WORD + macros))
		return ERR_OK;
	call_fail(
		l->c, ERR_UNSAFE_PATH,
		"the attributes of the commit would take too much memory: its .gitattributes have "
		"%zu KiB, and %zu words in lines with [attr]",
		bytes >> 10, macros);
	return call_step(l->c, "Git needs less memory for them: git worktree add FOLDER");
}

/* --- the walk --- */

static enum err repo_layout_walk(struct repo_layout *l, const git_oid *oid,
				 struct repo_layout_folder f, struct repo_layout_tree *out);

static enum err repo_layout_enter(struct repo_layout *l, const struct repo_layout_folder *f,
				  const git_tree_entry *entry, struct repo_layout_tree *out)
{
	const char *name = git_tree_entry_name(entry);
	const git_oid *oid = git_tree_entry_id(entry);
	struct repo_layout_folder inner = { f, name, f->depth + 1, f->bytes };
	struct repo_layout_tree below = { 0 };
	enum err e = ERR_OK;

	if (strchr(name, '/'))
		return repo_layout_refuse(l, f, "has a name that contains a slash");
	if (git_tree_entry_type(entry) == GIT_OBJECT_TREE)
		e = repo_layout_walk(l, oid, inner, &below);
	else
		below.links = repo_layout_kind(l, entry) & LAYOUT_LINKS;
	if (repo_layout_is_attributes(entry))
		below.attributes = repo_layout_size(l, oid);
	out->links = out->links || below.links;
	out->attributes = repo_size_add(out->attributes, below.attributes);
	return e;
}

static enum err repo_layout_walk(struct repo_layout *l, const git_oid *oid,
				 struct repo_layout_folder f, struct repo_layout_tree *out)
{
	const struct repo_layout_tree *known = repo_layout_known(l, oid);
	struct repo_layout_tree *made;
	git_tree *tree = NULL;
	enum err e = ERR_OK;

	*out = known ? *known : (struct repo_layout_tree){ 0 };
	if (known || (e = repo_layout_read(l, oid, &f, &tree)))
		return e;
	for (size_t i = 0; !e && i < git_tree_entrycount(tree); i++)
		e = repo_layout_enter(l, &f, git_tree_entry_byindex(tree, i), out);
	if (!e && out->links)
		e = repo_layout_check_names(l, &f, tree);
	git_tree_free(tree);
	made = arena_new(l->trees.mem, struct repo_layout_tree);
	*made = *out;
	*map_put(&l->trees, arena_copy(l->trees.mem, repo_oid_key(oid))) = made;
	return e;
}

enum err repo_layout_check(struct call *c, struct repo *r, const git_reference *branch)
{
	struct arena mem = { 0 };
	struct repo_layout l = { c, r, { .mem = &mem } };
	struct repo_layout_folder root = { .name = "." };
	struct repo_layout_tree all;
	git_object *tree = NULL;
	enum err e;

	if (git_reference_peel(&tree, branch, GIT_OBJECT_TREE))
		return repo_fail(c, ERR_DAMAGED, "read the branch",
				 str_of(git_reference_shorthand(branch)));
	e = repo_layout_walk(&l, git_object_id(tree), root, &all);
	if (!e && !(e = repo_layout_check_modules(&l, (git_tree *)tree)))
		e = repo_layout_check_attributes(&l, (git_tree *)tree, all.attributes);
	git_object_free(tree);
	arena_release(&mem);
	return e;
}
