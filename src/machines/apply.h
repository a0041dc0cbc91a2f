#ifndef MACHINES_APPLY_H
#define MACHINES_APPLY_H

#include "machines/machines.h"
#include "machines/registrations.h"
#include "store/agent_files.h"

/* Declarations shared by the files that put facts into the local stores. */
struct applying {
	struct call *c;
	struct machines *m;
	struct machine_row *rows;
	struct registrations agents;
	struct agent_files files;
	struct map done; /* of "machine:seq" of the facts that are in the stores: struct fact_row */
	int64_t applied;
};

/* The name by which people call a machine here; absent: this one. */
struct str apply_machine(struct applying *k, struct str id);

/* The facts of one subject, parsed: of all machines, or only those that are not done. */
enum err apply_facts(struct applying *k, struct str kind, struct str subject, bool open,
		     struct fact **out);

/* Notes that a fact is in the local stores. */
void apply_done(struct applying *k, const struct fact *f);

enum err apply_registry(struct applying *k);
enum err apply_mail(struct applying *k);

#endif
