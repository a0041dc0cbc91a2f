#ifndef STORE_JOURNAL_H
#define STORE_JOURNAL_H

#include "base/call.h"

/*
 * The changes that are in no commit yet: files `journal.1`, `journal.2`, … with one record per
 * line, a checksum and JSON. A checksum also covers the previous one, so a missing record is
 * noticed as well as a damaged one. An unfinished line at the very end was never acknowledged, and
 * is dropped. The oldest files are removed once a commit has all of their records; every later file
 * begins with a line about the end of the previous one.
 *
 * Only a writer that holds the writer's lock appends.
 */

/* A position in the journal: all records before it are known. All zeros is the beginning. */
struct journal_place {
	int64_t segment, offset;
	int64_t last;  /* offset of the previous record; -1: none in this segment */
	int64_t crc;   /* checksum of the previous record; 0: no record at all */
	int64_t first; /* checksum of the very first record: identifies the journal */
};

struct journal_record {
	struct str json;
	int64_t segment, offset;
};

/* Is there a journal in this folder? */
bool journal_exists(struct call *c, struct str dir);

/*
 * Compares a place with the files, to find out whether there is more to read. JOURNAL_AHEAD: the
 * last record before the place is not intact, or the place belongs to another journal.
 * JOURNAL_SHORTER: complete records before the place are missing from the end. JOURNAL_LOST if no
 * record is left.
 */
enum journal_news { JOURNAL_SAME, JOURNAL_MORE, JOURNAL_AHEAD, JOURNAL_SHORTER };
enum err journal_compare(struct call *c, struct str dir, struct journal_place place,
			 enum journal_news *news);

/*
 * Visits the records after a place, and moves the place along. A record is valid only during its
 * visit. DAMAGED, with the file and the offset, if a record is not intact. A visit that returns
 * JOURNAL_STOP ends the walk before its record, without a failure.
 */
#define JOURNAL_STOP ERR_COUNT
typedef enum err journal_visit(struct call *c, const struct journal_record *r, void *arg);
enum err journal_each(struct call *c, struct str dir, struct journal_place *place,
		      journal_visit *visit, void *arg);

/*
 * Visits the last records, newest first, for readers that show recent changes: at most `records`,
 * and only those that end within the last `bytes` of each file, because an import may be one large
 * record. Checksums are not compared. `all`: every record was visited.
 */
struct journal_end {
	size_t records;
	int64_t bytes;
};
enum err journal_each_back(struct call *c, struct str dir, struct journal_end most,
			   journal_visit *visit, void *arg, bool *all);

/*
 * For repairs: visits every line of every file, even after damage, with a verdict from the
 * checksums:
 */
enum journal_verdict {
	JOURNAL_SOUND,      /* intact */
	JOURNAL_MENDED,     /* its checksum or line end is damaged, its text is intact */
	JOURNAL_UNVERIFIED, /* cannot be checked, because the previous checksum is lost */
	JOURNAL_BROKEN,     /* its checksum does not match, or it is not a record */
	JOURNAL_GAP,        /* no record: the records that were here are missing */
};
struct journal_piece {
	enum journal_verdict verdict;
	struct journal_record record; /* if broken, `json` may be any text */
	struct str text;              /* the line in the file */
	const char *why;              /* NULL: intact */
};
typedef enum err journal_piece_visit(struct call *c, const struct journal_piece *p, void *arg);
enum err journal_salvage(struct call *c, struct str dir, journal_piece_visit *visit, void *arg);

/* Where a repaired journal continues: after the last file, which is not changed. */
enum err journal_after_damage(struct call *c, struct str dir, struct journal_place *end);

/* Renames the files before a segment to NAME.<suffix>, oldest first. */
enum err journal_set_aside(struct call *c, struct str dir, int64_t segment, struct str suffix);

/* JOURNAL_LOST: a file is missing that should be there. */
enum err journal_missing(struct call *c, struct str dir, int64_t segment);

/* Is there at most one record, or a part of one, after the place? */
bool journal_one_follows(struct call *c, struct str dir, struct journal_place place);

/* The end of the journal, determined only by the size of its files. */
enum err journal_last(struct call *c, struct str dir, struct journal_place *end);

/* The total size of the journal, and its number of files. */
enum err journal_size(struct call *c, struct str dir, int64_t *bytes, int64_t *files);

/*
 * Appends records at `place`, which must be the end, with one write, and moves the place. `fd` is
 * left open for journal_sync(), which may be called after the lock is released: until then the
 * records survive a crash of the process, but not a power failure.
 */
enum err journal_append(struct call *c, struct str dir, struct journal_place *place,
			const struct str *json, size_t count, int *fd);
enum err journal_sync(struct call *c, struct str dir, int fd);

/*
 * Continues in a new segment with these records, which replace all earlier segments. journal_drop()
 * removes the segments before `segment`, once the new one is durable.
 */
enum err journal_restart(struct call *c, struct str dir, struct journal_place *place,
			 const struct str *json, size_t count, int *fd);
enum err journal_drop(struct call *c, struct str dir, int64_t segment);

/*
 * Syncs the journal before a reply that includes another process's records, which may not be synced
 * yet.
 */
enum err journal_sync_end(struct call *c, struct str dir, struct journal_place place);

#endif
