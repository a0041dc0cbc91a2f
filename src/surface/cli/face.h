#ifndef SURFACE_CLI_FACE_H
#define SURFACE_CLI_FACE_H

#include "op/op.h"

struct value;
struct view;

/*
 * A face is a program that people and agents know: its commands, each a name for an operation,
 * what it shows of the reply, and its options. Help, completion, manuals and the reference are
 * made from these tables.
 */

enum command_flags {
	COMMAND_CONFIRM = 1 << 0,  /* the reply says whether it was done or only looked at */
	COMMAND_ASKS = 1 << 1,     /* and on a terminal it is asked for, then done */
	COMMAND_ALIAS = 1 << 2,    /* another name for one that help shows */
	COMMAND_IDS = 1 << 3,      /* only the ids of the reply are shown */
	COMMAND_CHECKS = 1 << 5,   /* exits with 1 if the reply is not "ok", or "timed_out" */
	COMMAND_ENVELOPE = 1 << 6, /* its JSON says beside the data whether it went well */
	COMMAND_SILENT = 1 << 8,   /* nobody hears of what is wrong; it exits with 0 */
	COMMAND_VERDICT = 1 << 7,  /* 1 is an answer of it: what cannot be told is 3 */
	COMMAND_PREVIEWS = 1 << 4, /* on a terminal it is shown first, unless forced */
};

struct command {
	const char *words; /* "status set" */
	const struct op *op;
	void (*view)(struct view *v, const struct value *data); /* NULL: JSON for all */
	/* takes over, and tells the status; -1: the call has failed; or NULL */
	int (*start)(struct call *c, const struct request *r);
	unsigned flags;
	const char *fields; /* what its view reads of each bead; NULL: all */
	const char
		*group; /* title above this row in help, which the rows after it share; or NULL */
};

/* What every command line may say, whatever each face calls it. */
struct globals {
	bool json, quiet, help, version, mcp, silent;
	struct str actor, dir, request_id, store;
	bool ignored; /* what other versions of a program took, and this one needs not */
	struct str ignored_text;
};

struct face {
	const char *name;
	const char *about; /* one line */
	const char *more;  /* for the manual */
	const struct field *globals;
	const struct command *commands; /* the last has no words */
	const char *default_actor;      /* NULL: nobody */
	const char *const *environment; /* name, meaning, …, NULL */
	enum dialect dialect;           /* of its errors */
	/* The face's own variables that name the actor, ending with NULL. They come before those
	 * of other faces; see face_actor_variables(). */
	const char *const *actor_variables;
	/* The actor where no option and no variable names one, and the operation needs one; or
	 * NULL. */
	struct str (*actor)(struct call *c);
	const char *dir_variable;                      /* the project's folder; or NULL */
	const char *request_variable, *store_variable; /* or NULL */
	/* Prints what there is, where only the beginning of a command is given; or NULL: then
	 * that is an error, and nothing at all asks for help. */
	int (*index)(struct call *c, struct str words);
	int (*version)(struct call *c); /* for programs; NULL: as for people */
};

/* The variables that name the actor on this face, in their order: the face's own, ABACUS_AGENT,
 * those of the other faces. Returns their number. */
enum { ACTOR_VARIABLES = 5 };
size_t face_actor_variables(const struct face *face, const char *out[ACTOR_VARIABLES]);

/* The user that Git knows, else the login: who changes beads where nobody is named. */
struct str bd_actor(struct call *c);

extern const struct face face_abacus, face_bb, face_bd, face_vybe;
extern const struct face *const faces[]; /* ends with NULL */

const struct face *face_find(struct str name);
const struct command *face_command(const struct face *face, struct str words);

bool field_on_cli(const struct field *f);
bool field_shown(const struct field *f); /* help speaks of it */

#endif
