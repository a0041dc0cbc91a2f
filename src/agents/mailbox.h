#ifndef AGENTS_MAILBOX_H
#define AGENTS_MAILBOX_H

#include "agents/mail.h"
#include "base/map.h"

/*
 * The messages to one agent. messages/<agent>.jsonl is the record: a line is a message after a step
 * (sent, read, acked), and the last line with an id is the message's current state. Two kinds of
 * snapshots are made from it: messages/index/<id>.json, a message in its current state, and
 * messages/boxes/<agent>.json, the counts up to a byte of the record. Opening a mailbox reads the
 * lines after that byte, so it does not matter if the last writer died before it wrote them.
 */
struct mailbox {
	struct str agent;
	bool begun;    /* there is a box file */
	int64_t known; /* bytes of the record that are counted below */
	int64_t count[MAIL_STATES];
	int64_t latest_ms;  /* when the latest message was sent */
	struct map unacked; /* by id: messages to be acknowledged; NULL: acked since */
	struct map opened;  /* by id: those of them that were read */
	struct map fresh;   /* by id: struct mail, from lines after the snapshot */
	struct map unsure;  /* by id: messages whose sender died before it wrote the snapshot, and
			     * perhaps before it stored the receipt of its request */
};

enum err mailbox_open(struct call *c, struct agent_files *f, struct str agent, struct mailbox *out);

/* The name of an agent's record. */
struct str mailbox_file(struct call *c, struct str agent);

/* Decodes a line of a record. NULL: it is no message, and no memory was used. */
struct mail *mailbox_decode(struct arena *mem, struct str line);

/* Warns if the record is shorter than its snapshot says. */
enum err mailbox_check(struct call *c, struct agent_files *f, struct str agent);

/* A message in its current state; NULL if it was not sent to this agent. */
enum err mailbox_find(struct call *c, struct agent_files *f, const struct mailbox *box,
		      struct str id, struct mail **out);

/* For a writer: replaces `m` by its state in the record, because its snapshot may be outdated;
 * repairs the snapshot. */
enum err mailbox_confirm(struct call *c, struct agent_files *f, const struct mailbox *box,
			 struct mail **m);

/* For a writer, in two steps: the line of a sent message, which may be stored together with other
 * lines, or the next one or two lines of a message (`then` may be NULL); then, once they are stored,
 * the snapshots. */
struct agent_append mailbox_line(struct call *c, const struct mailbox *box, const struct mail *m);
enum err mailbox_put(struct call *c, struct agent_files *f, const struct mailbox *box,
		     const struct mail *m, const struct mail *then);
enum err mailbox_settle(struct call *c, struct agent_files *f, struct mailbox *box);

/* Calls `each` for every line of the record from the byte `from`, which moves to the end, in order:
 * a message after each step. `about`, if not absent, is a text that the line has to contain. The
 * memory of a message is freed after the call. */
typedef void mail_each(struct call *c, const struct mail *m, void *arg);
enum err mailbox_each(struct call *c, struct agent_files *f, struct str agent, int64_t *from,
		      struct str about, mail_each *each, void *arg);

/* The agents that have a mailbox. */
enum err mailbox_list(struct call *c, struct agent_files *f, struct str **agents, size_t *count);

/* Walks through the messages, newest first. */
struct mailbox_walk {
	struct lines_back back;
	struct map seen; /* by id: the current state */
	struct agent_skips skips;
	bool adopts; /* there is no box: the index may have later states */
};
struct mailbox_walk mailbox_walk(struct call *c, const struct agent_files *f, struct str agent);
enum err mailbox_next(struct call *c, struct mailbox_walk *w, struct mail **out);
void mailbox_walk_end(struct call *c, struct mailbox_walk *w); /* warns of damaged lines */

/* Of the messages that may have no receipt, the one whose id has this end; NULL: there is none. */
enum err mailbox_find_unsure(struct call *c, struct agent_files *f, const struct mailbox *box,
			     struct str end, struct mail **out);

/* The recipient of a message, by its snapshot; absent if there is none. */
enum err mailbox_owner(struct call *c, struct agent_files *f, struct str id, struct str *out);

/*
 * For a writer: moves messages to the mailbox of the agent's new name: all of them, or those with
 * these ids.
 */
enum err mailbox_move(struct call *c, struct agent_files *f, struct str from, struct str to,
		      const struct map *ids);

/* For repairs: is this a valid line of a record; the lines that a record lacks of messages that
 * have snapshots; removing a box, so that its messages are counted again. */
bool mailbox_line_valid(struct call *c, struct str line);
enum err mailbox_missing(struct call *c, struct agent_files *f, const struct map *snapshots,
			 struct str agent, struct str record, struct str *lines, size_t *count);

/* By agent: the ids of its messages that have snapshots, for mailbox_missing(). */
enum err mailbox_snapshots(struct call *c, struct agent_files *f, struct map *out);
enum err mailbox_forget_box(struct call *c, struct agent_files *f, struct str agent);

#endif
