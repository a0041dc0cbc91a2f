#ifndef MACHINES_IDENTITY_H
#define MACHINES_IDENTITY_H

#include "store/db/machine_db.h"

/*
 * This machine: an id, a name and a key, made once per clone. The private key is in the file `key`
 * of the folder `machines`, which only its owner can read.
 */
struct identity {
	struct machine_self self;
	struct str secret;
};

/* For a writer: makes the identity if there is none. DAMAGED if the key is lost. */
enum err identity_open(struct call *c, struct str home, struct machine_db *db,
		       struct identity *out);

/* Takes a new id and key, because another clone uses the old one; the facts stay ours. */
enum err identity_renew(struct call *c, struct str home, struct machine_db *db,
			struct identity *out);

/* A name is one word of 1 to 40 letters, digits, dots and dashes. */
bool identity_name_valid(struct str name);
/* INVALID_INPUT */
enum err identity_check_name(struct call *c, struct str name);

/*
 * The name under which a machine that calls itself `name` is stored. If another machine has or had
 * that name or nickname, the name is still the other's, and this machine gets it with its id behind
 * it. Absent: `name` is not valid.
 */
enum err identity_claim(struct call *c, struct machine_db *db, const struct machine_row *rows,
			const struct machine_row *one, struct str name, struct str *out);

/* Reserves a name that the machine has given up, so that no other machine gets it. Needs a
 * transaction. */
enum err identity_reserve(struct call *c, struct machine_db *db, const struct machine_row *one,
			  struct str name);

/*
 * The names of the machines for people, in the order of `rows`. They are unique; names that were
 * set here take precedence. No machine gets the name `own`, or the id of another one.
 */
struct str identity_shown(struct call *c, const struct machine_row *rows, struct str own,
			  const struct machine_row *one);

/* The machine that a person names: by its name, its id, or the start of its id; NULL: none. */
const struct machine_row *identity_named(struct call *c, const struct machine_row *rows,
					 struct str own, struct str name);

#endif
