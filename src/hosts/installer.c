#include "hosts/installer.h"

#include "base/buf.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "hosts/backup.h"
#include "store/output.h"
#include "store/place.h"

enum err install_left_alone(struct call *c, struct str path, enum err e)
{
	struct str step = c->step;

	if (e != ERR_INVALID_INPUT)
		return e;
	call_fail(c, e, "'" STR_FMT "' was left alone: " STR_FMT, STR_ARG(path),
		  STR_ARG(c->message));
	c->step = step;
	return step.p ? e :
			call_step(c,
				  "Nothing was changed. Correct that line of " STR_FMT
				  ", then run the command again.",
				  STR_ARG(spawn_word(&c->mem, path)));
}

static enum err installer_write(struct call *c, const struct output *file, struct str text)
{
	struct buf all = buf_of(text);
	enum err e = output_put(c, file, &all, 0644);

	if (!e)
		call_stored(c, STORED_PART);
	return e;
}

/* `file` is what `path` leads to, whose text was `old`. */
static enum err installer_replace(struct call *c, struct str path, struct output *file,
				  struct str old, struct str text, struct install_outcome *o)
{
	enum err e;

	o->changed = !old.p || !str_eq(old, text);
	if (!o->changed)
		return ERR_OK;
	if (old.p && (e = backup_put(c, path, old, &o->backup)))
		return e;
	if (file->file.dir < 0 && (e = output_open(c, path, OUTPUT_MAKE, file)))
		return e;
	return installer_write(c, file, text);
}

enum err install_check(struct call *c, struct str path, struct str project)
{
	struct str root = path_real(&c->mem, project), real;
	AUTO_OUTPUT file;
	enum err e = output_open(c, path, OUTPUT_OWNERS, &file);
	bool inside;

	if (e)
		return e;
	real = file.file.path;
	inside = root.p && real.n > root.n && path_within(root, real);
	if (inside && !place_is_reserved(c, root, real))
		return ERR_OK;
	call_fail(c, ERR_UNSAFE_PATH, "'" STR_FMT "' leads %s, to '" STR_FMT "'", STR_ARG(path),
		  inside ? "into a folder of Git or of this program" : "out of the project",
		  STR_ARG(real));
	return call_step(c, "It is a link, perhaps one that came with the repository. Replace it "
			    "with a file, or use the user's file (--user).");
}

enum err install_add(struct call *c, struct str path, const struct install_edit *g,
		     struct install_outcome *out)
{
	struct str old, text;
	AUTO_OUTPUT file;
	enum err e = output_open(c, path, OUTPUT_OWNERS, &file);

	*out = (struct install_outcome){ .path = path };
	if (e || (e = output_read(c, &file, &old)))
		return e;
	out->before = old;
	if ((e = g->add(c, old, g->arg, &text)))
		return install_left_alone(c, path, e);
	return installer_replace(c, path, &file, old, text, out);
}

/* Whether the backup is the file without our entry, so that adding the entry gives the file. */
static bool installer_was(struct call *c, const struct install_edit *g, struct str before,
			  struct str now)
{
	struct call probe = { .now_ms = c->now_ms };
	struct str with, without;
	bool yes = !g->add(&probe, before, g->arg, &with) && str_eq(with, now) &&
		   (!before.p || (!g->drop(&probe, before, g->arg, &without) && without.p &&
				  str_eq(without, before)));

	call_release(&probe);
	return yes;
}

/* Restores the backup, or removes a file that we created; if the file has changed since, only cuts
 * our entry out. */
static enum err installer_drop(struct call *c, struct str path, struct output *file, struct str now,
			       const struct install_edit *g, struct install_outcome *out)
{
	struct str before, copy, text;
	enum err e = backup_find(c, path, &copy, &before);

	if (e)
		return e;
	if ((e = g->drop(c, now, g->arg, &text)))
		return install_left_alone(c, path, e);
	if (text.p && str_eq(now, text))
		return ERR_OK;
	out->changed = true;
	if (before.p && installer_was(c, g, before, now)) {
		out->used = copy;
		out->kept = before;
		e = installer_write(c, file, before);
		return e ? e : file_remove_durably(c, copy);
	}
	if (text.p && (before.p || !installer_was(c, g, before, now)))
		return installer_replace(c, path, file, now, text, out);
	if (path_is_link(&c->mem, path))
		return installer_replace(c, path, file, now, text.p ? text : STR(""), out);
	if (!(e = output_remove(c, file)))
		call_stored(c, STORED_PART);
	return e;
}

enum err install_drop(struct call *c, struct str path, const struct install_edit *g,
		      struct install_outcome *out)
{
	struct str now;
	AUTO_OUTPUT file;
	enum err e = output_open(c, path, OUTPUT_OWNERS, &file);

	*out = (struct install_outcome){ .path = path };
	if (e || (e = output_read(c, &file, &now)) || !now.p)
		return e;
	out->before = now;
	return installer_drop(c, path, &file, now, g, out);
}

static enum err installer_put_back(struct call *c, const struct install_outcome *done)
{
	AUTO_OUTPUT file;
	enum err e = output_open(c, done->path, OUTPUT_MAKE, &file);

	if (e)
		return e;
	return done->before.p ? installer_write(c, &file, done->before) : output_remove(c, &file);
}

void install_undo(struct call *c, const struct install_outcome *done)
{
	struct call failed;

	if (!done->changed)
		return;
	failed = call_save(c);
	installer_put_back(c, done);
	if (done->backup.p)
		file_remove(c, done->backup);
	if (done->used.p)
		file_own_replace(c, done->used, done->kept, 0600);
	call_restore(c, &failed);
}

/* --- what an edit changes --- */

static struct str *installer_lines(struct arena *mem, struct str text, size_t *count)
{
	struct str *lines = NULL, line;

	*count = 0;
	while (text.n && str_next(&text, '\n', &line)) {
		lines = arena_room(mem, lines, *count, sizeof *lines);
		lines[(*count)++] = line;
	}
	return lines;
}

struct str install_diff(struct arena *mem, struct str before, struct str after)
{
	enum { AROUND = 2 };
	struct buf out = { .mem = mem };
	size_t m, n, head = 0, tail = 0;
	struct str *a = installer_lines(mem, before, &m), *b = installer_lines(mem, after, &n);

	while (head < m && head < n && str_eq(a[head], b[head]))
		head++;
	while (tail < m - head && tail < n - head && str_eq(a[m - 1 - tail], b[n - 1 - tail]))
		tail++;
	if (head == m && head == n)
		return STR("");
	for (size_t i = head > AROUND ? head - AROUND : 0; i < head; i++)
		buf_fmt(&out, "  " STR_FMT "\n", STR_ARG(a[i]));
	for (size_t i = head; i < m - tail; i++)
		buf_fmt(&out, "- " STR_FMT "\n", STR_ARG(a[i]));
	for (size_t i = head; i < n - tail; i++)
		buf_fmt(&out, "+ " STR_FMT "\n", STR_ARG(b[i]));
	for (size_t i = m - tail; i < m && i < m - tail + AROUND; i++)
		buf_fmt(&out, "  " STR_FMT "\n", STR_ARG(a[i]));
	return buf_str(&out);
}
