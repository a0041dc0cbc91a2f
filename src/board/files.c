#include "board/files.h"

#include "base/file.h"
#include "base/json.h"
#include "base/moment.h"
#include "base/path.h"
#include "store/board_agents.h"
#include "store/board_db.h"

static bool climbs(struct str path)
{
	struct str segment;

	while (str_next(&path, '/', &segment))
		if (str_is(segment, ".."))
			return true;
	return false;
}

/* The path as it is stored: relative to the root, spelt in one way. */
static enum err normalise(struct call *c, struct board *b, struct str path,
			  struct str *out)
{
	struct str full;

	if (path.p[0] == '/' || path.p[0] == '\\')
		return call_fail(c, ERR_PATH_TRAVERSAL,
				 "'" STR_FMT "' is an absolute path", STR_ARG(path));
	if (climbs(path))
		return call_fail(c, ERR_PATH_TRAVERSAL, "'" STR_FMT "' climbs with '..'",
				 STR_ARG(path));
	full = path_resolve(&c->mem, b->root, path);
	if (full.n <= b->root.n + 1)
		return call_fail(c, ERR_INVALID_INPUT,
				 "'" STR_FMT "' is the project itself, not a file of it",
				 STR_ARG(path));
	*out = str_skip(full, b->root.n > 1 ? b->root.n + 1 : 1);
	return ERR_OK;
}

static enum err missing(struct call *c, struct board *b, struct str path)
{
	struct str here = path_resolve(&c->mem, c->dir, path);

	call_fail(c, ERR_INVALID_INPUT,
		  "there is no file '" STR_FMT "' in the project '" STR_FMT "'",
		  STR_ARG(path), STR_ARG(b->root));
	if (path_within(b->root, here) && file_exists(&c->mem, here))
		return call_step(c, "Paths count from the project's root: '" STR_FMT "'.",
				 STR_ARG(str_skip(here, b->root.n + 1)));
	return call_step(c, "Write the file first, or correct its path.");
}

enum err files_add(struct call *c, struct board *b, const struct artifact *draft,
		   struct artifact **out)
{
	struct artifact a = *draft;
	struct str root = path_real(&c->mem, b->root), real;
	enum err e;

	if ((e = normalise(c, b, draft->path, &a.path)))
		return e;
	real = path_real(&c->mem, path_join(&c->mem, b->root, a.path));
	if (!real.p || file_is_dir(&c->mem, real))
		return missing(c, b, a.path);
	if (!path_within(root, real))
		return call_fail(c, ERR_PATH_TRAVERSAL,
				 "'" STR_FMT "' is a link that leads out of the project",
				 STR_ARG(a.path));
	a.produced_by = c->actor;
	a.created_at = c->now_ms;
	if ((e = agent_touch(c, b, c->actor)) || (e = artifact_put(c, b, &a)))
		return e;
	return artifact_find(c, b, a.path, out);
}

enum err files_get(struct call *c, struct board *b, struct str path,
		   struct artifact **out)
{
	struct str stored;
	enum err e;

	if ((e = normalise(c, b, path, &stored)) ||
	    (e = artifact_find(c, b, stored, out)))
		return e;
	if (*out)
		return ERR_OK;
	call_fail(c, ERR_NOT_FOUND, "there is no artifact '" STR_FMT "'",
		  STR_ARG(stored));
	return call_step(c, "Run 'bb artifacts' to see those there are.");
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
