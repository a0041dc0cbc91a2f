#ifndef AGENTS_AGENT_NAMES_H
#define AGENTS_AGENT_NAMES_H

#include "store/agent_files.h"

struct map;

/*
 * How agents are called here, if this project is shared with other machines: names.json has the
 * name of this machine, and the agents of this machine that had to take another name because the
 * same one was registered earlier elsewhere. Their old names still mean them here.
 */

/*
 * The name that an agent gets if its own belongs to another machine: the same with the first digits
 * of its machine's id. A name that leaves no room for the digits is shortened and gets a digest of
 * the whole name, so that two long names of one machine stay different. The result is valid if, and
 * only if, the name is.
 */
enum { AGENT_NAME_DIGITS = 4, AGENT_NAME_DIGITS_ALL = 16 };
struct str agent_name_of_machine(struct arena *mem, struct str name, struct str machine_id,
				 size_t digits);

/* `renamed`: by old name, the new one (struct str). */
enum err agent_names_put(struct call *c, struct agent_files *f, struct str machine,
			 const struct map *renamed);

/* The name that an agent of this machine had before it was renamed; absent: it was not renamed. */
enum err agent_names_before(struct call *c, struct agent_files *f, struct str name,
			    struct str *out);

/*
 * Replaces an old name by the new one, and "amber-otter@laptop" by the name of that machine's
 * agent. Other names stay as they are. `renamed`, if not NULL, is whether an old name was given.
 */
enum err agent_names_find(struct call *c, struct agent_files *f, struct str *name, bool *renamed);

#endif
