#include "store/agent_files.h"

#include "base/buf.h"
#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/value.h"
#include "store/agent_pending.h"
#include "store/folder.h"
#include "store/home.h"
#include "store/place.h"

enum { WAIT_MS = 10000, WAIT_BRIEF_MS = 250 };

#define DOCTOR_ASIDE                                                                           \
	"Run 'abacus doctor --fix', which sets the file aside and begins a new one with what " \
	"other files know of it"

static const char *const folders[] = { "agent",
				       "agent/agents",
				       "agent/messages",
				       "agent/messages/index",
				       "agent/messages/boxes",
				       "agent/reservations" };

static struct str agent_files_below(struct call *c, struct str dir, const char *name)
{
	return path_join(&c->mem, dir, str_of(name));
}

/* Makes Git ignore the folder, which is only for this machine. */
static enum err agent_files_make(struct call *c, struct str top)
{
	struct str ignore = agent_files_below(c, top, ".gitignore");
	enum err e = file_make_dir(c, top, 0700);

	for (size_t i = 0; !e && i < sizeof folders / sizeof *folders; i++)
		e = file_make_dir(c, agent_files_below(c, top, folders[i]), 0700);
	if (!e)
		e = file_provide(c, ignore, STR("*\n"), 0600);
	return e;
}

/* Reports a file system failure as IO_READ_FAILED or IO_WRITE_FAILED. */
static enum err as_io(struct call *c, enum err e, enum err io)
{
	if (e == ERR_INTERNAL_ERROR)
		c->code = io;
	return home_explain(c, c->code, STR(".beadboard"));
}

/* Reads the clock again after the wait, so that the times of writes are in the order of locks. */
static enum err agent_files_wait_lock(struct call *c, struct agent_files *f, int wait_ms)
{
	enum stored before = c->stored;
	enum err e = lock_take(c, agent_files_below(c, f->home, "lock"), wait_ms, &f->lock);

	if (e)
		return as_io(c, e, ERR_IO_WRITE_FAILED);
	if (!c->still)
		c->now_ms = moment_now();
	e = agent_pending_complete(c, f);
	c->stored = before; /* the completed lines were another command's */
	if (!e)
		return ERR_OK;
	lock_drop(&f->lock);
	return as_io(c, e, ERR_IO_WRITE_FAILED);
}

static struct str home_of(struct call *c, struct str root)
{
	return agent_files_below(c, root, ".beadboard/agent");
}

static enum err agent_files_check_use(struct call *c, struct str root, enum folder_use use)
{
	struct str top = agent_files_below(c, root, ".beadboard");
	bool private = true;
	enum err e;

	if (str_eq(c->seen.agents, top) && (use == FOLDER_READ || c->seen.agents_private))
		return ERR_OK;
	if ((e = folder_check_all(c, top, folders, sizeof folders / sizeof *folders, use,
				  &private)))
		return e;
	c->seen.agents = top;
	c->seen.agents_private = private;
	return ERR_OK;
}

enum err agent_files_check(struct call *c, struct str root)
{
	return agent_files_check_use(c, root, FOLDER_READ);
}

enum err agent_files_open(struct call *c, enum agents_mode mode, struct agent_files *out)
{
	struct str root;
	struct file_found found;
	enum err e = place_find(c, STR(".beadboard"), &root);

	*out = (struct agent_files){ .root = root, .lock = LOCK_NONE };
	if (e)
		return as_io(c, e, ERR_IO_READ_FAILED);
	if (!root.p)
		return ERR_OK;
	if ((e = agent_files_check_use(c, root, mode == AGENTS_WRITE ? FOLDER_WRITE : FOLDER_READ)))
		return e;
	if ((e = file_look(c, home_of(c, root), &found)))
		return as_io(c, e, ERR_IO_READ_FAILED);
	if (found.kind != FILE_FOLDER)
		return ERR_OK;
	out->home = home_of(c, root);
	return mode == AGENTS_WRITE ? agent_files_wait_lock(c, out, WAIT_MS) :
				      agent_pending_load(c, out);
}

enum err agent_files_read_again(struct call *c, struct agent_files *f)
{
	enum err e = ERR_OK;

	c->seen.agents = c->seen.untracked = STR_NONE;
	if (f->root.p)
		e = agent_files_check_use(c, f->root, FOLDER_READ);
	return e ? e : agent_pending_load(c, f);
}

