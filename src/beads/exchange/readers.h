#ifndef BEADS_EXCHANGE_READERS_H
#define BEADS_EXCHANGE_READERS_H

#include "beads/exchange/source.h"

/* The readers of source.h: one for each tracker. */

/* Reads `path`, or standard input if it is absent, as out->kind. */
enum err reader_open(struct call *c, struct str path, struct issue_source *out);

/* Adds a text with one issue per line to the source. */
void reader_add(struct call *c, struct issue_source *out, struct str file, struct str text,
		bool deletions);

#endif
