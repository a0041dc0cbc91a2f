#include "store/agent_files.h"

#include "base/file.h"
#include "base/path.h"
#include "store/place.h"

enum { WAIT_MS = 10000 };

static const char *const folders[] = { "agent", "agent/agents", "agent/messages",
				       "agent/messages/index", "agent/reservations" };

static struct str below(struct call *c, struct str dir, const char *name)
{
	return path_join(&c->mem, dir, str_of(name));
}

/* It ignores itself in Git: what is said here is for this machine. */
static enum err make(struct call *c, struct str top)
{
	struct str ignore = below(c, top, ".gitignore");
	enum err e = file_make_dir(c, top, 0700);

	for (size_t i = 0; !e && i < sizeof folders / sizeof *folders; i++)
		e = file_make_dir(c, below(c, top, folders[i]), 0700);
	if (!e && !file_exists(&c->mem, ignore))
		e = file_replace(c, ignore, STR("*\n"), 0600);
	return e;
}

/* The other name for what the file system refuses. */
static enum err as_io(struct call *c, enum err e, enum err io)
{
	if (e == ERR_INTERNAL_ERROR)
		c->code = io;
	return c->code;
}

static enum err lock(struct call *c, struct agent_files *f)
{
	enum err e = lock_take(c, below(c, f->home, "lock"), WAIT_MS, &f->lock);

	return e ? as_io(c, e, ERR_IO_WRITE_FAILED) : ERR_OK;
}

static struct str home_of(struct call *c, struct str root)
{
	return below(c, root, ".beadboard/agent");
}

enum err agent_files_open(struct call *c, enum agents_mode mode, struct agent_files *out)
{
	struct str root;
	enum err e = place_find(c, STR(".beadboard"), &root);

	*out = (struct agent_files){ .root = root, .lock = LOCK_NONE };
	if (e || !root.p || !file_is_dir(&c->mem, home_of(c, root)))
		return e;
	out->home = home_of(c, root);
	return mode == AGENTS_WRITE ? lock(c, out) : ERR_OK;
}

enum err agent_files_begin(struct call *c, struct agent_files *f)
{
	enum err e;

	if (f->home.p)
		return ERR_OK;
	if (!f->root.p && (e = place_new(c, STR(".beadboard"), &f->root)))
		return e;
	if ((e = make(c, below(c, f->root, ".beadboard"))))
		return as_io(c, e, ERR_IO_WRITE_FAILED);
	f->home = home_of(c, f->root);
	return lock(c, f);
}

void agent_files_close(struct agent_files *f)
{
	lock_drop(&f->lock);
}

/* Up to the end of the last line that has one. */
static struct str whole_lines(struct str text)
{
	while (text.n && text.p[text.n - 1] != '\n')
		text.n--;
	return text;
}

enum err agent_file_read(struct call *c, const struct agent_files *f, struct str name,
			 struct str *out)
{
	enum err e;

	*out = (struct str){ 0 };
	if (!f->home.p)
		return ERR_OK;
	if ((e = file_read(c, path_join(&c->mem, f->home, name), out)))
		return as_io(c, e, ERR_IO_READ_FAILED);
	if (out->p && str_ends(name, STR(".jsonl")))
		*out = whole_lines(*out);
	return ERR_OK;
}

enum err agent_file_append(struct call *c, const struct agent_files *f, struct str name,
			   struct str line)
{
	struct str path = path_join(&c->mem, f->home, name), text;
	enum err e;

	if (!file_ends_line(&c->mem, path) &&
	    ((e = agent_file_read(c, f, name, &text)) ||
	     (e = agent_file_replace(c, f, name, text))))
		return e;
	e = file_append(c, path, line, 0600);
	return e ? as_io(c, e, ERR_IO_WRITE_FAILED) : ERR_OK;
}

enum err agent_file_replace(struct call *c, const struct agent_files *f, struct str name,
			    struct str text)
{
	struct str path = path_join(&c->mem, f->home, name);
	enum err e;

	if ((e = file_remove_leftovers(c, path)) ||
	    (e = file_replace(c, path, text, 0600)))
		return as_io(c, e, ERR_IO_WRITE_FAILED);
	return ERR_OK;
}

enum err agent_file_damaged(struct call *c, struct str name, size_t line)
{
	call_fail(c, ERR_IO_READ_FAILED, "line %zu of '" STR_FMT "' is damaged", line,
		  STR_ARG(name));
	return call_step(c, "Nothing was changed. Keep a copy of the file, and take that "
			    "line out of it.");
}

int64_t agent_file_size(struct call *c, const struct agent_files *f, struct str name)
{
	off_t size =
		f->home.p ? file_size(&c->mem, path_join(&c->mem, f->home, name)) : 0;

	return size > 0 ? (int64_t)size : 0;
}

struct listing {
	struct call *c;
	struct str end, *names;
	size_t count;
};

static void note_name(void *arg, struct str name)
{
	struct listing *l = arg;

	if (!str_ends(name, l->end) || name.n == l->end.n)
		return;
	l->names = arena_room(&l->c->mem, l->names, l->count, sizeof name);
	l->names[l->count++] = arena_copy(&l->c->mem, str_head(name, name.n - l->end.n));
}

enum err agent_files_list(struct call *c, const struct agent_files *f, struct str folder,
			  struct str end, struct str **names, size_t *count)
{
	struct listing l = { .c = c, .end = end };
	enum err e = ERR_OK;

	if (f->home.p)
		e = file_each(c, path_join(&c->mem, f->home, folder), note_name, &l);
	str_sort(l.names, l.count);
	*names = l.names;
	*count = l.count;
	return e ? as_io(c, e, ERR_IO_READ_FAILED) : ERR_OK;
}
