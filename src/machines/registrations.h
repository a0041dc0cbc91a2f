#ifndef MACHINES_REGISTRATIONS_H
#define MACHINES_REGISTRATIONS_H

#include "base/map.h"
#include "machines/fact.h"
#include "store/db/machine_db.h"

/*
 * The agents of all machines. A registration is a name, its machine, and the time it was made. Other
 * machines can change its fields, but not whose it is. If two machines registered one name apart, the earlier registration keeps it, and the later one gets the first
 * four digits of its machine's id behind it: on every machine the same.
 */
struct registration {
	struct str name;  /* as it was registered */
	struct str shown; /* the name that it has now */
	struct str machine;
	int64_t created_ms;
	struct fact *facts;
	struct fact last;          /* the newest fact, which has its fields */
	struct registration *next; /* of the same name, the earlier one first */
};

struct registrations {
	struct map names;   /* by name: struct registration */
	struct map exact;   /* by machine, time and name, the first one or the new one */
	struct map made;    /* by time and name */
	struct map shown;   /* renamed registrations, by time and new name */
	struct map renamed; /* renamed registrations, by new name */
	struct map own;     /* by machine and name: the earliest one of that machine */
};

enum err registrations_read(struct call *c, struct machine_db *db, struct registrations *out);

/*
 * The registration of a name that was made at that time, by that machine if one is given; NULL: it
 * is not known.
 */
struct registration *registrations_find(const struct registrations *r, struct str machine,
					struct str name, int64_t created_ms);

/* The name that an agent was registered with, before it was renamed; absent: it was not. */
struct str registrations_before(const struct registrations *r, struct str shown);

/* The name of the agent that a machine calls `name`: its own registration, or else the only one. */
struct str registrations_name(const struct registrations *r, struct str machine, struct str name);

#endif
