#ifndef MACHINES_REGISTRATIONS_H
#define MACHINES_REGISTRATIONS_H

#include "base/map.h"
#include "machines/fact.h"
#include "store/db/machine_db.h"

/*
 * The agents of all machines. A registration is a name, its machine, and the time it was made.
 * Other machines can change its fields, but not its machine.
 *
 * If two machines registered the same name independently, the earlier registration keeps it. The
 * later one gets the first four digits of its machine's id behind it, or all sixteen if another
 * machine's agent has that name. A name that an agent was given belongs to its machine: another
 * machine that registered it, however early, gets another name, so nobody can occupy an agent's
 * next name in advance. The names depend on the facts alone, so they are the same on every machine.
 */
struct registration {
	struct str name;     /* as it was registered */
	struct str shown;    /* the name that it has now */
	struct str alias[2]; /* the names it can be given: with four digits, with all digits */
	struct str machine;
	int64_t created_ms;
	struct fact *facts;
	struct fact last;           /* the newest fact, which has its fields */
	struct rename *rename;      /* the rename to be done in this round; or NULL */
	struct registration *first; /* the same agent under its earlier name; or NULL */
	struct registration *next;  /* of the same name, the earlier one first */
};

struct registrations {
	struct map names;   /* by name: struct registration */
	struct map exact;   /* by machine, time and any name that it has or had */
	struct map made;    /* by time and name */
	struct map shown;   /* renamed registrations, by time and new name */
	struct map renamed; /* renamed registrations, by new name */
	struct map given;   /* by alias: a registration of the machine that it belongs to */
	struct map own;     /* by machine and name: the earliest one of that machine */
	struct map records; /* by the name it has now: the earliest one, whose fields count */
};

enum err registrations_read(struct call *c, struct machine_db *db, struct registrations *out);

/*
 * The registration of a name that was made at that time, by that machine if one is given; NULL: it
 * is not known.
 */
struct registration *registrations_find(const struct registrations *r, struct str machine,
					struct str name, int64_t created_ms);

/* Of the registrations that have this name now, the one whose fields count; NULL: there is none. */
struct registration *registrations_of_record(const struct registrations *r, struct str name);

/* The agent that was given this name; NULL: none was. */
struct registration *registrations_renamed(const struct registrations *r, struct str name);

static inline bool registration_is_renamed(const struct registration *one)
{
	return !str_eq(one->shown, one->name);
}

/* The registration that a machine means by `name`, if that is one of its own; NULL: it is not. */
struct registration *registrations_own(const struct registrations *r, struct str machine,
				       struct str name);

/* The name of the agent that a machine calls `name`: its own registration, or else the only one. */
struct str registrations_name(const struct registrations *r, struct str machine, struct str name);

#endif