enum err agent_files_lock(struct call *c, struct agent_files *f)
{
	enum err e = agent_files_check_use(c, f->root, FOLDER_WRITE);

	return e ? e : agent_files_wait_lock(c, f, WAIT_BRIEF_MS);
}

enum err agent_files_begin(struct call *c, struct agent_files *f)
{
	enum err e;

	if (f->home.p)
		return ERR_OK;
	if (!f->root.p && (e = place_new(c, STR(".beadboard"), &f->root)))
		return e;
	if ((e = agent_files_check_use(c, f->root, FOLDER_WRITE)))
		return e;
	if ((e = agent_files_make(c, agent_files_below(c, f->root, ".beadboard"))))
		return as_io(c, e, ERR_IO_WRITE_FAILED);
	f->home = home_of(c, f->root);
	return agent_files_wait_lock(c, f, WAIT_MS);
}

void agent_files_close(struct agent_files *f)
{
	lock_drop(&f->lock);
}

/* --- reading --- */

static size_t last_line(struct str text)
{
	size_t start = text.n ? text.n - 1 : 0;

	while (start && text.p[start - 1] != '\n')
		start--;
	return start;
}

/*
 * Removes an unfinished last line: one without its end, or with a hole, which a power failure
 * leaves of a line that was not synced. `offset`: of the text in the record.
 */
static struct str whole_lines(struct str text, int64_t offset)
{
	while (text.n && text.p[text.n - 1] != '\n')
		text.n--;
	if (!text.n || !memchr(text.p, 0, text.n))
		return text;
	for (size_t at = last_line(text);
	     text.n && file_has_hole(str_skip(text, at), offset + (int64_t)at);
	     at = last_line(text))
		text.n = at;
	return text;
}

static struct str agent_files_path_of(struct call *c, const struct agent_files *f, struct str name)
{
	return path_join(&c->mem, f->home, name);
}

struct str agent_file_path(struct call *c, const struct agent_files *f, struct str name)
{
	return agent_files_path_of(c, f, name);
}

enum err agent_file_remove(struct call *c, const struct agent_files *f, struct str name)
{
	enum err e = file_remove(c, agent_files_path_of(c, f, name));

	return e ? as_io(c, e, ERR_IO_WRITE_FAILED) : ERR_OK;
}

static enum err size_on_disk(struct call *c, const struct agent_files *f, struct str name,
			     int64_t *out)
{
	struct file_found found = { 0 };
	enum err e = f->home.p ? file_look(c, agent_files_path_of(c, f, name), &found) : ERR_OK;

	*out = found.size > 0 ? found.size : 0;
	return e ? as_io(c, e, ERR_IO_READ_FAILED) : ERR_OK;
}

static bool agent_files_is_record(struct str name)
{
	return str_ends(name, STR(".jsonl"));
}

/* The maximum size of the file. */
static int64_t agent_files_largest(struct str name)
{
	enum { AGENT_MOST = 1 << 20 };

	return agent_files_is_record(name)              ? AGENT_RECORD_MOST :
	       str_starts(name, STR("agents/"))         ? AGENT_MOST :
	       str_starts(name, STR("messages/index/")) ? AGENT_LINE_MOST :
							  FILE_MOST;
}

static bool agent_files_too_large(struct call *c, const struct agent_files *f, struct str name,
				  int64_t *size)
{
	struct file_found found = { 0 };
	struct call before = call_save(c);

	*size = 0;
	if (f->home.p && !file_look(c, agent_files_path_of(c, f, name), &found))
		*size = found.size;
	call_restore(c, &before);
	return *size > agent_files_largest(name);
}

/*
 * The failure to read a file. A snapshot that is too large counts as damaged: it is rebuilt from
 * its record.
 */
static enum err agent_files_unread(struct call *c, const struct agent_files *f, struct str name,
				   enum err e, struct str *out)
{
	int64_t size;

	*out = STR_NONE;
	if (!agent_files_too_large(c, f, name, &size))
		return e;
	if (!agent_files_is_record(name)) {
		*out = STR("");
		return call_forgive(c);
	}
	call_fail(c, ERR_IO_READ_FAILED,
		  "'" STR_FMT "' has %lld bytes, and at most %d are read of such a file",
		  STR_ARG(name), (long long)size, AGENT_RECORD_MOST);
	return call_remedy(c, DOCTOR_ASIDE);
}

