#ifndef LIVE_TEXTS_H
#define LIVE_TEXTS_H

#include "store/text_db.h"

struct agent_files;
struct board;
struct continuity;

/*
 * Open the index of what agents wrote outside of beads, one per store, and bring it up to date. The
 * source of a message is the name of its mailbox, and the key its id; posts and notes have one
 * source each, and their number is the key.
 */
enum err texts_open_mail(struct call *c, struct agent_files *f, struct text_db *out);
enum err texts_open_posts(struct call *c, struct board *b, struct text_db *out);
enum err texts_open_notes(struct call *c, struct continuity *k, struct text_db *out);

/*
 * Reads a message that the index found; NULL: the mailbox no longer has it. `boxes` keeps open
 * mailboxes, by name.
 */
struct mail;
struct map;
enum err texts_find_mail(struct call *c, struct agent_files *f, struct map *boxes,
			 struct str source, struct str key, struct mail **out);

/* The number of a post or a note, from its key. */
int64_t texts_number(struct str key);

#endif
