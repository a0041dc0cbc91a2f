#ifndef AGENTS_MAIL_CHOICE_H
#define AGENTS_MAIL_CHOICE_H

#include "agents/mail.h"

/* Completes what the user of a mail command has shortened or left out. */

/*
 * The id of a message to `agent` that is to be moved to the state `to`. `text` is the whole id, or
 * the start of the id, of the id without "msg_", or of the id's last part, which is random. An
 * absent text means the newest message that is unread (MAIL_READ) or that has to be acknowledged
 * (MAIL_ACKED). MESSAGE_NOT_FOUND, AMBIGUOUS_ID: both list messages to choose from.
 */
enum err mail_choose(struct call *c, struct agent_files *f, struct str agent, struct str text,
		     enum mail_state to, struct str *id);

/*
 * Completes the id of the bead that a message is about. NOT_FOUND, DELETED, AMBIGUOUS_ID: `id` is
 * the text as it was given. A project without beads accepts every id. If the beads cannot be read,
 * the id is accepted with a warning, because a damaged store must not stop messages about it.
 */
enum err mail_check_bead(struct call *c, struct str text, struct str *id);

/* The same for a filter: an id that no bead has stays as it is, because messages about it may be
 * older than its deletion. */
enum err mail_filter_bead(struct call *c, struct str text, struct str *id);

/* The one bead that the agent works on; MISSING_BEAD_ID if there is none, or more than one. */
enum err mail_current_bead(struct call *c, struct str agent, struct str *id);

#endif
