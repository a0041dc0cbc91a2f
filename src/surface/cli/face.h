#ifndef SURFACE_CLI_FACE_H
#define SURFACE_CLI_FACE_H

#include "op/op.h"

struct value;
struct view;

/*
 * A face is one of the programs that users call (abacus, bb, bd, vybe): its commands, each of which
 * names an operation and the view of its reply, and its global options. Help, completion, manuals
 * and the reference are generated from these tables.
 */

enum command_flags {
	COMMAND_CONFIRM = 1 << 0,  /* the reply says whether it was confirmed, or only a preview */
	COMMAND_ASKS = 1 << 1,     /* on a terminal, ask for that confirmation */
	COMMAND_ALIAS = 1 << 2,    /* another name for a command; not in help */
	COMMAND_IDS = 1 << 3,      /* print only the ids in the reply */
	COMMAND_CHECKS = 1 << 5,   /* exit with 1 if "ok" is false or "timed_out" is true */
	COMMAND_ENVELOPE = 1 << 6, /* wrap the JSON in {"ok","command","data","error"} */
	COMMAND_SILENT = 1 << 8,   /* print no errors, and exit with 0 */
	COMMAND_VERDICT = 1 << 7,  /* 1 means "denied"; 3 that the check itself failed */
	COMMAND_PREVIEWS = 1 << 4, /* show a preview and ask, unless confirmed or forced */
	COMMAND_COMPAT = 1 << 9,   /* for users of upstream bd; only 'help --all' lists it */
	COMMAND_TEXT = 1 << 11,    /* the operation may write a text, which is printed unchanged */
	COMMAND_LOOSE = 1 << 10,   /* unknown options and arguments are ignored */
	COMMAND_JOINS = 1 << 12,   /* further arguments continue the last positional text */
	COMMAND_LONG = 1 << 13,    /* the view reads a list with view_next(), however long it is */
};

struct command {
	const char *words; /* "status set" */
	const struct op *op;
	void (*view)(struct view *v, const struct value *data); /* NULL: always JSON */
	/*
	 * Runs the command itself and returns the exit status, or -1 if the call failed; or NULL.
	 */
	int (*start)(struct call *c, const struct request *r);
	/* The same for --follow, as JSON or as text; NULL: the command has no such option. */
	int (*follow)(struct call *c, const struct request *r, bool json);
	unsigned flags;
	const char *fields; /* the fields of a bead that the view shows; NULL: all */
	const char
		*group; /* title above this row in help, which the rows after it share; or NULL */
};

/* Options that every command takes, under the names that each face gives them. */
struct globals {
	bool json, quiet, help, version, mcp, silent;
	bool all; /* with help: list the commands for users of upstream bd too */
	struct str actor, dir, request_id, store;
	bool ignored; /* options of other versions, accepted and ignored */
	struct str ignored_text;
};

struct face {
	const char *name;
	const char *about; /* one line */
	const char *more;  /* for the manual */
	const struct field *globals;
	const struct command *commands; /* the last has no words */
	const char *default_actor;      /* NULL: none */
	const char *const *environment; /* name, meaning, …, NULL */
	enum dialect dialect;           /* of its errors */
	/*
	 * The face's own environment variables that name the actor, ending with NULL. They come
	 * before those of other faces; see face_actor_variables().
	 */
	const char *const *actor_variables;
	/*
	 * Finds the actor if no option or variable names one and the operation needs one; or NULL.
	 */
	struct str (*actor)(struct call *c);
	const char *dir_variable;                      /* the project's folder; or NULL */
	const char *request_variable, *store_variable; /* or NULL */
	/*
	 * Prints the commands that start with the given words, if those are not a whole command.
	 * NULL: incomplete words are an error, and an empty command line prints the help.
	 */
	int (*index)(struct call *c, struct str words);
	int (*version)(struct call *c); /* prints JSON for programs; NULL: prints text */
	/*
	 * Does the caller want another dialect of JSON? Then `render` makes a reply of this face's
	 * own one. NULL: the face has no other.
	 */
	bool (*translates)(struct call *c);
	struct str (*render)(struct call *c, const struct request *r, struct str reply);
};

/*
 * Lists the variables that name the actor on this face, in their order: the face's own,
 * ABACUS_AGENT, those of the other faces. Returns their number.
 */
enum { ACTOR_VARIABLES = 5 };
size_t face_actor_variables(const struct face *face, const char *out[ACTOR_VARIABLES]);

/* The default actor of beads: the Git user, else the login name. */
struct str bd_actor(struct call *c);

extern const struct face face_abacus, face_bb, face_bd, face_vybe;
extern const struct face *const faces[]; /* ends with NULL */

const struct face *face_find(struct str name);
const struct command *face_command(const struct face *face, struct str words);

bool field_on_cli(const struct field *f);
bool field_shown(const struct field *f); /* shown in help */

#endif
