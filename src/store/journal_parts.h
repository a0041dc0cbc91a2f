#ifndef STORE_JOURNAL_PARTS_H
#define STORE_JOURNAL_PARTS_H

#include "store/journal.h"

/* Shared by the files of the journal only. */

enum { JOURNAL_HEAD = 9 }; /* bytes before a record's JSON: the checksum and a space */

struct str journal_path(struct call *c, struct str dir, int64_t segment);

/* The existing files; some between the first and the last may be missing. */
struct journal_segments {
	int64_t first, last, count; /* 0: no files */
};
enum err journal_segments(struct call *c, struct str dir, struct journal_segments *out);

/* Parses the eight hexadecimal digits at the beginning of a text of at least that length. */
bool journal_hex(struct str text, uint32_t *out);

/*
 * Does a record have a hole (file_has_hole())? A sync makes all of the file durable, so nothing
 * from the hole on was acknowledged, and the journal ends before it. Only near the end of the last
 * file, though: elsewhere zeros are damage.
 *
 * `line`: the record, or the first bytes of it; `offset`: where it begins; `after`: the number of
 * bytes of the file after it.
 */
bool journal_has_hole(struct str line, int64_t offset, int64_t after);

/*
 * Parses the first line of a later segment: the checksum of the last record before the segment, and
 * of the very first record.
 */
bool journal_head_parse(struct str json, int64_t *after, int64_t *first);

#endif