enum err agent_file_pass_over(struct call *c, const struct agent_files *f, struct str name,
			      enum err e)
{
	int64_t size;

	if (!e || !agent_files_too_large(c, f, name, &size))
		return e;
	call_warn(c, STR_FMT "; it was left out, and 'abacus doctor --fix' sets it aside",
		  STR_ARG(c->message));
	return call_forgive(c);
}

/* Pending lines are read as if they were in the file already. */
static enum err read_with_pending(struct call *c, const struct agent_files *f,
				  const struct agent_append *a, int64_t from, size_t most,
				  struct str *out)
{
	struct buf b = { .mem = &c->mem };
	struct str there = { 0 }, rest = a->lines;
	enum err e = ERR_OK;

	if (from < a->at) {
		size_t before = (size_t)(a->at - from);

		e = file_read_within(c, agent_files_path_of(c, f, a->name), AGENT_RECORD_MOST, from,
				     most && most < before ? most : before, &there);
	} else {
		rest = str_skip(rest,
				from - a->at < (int64_t)rest.n ? (size_t)(from - a->at) : rest.n);
	}
	buf_put(&b, there);
	buf_put(&b, most && most - there.n < rest.n ? str_head(rest, most - there.n) : rest);
	*out = buf_str(&b);
	return e;
}

/* At most `most` bytes (0: all) from the offset `from`. */
static enum err agent_files_read_some(struct call *c, const struct agent_files *f, struct str name,
				      int64_t from, size_t most, struct str *out)
{
	const struct agent_append *a = NULL;
	int64_t size;
	enum err e;

	if (f->pending_count) {
		if ((e = size_on_disk(c, f, name, &size)))
			return e;
		a = agent_pending_find(f, name, size);
	}
	e = a ? read_with_pending(c, f, a, from, most, out) :
		file_read_within(c, agent_files_path_of(c, f, name), agent_files_largest(name),
				 from, most, out);
	return e ? agent_files_unread(c, f, name, e, out) : ERR_OK;
}

enum err agent_file_read(struct call *c, const struct agent_files *f, struct str name,
			 struct str *out)
{
	return agent_file_read_from(c, f, name, 0, out);
}

enum err agent_file_read_from(struct call *c, const struct agent_files *f, struct str name,
			      int64_t from, struct str *out)
{
	enum err e;

	*out = STR_NONE;
	if (!f->home.p)
		return ERR_OK;
	if ((e = agent_files_read_some(c, f, name, from, 0, out)))
		return as_io(c, e, ERR_IO_READ_FAILED);
	if (out->p && agent_files_is_record(name))
		*out = whole_lines(*out, from);
	return ERR_OK;
}

enum err agent_file_read_part(struct call *c, const struct agent_files *f, struct str name,
			      int64_t *from, struct str *out)
{
	enum { PIECE = 256 * 1024 };
	enum err e = ERR_OK;

	*out = STR_NONE;
	if (!f->home.p)
		return ERR_OK;
	for (size_t most = PIECE;; most *= 2) {
		size_t got;

		if ((e = agent_files_read_some(c, f, name, *from, most, out)))
			return as_io(c, e, ERR_IO_READ_FAILED);
		got = out->n;
		if (got >= AGENT_LINE_MOST && !memchr(out->p, '\n', got))
			break; /* a longer line is damaged, and is returned in pieces */
		*out = whole_lines(*out, *from);
		if (out->n || got < most) /* else the line is longer than what was read */
			break;
	}
	*from += (int64_t)out->n;
	return ERR_OK;
}

/* Where the last line of a text begins, which ends with a newline. */
static size_t line_start(struct str text)
{
	const char *before = text.n ? str_find_last(str_head(text, text.n - 1), '\n') : NULL;

	return before ? (size_t)(before - text.p) + 1 : 0;
}

/* Reads the held bytes again, together with at least as many before them. */
static enum err read_before(struct call *c, struct lines_back *b)
{
	enum { PIECE = 64 * 1024 };
	int64_t end = b->at + (int64_t)b->held.n,
		more = (int64_t)b->held.n > PIECE ? (int64_t)b->held.n : PIECE;
	enum err e;

