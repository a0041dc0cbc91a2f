#ifndef MACHINES_APPLY_H
#define MACHINES_APPLY_H

#include "machines/machines.h"
#include "machines/registrations.h"
#include "store/agent_files.h"

/* Subjects that are joined in several passes, each under the lock of the agents' files. */
struct apply_list {
	struct str *item;
	size_t count, next;
};

/* Declarations shared by the files that put facts into the local stores. */
struct applying {
	struct call *round; /* its memory outlives the passes */
	struct call *c;     /* of one pass */
	struct machines *m;
	struct machine_row *rows;
	struct registrations agents;
	struct agent_files files;
	struct map again;   /* messages to join again, because their sender was renamed */
	size_t renames;     /* the number of those */
	struct map history; /* of registrations */
	struct apply_list roster, mail; /* names of agents and ids of messages with open facts */
	size_t registered; /* the first names of the roster were registered, the others seen */
	struct map done; /* of "machine:seq" of the facts that are in the stores: struct fact_row */
	int64_t applied;
	bool renamed;   /* rows of the board may have the old name of a renamed agent */
	bool postponed; /* the last register was set here after the collection, so it is joined
			 * later */
};

/* The name of a machine as people see it here; absent: it is this machine. */
struct str apply_machine(struct applying *k, struct str id);

/* The facts of one subject, parsed: of all machines, or only those that are not done. */
enum err apply_facts(struct applying *k, struct str kind, struct str subject, bool open,
		     struct fact **out);

/* Notes that a fact is in the local stores. */
void apply_done(struct applying *k, const struct fact *f);

/* Calls `each` for every registration that was renamed. */
typedef enum err renamed_each(struct applying *k, void *arg, const struct registration *one);
enum err apply_each_renamed(struct applying *k, renamed_each *each, void *arg);

enum err apply_names(struct applying *k);
enum err apply_registry(struct applying *k);
enum err apply_registry_next(struct applying *k); /* joins some more agents, for the next pass */
enum err apply_mail(struct applying *k);
enum err apply_mail_next(struct applying *k); /* joins some more messages */
enum err apply_reservations(struct applying *k);
enum err apply_events(struct applying *k);
enum err apply_board(struct applying *k);
enum err apply_vybe(struct applying *k);

/* The number that is stored under this name, such as how far a source was collected; 0: none. */
enum err apply_place(struct call *c, struct machines *m, struct str source, int64_t *out);

/*
 * Calls `each` with the last write of every register of this kind that has open facts, unless it
 * was written here; `by_kind`: other kinds of facts write other registers. Each is read once,
 * however many facts it has.
 */
typedef enum err apply_register(struct applying *k, void *arg, const struct fact *last);
enum err apply_registers(struct applying *k, const char *kind, bool by_kind, apply_register *each,
			 void *arg);

/*
 * For a register that is about to be set to a value of another machine: remembers that value, so
 * that it is not exported. If `here`, its present value, was set since the last collection, the
 * register is postponed instead; absent: it has none.
 */
enum err apply_know(struct applying *k, const char *kind, struct str key, struct str here,
		    struct str value);

/* Is there a fact of this kind that is not done? */
enum err apply_has_open(struct applying *k, const char *kind, bool *out);

#endif
