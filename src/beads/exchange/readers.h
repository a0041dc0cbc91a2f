#ifndef BEADS_EXCHANGE_READERS_H
#define BEADS_EXCHANGE_READERS_H

#include "base/text/json.h"
#include "beads/exchange/source.h"
#include "beads/model/limits.h"

/* The readers of source.h: one for each tracker. */

/* Reads `path`, or standard input if it is absent, as out->kind. */
enum err reader_open(struct call *c, struct str path, struct issue_source *out);

/* Each reads a file or a folder; an absent path is standard input. */
enum err reader_backup(struct call *c, struct str path, struct issue_source *out);
enum err reader_sqlite(struct call *c, struct str path, struct issue_source *out);
enum err reader_backlog(struct call *c, struct str path, struct issue_source *out);
enum err reader_taskmaster(struct call *c, struct str path, struct issue_source *out);
enum err reader_github(struct call *c, struct str path, struct issue_source *out);

/* A task of Backlog.md as a line; absent: the text does not begin with front matter. */
struct str backlog_line(struct arena *mem, struct str text);

/* The text of a file, or of standard input. NOT_FOUND. */
enum err reader_text(struct call *c, struct str path, struct str *out);

/* A file or folder that was not named itself must not be a link: it could lead to any file of the
 * user. UNSAFE_PATH; `whole` is what the user could name instead. */
enum err reader_refuse_link(struct call *c, struct str path, struct str whole);

/* INVALID_INPUT: the file is not what its kind needs; `error`: where it is not JSON, or NULL. */
struct value_error;
enum err reader_refuse(struct call *c, struct str path, const char *want,
		       const struct value_error *error);

/* The name of a member that a reader does not know. A name that means something in upstream's lines
 * is given the tracker's name, so that it is kept without an effect. */
struct str reader_key(struct arena *mem, struct str key, const char *tracker);

/* Cuts an id or a time that is too long to be valid, so that it stays invalid: a reader repeats it
 * in each subtask and each dependency. */
struct str reader_repeated(struct str text);

/* The priority for a word such as "high"; that of "medium" for any other word. */
int64_t reader_priority(struct str word);

enum { READER_VALUES = 4 << 20 }; /* JSON values in a file that is one JSON text */

/* The lines that a reader makes of a file. */
struct reader_lines {
	struct call *c;
	struct str file;
	size_t read; /* bytes of the file */
	struct buf text;
};

/*
 * Adds a line. INVALID_INPUT: the lines are out of proportion to the file, because its texts are
 * repeated in them.
 */
enum err reader_put(struct reader_lines *lines, struct str line);

/* Is the line already longer than the import accepts? Then no more items are written. */
static inline bool reader_full(const struct json *line)
{
	return line->out.n > LIMIT_OWN_LINE;
}

/* Adds a text with one issue per line to the source. */
void reader_add(struct call *c, struct issue_source *out, struct str file, struct str text,
		bool deletions);

#endif
