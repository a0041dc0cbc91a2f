#ifndef AGENTS_MAILBOX_H
#define AGENTS_MAILBOX_H

#include "agents/mail.h"
#include "base/map.h"

/*
 * What one agent has been sent. messages/<agent>.jsonl is the record: a line is a message as it
 * was after something happened to it, one step at a time (sent, read, acked), and the last line
 * of an id is how it is now. Two snapshots are made from it: messages/index/<id>.json, a message
 * as it is now, and messages/boxes/<agent>.json, what the messages come to, up to which byte of
 * the record. What the record has beyond that is read with every mailbox that is opened, so
 * nothing depends on the last writer having come to its end.
 */
struct mailbox {
	struct str agent;
	bool begun;    /* it has a snapshot */
	int64_t known; /* bytes of the record that the rest is about */
	int64_t count[MAIL_STATES];
	int64_t latest_ms;  /* when the last one was sent */
	struct map unacked; /* by id: messages to be accepted; NULL: accepted since */
	struct map fresh;   /* by id: struct mail that the snapshots did not know */
};

enum err mailbox_open(struct call *c, struct agent_files *f, struct str agent, struct mailbox *out);

/* Warns if the record has lost what the snapshot knows. */
enum err mailbox_check(struct call *c, struct agent_files *f, struct str agent);

/* How a message is now; NULL: it was not sent to this agent. */
enum err mailbox_find(struct call *c, struct agent_files *f, const struct mailbox *box,
		      struct str id, struct mail **out);

/* For a writer: how it is by the record, for its snapshot may be an old one; that is mended
 * then. */
enum err mailbox_confirm(struct call *c, struct agent_files *f, const struct mailbox *box,
			 struct mail **m);

/* For a writer, in two steps: the line for a message that is sent, which may be stored together
 * with others; then, once it is, the snapshots. */
struct agent_append mailbox_line(struct call *c, const struct mailbox *box, const struct mail *m);
enum err mailbox_settle(struct call *c, struct agent_files *f, struct mailbox *box);

/* For a writer: what has happened to a message, by one step or two; then the snapshots. */
enum err mailbox_put(struct call *c, struct agent_files *f, struct mailbox *box,
		     const struct mail *m, const struct mail *then);

/* Every line of the record after a byte of it, which moves along, in order: a message as it was
 * after each step. Only those with this text, if it is not absent. What a visit is given, and
 * allocates, goes with it. */
typedef void mail_visit(struct call *c, const struct mail *m, void *arg);
enum err mailbox_each(struct call *c, struct agent_files *f, struct str agent, int64_t *from,
		      struct str about, mail_visit *visit, void *arg);

/* Who has one. */
enum err mailbox_list(struct call *c, struct agent_files *f, struct str **agents, size_t *count);

/* From the newest to the oldest. */
struct mailbox_walk {
	struct lines_back back;
	struct map seen; /* by id: how it is now */
	struct agent_skips skips;
	bool adopts; /* there is no box yet: the index may know more */
};
struct mailbox_walk mailbox_walk(struct call *c, const struct agent_files *f, struct str agent);
enum err mailbox_next(struct call *c, struct mailbox_walk *w, struct mail **out);
void mailbox_walk_end(struct call *c, struct mailbox_walk *w); /* warns of damaged lines */

/* The one whose id ends so; NULL: there is none. */
enum err mailbox_find_end(struct call *c, struct agent_files *f, const struct mailbox *box,
			  struct str end, struct mail **out);

/* Whose message it is, by its snapshot; absent: nobody's. */
enum err mailbox_owner(struct call *c, struct agent_files *f, struct str id, struct str *out);

/* For repairs: is it a line of a record? Which lines does a record lack of messages that have
 * snapshots? A box is counted again once it is forgotten. */
bool mailbox_line_valid(struct call *c, struct str line);
enum err mailbox_missing(struct call *c, struct agent_files *f, const struct map *snapshots,
			 struct str agent, struct str record, struct str *lines, size_t *count);

/* By agent: a list of the ids of its messages that have snapshots, for mailbox_missing(). */
enum err mailbox_snapshots(struct call *c, struct agent_files *f, struct map *out);
enum err mailbox_forget_box(struct call *c, struct agent_files *f, struct str agent);

#endif
