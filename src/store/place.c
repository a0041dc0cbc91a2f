#include "store/place.h"

#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"

static enum err named(struct call *c, struct str *root)
{
	struct str dir = path_resolve(&c->mem, c->dir, c->project);

	*root = path_real(&c->mem, dir);
	if (root->p && file_is_dir(&c->mem, *root))
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not a directory", STR_ARG(dir));
	return call_step(c, "Give --dir (or BB_DIR) an existing project directory.");
}

static bool is_gitdir(struct call *c, struct str dir)
{
	return file_exists(&c->mem, path_join(&c->mem, dir, STR("HEAD")));
}

static bool is_bare(struct call *c, struct str dir)
{
	return is_gitdir(c, dir) &&
	       file_is_dir(&c->mem, path_join(&c->mem, dir, STR("objects"))) &&
	       file_is_dir(&c->mem, path_join(&c->mem, dir, STR("refs")));
}

/* A ".git" file says "gitdir: <path>"; that folder's "commondir" leads to the main one.
 */
static enum err read_link(struct call *c, struct str dot_git, struct repository *repo)
{
	struct str text, common;
	enum err e = file_read(c, dot_git, &text);

	if (e || !str_starts(text, STR("gitdir: ")))
		return e;
	repo->gitdir = path_resolve(&c->mem, repo->tree, str_trim(str_skip(text, 8)));
	repo->common = repo->gitdir;
	if ((e = file_read(c, path_join(&c->mem, repo->gitdir, STR("commondir")), &text)))
		return e;
	if (!text.p)
		return ERR_OK; /* a submodule: a repository of its own */
	common = path_resolve(&c->mem, repo->gitdir, str_trim(text));
	repo->common = common;
	repo->main = str_is(path_name(common), ".git") ? path_parent(common) : common;
	return ERR_OK;
}

static enum err find_main(struct call *c, struct repository *repo, enum file_kind dot_git)
{
	repo->main = repo->tree;
	repo->gitdir = repo->common = path_join(&c->mem, repo->tree, STR(".git"));
	return dot_git == FILE_FOLDER ? ERR_OK : read_link(c, repo->gitdir, repo);
}

/* What a folder has as ".git"; whether that is a link. */
static enum file_kind look(struct call *c, struct str dir, bool *link)
{
	return file_kind(&c->mem, path_join(&c->mem, dir, STR(".git")), link);
}

static enum err find_repository(struct call *c, struct repository *repo)
{
	struct str dir = c->dir;
	enum file_kind kind;
	bool link;

	*repo = (struct repository){ 0 };
	while (!(kind = look(c, dir, &link))) {
		if (dir.n <= 1)
			return ERR_OK;
		dir = path_parent(dir);
	}
	repo->tree = dir;
	return find_main(c, repo, kind);
}

/* `plain`: the common folder is `dir`, one above it, or right in one of these: no link
 * leads there. */
static enum err search_repository(struct call *c, struct str dir, struct repository *out,
				  bool *plain)
{
	enum file_kind kind;
	bool link;
	enum err e;

	for (;; dir = path_parent(dir)) {
		*out = (struct repository){ .tree = dir };
		if ((kind = look(c, dir, &link))) {
			if ((e = find_main(c, out, kind)))
				return e;
			*plain = kind == FILE_FOLDER && !link;
			if (is_gitdir(c, out->gitdir))
				return ERR_OK;
		}
		*out = (struct repository){ dir, dir, dir, dir };
		*plain = true;
		if (is_bare(c, dir)) {
			if (str_is(path_name(dir),
				   ".git")) /* inside one that is not bare */
				out->tree = out->main = path_parent(dir);
			return ERR_OK;
		}
		*out = (struct repository){ 0 };
		if (dir.n <= 1)
			return ERR_OK;
	}
}

static enum err find_common(struct call *c, struct repository *out)
{
	out->common = path_real(&c->mem, out->common);
	if (out->common.p)
		return ERR_OK;
	return call_fail(c, ERR_NOT_A_REPOSITORY,
			 "'" STR_FMT "' points to a Git directory that is not there",
			 STR_ARG(out->tree));
}

enum err place_repository(struct call *c, struct str dir, struct repository *out)
{
	bool plain;
	enum err e = search_repository(c, dir, out, &plain);

	return e || !out->common.p ? e : find_common(c, out);
}

enum err place_repository_real(struct call *c, struct str dir, struct repository *out)
{
	bool plain;
	enum err e = search_repository(c, dir, out, &plain);

	return e || !out->common.p || plain ? e : find_common(c, out);
}

enum err place_branch(struct call *c, const struct repository *repo, struct str *out)
{
	struct str head;
	enum err e = file_read(c, path_join(&c->mem, repo->gitdir, STR("HEAD")), &head);

	head = str_trim(head);
	*out = (struct str){ 0 };
	if (!e && str_starts(head, STR("ref: refs/heads/")) && utf8_valid(head) &&
	    !str_is(head, "ref: refs/heads/.invalid")) /* what reftables put there */
		*out = str_skip(head, sizeof "ref: refs/heads/" - 1);
	return e;
}

static bool has(struct call *c, struct str dir, struct str name)
{
	return file_is_dir(&c->mem, path_join(&c->mem, dir, name));
}

/* The first folder from `dir` upwards that has it, not above `top`; or absent. */
static struct str search(struct call *c, struct str dir, struct str top, struct str name)
{
	while (!has(c, dir, name)) {
		if (str_eq(dir, top) || dir.n <= 1)
			return (struct str){ 0 };
		dir = path_parent(dir);
	}
	return dir;
}

enum err place_find(struct call *c, struct str name, struct str *root)
{
	struct repository repo;
	enum err e;

	if (c->project.p) {
		if ((e = named(c, root)))
			return e;
		if (!has(c, *root, name))
			*root = (struct str){ 0 };
		return ERR_OK;
	}
	if ((e = find_repository(c, &repo)))
		return e;
	if (repo.tree.p) {
		*root = search(c, c->dir, repo.tree, name);
		if (root->p)
			return ERR_OK;
		*root = repo.main;
		if (has(c, *root, name))
			return ERR_OK;
	}
	*root = search(c, c->dir, STR("/"), name);
	return ERR_OK;
}

enum err place_new(struct call *c, struct str name, struct str *root)
{
	struct repository repo;
	struct str found;
	enum err e;

	if (c->project.p)
		return named(c, root);
	if ((e = find_repository(c, &repo)) || (e = place_find(c, name, &found)))
		return e;
	if (found.p &&
	    (!repo.tree.p || path_within(repo.tree, found) || str_eq(found, repo.main)))
		*root = found;
	else
		*root = repo.tree.p ? repo.main : c->dir;
	return ERR_OK;
}

enum err place_tree(struct call *c, struct str root, struct str *tree)
{
	struct repository repo;
	enum err e = find_repository(c, &repo);

	*tree = root;
	if (!e && repo.tree.p && str_eq(repo.main, root))
		*tree = repo.tree;
	return e;
}

struct str place_ref(struct call *c, const struct repository *repo, struct str name)
{
	struct str text, line;

	if (!file_read(c, path_join(&c->mem, repo->common, name), &text) && text.p)
		return str_trim(text);
	if (!file_read(c, path_join(&c->mem, repo->common, STR("packed-refs")), &text))
		while (text.n && str_next(&text, '\n', &line))
			if (line.n > 41 && str_eq(str_skip(line, 41), name))
				return str_head(line, 40);
	c->code = ERR_OK;
	return (struct str){ 0 };
}
