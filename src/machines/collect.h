#ifndef MACHINES_COLLECT_H
#define MACHINES_COLLECT_H

#include "machines/log.h"
#include "machines/machines.h"

struct agent_files;
struct json;
struct value;

/* Declarations shared by the files that collect local acts, one for each store. */
struct collecting {
	struct call *c;
	struct machines *m;
	struct fact_draft *first, **tail;
	int64_t since_ms; /* facts that were settled before this time are not exported */
	bool moved;       /* a place has changed */
};

/* Adds a fact; `data` is a finished object. */
void collect_add(struct collecting *k, enum fact_kind kind, int64_t act_ms, struct str by,
		 struct json *data);

/* How far a source was read, as a number. */
enum err collect_place(struct collecting *k, struct str source, int64_t *out);
enum err collect_set_place(struct collecting *k, struct str source, int64_t at);

/*
 * Is this the value that was last exported or received for the register? If not, it is remembered
 * as such.
 */
enum err collect_is_known(struct collecting *k, const char *kind, struct str key, struct str value,
			  bool *out);

/*
 * Calls `each` for every new line of a record. The line is freed after the call: a parsed line can
 * take 25 times as much memory as its text. A record that has become shorter was repaired, and
 * is read again from the start: a fact that is added twice counts once.
 */
typedef void collect_line(struct collecting *k, struct agent_files *f, const struct value *v,
			  void *arg);
enum err collect_lines(struct collecting *k, struct agent_files *f, struct str file,
		       collect_line *each, void *arg);

/* Was a line written by a command here? A line that came from another machine says so ("via"). */
bool collect_is_local(const struct value *v);

enum err collect_reservations(struct collecting *k, struct agent_files *f);
enum err collect_events(struct collecting *k, struct agent_files *f);
enum err collect_board(struct collecting *k);
enum err collect_vybe(struct collecting *k);
enum err collect_agents(struct collecting *k);
enum err collect_seen(struct collecting *k);

#endif
