#ifndef STORE_AGENT_FILES_H
#define STORE_AGENT_FILES_H

#include "base/system/lock.h"

/*
 * The folder `.beadboard/agent` of a project: agents, mail, reservations and events, in plain files
 * that other programs read, too. A file is either replaced as a whole (a snapshot) or appended to
 * (a record), under one lock, which the kernel releases when its process ends.
 */
struct agent_files {
	struct str root; /* the project */
	struct str home; /* absent: the folder does not exist yet */
	struct lock lock;
	struct agent_append *pending; /* lines that are stored, but not yet in their records */
	size_t pending_count;
	void *unsettled; /* messages whose snapshots are written later; see mail_settle() */
};

/* Lines for the end of a record. Several are stored together by agent_pending.h. */
struct agent_append {
	struct str name, lines;
	int64_t at; /* the size of the record without them */
};

/*
 * Sizes in bytes. A full record gets no more lines. A record beyond AGENT_RECORD_MOST, which only
 * another program can make, is not read; 'abacus doctor --fix' sets it aside.
 */
enum {
	AGENT_RECORD_FULL = 96 << 20,
	AGENT_RECORD_MOST = 128 << 20,
	AGENT_LINE_MOST = 16 << 20,
};

struct value;

enum agents_mode { AGENTS_READ, AGENTS_WRITE };

/* UNSAFE_PATH if the agents' folders in `root` are not safe to use, or would not be. */
enum err agent_files_check(struct call *c, struct str root);

enum err agent_files_open(struct call *c, enum agents_mode mode, struct agent_files *out);
void agent_files_close(struct agent_files *f);

/* For a reader that waits: makes its checks again, as a pull may have changed the folder, and loads
 * the pending lines. */
enum err agent_files_read_again(struct call *c, struct agent_files *f);

/*
 * Takes the lock for a small write beside the command itself: makes the checks of a writer, and
 * gives up soon if another process holds the lock.
 */
enum err agent_files_lock(struct call *c, struct agent_files *f);

/* For a writer: creates the folder if it does not exist. */
enum err agent_files_begin(struct call *c, struct agent_files *f);

/*
 * The text of a file, by its name in the folder; absent: no such file. An unfinished last line is
 * left out. IO_READ_FAILED.
 */
enum err agent_file_read(struct call *c, const struct agent_files *f, struct str name,
			 struct str *out);

/* Like agent_file_read(), from an offset. */
enum err agent_file_read_from(struct call *c, const struct agent_files *f, struct str name,
			      int64_t from, struct str *out);

/*
 * Like agent_file_read(), in parts of whole lines: `from` moves to the next part; the text is empty
 * at the end.
 */
enum err agent_file_read_part(struct call *c, const struct agent_files *f, struct str name,
			      int64_t *from, struct str *out);

/*
 * Replaces a snapshot atomically for readers. It is not synced, because a snapshot that is lost in
 * a power failure is rebuilt from the record. IO_WRITE_FAILED.
 */
enum err agent_file_swap(struct call *c, const struct agent_files *f, struct str name,
			 struct str text);
/*
 * Turns the failure to write a snapshot into a warning: the record already has the lines, and the
 * snapshot is rebuilt from it later.
 */
enum err agent_file_later(struct call *c, enum err e);
enum err agent_file_swap_pieces(struct call *c, const struct agent_files *f, struct str name,
				const struct str *piece, size_t count);

/*
 * Appends lines to a record and syncs it. An unfinished line at its end was never acknowledged, and
 * is removed.
 */
enum err agent_file_append(struct call *c, const struct agent_files *f, struct str name,
			   struct str lines);

/* Removes an unfinished line at the end of a record. */
enum err agent_file_finish(struct call *c, const struct agent_files *f, struct str name);

/* IO_READ_FAILED, naming the damaged line at this offset. */
enum err agent_file_damaged(struct call *c, const struct agent_files *f, struct str name,
			    int64_t at);

/* The damaged lines that a reader has skipped, each with its offset. There may be millions, so they
 * are counted and reported in one warning. */
struct agent_skips {
	size_t count;
	int64_t first;
};

void agent_skips_add(struct agent_skips *s, int64_t at);
void agent_skips_warn(struct call *c, const struct agent_files *f, struct str name,
		      const struct agent_skips *s);

/*
 * For a caller that can continue without the record: a record that is too large to read is a
 * warning; any other failure stays.
 */
enum err agent_file_pass_over(struct call *c, const struct agent_files *f, struct str name,
			      enum err e);

/* A line without text; another program may have ended it with CR LF. */
bool agent_line_blank(struct str line);

/* The next line that is not blank, without its line end; false: no more. */
bool agent_line_next(struct str *text, struct str *line);

/* A line, or a snapshot, as JSON; NULL if it is not JSON, or is larger than this program writes. */
const struct value *agent_line_parse(struct arena *mem, struct str line);
const struct value *agent_snapshot_parse(struct arena *mem, struct str text);

/*
 * IO_READ_FAILED: the record is shorter than its snapshot says, so lines were lost. The second
 * function warns, for a caller that can continue.
 */
enum err agent_file_shortened(struct call *c, struct str name, struct str snapshot);
void agent_file_warn_shortened(struct call *c, struct str name);

/* Reads the lines of a file from its end, only as many as needed. */
struct lines_back {
	const struct agent_files *f;
	struct str name;
	struct arena *mem; /* for a line, until the next one; NULL: lines stay in the call */
	struct str held;   /* read and not yet returned */
	int64_t at;        /* the offset of `held` */
	bool begun, whole; /* whole: an unfinished last line was left out */
};

/* The line before the one last returned, without its line end; absent: no more lines. */
enum err lines_back(struct call *c, struct lines_back *b, struct str *line);

/* The offset of the line last returned. */
static inline int64_t lines_back_at(const struct lines_back *b)
{
	return b->at + (int64_t)b->held.n;
}

/* The path of a file, for a store that opens it itself. */
struct str agent_file_path(struct call *c, const struct agent_files *f, struct str name);

/* IO_WRITE_FAILED. */
enum err agent_file_remove(struct call *c, const struct agent_files *f, struct str name);

/* The size of a file; 0 if there is none. IO_READ_FAILED. */
enum err agent_file_size(struct call *c, const struct agent_files *f, struct str name,
			 int64_t *out);

/* The sorted names of the files in a subfolder with this suffix, without the suffix. */
enum err agent_files_list(struct call *c, const struct agent_files *f, struct str folder,
			  struct str end, struct str **names, size_t *count);

#endif
