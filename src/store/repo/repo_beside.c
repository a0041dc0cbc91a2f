/*
 * Files of a commit that do not belong to the store. Another program may have put them there, so
 * they are kept; but they may not take more space together than one file may. Only the headers of
 * objects are read: a few bytes of a pack can inflate to gigabytes.
 */
#include "store/repo/repo_parts.h"

bool repo_is_beside(const struct repo *r, const git_tree_entry *entry, int depth)
{
	if (depth || git_tree_entry_type(entry) != GIT_OBJECT_BLOB)
		return true;
	for (size_t i = 0; i < r->known_count; i++)
		if (!strcmp(git_tree_entry_name(entry), r->known[i]))
			return false;
	return true;
}

size_t repo_fetch_most(const struct repo *r)
{
	return repo_size_add((size_t)r->file_most, (size_t)r->file_most);
}

bool repo_was_fetched(const struct repo *r, const git_oid *oid)
{
	return r->own && !git_odb_exists_ext(r->own, oid, GIT_ODB_LOOKUP_NO_REFRESH);
}

size_t repo_size_add(size_t a, size_t b)
{
	return a < REPO_SIZE_MOST && b < REPO_SIZE_MOST - a ? a + b : REPO_SIZE_MOST;
}

static size_t repo_beside_file(const struct repo *r, const git_oid *oid)
{
	void **left_out = map_find(&r->left_out, repo_oid_key(oid));
	git_object_t type;
	size_t size = 0;

	if (left_out)
		return *(size_t *)*left_out;
	return git_odb_read_header(&size, &type, r->odb, oid) ? 0 : size;
}

static size_t repo_beside_any(struct repo_beside *b, const git_tree_entry *entry, int depth);

static size_t repo_beside_folder(struct repo_beside *b, const git_oid *oid, int depth)
{
	git_tree *tree = NULL;
	git_object_t type;
	size_t size, sum = 0;

	if (depth > REPO_DEPTH || git_odb_read_header(&size, &type, b->repo->odb, oid) ||
	    size > REPO_TREE_MOST)
		return 0; /* repo_check() reports it */
	b->large += size > REPO_LARGE ? size : 0;
	if (b->large > REPO_LARGE_MOST || git_tree_lookup(&tree, b->repo->git, oid))
		return 0;
	for (size_t i = 0; i < git_tree_entrycount(tree); i++)
		sum = repo_size_add(sum,
				    repo_beside_any(b, git_tree_entry_byindex(tree, i), depth + 1));
	git_tree_free(tree);
	return sum;
}

/* Each object is measured once, however many commits or folders have it. */
static size_t repo_beside_any(struct repo_beside *b, const git_tree_entry *entry, int depth)
{
	const git_oid *oid = git_tree_entry_id(entry);
	struct str key = repo_oid_key(oid);
	git_object_t type = git_tree_entry_type(entry);
	void **at = map_find(&b->sizes, key);
	size_t *size;

	if (at)
		return *(size_t *)*at;
	size = arena_new(b->sizes.mem, size_t);
	*size = type == GIT_OBJECT_TREE ? repo_beside_folder(b, oid, depth) :
		type == GIT_OBJECT_BLOB ? repo_beside_file(b->repo, oid) :
					  0;
	*map_put(&b->sizes, arena_copy(b->sizes.mem, key)) = size;
	return *size;
}

size_t repo_beside_size(struct repo_beside *b, const git_tree_entry *entry)
{
	return repo_beside_any(b, entry, 0);
}

size_t repo_beside_sum(struct repo_beside *b, const git_tree *tree, struct str *name)
{
	size_t sum = 0, largest = 0;

	*name = STR("");
	for (size_t i = 0; i < git_tree_entrycount(tree); i++) {
		const git_tree_entry *entry = git_tree_entry_byindex(tree, i);
		size_t size = repo_is_beside(b->names, entry, 0) ? repo_beside_size(b, entry) : 0;

		if (size > largest) {
			*name = str_of(git_tree_entry_name(entry));
			largest = size;
		}
		sum = repo_size_add(sum, size);
	}
	return sum;
}
