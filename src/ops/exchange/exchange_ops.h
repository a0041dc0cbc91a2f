#ifndef OPS_EXCHANGE_EXCHANGE_OPS_H
#define OPS_EXCHANGE_EXCHANGE_OPS_H

#include "base/call.h"

/* Adds the memories of the repository to the lines of an export. */
enum err exchange_add_memories(struct call *c, struct buf *out, int64_t *count);

/* Stores the memories of an import, and corrects its counts. */
struct import_report;
enum err exchange_keep_memories(struct call *c, struct import_report *out);

/* Imports a file that the user has not named: it is nobody's change, and 'bd undo' skips it. */
enum err exchange_take_in(struct call *c, struct str file);

#endif
