#include "store/place.h"

#include <sys/stat.h>

#include "base/system/file.h"
#include "base/system/path.h"
#include "store/owner.h"
#include "store/place_parts.h"

static enum err place_named(struct call *c, struct str *root)
{
	struct str dir = path_resolve(&c->mem, c->dir, c->project);

	*root = path_real(&c->mem, dir);
	if (!root->p && !file_missing())
		return file_fail(c, "look at", dir);
	if (root->p && file_is_dir(&c->mem, *root))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a directory", STR_ARG(dir));
	return call_step(c, "Set --dir (or BB_DIR) to an existing project folder.");
}

/* The result of a search for a folder. */
struct place_found {
	struct str root; /* absent: not found */
	struct entry entry;
};

static enum err find_in(struct call *c, struct str dir, struct str name, struct place_found *out)
{
	enum err e = entry_look(c, dir, name, &out->entry);

	out->root = out->entry.folder ? dir : STR_NONE;
	return e;
}

/* Searches `dir` and the folders above it, up to `top`. */
static enum err place_search(struct call *c, struct str dir, struct str top, struct str name,
			     struct place_found *out)
{
	enum err e;

	while (!(e = find_in(c, dir, name, out)) && !out->root.p) {
		if (str_eq(dir, top) || dir.n <= 1)
			break;
		dir = path_parent(dir);
	}
	return e;
}

/* The folder must belong to the user, and so must its target if it is a link. */
static enum err place_check_folder(struct call *c, struct str name, const struct place_found *found)
{
	struct str path = path_join(&c->mem, found->root, name);
	uid_t owner = found->entry.owner;
	struct stat st;

	if (owner_is_user(owner) && found->entry.link && !stat(arena_cstr(&c->mem, path), &st))
		owner = st.st_uid;
	if (owner_is_user(owner) || owner_listed_safe(c, found->root))
		return ERR_OK;
	owner_refuse(c, path, owner, found->root);
	return call_step(c, "Use --dir to choose another project. " STR_FMT,
			 STR_ARG(call_next_step(c)));
}

/*
 * Searches further up than the user's own repository. What another user has there is passed over:
 * anybody may create it in a folder such as /tmp, and it must not stop the commands below.
 */
static enum err search_beyond(struct call *c, struct str name, struct place_found *out)
{
	enum err e = place_search(c, c->dir, STR("/"), name, out);
	bool theirs = out->entry.link && !owner_is_user(out->entry.owner); /* it leads nowhere */

	if (!e && out->root.p)
		theirs = place_check_folder(c, name, out);
	if (!theirs)
		return e;
	*out = (struct place_found){ 0 };
	return call_forgive(c);
}

static enum err search_around(struct call *c, struct str name, struct place_found *out)
{
	struct candidate around;
	enum err e = candidate_find(c, &around);

	if (e)
		return e;
	if (around.repo.tree.p) {
		if ((e = place_search(c, c->dir, around.repo.tree, name, out)) || out->root.p)
			return e;
		if (around.foreign.path.p)
			return candidate_refuse(c, &around);
		if ((e = find_in(c, around.repo.main, name, out)) || out->root.p)
			return e;
		return search_beyond(c, name, out);
	}
	return place_search(c, c->dir, STR("/"), name, out);
}

enum err place_find(struct call *c, struct str name, struct str *root)
{
	struct place_found found = { 0 };
	struct str dir;
	enum err e;

	*root = STR_NONE;
	if (!c->project.p)
		e = search_around(c, name, &found);
	else if (!(e = place_named(c, &dir)))
		e = find_in(c, dir, name, &found);
	if (e || !found.root.p)
		return e;
	*root = found.root;
	return place_check_folder(c, name, &found);
}

enum err place_new(struct call *c, struct str name, struct str *root)
{
	struct candidate around;
	struct str found, main;
	enum err e;

	if ((e = place_find(c, name, &found)))
		return e;
	if (c->project.p)
		return place_named(c, root);
	if ((e = candidate_find(c, &around)))
		return e;
	main = around.repo.main;
	if (found.p && (!main.p || path_within(around.repo.tree, found) || str_eq(found, main)))
		*root = found;
	else
		*root = main.p ? main : c->dir;
	return ERR_OK;
}

enum err place_tree(struct call *c, struct str root, struct str *tree)
{
	struct candidate around;
	enum err e = candidate_find(c, &around);

	*tree = root;
	if (!e && around.repo.tree.p && !around.foreign.path.p && str_eq(around.repo.main, root))
		*tree = around.repo.tree;
	return e;
}
