#include "beads/exchange/readers.h"

#include <unistd.h>

#include "base/system/file.h"
#include "base/system/path.h"

void reader_add(struct call *c, struct issue_source *out, struct str file, struct str text,
		bool deletions)
{
	struct import_source *one = arena_new(&c->mem, struct import_source), **tail = &out->lines;

	*one = (struct import_source){ .file = file, .text = text, .deletions = deletions };
	while (*tail)
		tail = &(*tail)->next;
	*tail = one;
}

static enum err reader_text(struct call *c, struct str path, struct str *out)
{
	enum err e = path.p ? file_read(c, path, out) : file_read_input(c, FILE_MOST, out);

	if (!e && !path.p && out->n > FILE_MOST)
		return file_too_large(c, STR("standard input"), (int64_t)out->n, FILE_MOST);
	if (e || out->p)
		return e;
	call_fail(c, ERR_NOT_FOUND, "there is no file '" STR_FMT "'", STR_ARG(path));
	return call_step(c, "Run 'bd import' without a file to import what is found here.");
}

/* Upstream before 0.31 lists deleted issues in a file of its own. */
static enum err reader_jsonl(struct call *c, struct str path, struct issue_source *out)
{
	struct str text, gone;
	enum err e = reader_text(c, path, &text);

	if (e)
		return e;
	reader_add(c, out, path.p ? path_name(path) : STR("-"), text, false);
	if (!path.p)
		return ERR_OK;
	path = path_join(&c->mem, path_parent(path), STR("deletions.jsonl"));
	if (!(e = file_own_read(c, path, &gone)) && gone.p)
		reader_add(c, out, path_name(path), gone, true);
	return e;
}

enum err reader_open(struct call *c, struct str path, struct issue_source *out)
{
	return reader_jsonl(c, path, out);
}
