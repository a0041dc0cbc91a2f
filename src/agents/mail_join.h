#ifndef AGENTS_MAIL_JOIN_H
#define AGENTS_MAIL_JOIN_H

#include "agents/mailbox.h"
#include "base/buf.h"

/* Joins messages that came from other machines to the mailboxes of their recipients. */
struct mail_joining {
	struct call *c;
	struct agent_files *files; /* of a writer */
	struct map boxes;          /* by agent: struct mail_join_box */
};

struct mail_join_box {
	struct mailbox box;
	struct map known;  /* by message: struct mail_join_known */
	struct map taken;  /* by machine: the bytes that count towards its share */
	int64_t taken_all; /* by all other machines */
	int64_t reserved;  /* the part of `taken_all` that is not in the record yet */
	int64_t size;      /* of the record */
	bool full;         /* nothing can be added to the record, so it was not read */
	struct buf lines;  /* to be appended */
};

/*
 * Stores a message if it is new; otherwise gives it the later of its states here and on the other
 * machine. Called once for each message. A message that could not have been sent here is ignored.
 * `left_out`: the mailbox has no room for more lines of that machine.
 */
enum err mail_join(struct mail_joining *k, const struct mail *m, bool *left_out);

/* Writes what was joined. */
enum err mail_join_end(struct mail_joining *k);

#endif