	b->at = b->at > more ? b->at - more : 0;
	e = agent_files_read_some(c, b->f, b->name, b->at, (size_t)(end - b->at), &b->held);
	if (!b->whole)
		b->held = whole_lines(b->held, b->at);
	b->whole = b->whole || b->held.n;
	return e ? as_io(c, e, ERR_IO_READ_FAILED) : ERR_OK;
}

static enum err hold_more(struct call *c, struct lines_back *b)
{
	struct arena before = arena_mark(&c->mem);
	struct call part = call_part(c);
	enum err e;

	if (!b->mem) {
		if (!(e = read_before(c, b)) && !b->held.n)
			arena_rewind(&c->mem, before); /* it was all one unfinished line */
		return e;
	}
	e = read_before(&part, b);
	if (e)
		call_fail(c, e, STR_FMT, STR_ARG(part.message));
	arena_release(b->mem);
	*b->mem = part.mem;
	return e;
}

enum err lines_back(struct call *c, struct lines_back *b, struct str *line)
{
	size_t start;
	enum err e;

	*line = STR_NONE;
	if (!b->begun && (e = agent_file_size(c, b->f, b->name, &b->at)))
		return e;
	b->begun = true;
	for (;;) {
		start = line_start(b->held);
		if (start || !b->at || b->held.n >= AGENT_LINE_MOST) /* a longer line is damaged */
			break;
		if ((e = hold_more(c, b)))
			return e;
	}
	if (!b->held.n)
		return ERR_OK;
	*line = (struct str){ b->held.p + start, b->held.n - 1 - start };
	b->held.n = start;
	return ERR_OK;
}

/* --- writing --- */

/*
 * Creates the folder of the path again if it was removed; false: it was not the problem, or it
 * cannot be created.
 */
static bool lacks_folder(struct call *c, struct str path)
{
	struct str dir = path_parent(path);

	if (file_is_dir(&c->mem, dir) || !file_missing())
		return false;
	call_forgive(c);
	return !file_make_dir(c, dir, 0700);
}

/* A record must not grow beyond the size at which readers refuse it. */
static enum err agent_file_check_room(struct call *c, const struct agent_files *f, struct str name)
{
	int64_t size;
	enum err e = size_on_disk(c, f, name, &size);

	if (e || size <= AGENT_RECORD_FULL)
		return e;
	call_fail(c, ERR_IO_WRITE_FAILED,
		  "'" STR_FMT "' is full: it has %lld bytes, and nothing is added beyond %d",
		  STR_ARG(name), (long long)size, AGENT_RECORD_FULL);
	return call_remedy(c, DOCTOR_ASIDE);
}

enum err agent_file_finish(struct call *c, const struct agent_files *f, struct str name)
{
	struct str path = agent_files_path_of(c, f, name), text;
	bool whole;
	enum err e = agent_file_check_room(c, f, name);

	if (e)
		return e;
	e = file_ends_whole(c, path, &whole);
	if (!e && whole)
		return ERR_OK;
	if (!e && !(e = file_read_within(c, path, AGENT_RECORD_MOST, 0, 0, &text)))
		e = file_cut(c, path, (int64_t)whole_lines(text, 0).n);
	return e ? as_io(c, e, ERR_IO_WRITE_FAILED) : ERR_OK;
}

enum err agent_file_append(struct call *c, const struct agent_files *f, struct str name,
			   struct str lines)
{
	struct str path = agent_files_path_of(c, f, name);
	enum err e = agent_file_finish(c, f, name);

	if (e)
		return e;
	e = file_append(c, path, lines, 0600);
	if (e && lacks_folder(c, path))
		e = file_append(c, path, lines, 0600);
	return e ? as_io(c, e, ERR_IO_WRITE_FAILED) : ERR_OK;
}

enum err agent_file_swap(struct call *c, const struct agent_files *f, struct str name,
			 struct str text)
{
	return agent_file_swap_pieces(c, f, name, &text, 1);
}

enum err agent_file_later(struct call *c, enum err e)
{
	if (e)
		c->warning = arena_fmt(&c->mem, STR_FMT "; what was asked for is done",
				       STR_ARG(c->message));
	return call_forgive(c);
}

