#include "beads/exchange/readers.h"

#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/value.h"
#include "beads/exchange/upstream.h"

void reader_add(struct call *c, struct issue_source *out, struct str file, struct str text,
		bool deletions)
{
	struct import_source *one = arena_new(&c->mem, struct import_source);

	*one = (struct import_source){ .file = file, .text = text, .deletions = deletions };
	*(out->last ? &out->last->next : &out->lines) = one;
	out->last = one;
}

/* A reader may repeat texts of the file in several lines. The lines of no real file are GROWTH
 * times its size. */
enum err reader_put(struct reader_lines *lines, struct str line)
{
	enum { GROWTH = 64 };
	size_t more = lines->read < FILE_MOST / GROWTH ? lines->read * GROWTH : FILE_MOST;

	buf_put(&lines->text, line);
	buf_char(&lines->text, '\n');
	if (lines->text.n <= lines->read + more)
		return ERR_OK;
	call_fail(lines->c, ERR_INVALID_INPUT,
		  "the issues of '" STR_FMT "' would take more than %zu KiB: one of its texts is "
		  "repeated in too many of them",
		  STR_ARG(lines->file), (lines->read + more) >> 10);
	return call_step(lines->c, "No tracker is known to write such a file: look at it "
				   "before you import it.");
}

enum err reader_text(struct call *c, struct str path, struct str *out)
{
	enum err e = path.p ? file_read(c, path, out) : file_read_input(c, FILE_MOST, out);

	if (!e && !path.p && out->n > FILE_MOST)
		return file_too_large(c, STR("standard input"), (int64_t)out->n, FILE_MOST);
	if (e || out->p)
		return e;
	call_fail(c, ERR_NOT_FOUND, "there is no file '" STR_FMT "'", STR_ARG(path));
	return call_step(c, "Run 'bd import' without a file to import what is found here.");
}

enum err reader_refuse_link(struct call *c, struct str path, struct str whole)
{
	if (!path_is_link(&c->mem, path))
		return ERR_OK;
	call_fail(c, ERR_UNSAFE_PATH, "'" STR_FMT "' is a symbolic link", STR_ARG(path));
	return call_step(c,
			 "Import the file that it leads to only if you know that file. This shows "
			 "where it leads: ls -l " STR_FMT,
			 STR_ARG(spawn_word(&c->mem, whole)));
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

enum err reader_refuse(struct call *c, struct str path, const char *want,
		       const struct value_error *error)
{
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not %s%s%s",
		  STR_ARG(path.p ? path : STR("standard input")), want, error ? ": " : "",
		  error ? error->why : "");
	return call_step(c,
			 "Choose the tracker that wrote it with --from; 'bd import --help' lists "
			 "them.");
}

struct str reader_key(struct arena *mem, struct str key, const char *tracker)
{
	return upstream_key_known(key) ? arena_fmt(mem, "%s_" STR_FMT, tracker, STR_ARG(key)) : key;
}

struct str reader_repeated(struct str text)
{
	return text.n > BEAD_ID_MOST ? str_head(text, BEAD_ID_MOST + 1) : text;
}

static const struct names priority_words = NAMES_OF("critical", "high", "medium", "low");

int64_t reader_priority(struct str word)
{
	int n = names_exact(&priority_words, word);

	return n < 0 ? 2 : n;
}

/* Recognises a file that was named without its kind. */
static enum source_kind reader_recognise(struct call *c, struct str path)
{
	static const struct str database = { "SQLite format 3", 15 };
	struct str text = { 0 };
	struct call before = call_save(c);

	if (file_is_dir(&c->mem, path))
		return file_exists(&c->mem, path_join(&c->mem, path, STR("issues.jsonl"))) ?
			       SOURCE_BACKUP :
		       file_exists(&c->mem, path_join(&c->mem, path, STR("tasks.json"))) ?
			       SOURCE_TASKMASTER :
			       SOURCE_BACKLOG;
	file_read_part(c, path, 0, 4096, &text);
	call_restore(c, &before);
	text = str_trim(text);
	if (str_starts(text, database))
		return SOURCE_SQLITE;
	if (str_is(path_name(path_parent(path)), "backup"))
		return SOURCE_BACKUP;
	if (str_is(path_name(path), "tasks.json"))
		return SOURCE_TASKMASTER;
	return text.n && text.p[0] == '[' ? SOURCE_GITHUB : SOURCE_BD;
}

enum err reader_open(struct call *c, struct str path, struct issue_source *out)
{
	typedef enum err reader(struct call * c, struct str path, struct issue_source * out);
	static reader *const readers[] = {
		[SOURCE_BD] = reader_jsonl,        [SOURCE_BR] = reader_jsonl,
		[SOURCE_BACKUP] = reader_backup,   [SOURCE_SQLITE] = reader_sqlite,
		[SOURCE_BACKLOG] = reader_backlog, [SOURCE_TASKMASTER] = reader_taskmaster,
		[SOURCE_GITHUB] = reader_github,
	};

	if (out->kind == SOURCE_KINDS)
		out->kind = path.p ? reader_recognise(c, path) : SOURCE_BD;
	return readers[out->kind](c, path, out);
}
