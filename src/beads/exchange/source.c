#include "beads/exchange/source.h"

#include "base/system/file.h"
#include "base/system/path.h"
#include "beads/beads.h"
#include "beads/exchange/readers.h"

const struct names source_kinds =
	NAMES_OF([SOURCE_BD] = "bd", [SOURCE_BR] = "br", [SOURCE_BACKUP] = "backup",
		 [SOURCE_SQLITE] = "sqlite", [SOURCE_BACKLOG] = "backlog",
		 [SOURCE_TASKMASTER] = "taskmaster", [SOURCE_GITHUB] = "github");

/* Where each tracker keeps its issues, in the order in which they are looked for. */
static const struct {
	enum source_kind kind;
	const char *path;
} places[] = {
	{ SOURCE_BD, ".beads/issues.jsonl" },
	{ SOURCE_BD, ".beads/beads.jsonl" },
	{ SOURCE_BACKUP, ".beads/backup/issues.jsonl" },
	{ SOURCE_SQLITE, ".beads/beads.db" },
	{ SOURCE_BACKLOG, "backlog/tasks" },
	{ SOURCE_TASKMASTER, ".taskmaster/tasks/tasks.json" },
};

bool source_find(struct call *c, struct str dir, enum source_kind *kind, struct str *path)
{
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		bool folder = places[i].kind == SOURCE_BACKLOG;

		*path = path_join(&c->mem, dir, str_of(places[i].path));
		*kind = places[i].kind;
		if (folder ? file_is_dir(&c->mem, *path) : file_size(&c->mem, *path) > 0)
			return true;
	}
	return false;
}

bool source_has_dolt(struct call *c, struct str dir)
{
	return file_is_dir(&c->mem, path_join(&c->mem, dir, STR(".beads/dolt"))) ||
	       file_is_dir(&c->mem, path_join(&c->mem, dir, STR(".beads/embeddeddolt")));
}

/* A file that was only found, not named, may be a link to any file of the user. */
static enum err source_refuse_links(struct call *c, struct str tree, struct str path)
{
	enum err e = ERR_OK;

	for (struct str at = path; !e && path_within(tree, at) && at.n > tree.n;
	     at = path_parent(at))
		e = reader_refuse_link(c, at, path);
	return e;
}

static enum err source_none(struct call *c, struct str dir)
{
	call_fail(c, ERR_NOT_FOUND, "there are no issues of another tracker in '" STR_FMT "'",
		  STR_ARG(dir));
	return call_step(c, "Name the file: 'bd import FILE'.");
}

static enum err source_find_here(struct call *c, enum source_kind *kind, struct str *path)
{
	struct beads b;
	enum err e = beads_locate(c, &b);
	struct str tree = b.repo.tree;

	if (e)
		return e;
	if (source_find(c, tree, kind, path) ||
	    (!str_eq(tree, b.repo.main) && source_find(c, tree = b.repo.main, kind, path)))
		return source_refuse_links(c, tree, *path);
	if (source_has_dolt(c, tree)) {
		call_fail(c, ERR_NOT_FOUND,
			  "'" STR_FMT "/.beads' has only a Dolt database, which is not read here",
			  STR_ARG(tree));
		return call_step(c,
				 "Run 'bd export -o .beads/issues.jsonl' with upstream's bd, then "
				 "'bd import' with this one.");
	}
	return source_none(c, tree);
}

/* A folder that the user named may be a whole project, too. */
static enum err source_find_in(struct call *c, struct str *path, enum source_kind *kind)
{
	struct str dir = *path, inner;

	if (!source_find(c, dir, kind, &inner)) {
		*kind = SOURCE_KINDS;
		return ERR_OK;
	}
	*path = inner;
	return source_refuse_links(c, dir, inner);
}

enum err source_open(struct call *c, struct str path, int kind, struct issue_source *out)
{
	enum source_kind found = SOURCE_KINDS; /* not known yet */
	enum err e = ERR_OK;

	if (!path.p && (e = source_find_here(c, &found, &path)))
		return e;
	*out = (struct issue_source){ .name = path };
	if (str_is(path, "-")) {
		out->name = STR("standard input");
		path = STR_NONE;
	} else {
		path = path_resolve(&c->mem, c->dir, path);
	}
	if (kind < 0 && found == SOURCE_KINDS && path.p && file_is_dir(&c->mem, path) &&
	    (e = source_find_in(c, &path, &found)))
		return e;
	if (kind < 0)
		kind = (int)found;
	out->kind = (enum source_kind)kind;
	if ((e = reader_open(c, path, out)) || kind != SOURCE_KINDS || out->lines)
		return e;
	return source_none(c, path);
}