enum err agent_file_swap_pieces(struct call *c, const struct agent_files *f, struct str name,
				const struct str *piece, size_t count)
{
	struct str path = agent_files_path_of(c, f, name),
		   temp = agent_files_path_of(c, f, STR("tmp"));
	enum err e = file_swap(c, path, temp, piece, count);

	if (e && lacks_folder(c, path))
		e = file_swap(c, path, temp, piece, count);
	return e ? as_io(c, e, ERR_IO_WRITE_FAILED) : ERR_OK;
}

#define DOCTOR "'abacus doctor --fix' keeps a copy of the file and repairs it"

/* The number of the line at an offset; 0 if the file cannot be read. */
static size_t line_number(struct call *c, const struct agent_files *f, struct str name, int64_t at)
{
	enum { PIECE = 256 * 1024 };
	struct call part = call_part(c);
	size_t line = 1;
	int64_t from = 0;

	while (line && from < at) {
		size_t most = at - from < PIECE ? (size_t)(at - from) : PIECE;
		struct str text;

		if (agent_files_read_some(&part, f, name, from, most, &text) || !text.n)
			line = 0;
		else
			line += str_count(text, '\n');
		from += (int64_t)text.n;
		arena_reset(&part.mem);
	}
	arena_release(&part.mem);
	return line;
}

enum err agent_file_damaged(struct call *c, const struct agent_files *f, struct str name,
			    int64_t at)
{
	call_fail(c, ERR_IO_READ_FAILED, "line %zu of '" STR_FMT "' is damaged",
		  line_number(c, f, name, at), STR_ARG(name));
	return call_remedy(
		c, "Run 'abacus doctor --fix', which keeps a copy of the file and repairs it");
}

void agent_skips_add(struct agent_skips *s, int64_t at)
{
	if (!s->count++ || at < s->first)
		s->first = at;
}

/* A command may read a file twice, but warns once. */
void agent_skips_warn(struct call *c, const struct agent_files *f, struct str name,
		      const struct agent_skips *s)
{
	struct str file = arena_fmt(&c->mem, " of '" STR_FMT "' ", STR_ARG(name));
	size_t line;

	if (!s->count || str_has(c->warning, file))
		return;
	line = line_number(c, f, name, s->first);
	if (s->count == 1)
		call_warn(c, "line %zu" STR_FMT "is damaged and was left out; " DOCTOR, line,
			  STR_ARG(file));
	else
		call_warn(c,
			  "%zu lines" STR_FMT
			  "are damaged and were left out, the first of them line %zu; " DOCTOR,
			  s->count, STR_ARG(file), line);
}

bool agent_line_blank(struct str line)
{
	return !str_trim(line).n;
}

bool agent_line_next(struct str *text, struct str *line)
{
	while (text->n && str_next(text, '\n', line))
		if (!agent_line_blank(*line))
			return true;
	return false;
}

const struct value *agent_line_parse(struct arena *mem, struct str line)
{
	enum { VALUES = 4096 };
	struct value_error error;

	return line.n <= AGENT_LINE_MOST ? value_parse_bounded(mem, line, VALUES, &error) : NULL;
}

const struct value *agent_snapshot_parse(struct arena *mem, struct str text)
{
	enum { VALUES = 1 << 20 };
	struct value_error error;

	return value_parse_bounded(mem, text, VALUES, &error);
}

enum err agent_file_shortened(struct call *c, struct str name, struct str snapshot)
{
	call_fail(c, ERR_IO_READ_FAILED,
		  "'" STR_FMT "' is missing lines that '" STR_FMT "' was made from", STR_ARG(name),
		  STR_ARG(snapshot));
	return call_remedy(c, "Run 'abacus doctor --fix', which keeps a copy of the file and puts "
			      "the lines back");
}

void agent_file_warn_shortened(struct call *c, struct str name)
{
	call_warn(c, "'" STR_FMT "' is missing lines that were there; " DOCTOR, STR_ARG(name));
}

enum err agent_file_size(struct call *c, const struct agent_files *f, struct str name, int64_t *out)
{
	enum err e = size_on_disk(c, f, name, out);
	const struct agent_append *a = agent_pending_find(f, name, *out);

	if (a)
		*out = a->at + (int64_t)a->lines.n;
	return e;
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
