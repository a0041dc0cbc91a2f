#ifndef AGENTS_RESERVATION_BOOK_H
#define AGENTS_RESERVATION_BOOK_H

#include "agents/reservation.h"

struct agent_append;

/*
 * The active reservations, sorted by scope, and the two files they are kept in.
 *
 * reservations/history.jsonl is the record: a line is a reservation as it was after something
 * happened to it. reservations/active.json is a snapshot: the active reservations, and how many
 * bytes of the record they were made from. If the record is longer than that, it is read instead.
 */
struct book {
	struct book_row {
		struct str key, line; /* parsed only when it is needed */
	} * row;
	size_t count;
	int64_t epoch;      /* the highest that was ever given */
	struct str adopted; /* lines of `row` that the record lacks */
};

/* `lenient`: to show reservations only; damaged lines are left out, with a warning. */
enum err book_open(struct call *c, struct agent_files *f, bool lenient, struct book *out);

/* The reservations that overlap a normalised scope: the folders around it, itself, its content. */
struct reservation *book_overlapping(struct call *c, const struct book *b, struct str key);

/* The reservation of exactly this scope; false: there is none. */
bool book_find(struct call *c, const struct book *b, struct str key, struct reservation *out);

/* The reservations by scope; absent: of all agents, beads. `over`: the expired ones too. */
struct reservation *book_select(struct call *c, const struct book *b, struct str agent,
				struct str bead, bool over);

/* A scope's reservation as it is now, active or released; `before`, if not NULL, is the
 * reservation of the same scope that it ends. */
struct book_change {
	const struct reservation *before, *now;
};

/*
 * Appends the changes to the record, together with events (may be NULL), then replaces the
 * snapshot. All other reservations whose time is over are recorded as expired.
 */
enum err book_commit(struct call *c, struct agent_files *f, struct book *b,
		     const struct book_change *change, size_t count,
		     const struct agent_append *events);

/* The whole text of the record; absent: there is none. */
enum err book_read_record(struct call *c, struct agent_files *f, struct str *text);

/* The same for a caller that can go on without the record: one too large to read is a warning. */
enum err book_read_record_leniently(struct call *c, struct agent_files *f, struct str *text);

/* For repairs: is it a line of the record? */
bool book_line_valid(struct call *c, struct str line);

/* For repairs: the active reservations that a readable snapshot has and the record lacks. */
enum err book_missing(struct call *c, struct agent_files *f, struct str record, struct str *lines,
		      size_t *count);

/* For repairs: makes the snapshot from the repaired record; the highest epoch is kept. */
enum err book_renew_snapshot(struct call *c, struct agent_files *f);

#endif
