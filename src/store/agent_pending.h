#ifndef STORE_AGENT_PENDING_H
#define STORE_AGENT_PENDING_H

#include "store/agent_files.h"

/*
 * Lines for several records of the agents' folder that are stored together: all of them, or none,
 * whenever the process dies.
 *
 * `pending.jsonl` is written first, in one line that has all of the others. Once that line is on
 * the medium, all of them count. Then each record gets its lines, and pending.jsonl is emptied.
 * If the writer dies in between, the next holder of the lock completes it before anything else,
 * and a reader, who takes no lock, reads each record as if its lines were there already.
 */
enum { AGENT_TOGETHER_MOST = 48 << 20 }; /* bytes of that line; more is INVALID_INPUT */

enum err agent_files_append_all(struct call *c, struct agent_files *f, struct agent_append *all,
				size_t count);

/* For a reader: what is pending. A damaged file is a warning. */
enum err agent_pending_load(struct call *c, struct agent_files *f);

/* For repairs: IO_READ_FAILED if the file is damaged. agent_pending_repair() completes what is
 * pending, with the lock. Both also read a line that is too large for all others: earlier versions
 * wrote such lines. */
enum err agent_pending_check(struct call *c, struct agent_files *f);
enum err agent_pending_repair(struct call *c, struct agent_files *f);

/* For a writer, who has the lock: completes what is pending. */
enum err agent_pending_complete(struct call *c, struct agent_files *f);

/* What a record that is `size` bytes long still lacks; NULL: nothing. */
const struct agent_append *agent_pending_find(const struct agent_files *f, struct str name,
					      int64_t size);

#endif
