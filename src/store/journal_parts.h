#ifndef STORE_JOURNAL_PARTS_H
#define STORE_JOURNAL_PARTS_H

#include "store/journal.h"

/* What the files of the journal share; nobody else needs it. */

enum { JOURNAL_HEAD = 9 }; /* bytes before a record's JSON: the checksum and a space */

struct str journal_path(struct call *c, struct str dir, int64_t segment);

/* Which files there are; those between the first and the last need not be there. */
struct journal_segments {
	int64_t first, last, count; /* 0: there are none */
};
enum err journal_segments(struct call *c, struct str dir, struct journal_segments *out);

/* The eight digits at the beginning of a text of at least that length. */
bool journal_hex(struct str text, uint32_t *out);

/* What a segment after the first begins with: the checksum of the last record before it, and of
 * the very first one. */
bool journal_head_parse(struct str json, int64_t *after, int64_t *first);

#endif
