#ifndef STORE_AGENT_PENDING_H
#define STORE_AGENT_PENDING_H

#include "store/agent_files.h"

/*
 * Appends lines to several records of the agents' folder atomically: all of them are stored or
 * none, whenever the process dies.
 *
 * First, one line with all of the lines, and their checksum, is appended to `pending.jsonl`. Once
 * that line is durable, all of them count. Then each record gets its lines, and pending.jsonl is
 * emptied. If the writer dies in between, the next process that takes the lock completes the write
 * before anything else. A reader, which takes no lock, reads each record as if its pending lines
 * were already there.
 */
enum { AGENT_TOGETHER_MOST = 48 << 20 }; /* bytes of that line; more is INVALID_INPUT */

enum err agent_files_append_all(struct call *c, struct agent_files *f, struct agent_append *all,
				size_t count);

/* For a reader: loads the pending lines. A damaged file is a warning. */
enum err agent_pending_load(struct call *c, struct agent_files *f);

/*
 * For repairs: IO_READ_FAILED if the file is damaged. agent_pending_repair() completes the pending
 * lines, under the lock. Both accept a line that is too large for all other readers: earlier
 * versions wrote such lines.
 */
enum err agent_pending_check(struct call *c, struct agent_files *f);
enum err agent_pending_repair(struct call *c, struct agent_files *f);

/* For a writer that holds the lock: completes the pending lines. */
enum err agent_pending_complete(struct call *c, struct agent_files *f);

/*
 * The lines that a record of `size` bytes still lacks, or that are its last ones: a power failure
 * may have lost a part of them. NULL: none.
 */
const struct agent_append *agent_pending_find(const struct agent_files *f, struct str name,
					      int64_t size);

#endif
