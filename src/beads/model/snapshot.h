#ifndef BEADS_MODEL_SNAPSHOT_H
#define BEADS_MODEL_SNAPSHOT_H

#include "base/call.h"

struct state;
struct value;

/* A state as the canonical files that are published: one line a record, sorted. */
enum snapshot_file { FILE_STATE, FILE_TOMBSTONES, FILE_DEPS, FILE_META, SNAPSHOT_FILES };

struct snapshot {
	struct str file[SNAPSHOT_FILES]; /* absent: the file is missing */
	struct str commit;               /* the commit it was read from; or absent */
	int64_t time_ms;                 /* time of the commit */
	struct str blob[SNAPSHOT_FILES]; /* ids of the Git blobs; or absent */
	bool foreign;                    /* converted from the store of another program */
};

enum { FORMAT_VERSION = 1 };

const char *snapshot_name(enum snapshot_file file); /* "state.jsonl" */
struct snapshot snapshot_encode(struct arena *mem, const struct state *s);
struct snapshot snapshot_encode_lines(struct arena *mem, const struct state *s); /* no meta.json */

/* `prefix` and its mark are those of the state; the checksums those of the files. */
struct str snapshot_meta(struct arena *mem, const struct state *s,
			 const struct str checksum[FILE_META]);

/* Reads all files into a state; REMOTE_DAMAGED, with the file and the line. */
enum err snapshot_read(struct call *c, const struct snapshot *files, struct state *out);

/* Checks that snapshot_read() would succeed, with less memory. */
enum err snapshot_try(struct call *c, const struct snapshot *files);

/*
 * One line of a file. `snapshot_take` reads it into a state, or says why it cannot be one;
 * `snapshot_spelled` is how it should be written, absent if it cannot be.
 */
bool snapshot_take(struct state *s, enum snapshot_file file, const struct value *line,
		   struct str *why);
struct str snapshot_spelled(struct arena *mem, enum snapshot_file file, const struct value *line);

/* Like snapshot_take(), for many lines: the state copies what it keeps, so that the scratch can be
 * reset. */
bool snapshot_keep(struct state *s, struct arena *scratch, enum snapshot_file file,
		   const struct value *line, struct str *why);

/* Parses a line within the limits of limits.h; NULL, and why. */
const struct value *snapshot_parse_line(struct arena *mem, enum snapshot_file file, struct str line,
					struct str *why);

/* Parses meta.json within its limits; NULL, and why. */
const struct value *snapshot_parse_meta(struct arena *mem, const struct snapshot *files,
					struct str *why);

/*
 * Reads the text of a line into a state. A line that says what this program would write in
 * another way is accepted and has to be rewritten when it is published: marks in `_v` that are
 * newer than `_at`, marks under the names of members, nulls, labels in another order. With
 * `strict`, the text has to be canonical JSON and a record of its file.
 */
enum taken {
	TAKEN_NOT,      /* not readable, and why */
	TAKEN_AS_IS,    /* canonical */
	TAKEN_REWRITTEN /* readable, but not canonical */
};
enum taken snapshot_take_text(struct state *s, enum snapshot_file file, struct str line,
			      bool strict, struct str *why);

/* Is the text canonical, or readable? */
enum taken snapshot_compare(struct arena *mem, enum snapshot_file file, const struct value *v,
			    struct str line, struct str *why);

/* Reads only meta.json. */
enum err snapshot_read_meta(struct call *c, const struct snapshot *files, struct state *out);

/* Checks the checksums of meta.json. REMOTE_DAMAGED. */
enum err snapshot_check(struct call *c, const struct snapshot *files);

/* A text for messages: the file, the line, and the commit if there is one. */
enum err snapshot_fail(struct call *c, const struct snapshot *files, enum snapshot_file file,
		       size_t line, struct str why);

#endif
