#ifndef BEADS_EXCHANGE_EXPORT_H
#define BEADS_EXCHANGE_EXPORT_H

#include "base/call.h"
#include "base/names.h"

struct beads;
struct buf;

/*
 * Writes all beads for other programs. The same beads always give the same bytes, and importing the
 * lines again changes nothing.
 */
enum export_format {
	EXPORT_BD,  /* upstream's issues.jsonl, sorted by id; deleted beads are tombstones */
	EXPORT_MD,  /* Markdown, for people */
	EXPORT_CSV, /* a table */
	EXPORT_FORMATS,
};
extern const struct names export_formats;

struct export_counts {
	int64_t issues, tombstones;
};
enum err export_all(struct call *c, struct beads *b, enum export_format format, struct buf *out,
		    struct export_counts *counts);

#endif
