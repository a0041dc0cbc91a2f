#ifndef AGENTS_REGISTRY_H
#define AGENTS_REGISTRY_H

#include "agents/liveness.h"
#include "store/agent_files.h"

struct json;
struct map;

/*
 * Who works here: a file for each of them, agents/<id>.json. What they registered as is also
 * recorded in agents/history.jsonl, from which a file that is lost is made again; when they were
 * last seen is only in the file.
 */
struct registered {
	struct str id, display, role, status;
	struct str request; /* receipts_mark() of the request that registered it; or absent */
	int64_t created_ms, seen_ms, version;
	struct registered *next;
};

bool registry_id_valid(struct str id);

/* AGENT_NOT_FOUND; INVALID_INPUT: an id is 3 to 48 letters, digits and single dashes. */
enum err registry_find(struct call *c, struct agent_files *f, struct str id,
		       struct registered **out);

/* By their ids; absent: all. */
enum err registry_each(struct call *c, struct agent_files *f, struct str role, struct str status,
		       struct registered **out);

/* DUPLICATE_AGENT_ID, unless `update`: then the name that is shown and the role change. */
enum err registry_add(struct call *c, struct agent_files *f, struct str id, struct str display,
		      struct str role, bool update, struct registered **out);

/* It did something: its time moves on, and never back. */
enum err registry_touch(struct call *c, struct agent_files *f, struct registered *a);

/*
 * An agent has run a command, on whatever face: its time moves on, unless it did so less than
 * `least_ms` ago. Reads without the lock where nothing has to be written. Does nothing for
 * somebody who is not registered, and never fails: the next command of the agent makes up for it.
 */
enum { SEEN_LEAST_MS = 1000 }; /* for commands that only read */
void registry_saw(struct call *c, const struct agent_files *f, struct str id, int64_t least_ms);

/* The same beside what it did, which stands even if this fails. */
enum err registry_acted(struct call *c, struct agent_files *f, struct registered *a);

void registered_encode(struct json *j, const struct call *c, const struct registered *a);

/* For repairs: is it a line of the record? */
bool registry_line(struct call *c, struct str line);

/* For repairs: the record, by id. Is an agent's file damaged, and does the record have what it
 * said? Then it can be made from that again. */
enum err registry_history(struct call *c, struct agent_files *f, struct map *out);
enum err registry_check(struct call *c, struct agent_files *f, const struct map *history,
			struct str id, bool *damaged, bool *recorded);
enum err registry_remake(struct call *c, struct agent_files *f, const struct map *history,
			 struct str id);

/* For repairs: a line of the record for each agent whose file can be read. */
enum err registry_lines(struct call *c, struct agent_files *f, struct str *lines, size_t *count);

#endif
