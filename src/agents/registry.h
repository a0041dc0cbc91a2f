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

/* To whom a message or an event goes: to one agent, to all ("broadcast"), or to all of a role
 * ("role:ui"), which is `role` then. */
enum recipient { RECIPIENT_AGENT, RECIPIENT_ALL, RECIPIENT_ROLE };
enum recipient recipient_parse(struct str to, struct str *role);

/* AGENT_NOT_FOUND; INVALID_INPUT: an id is 3 to 48 letters, digits and single dashes. */
enum err registry_find(struct call *c, struct agent_files *f, struct str id,
		       struct registered **out);

/* By their ids; absent: all. */
enum err registry_each(struct call *c, struct agent_files *f, struct str role, struct str status,
		       struct registered **out);

/* The agent that an earlier try of this request has registered, under whatever id; NULL: none. */
enum err registry_find_requested(struct call *c, struct agent_files *f, struct registered **out);

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

/* For repairs: the ids of all agents that have a file or are on record, with their `struct
 * registered` of the record, or NULL. */
enum err registry_list_known(struct call *c, struct agent_files *f, struct map *out);

/* For repairs: the state of an agent's file; and the file, made again from the record. */
enum registry_file { REGISTRY_SOUND, REGISTRY_DAMAGED, REGISTRY_MISSING };
enum err registry_look_at(struct call *c, struct agent_files *f, struct str id,
			  enum registry_file *out);
enum err registry_rewrite(struct call *c, struct agent_files *f, const struct registered *a);

/* For repairs: a line of the record for each agent whose file can be read. */
enum err registry_lines(struct call *c, struct agent_files *f, struct str *lines, size_t *count);

#endif
