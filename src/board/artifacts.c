#include "board/artifacts.h"

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "store/board/board_agents.h"
#include "store/board/board_db.h"
#include "store/place.h"

static bool artifacts_climbs(struct str path)
{
	struct str segment;

	while (str_next(&path, '/', &segment))
		if (str_is(segment, ".."))
			return true;
	return false;
}

/* Normalises a path for storing: relative to the tree, one spelling per file. */
static enum err artifacts_normalise(struct call *c, struct str tree, struct str path,
				    struct str *out)
{
	struct str full;

	if (path.p[0] == '/' || path.p[0] == '\\')
		return call_fail(c, ERR_PATH_TRAVERSAL, "'" STR_FMT "' is an absolute path",
				 STR_ARG(path));
	if (artifacts_climbs(path))
		return call_fail(c, ERR_PATH_TRAVERSAL, "'" STR_FMT "' contains '..'",
				 STR_ARG(path));
	full = path_resolve(&c->mem, tree, path);
	if (full.n <= tree.n)
		return call_fail(c, ERR_INVALID_INPUT,
				 "'" STR_FMT "' is the project's folder, not a file",
				 STR_ARG(path));
	*out = str_skip(full, tree.n > 1 ? tree.n + 1 : 1);
	return ERR_OK;
}

/*
 * The path may be relative to the current directory. If that file exists, the hint names its path
 * from the root.
 */
static enum err from_the_root(struct call *c, struct str tree, struct str path)
{
	struct str here = path_resolve(&c->mem, c->dir, path);

	if (!path_within(tree, here) || str_eq(tree, c->dir) || !file_exists(&c->mem, here))
		return c->code;
	return call_step(c, "Paths count from the project's root: '" STR_FMT "'.",
			 STR_ARG(str_skip(here, tree.n + 1)));
}

static enum err artifacts_missing(struct call *c, struct str tree, struct str path)
{
	call_fail(c, ERR_INVALID_INPUT, "there is no file '" STR_FMT "' in '" STR_FMT "'",
		  STR_ARG(path), STR_ARG(tree));
	call_step(c, "Create the file first, or correct its path.");
	return from_the_root(c, tree, path);
}

static enum err artifacts_check_file(struct call *c, struct str tree, struct str path)
{
	struct str real = path_real(&c->mem, path_join(&c->mem, tree, path));

	if (!real.p && !file_missing())
		return file_fail(c, "look at", path);
	if (!real.p)
		return artifacts_missing(c, tree, path);
	if (!path_within(path_real(&c->mem, tree), real))
		return call_fail(c, ERR_PATH_TRAVERSAL,
				 "'" STR_FMT "' is a link to a place outside the project",
				 STR_ARG(path));
	if (file_is_dir(&c->mem, real))
		return call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is a folder, not a file",
				 STR_ARG(path));
	return ERR_OK;
}

enum err artifact_register(struct call *c, struct board *b, const struct artifact *draft,
			   struct artifact **out)
{
	struct artifact a = *draft;
	struct str tree;
	enum err e;

	if ((e = place_tree(c, b->root, &tree)) ||
	    (e = artifacts_normalise(c, tree, draft->path, &a.path)) ||
	    (e = artifacts_check_file(c, tree, a.path)))
		return e;
	a.produced_by = c->actor;
	a.created_at = c->now_ms;
	if ((e = agent_touch(c, b, c->actor)) || (e = artifact_put(c, b, &a)))
		return e;
	return artifact_find(c, b, a.path, out);
}

enum err artifact_get(struct call *c, struct board *b, struct str path, struct artifact **out)
{
	struct str tree, stored;
	enum err e;

	if ((e = place_tree(c, b->root, &tree)) ||
	    (e = artifacts_normalise(c, tree, path, &stored)) ||
	    (e = artifact_find(c, b, stored, out)) || *out)
		return e;
	call_fail(c, ERR_NOT_FOUND, "there is no artifact '" STR_FMT "'", STR_ARG(stored));
	call_step(c, "Run 'bb artifacts' to list the artifacts.");
	return from_the_root(c, tree, stored);
}

void artifact_encode(struct json *j, const struct artifact *a)
{
	json_object(j);
	json_put_int(j, "id", a->id);
	json_put_str(j, "path", a->path);
	json_put_str(j, "produced_by", a->produced_by);
	json_put_str(j, "description", a->description);
	json_put_str(j, "version", a->version);
	json_put_raw(j, "refs", a->refs);
	json_put_str(j, "created_at", moment_format(j->out.mem, a->created_at));
	json_end(j);
}

void artifact_encode_all(struct json *j, const struct artifact *list)
{
	json_array(j);
	for (; list; list = list->next)
		artifact_encode(j, list);
	json_end(j);
}
