/*
 * Edits a bead in the user's editor. Only the fields that the user has changed are written, on the
 * condition that the bead still has the hash it was shown with. If somebody has changed other
 * fields meanwhile, the bead is read again and the same fields are written to it.
 */
#include "surface/cli/bead_edit.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/id.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "ops/ops.h"
#include "surface/cli/bead_page.h"
#include "surface/cli/out.h"
#include "surface/cli/screen.h"
#include "surface/cli/settings.h"
#include "surface/view/bd_view.h"

struct body {
	struct str id;
};

static const struct field edit_fields[] = {
	{ "id", &kind_bead, offsetof(struct body, id), FIELD_PLACE | FIELD_REQUIRED,
	  .help = "bead id; a unique prefix is enough" },
	{ 0 },
};

const struct op op_bead_edit = {
	.name = "bead edit",
	.help = "Edit a bead in your editor",
	.more = "Opens the bead as Markdown with its fields at the top, in $VISUAL or $EDITOR. "
		"Only what you change is written. If somebody has changed the same field "
		"meanwhile, nothing is written; your text is kept in a file that the error names.",
	.examples = "bd edit bd-a1b2",
	.flags = OP_BEADS | OP_WRITE | OP_ACTOR | OP_HOST,
	OP_BODY(struct body, edit_fields),
};

/* --- the editor --- */

static enum err edit_find_editor(struct call *c, struct str id, const char **editor)
{
	*editor = getenv("VISUAL");
	if (!*editor || !**editor)
		*editor = getenv("EDITOR");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		call_fail(c, ERR_INVALID_INPUT, "'bd edit' needs a terminal for the editor");
		return call_step(c,
				 "Run 'bd update --help' to see how to change a bead without one.");
	}
	if (*editor && **editor)
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "no editor is set: VISUAL and EDITOR are empty");
	return call_step(c, "Name one, for example: EDITOR=vi bd edit " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, id)));
}

/* The shell splits EDITOR into words, as for Git. */
static enum err edit_open_editor(struct call *c, const char *editor, struct str path)
{
	const char *argv[] = { "/bin/sh",
			       "-c",
			       arena_fmt(&c->mem, "%s \"$@\"", editor).p,
			       editor,
			       arena_cstr(&c->mem, path),
			       NULL };
	int status;
	enum err e = spawn_attended(c, argv, &status);

	if (e || !status)
		return e;
	if (status < 0)
		return call_fail(c, ERR_INVALID_INPUT, "the editor '%s' was killed", editor);
	call_fail(c, ERR_INVALID_INPUT, "the editor '%s' ended with status %d", editor, status);
	return call_step(c, "Check that this command works: %s", editor);
}

/* --- reading and writing the bead --- */

static enum err edit_show(struct call *c, struct str id, struct bead_page *out)
{
	struct request show = request_new(c, &op_bead_show);
	struct json reply = json_new(&c->mem);
	struct bead_page written;
	const struct value *beads;
	enum err e;

	if ((e = request_set(c, &show, 0, id)) || (e = request_check(c, &show)) ||
	    (e = request_run(c, &show, &reply)))
		return e;
	beads = value_read(&c->mem, json_text(&reply));
	if (!beads || !beads->count)
		return call_fail(c, ERR_DAMAGED,
				 "the stored data is damaged: the reply is not JSON");
	written = page_write(&c->mem, &beads->item[0]);
	e = page_read(c, &written, written.text, out);
	memcpy(out->mark, written.mark, sizeof out->mark);
	out->updated_by = written.updated_by;
	return e;
}

static enum err edit_update(struct call *c, const struct bead_page *before,
			    const struct bead_page *after, struct str hash, struct json *reply)
{
	struct request update = request_new(c, &op_bead_update);
	enum err e = request_set(c, &update, 0, before->id);

	for (int i = 0; !e && i < PAGE_FIELDS; i++)
		if (page_differs(before, after, (enum page_field)i))
			e = page_put(c, after, (enum page_field)i, &update);
	for (size_t i = 0; !e && update.op->fields[i].name; i++)
		if (!strcmp(update.op->fields[i].name, "if_hash"))
			e = request_set(c, &update, i, hash);
	if (e || (e = request_check(c, &update)))
		return e;
	return request_run(c, &update, reply);
}

