#ifndef STORE_AGENT_FILES_H
#define STORE_AGENT_FILES_H

#include "base/system/lock.h"

/*
 * The folder `.beadboard/agent` of a project: who works here, what they wrote to each other, what
 * they have reserved. Plain files that other programs read too. A file is replaced whole or
 * appended to, under one lock that dies with its process.
 */
struct agent_files {
	struct str root; /* the project */
	struct str home; /* absent: there is none yet */
	struct lock lock;
	struct agent_append *pending; /* counts, but is not in the records yet */
	size_t pending_count;
};

/* Lines for the end of a record. Several are stored together by agent_pending.h. */
struct agent_append {
	struct str name, lines;
	int64_t at; /* how long the record was without them */
};

/*
 * How large these files may be. A record gets no more lines once it is full, and is not read at
 * all if it has become larger than that by other means; 'abacus doctor --fix' sets it aside then.
 */
enum {
	AGENT_RECORD_FULL = 96 << 20,
	AGENT_RECORD_MOST = 128 << 20,
	AGENT_LINE_MOST = 16 << 20,
};

struct value;

enum agents_mode { AGENTS_READ, AGENTS_WRITE };

/* UNSAFE_PATH if the folders of the agents that are in `root`, or will be, are refused. */
enum err agent_files_check(struct call *c, struct str root);

enum err agent_files_open(struct call *c, enum agents_mode mode, struct agent_files *out);
void agent_files_close(struct agent_files *f);

/* Takes the lock for a small write beside what was asked for: checks what a writer checks, and
 * gives up soon if others hold it. */
enum err agent_files_lock(struct call *c, struct agent_files *f);

/* For a writer: makes the folder, if it is not there. */
enum err agent_files_begin(struct call *c, struct agent_files *f);

/* A file's text, by its name below the folder; absent: there is none. IO_READ_FAILED. Of a file
 * of lines, only those that have an end. */
enum err agent_file_read(struct call *c, const struct agent_files *f, struct str name,
			 struct str *out);

/* The same, from a place in it to its end. */
enum err agent_file_read_from(struct call *c, const struct agent_files *f, struct str name,
			      int64_t from, struct str *out);

/* The same of a file of lines, a part at a time: whole lines, and where the next part begins;
 * empty at its end. */
enum err agent_file_read_part(struct call *c, const struct agent_files *f, struct str name,
			      int64_t *from, struct str *out);

/*
 * A snapshot: readers see the old content or the new. What a power cut takes of it is made again
 * from the record. IO_WRITE_FAILED.
 */
enum err agent_file_swap(struct call *c, const struct agent_files *f, struct str name,
			 struct str text);
/* What is on record has happened: that a snapshot of it could not be written is a warning, and it
 * is made later. */
enum err agent_file_later(struct call *c, enum err e);
enum err agent_file_swap_pieces(struct call *c, const struct agent_files *f, struct str name,
				const struct str *piece, size_t count);

/*
 * The record: adds lines, on the medium before it returns. What somebody has left unfinished at
 * the end of the file was never acknowledged, and goes.
 */
enum err agent_file_append(struct call *c, const struct agent_files *f, struct str name,
			   struct str lines);

/* Takes away what somebody has left unfinished at the end of a record. */
enum err agent_file_finish(struct call *c, const struct agent_files *f, struct str name);

/* IO_READ_FAILED: the line that begins there cannot be read. */
enum err agent_file_damaged(struct call *c, const struct agent_files *f, struct str name,
			    int64_t at);

/* The lines that a reader has left out because they say nothing: there may be millions. They are
 * counted, by the byte that each begins at, and reported once, as a warning. */
struct agent_skips {
	size_t count;
	int64_t first;
};

void agent_skips_add(struct agent_skips *s, int64_t at);
void agent_skips_warn(struct call *c, const struct agent_files *f, struct str name,
		      const struct agent_skips *s);

/* A record that is too large to be read is a warning, for a caller that can go on without it; any
 * other failure stays. */
enum err agent_file_pass_over(struct call *c, const struct agent_files *f, struct str name,
			      enum err e);

/* The next line that is not blank, without its end. False: no more. */
bool agent_line_next(struct str *text, struct str *line);

/* One line as JSON, or a snapshot; NULL: it is none, or far larger than this program writes. */
const struct value *agent_line_parse(struct arena *mem, struct str line);
const struct value *agent_snapshot_parse(struct arena *mem, struct str text);

/* IO_READ_FAILED: a snapshot knows more than the record it was made from, which is on the medium
 * first. Or a warning, for a caller that can go on. */
enum err agent_file_shortened(struct call *c, struct str name, struct str snapshot);
void agent_file_warn_shortened(struct call *c, struct str name);

/* A file of lines from its end: only as much is read as is asked for. */
struct lines_back {
	const struct agent_files *f;
	struct str name;
	struct arena *mem; /* for the lines, each until the next; NULL: they stay */
	struct str held;   /* what was read and not yet given */
	int64_t at;        /* where it begins */
	bool begun, whole; /* an unfinished line at the end has been left out */
};

/* The line before the last one that was given, without its end; absent: no more. */
enum err lines_back(struct call *c, struct lines_back *b, struct str *line);

/* Where that one begins. */
static inline int64_t lines_back_at(const struct lines_back *b)
{
	return b->at + (int64_t)b->held.n;
}

/* Where a file of that name is, for a store that opens it itself. */
struct str agent_file_path(struct call *c, const struct agent_files *f, struct str name);

/* Takes a file away for good. IO_WRITE_FAILED. */
enum err agent_file_remove(struct call *c, const struct agent_files *f, struct str name);

/* How long a file is; 0 if there is none. IO_READ_FAILED. */
enum err agent_file_size(struct call *c, const struct agent_files *f, struct str name,
			 int64_t *out);

/* The names of the files in a folder below it that end so, without the end; sorted. */
enum err agent_files_list(struct call *c, const struct agent_files *f, struct str folder,
			  struct str end, struct str **names, size_t *count);

#endif
