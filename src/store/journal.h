#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include "base/call.h"

/*
 * What was written and is in no commit yet: files `journal.1`, `journal.2`, … of one record a
 * line, a checksum and JSON. The checksum also covers the one before it, so a record that is
 * missing is noticed as well as one that is damaged. A line that was not finished at the very end
 * was never acknowledged, and is dropped. The oldest files go once a commit has all that is in
 * them; what is left begins with a line that says how the one before ended.
 *
 * A writer that appends has the writer's lock.
 */

/* All before is known; zeros are the beginning. */
struct journal_place {
	int64_t segment, offset;
	int64_t last;  /* where the record before begins; -1: there is none in this segment */
	int64_t crc;   /* of the last record; 0: there is none at all */
	int64_t first; /* of the very first record: which journal it is */
};

struct journal_record {
	struct str json;
	int64_t segment, offset;
};

/* Is there a journal in this folder? */
bool journal_exists(struct call *c, struct str dir);

/*
 * Whether what follows a place has to be read. `ahead`: the last record before this place is not
 * whole, or it is a place in another journal. `shorter`: whole records before this place are gone
 * from the end. JOURNAL_LOST if no record is left.
 */
enum journal_news { JOURNAL_SAME, JOURNAL_MORE, JOURNAL_AHEAD, JOURNAL_SHORTER };
enum err journal_compare(struct call *c, struct str dir, struct journal_place place,
			 enum journal_news *news);

/*
 * Visits the records after a place, which moves along. A record is gone when its visit ends.
 * DAMAGED, with the file and the offset, if one is not what was written. A visit that returns
 * JOURNAL_STOP ends the walk before its record, which is no failure.
 */
#define JOURNAL_STOP ERR_COUNT
typedef enum err journal_visit(struct call *c, const struct journal_record *r, void *arg);
enum err journal_each(struct call *c, struct str dir, struct journal_place *place,
		      journal_visit *visit, void *arg);

/*
 * For repairs: visits every line of every file, also after damage. What the checksums say of a
 * record whose line is not as it was written:
 */
enum journal_verdict {
	JOURNAL_SOUND,      /* nothing is wrong with it */
	JOURNAL_MENDED,     /* its checksum or its line's end is damaged, its text is not */
	JOURNAL_UNVERIFIED, /* the checksum before it is lost, which its own one needs */
	JOURNAL_BROKEN,     /* its checksum does not hold, or it is no record */
	JOURNAL_GAP,        /* nothing: what was here is gone */
};
struct journal_piece {
	enum journal_verdict verdict;
	struct journal_record record; /* `json` may be anything, if it is broken */
	struct str text;              /* the line as it is */
	const char *why;              /* NULL: sound */
};
typedef enum err journal_piece_visit(struct call *c, const struct journal_piece *p, void *arg);
enum err journal_salvage(struct call *c, struct str dir, journal_piece_visit *visit, void *arg);

/* Where a repaired journal goes on: after the last file, whose end stays as it is. */
enum err journal_after_damage(struct call *c, struct str dir, struct journal_place *end);

/* Renames the files before a segment to NAME.<suffix>, oldest first. */
enum err journal_set_aside(struct call *c, struct str dir, int64_t segment, struct str suffix);

/* JOURNAL_LOST: a file is missing that should be there. */
enum err journal_missing(struct call *c, struct str dir, int64_t segment);

/* Is what follows a place one record at most, or a part of one? */
bool journal_one_follows(struct call *c, struct str dir, struct journal_place place);

/* The end of it, by the size of its files alone. */
enum err journal_last(struct call *c, struct str dir, struct journal_place *end);

/* How many bytes there are, in how many files. */
enum err journal_size(struct call *c, struct str dir, int64_t *bytes, int64_t *files);

/*
 * Adds a record after `place`, which has to be the end, and moves it. `fd` is left open for
 * journal_sync(), which may come after the lock is given back: until then the record may be lost
 * with the power, though not with the process.
 */
enum err journal_append(struct call *c, struct str dir, struct journal_place *place,
			struct str json, int *fd);
enum err journal_sync(struct call *c, struct str dir, int fd);

/*
 * Goes on in a new segment, with these records, after which nothing before it is needed;
 * journal_drop() removes the segments before one, once that is on the medium.
 */
enum err journal_restart(struct call *c, struct str dir, struct journal_place *place,
			 const struct str *json, size_t count, int *fd);
enum err journal_drop(struct call *c, struct str dir, int64_t segment);

/* For a reply that has what another process has written, which may not have synced it. */
enum err journal_sync_end(struct call *c, struct str dir, struct journal_place place);

#endif
