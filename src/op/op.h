#ifndef OP_OP_H
#define OP_OP_H

#include "base/map.h"
#include "base/system/lock.h"
#include "op/field.h"

struct agent_files;
struct beads;
struct board;
struct continuity;
struct json;
struct prop;

enum op_flags {
	OP_WRITE = 1 << 0,      /* writes, under the store's lock and in one transaction */
	OP_DESTROYS = 1 << 1,   /* removes data that cannot be restored */
	OP_IDEMPOTENT = 1 << 2, /* a second run changes nothing */
	OP_ACTOR = 1 << 3,      /* requires an actor */
	OP_READER = 1 << 4,     /* the actor is optional; the reply depends on it */
	OP_BOARD = 1 << 5,      /* uses the board, which is opened for it */
	OP_RECEIPT = 1 << 6,    /* takes a request id; a repeat gets the first reply */
	OP_BEADS = 1 << 7,      /* uses the beads, which are opened for it */
	OP_AGENTS = 1 << 8,     /* uses the agents' files, which are opened for it */
	OP_VYBE = 1 << 9,       /* uses continuity, which is opened for it */
	OP_TASKS = 1 << 10,     /* with OP_VYBE: uses tasks; a writer sets up beads if needed */
	OP_PERSON = 1 << 11,    /* tells about the person who runs the process if none is named */
	OP_HOST = 1 << 13,      /* changes more than the project's stores, or needs a terminal or a
				 * host: only the command line has it */
	OP_WAITS = 1 << 14,     /* may block for a long time */
	OP_CREATES = 1 << 15,   /* creates beads: a repeat in another clone is recognised */
	OP_LOST = 1 << 16,      /* the reply itself lists lost claims */
	OP_CLAIMS = 1 << 17,    /* claims beads */
	OP_GROUPED = 1 << 18,   /* a write that may become durable together with others, because it
				 * reads the beads from the cache, never from the journal */
	OP_NAMES = 1 << 12,     /* knows agents by their names in lower case, as OP_VYBE does */
};

/* The stores that are opened for an operation, according to its flags; the others are NULL. */
struct stores {
	struct agent_files *agents;
	struct board *board;
	struct beads *beads;
	struct continuity *vybe;
	void *seen; /* the result of the operation's `look`; what `run` leaves for `after` */
	struct lock looked; /* for the agents' files: what `look` has locked until the end */
};

/*
 * An operation, the same for the command line, MCP and HTTP. `run` gets a body that was checked
 * against `fields`, and writes the data of the reply, in the shape of `reply`. `look`, optional for
 * operations on the agents' files and for writes of beads and of vybe, runs before the lock is
 * taken: it does what takes long, such as running Git, and leaves the result in `seen`. With the
 * agents' files it does not run for a repeated request. `after`, optional for writes of beads, runs
 * when the write is committed and the lock is released, if `run` has left something in `seen`: it
 * changes other stores.
 */
struct op {
	const char *name;     /* in schemas and docs: "board post" */
	const char *help;     /* one line */
	const char *more;     /* a paragraph for manuals; or NULL */
	const char *examples; /* command lines, one a line; or NULL */
	unsigned flags;
	size_t body_size;           /* see OP_BODY() */
	const struct field *fields; /* at most 64; the last has no name; or NULL */
	const struct prop *reply;   /* one row, which describes the whole reply */
	enum err (*run)(struct call *c, struct stores *s, const void *body, struct json *reply);
	enum err (*look)(struct call *c, struct stores *s, const void *body); /* or NULL */
	void (*after)(struct call *c, void *seen);                            /* or NULL */
};

/* The parameters of an operation: the struct of their values, and the rows that fill it. */
#define OP_BODY(type, rows) .body_size = sizeof(type), .fields = (rows)

/*
 * A part of the shape of a reply, for output schemas: the names of members, separated by spaces. A
 * member is a string unless its type follows (:int, :bool, :object, :any); after that, [] is a
 * list, |null a member that may be null, and ? one that may be missing: "id unread:int scopes[]
 * role|null". If `of` lists the members of an object, the one name is that of such an object:
 * "beads[]?".
 */
struct prop {
	const char *members; /* NULL: the end of an array */
	const struct prop *of;
};

/* One member of a shape. */
struct prop_member {
	struct str name;
	const char *type; /* in JSON Schema; NULL: anything */
	bool list, null, optional;
	const struct prop *of;
};

/* Takes the next member; false: there is none. At first, `row` is the first row and `rest` absent;
 * later, `row` is the row after that of the member. */
bool prop_next(const struct prop **row, struct str *rest, struct prop_member *out);

/* JSON Schema of the parameters as JSON takes them, and of the reply. Models get fewer parameters:
 * every session pays for each of them. */
enum audience {
	FOR_MODELS,
	FOR_STRANGERS, /* models that have to pass their name with each call */
	FOR_PROGRAMS,
};
void op_input_schema(struct json *j, const struct op *op, enum audience whom);

/* The properties alone, without those in `written`, to which their names are added. */
void op_input_properties(struct json *j, const struct op *op, enum audience whom,
			 struct map *written);
void op_reply_schema(struct json *j, const struct op *op);

/* JSON Schema of the command line: its flags, and --agent and --request-id where they are used. */
void op_args_schema(struct json *j, const struct op *op);

/* A short JSON Schema of the reply: the names and types of its members, without nested objects. A
 * reply that may be null or anything has none. */
bool op_reply_outlined(const struct op *op);
void op_reply_outline(struct json *j, const struct op *op);

/* An operation with its parameters. */
struct request {
	const struct op *op;
	void *body;
	uint64_t given;     /* bit i: op->fields[i] was set */
	const char *called; /* the name in messages; NULL: that of the operation */
};

/* The dialect of the operation's error codes. */
enum dialect op_dialect(const struct op *op);

/* Does the operation write, always or where a field asks for it? */
bool op_may_write(const struct op *op);

struct request request_new(struct call *c, const struct op *op);

/* Sets the i-th field from a command line's text. */
enum err request_set(struct call *c, struct request *r, size_t i, struct str text);

/* Sets all fields from a JSON object; an unknown member is an error. */
enum err request_decode(struct call *c, struct request *r, const struct value *object);

/* The same for a request that was parsed from a command line and is handed over to this process. */
enum err request_decode_handed(struct call *c, struct request *r, const struct value *object);

/* Sets the presets of fields that were not given; a required field that is missing is an error. */
enum err request_check(struct call *c, struct request *r);

/* The value of the field with that role, as its kind stores it; NULL: there is no such field. */
const void *request_value(const struct request *r, enum field_role role);
bool request_bool(const struct request *r, enum field_role role);

/* Sets the field of that name, which the operation has. */
enum err request_set_named(struct call *c, struct request *r, const char *name, struct str text);

/* Sets the field with that role, if there is one. */
enum err request_set_role(struct call *c, struct request *r, enum field_role role, struct str text);

/* Is a parameter with this flag, which is a bool, set? */
bool request_has(const struct request *r, enum field_flags flag);

/* Does this request write, given its parameters? */
bool request_writes(const struct request *r);

/*
 * Runs a checked request: opens the store, answers a repeat from its receipt or runs the operation,
 * stores the receipt and commits. On success `reply` is complete; after a failure, `stored` of the
 * call says whether something was written.
 */
enum err request_run(struct call *c, const struct request *r, struct json *reply);

#endif
