#ifndef MACHINES_APPLY_H
#define MACHINES_APPLY_H

#include "machines/machines.h"
#include "machines/registrations.h"
#include "store/agent_files.h"

/* Subjects to merge in several passes; each pass holds the lock of the agents' files. */
struct apply_list {
	struct str *item;
	size_t count, next;
};

/* The state of one round that puts facts into the local stores. */
struct applying {
	struct call *round; /* its memory outlives the passes */
	struct call *c;     /* of one pass */
	struct machines *m;
	struct machine_row *rows;
	struct registrations agents;
	struct agent_files files;
	struct map again;       /* messages to join again, because their sender was renamed */
	size_t renames;         /* the number of those */
	struct map rejoin;      /* names whose registrations are joined again: one was renamed */
	struct map history;     /* of registrations */
	struct map changed;     /* agents that a command has changed here since the collection */
	int64_t changed_offset; /* how far the history was read for them; 0: not yet */
	struct apply_list roster, mail; /* names of agents and ids of messages with open facts */
	size_t registered; /* names of the roster that were registered; they come first */
	struct map done;   /* facts that are in the stores: from "machine:seq" to struct fact_row */
	int64_t applied;
	bool renamed;   /* rows of the board may have the old name of a renamed agent */
	bool postponed; /* the last register was set here after the collection, so it is joined
			 * later */
};

/* The name of a machine as people see it here; absent: it is this machine. */
struct str apply_machine(struct applying *k, struct str id);

/*
 * Calls `visit` for each fact, one after the other: a parsed fact takes many times the memory of
 * its line. The fact is freed after the call, and so is everything in the memory of `k->c`.
 */
typedef enum err apply_visit(struct applying *k, void *arg, const struct fact *f);
enum err apply_each(struct applying *k, const struct fact_filter *filter, apply_visit *visit,
		    void *arg);

/*
 * The time of an act; false: `member` of the fact is no time. Anybody who can push can write any
 * time: one that is more than 30 days ahead counts as now, so that none lasts.
 */
bool apply_time(const struct applying *k, const struct fact *f, const char *member, int64_t *out);
int64_t apply_time_of(const struct applying *k, int64_t ms);

/* Notes that a fact is in the local stores. */
void apply_done(struct applying *k, const struct fact *f);

/*
 * Warns that a file has no room for more lines of a machine: once for each machine and file. `key`
 * identifies the file, `place` is its name for people.
 */
enum err apply_leave_out(struct applying *k, struct str place, const char *what, struct str machine,
			 struct str key);

/* The registration that a message was sent to; NULL: it is not known, or not named (0). */
const struct registration *apply_recipient(const struct applying *k, const struct fact *sent,
					   int64_t *registered);

/* Calls `each` for every registration that was renamed. */
typedef enum err renamed_each(struct applying *k, void *arg, struct registration *one);
enum err apply_each_renamed(struct applying *k, renamed_each *each, void *arg);

enum err apply_names(struct applying *k);
enum err apply_registry(struct applying *k);
enum err apply_registry_next(struct applying *k); /* the next pass: joins some more agents */
enum err apply_mail(struct applying *k);
enum err apply_mail_next(struct applying *k); /* joins some more messages */
enum err apply_reservations(struct applying *k);
enum err apply_events(struct applying *k);
enum err apply_board(struct applying *k);
enum err apply_vybe(struct applying *k);

/* The number stored for `source`, such as how far it was collected; 0: none. */
enum err apply_place(struct call *c, struct machines *m, struct str source, int64_t *out);

/*
 * The last valid fact that one of the filters selects, without its data; NULL: there is none. An
 * invalid fact must not win: a clone with an earlier value would keep that value, and a new clone
 * would have none.
 */
typedef bool apply_fits(struct applying *k, void *arg, const struct fact *f);
enum err apply_last(struct applying *k, const struct fact_filter *filters, size_t count,
		    apply_fits *fits, void *arg, const struct fact **out);

/* Calls `visit` for a fact, with its data, which `f` lacks. */
enum err apply_again(struct applying *k, const struct fact *f, apply_visit *visit, void *arg);

/* Registers of one kind: values of which the last writer wins. */
struct apply_register {
	bool by_kind; /* each kind of fact has its own register */
	apply_fits *fits;
	apply_visit *put;
	void *arg;
};

/*
 * Stores the last write of each register with open facts of this kind, unless it was made here.
 * Each register is read once, however many facts it has.
 */
enum err apply_registers(struct applying *k, const char *kind, const struct apply_register *of);

/*
 * Called before a register is set to a value of another machine: remembers `value`, so that it is
 * not exported. `here` is the present value; absent: none. If it was changed since the last
 * collection, the register is postponed instead.
 */
enum err apply_know(struct applying *k, const char *kind, struct str key, struct str here,
		    struct str value);

/* Is there a fact of this kind that is not done? */
enum err apply_has_open(struct applying *k, const char *kind, bool *out);

#endif