/* The bead has changed meanwhile. CAS_MISMATCH unless the edited fields have not. */
static enum err edit_reread(struct call *c, const struct bead_page *before,
			    const struct bead_page *after, struct str *hash)
{
	struct bead_page now;
	enum err e;

	call_forgive(c);
	if ((e = edit_show(c, before->id, &now)))
		return e;
	*hash = now.hash;
	for (int i = 0; i < PAGE_FIELDS; i++) {
		enum page_field f = (enum page_field)i;

		if (!page_differs(before, after, f) || !page_differs(before, &now, f))
			continue;
		call_fail(c, ERR_CAS_MISMATCH,
			  STR_FMT " has changed the %s of '" STR_FMT "' while you edited it",
			  STR_ARG(now.updated_by), page_word(f), STR_ARG(before->id));
		return call_step(c, "Look at the bead, and edit it again: bd edit " STR_FMT,
				 STR_ARG(spawn_word(&c->mem, before->id)));
	}
	return ERR_OK;
}

static enum err edit_write(struct call *c, const struct bead_page *before,
			   const struct bead_page *after, struct json *reply)
{
	enum { TRIES = 10 };
	struct str hash = before->hash;
	enum err e = edit_update(c, before, after, hash, reply);

	for (int i = 1; i < TRIES && e == ERR_CAS_MISMATCH; i++) {
		if ((e = edit_reread(c, before, after, &hash)))
			return e;
		json_restart(reply);
		e = edit_update(c, before, after, hash, reply);
	}
	return e;
}

static bool edit_same(const struct bead_page *before, const struct bead_page *after)
{
	for (int i = 0; i < PAGE_FIELDS; i++)
		if (page_differs(before, after, (enum page_field)i))
			return false;
	return true;
}

/* --- the command --- */

/* Where the text is while it is edited: in the store, where no other user can read it. */
static struct str edit_path(struct call *c, struct str id)
{
	return path_join(&c->mem, c->home,
			 arena_fmt(&c->mem, "edit-" STR_FMT "-" STR_FMT ".md", STR_ARG(id),
				   STR_ARG(id_random(&c->mem, 6))));
}

/* The edit could not be taken: says where the text is. */
static int edit_keep(struct call *c, struct str path)
{
	struct str step = call_next_step(c);

	call_step(c, "Your text is kept in " STR_FMT ". " STR_FMT,
		  STR_ARG(spawn_word(&c->mem, path)), STR_ARG(step));
	return -1;
}

static int edit_print(struct call *c, struct str reply)
{
	struct view v = screen_view(c);
	const struct value *data = view_parse(&v, reply);

	if (data)
		bd_view_updated(&v, data);
	return out_view(&v, 0);
}

/* Reads the file that the user has saved; `same`: it was not changed. */
static enum err edit_read(struct call *c, const struct bead_page *before, struct str path,
			  struct bead_page *out, bool *same)
{
	struct str text;
	enum err e = file_read(c, path, &text);

	*same = !e && (!text.p || str_eq(text, before->text));
	if (e || *same)
		return e;
	if (!utf8_valid(text))
		return call_fail(c, ERR_INVALID_INPUT, "the text is not valid UTF-8");
	if (!(e = page_read(c, before, text, out)))
		*same = edit_same(before, out);
	return e;
}

int bead_edit_start(struct call *c, const struct request *r)
{
	const struct body *in = r->body;
	struct json reply = json_new(&c->mem);
	struct bead_page before, after;
	struct call failed;
	struct str path;
	const char *editor;
	bool same;
	enum err e;

	if (edit_find_editor(c, in->id, &editor) || edit_show(c, in->id, &before))
		return -1;
	path = edit_path(c, before.id);
	if (file_own_replace(c, path, before.text, 0600))
		return -1;
	e = edit_open_editor(c, editor, path);
	failed = call_save(c);
	if (edit_read(c, &before, path, &after, &same))
		return edit_keep(c, path);
	if (same)
		file_remove(c, path);
	if (e) {
		call_restore(c, &failed);
		return same ? -1 : edit_keep(c, path);
	}
	if (same)
		return out_text(&c->mem, STR("Nothing was changed.\n"), 0);
	if (settings_now(c) || edit_write(c, &before, &after, &reply))
		return edit_keep(c, path);
	file_remove(c, path);
	return edit_print(c, json_text(&reply));
}
