#ifndef BEADS_MODEL_SNAPSHOT_H
#define BEADS_MODEL_SNAPSHOT_H

#include "base/call.h"

struct state;
struct value;

/* A state as the canonical files that are published: one line a record, sorted. */
enum snapshot_file { FILE_STATE, FILE_TOMBSTONES, FILE_DEPS, FILE_META, SNAPSHOT_FILES };

struct snapshot {
	struct str file[SNAPSHOT_FILES]; /* absent: it is not there */
	struct str commit;               /* where it was read from; or absent */
	int64_t time_ms;                 /* of that */
	struct str blob[SNAPSHOT_FILES]; /* their names in Git; absent: they have none */
	bool foreign;                    /* another program wrote it; this is a rendering */
};

enum { FORMAT_VERSION = 1 };

const char *snapshot_name(enum snapshot_file file); /* "state.jsonl" */
struct snapshot snapshot_encode(struct arena *mem, const struct state *s);

/* `prefix` and its mark are those of the state; the checksums those of the files. */
struct str snapshot_meta(struct arena *mem, const struct state *s,
			 const struct str checksum[FILE_META]);

/* All of it into a state; REMOTE_DAMAGED, with the file and the line. */
enum err snapshot_read(struct call *c, const struct snapshot *files, struct state *out);

/* Whether snapshot_read() could read it, without the memory that this takes. */
enum err snapshot_try(struct call *c, const struct snapshot *files);

/*
 * One line of a file. `snapshot_take` reads it into a state, or says why it cannot be one;
 * `snapshot_spelled` is how it should be written, absent if it cannot be.
 */
bool snapshot_take(struct state *s, enum snapshot_file file, const struct value *line,
		   struct str *why);
struct str snapshot_spelled(struct arena *mem, enum snapshot_file file, const struct value *line);

/*
 * The same as snapshot_take(), for many lines: the state copies what it keeps, so that the parsed
 * line, and all else that is in the scratch, may be forgotten.
 */
bool snapshot_keep(struct state *s, struct arena *scratch, enum snapshot_file file,
		   const struct value *line, struct str *why);

/* Why a record that can be read has no place in its file. */
struct str snapshot_misfit(enum snapshot_file file);

/* A line as JSON, within the limits of beads/limits.h; or NULL, and why. */
const struct value *snapshot_parse_line(struct arena *mem, enum snapshot_file file, struct str line,
					struct str *why);

/* meta.json as JSON, if it is not too large or nested too deep; or NULL, and why. */
const struct value *snapshot_parse_meta(struct arena *mem, const struct snapshot *files,
					struct str *why);

/*
 * Reads the text of a line into a state. A line that says what this program would write in
 * another way is accepted and has to be rewritten when it is published: marks in `_v` that are
 * newer than `_at`, marks under the names of members, nulls, labels in another order. With
 * `strict`, the text has to be canonical JSON and a record of its file.
 */
enum taken {
	TAKEN_NOT,      /* it was refused, and why */
	TAKEN_AS_IS,    /* it is what this program would write */
	TAKEN_REWRITTEN /* this program would write the same in another way */
};
enum taken snapshot_take_text(struct state *s, enum snapshot_file file, struct str line,
			      bool strict, struct str *why);

/* Whether the text is what this program writes, or means the same; or refused. */
enum taken snapshot_compare(struct arena *mem, enum snapshot_file file, const struct value *v,
			    struct str line, struct str *why);

/* Only what meta.json says. */
enum err snapshot_read_meta(struct call *c, const struct snapshot *files, struct state *out);

/* Are the files those that meta.json speaks of, and whole? REMOTE_DAMAGED. */
enum err snapshot_check(struct call *c, const struct snapshot *files);

/* Of which place in which file: the name of the commit too, where there is one. */
enum err snapshot_fail(struct call *c, const struct snapshot *files, enum snapshot_file file,
		       size_t line, struct str why);

#endif
