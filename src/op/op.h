#ifndef OP_OP_H
#define OP_OP_H

#include "op/field.h"

struct agent_files;
struct beads;
struct board;
struct continuity;
struct json;
struct prop;

enum op_flags {
	OP_WRITE = 1 << 0,      /* changes something; runs alone, in one transaction */
	OP_DESTROYS = 1 << 1,   /* what it removes cannot be had back */
	OP_IDEMPOTENT = 1 << 2, /* doing it twice is doing it once */
	OP_ACTOR = 1 << 3,      /* is done by somebody: an identity is needed */
	OP_READER = 1 << 4,     /* answers more to somebody who gives a name */
	OP_BOARD = 1 << 5,      /* works on the board, which is opened for it */
	OP_RECEIPT = 1 << 6,    /* takes a request id; a repeat gets the first reply */
	OP_BEADS = 1 << 7,      /* works on the beads, which are opened for it */
	OP_AGENTS = 1 << 8,     /* works on the files of the agents, likewise */
	OP_VYBE = 1 << 9,       /* works on what agents go on from, likewise */
	OP_TASKS = 1 << 10,     /* and on tasks: there are beads, if need be new ones */
	OP_HOST = 1 << 13,      /* is a terminal's or a host's: no program is served it */
	OP_WAITS = 1 << 14,     /* may take long, by waiting */
	OP_CREATES = 1 << 15,   /* makes beads: a repeat in another clone is recognised */
	OP_LOST = 1 << 16,      /* its reply lists lost claims itself */
	OP_NAMES = 1 << 12,     /* knows agents by their names in small letters, as OP_VYBE */
};

/* What an operation may use; opened for it as its flags ask. */
struct stores {
	struct agent_files *agents;
	struct board *board;
	struct beads *beads;
	struct continuity *vybe;
	void *seen; /* what the operation's `look` has left */
};

/*
 * Something Abacus can be asked to do, on whatever surface. `run` is given a body that has been
 * checked against `fields`, and writes the data of the reply, which has the shape of `reply`.
 * `look`, of an operation on the agents' files, gathers before the lock is taken what may take
 * long, as asking Git does, and leaves it in `seen`; a repeated request does not come to it.
 */
struct op {
	const char *name;            /* "board post": what the schema and the docs call it */
	const char *help;            /* one line */
	const char *more;            /* a paragraph for manuals; or NULL */
	const char *const *examples; /* command lines, ending with NULL; or NULL */
	unsigned flags;
	size_t body_size;
	const struct field *fields; /* at most 64; the last has no name; or NULL */
	const struct prop *reply;   /* its one row is the reply itself */
	enum err (*run)(struct call *c, struct stores *s, const void *body, struct json *reply);
	enum err (*look)(struct call *c, struct stores *s, const void *body); /* or NULL */
};

enum prop_type { PROP_STR, PROP_INT, PROP_BOOL, PROP_OBJECT, PROP_ANY };
enum prop_flags { PROP_NULL = 1 << 0, PROP_LIST = 1 << 1, PROP_OPTIONAL = 1 << 2 };

/* One member of a reply, for output schemas; `of` lists an object's own members. */
struct prop {
	const char *name;
	enum prop_type type;
	unsigned flags;
	const struct prop *of;
};

/* JSON Schema of the parameters as JSON takes them, and of the reply. A model is told of fewer:
 * every session pays for each. */
enum audience { FOR_MODELS, FOR_PROGRAMS };
void op_input_schema(struct json *j, const struct op *op, enum audience whom);
void op_reply_schema(struct json *j, const struct op *op);

/* The same for command lines: flags as they are written, and what the call needs. */
void op_args_schema(struct json *j, const struct op *op);

/* The same in few words: an object's own members, and what type each of them is. */
void op_reply_outline(struct json *j, const struct op *op);

/* An operation with its parameters, on the way to being run. */
struct request {
	const struct op *op;
	void *body;
	uint64_t given; /* bit i: op->fields[i] was set */
};

/* In which words an operation speaks of its errors. */
enum dialect op_dialect(const struct op *op);

/* Does it write, always or where a field asks it to? */
bool op_may_write(const struct op *op);

struct request request_new(struct call *c, const struct op *op);

/* The i-th field from a command line's text. */
enum err request_set(struct call *c, struct request *r, size_t i, struct str text);

/* All fields from a JSON object; members it does not know are an error. */
enum err request_decode(struct call *c, struct request *r, const struct value *object);

/* Presets for what was not given, or could not be here; an error for what had to be. */
enum err request_check(struct call *c, struct request *r);

/* What was given for the field of that role, as its kind keeps it; NULL: there is none. */
const void *request_value(const struct request *r, enum field_role role);
bool request_bool(const struct request *r, enum field_role role);

/* Sets the field of that role, if there is one. */
enum err request_set_role(struct call *c, struct request *r, enum field_role role, struct str text);

/* Does it write, as it was asked? */
bool request_writes(const struct request *r);

/*
 * Runs a checked request: opens the stores it needs, finds or leaves its receipt, commits. On
 * success `reply` holds the data, whole; on failure nothing was changed.
 */
enum err request_run(struct call *c, const struct request *r, struct json *reply);

#endif
