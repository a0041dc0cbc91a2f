#ifndef BEADS_EXCHANGE_EXPORT_TABLE_H
#define BEADS_EXCHANGE_EXPORT_TABLE_H

#include "beads/exchange/export_line.h"

/* A bead as a section of Markdown, and as a row of comma-separated values (RFC 4180). */
struct str export_markdown(struct arena *mem, const struct export_issue *issue);
struct str export_csv(struct arena *mem, const struct export_issue *issue);
struct str export_csv_head(void); /* with its newline */

#endif
