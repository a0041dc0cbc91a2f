#ifndef AGENTS_REGISTRY_H
#define AGENTS_REGISTRY_H

#include "agents/liveness.h"
#include "store/agent_files.h"

struct json;
struct map;

/*
 * The agents of a project: a file for each, agents/<id>.json. Registrations are also recorded in
 * agents/history.jsonl, from which a lost file is restored; the time an agent was last seen is only
 * in its file.
 */
struct registered {
	struct str id, display, role, status;
	struct str request; /* receipts_mark() of the request that registered it; or absent */
	int64_t created_ms, seen_ms, version;
	struct str machine, machine_id; /* where it was registered; absent: on this machine */
	struct str via; /* the machine that a line of the record came from; or absent */
	struct registered *next;
};

enum { REGISTRY_ID_MOST = 48 }; /* bytes of an id */
bool registry_id_valid(struct str id);

/* Could a command register an agent with this display name (or an absent one) and this role? */
bool registry_words_valid(struct str display, struct str role);

/* The recipient of a message or an event: one agent, all agents ("broadcast"), or the agents of a
 * role ("role:ui"), which is `role` then. */
enum recipient { RECIPIENT_AGENT, RECIPIENT_ALL, RECIPIENT_ROLE };
enum recipient recipient_parse(struct str to, struct str *role);

/* AGENT_NOT_FOUND; INVALID_INPUT: an id is 3 to 48 letters, digits and single dashes. */
enum err registry_find(struct call *c, struct agent_files *f, struct str id,
		       struct registered **out);

/* Sorted by id; an absent role or status matches any. */
enum err registry_each(struct call *c, struct agent_files *f, struct str role, struct str status,
		       struct registered **out);

/* The agent that an earlier try of this request has registered, under any id; NULL: none. */
enum err registry_find_requested(struct call *c, struct agent_files *f, struct registered **out);

/* DUPLICATE_AGENT_ID, unless `update`: then display name and role are changed. */
enum err registry_add(struct call *c, struct agent_files *f, struct str id, struct str display,
		      struct str role, bool update, struct registered **out);

/* The record of registrations: the last one of each agent, by id. */
enum err registry_read_history(struct call *c, struct agent_files *f, struct map *out);

/* For many agents, whose record is read once; NULL: there is no such agent. */
enum err registry_find_in(struct call *c, struct agent_files *f, const struct map *history,
			  struct str id, struct registered **out);

/* Joins a registration that came from another machine: its fields replace those known here, but the
 * time an agent was last seen never moves back. */
enum err registry_join(struct call *c, struct agent_files *f, const struct map *history,
		       const struct registered *a);

/* Sets last_seen_at to now; the time never moves back. */
enum err registry_touch(struct call *c, struct agent_files *f, struct registered *a);

/*
 * The same after any command of an agent, unless last_seen_at is less than `least_ms` old. Takes
 * the lock only to write. Does nothing for an actor that is not registered, and never fails: the
 * agent's next command makes up for it.
 */
enum { SEEN_LEAST_MS = 1000 }; /* for commands that only read */
void registry_saw(struct call *c, const struct agent_files *f, struct str id, int64_t least_ms);

/* Like registry_touch(), after a write that is done already: a failure is only a warning. */
enum err registry_acted(struct call *c, struct agent_files *f, struct registered *a);

/* With the member `stuck`, unless that is NULL. */
struct stuck;
void registered_encode(struct json *j, struct call *c, const struct registered *a,
		       const struct stuck *stuck);

/* For repairs: is this a valid line of the record? */
bool registry_line(struct call *c, struct str line);

/* For repairs: by id, all agents that have a file or are in the record: `struct registered` from
 * the record, or NULL. */
enum err registry_list_known(struct call *c, struct agent_files *f, struct map *out);

/* For repairs: the state of an agent's file; writing the file again. */
enum registry_file { REGISTRY_SOUND, REGISTRY_DAMAGED, REGISTRY_MISSING };
enum err registry_look_at(struct call *c, struct agent_files *f, struct str id,
			  enum registry_file *out);
enum err registry_rewrite(struct call *c, struct agent_files *f, const struct registered *a);

/* For repairs: a line of the record for each agent whose file can be read. */
enum err registry_lines(struct call *c, struct agent_files *f, struct str *lines, size_t *count);

#endif
