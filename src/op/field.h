#ifndef OP_FIELD_H
#define OP_FIELD_H

#include "base/call.h"
#include "base/names.h"

struct field;
struct json;
struct value;

/*
 * A type of parameter: how it is read from a command line and from JSON, written as JSON, and
 * described in a schema. `at` points to the value in the request's body.
 */
struct kind {
	const char *type; /* in JSON Schema */
	const char *arg;  /* the placeholder in help; NULL: the flag takes no value */
	size_t size;
	const void *none; /* the value that means "not given"; NULL: all bytes are 0 */
	enum err (*from_text)(struct call *c, const struct field *f, struct str text, void *at);
	enum err (*from_json)(struct call *c, const struct field *f, const struct value *v,
			      void *at); /* NULL: a string, read as from a command line */
	void (*to_json)(struct json *j, const struct field *f, const void *at);
	void (*schema)(struct json *j, const struct field *f); /* adds members; or NULL */
};

extern const struct kind kind_str;      /* struct str; absent: not given */
extern const struct kind kind_line;     /* struct str: one line without control characters */
extern const struct kind kind_tag;      /* struct str: one word */
extern const struct kind kind_agent;    /* struct str: an agent's name */
extern const struct kind kind_input;    /* struct str: standard input, if the flag is given */
extern const struct kind kind_int;      /* int64_t; ABSENT: not given */
extern const struct kind kind_id;       /* int64_t, an id: "#42" is accepted too */
extern const struct kind kind_bool;     /* bool; false: not given */
extern const struct kind kind_switch;   /* int: 1, 0; -1: not given */
extern const struct kind kind_word;     /* int, of field.words; -1: not given */
extern const struct kind kind_duration; /* int64_t in ms; ABSENT: not given */
extern const struct kind kind_age;      /* the same with one unit, as the board's contract has it */
extern const struct kind kind_span;     /* int64_t in the field's unit, as a number or a duration;
					 * ABSENT: not given */
extern const struct kind kind_path;     /* struct str, completed as a file name */
extern const struct kind kind_ref;      /* struct ref; `where` absent: not given */
extern const struct kind kind_ref_part; /* struct str; a number is accepted too */
extern const struct kind kind_bead;     /* struct str: a bead's id, or the start of it */
extern const struct kind kind_new_bead; /* struct str: an id for a new bead */
extern const struct kind kind_priority; /* int64_t; ABSENT: not given; "P1" is 1 */
extern const struct kind kind_moment;   /* int64_t in ms; ABSENT: not given */
extern const struct kind kind_later;    /* int64_t in ms; 0: none; ABSENT: not given */
extern const struct kind kind_when;     /* struct when; `spec` absent: not given */
extern const struct kind kind_stamp;    /* struct stamp; `ms` is ABSENT: not given */

#define ABSENT INT64_MIN

/* The value of a list field; `item` is NULL if the field was not given. */
struct list {
	void *item;
	size_t n;
};

enum field_flags {
	FIELD_REQUIRED = 1 << 0,
	FIELD_LIST = 1 << 1,     /* may be repeated; an array in JSON */
	FIELD_PLACE = 1 << 2,    /* positional on a command line */
	FIELD_CLI = 1 << 3,      /* hidden from models; see field_on_wire() */
	FIELD_WIRE = 1 << 4,     /* only in JSON */
	FIELD_CLAMP = 1 << 5,    /* a number above the maximum becomes the maximum */
	FIELD_STDIN = 1 << 6,    /* "-" on a command line means standard input */
	FIELD_FILE = 1 << 7,     /* the command line names a file; the value is its content */
	FIELD_COMMAS = 1 << 8,   /* on a command line, items are separated by commas */
	FIELD_HIDDEN = 1 << 9,   /* accepted, but not in help */
	FIELD_ACTOR = 1 << 13,   /* names the actor; the default is the caller */
	FIELD_WHOSE = 1 << 15,   /* with FIELD_ACTOR: another agent may read, under its own name */
	FIELD_PIPED = 1 << 14,   /* the default on a command line is standard input */
	FIELD_LOOK = 1 << 11,    /* chooses only how the reply looks; a repeat may differ in it */
	FIELD_AT = 1 << 12,      /* if given, the operation reads the store of that time */
	FIELD_WRITES = 1 << 10,  /* if given, an operation that reads also writes */
	FIELD_CLAIMS = 1 << 17,  /* if given, the operation claims beads */
	FIELD_AGENT = 1 << 19,   /* names an agent, perhaps by an old name or as NAME@MACHINE */
	FIELD_ASSUMED = 1 << 16, /* on a command line, the operation finds a default or refuses */
	FIELD_REST = 1 << 20,    /* the rest of a command line, after "--" */
	FIELD_ASKED = 1 << 18,   /* required of models, from whom the alternatives are hidden */
};

/* The meaning of a field to the code that runs and shows operations. */
enum field_role {
	ROLE_NONE,
	ROLE_CLAIM,     /* also claims the beads that are listed */
	ROLE_CONFIRM,   /* without it, the operation only shows what it would do */
	ROLE_DRY_RUN,   /* with it, the operation only shows what it would do */
	ROLE_EXCLUSIVE, /* claims or reserves at the Git remote first; a kind_switch */
	ROLE_EXPECTED,  /* what a preview has shown; refuses to do anything else */
	ROLE_FIELDS,    /* the members that the reply has */
	ROLE_FOLLOW,    /* keeps printing what is new */
	ROLE_FORCE,     /* runs without asking for confirmation */
	ROLE_FORMAT,    /* the format of the view */
	ROLE_INPUT,     /* the JSON that a host passes to its hook */
	ROLE_LIMIT,     /* maximum number of results */
	ROLE_LONG,      /* shows more columns */
	ROLE_PARALLEL,  /* lists only beads that do not collide */
	ROLE_PEEK,      /* reads without marking anything as read */
	ROLE_STUCK,     /* only agents that make no progress */
	ROLE_TIED,      /* ends at the end of its standard input */
	ROLE_TIMEOUT,   /* maximum time to wait for the remote */
	ROLE_TREE,      /* draws a tree */
};

/*
 * One parameter of an operation. From this row come the `--flag` of the command line, the member
 * of the JSON object, the property in a tool's schema and the line of help.
 */
struct field {
	const char *name; /* in JSON */
	const struct kind *kind;
	size_t at; /* offset into the request's body */
	unsigned flags;
	enum field_role role;
	const char *help;
	/* on a command line; NULL: the name, with dashes. A positional field that has one can be
	 * given either way. */
	const char *flag;
	const char *also; /* other names of the flag, separated by spaces; or NULL */
	char letter;      /* short flag; 0: none */
	const char *arg;  /* the placeholder in help; NULL: that of the kind */
	int64_t min, max; /* of a number, or of a text's length in bytes; max 0: no maximum */
	int64_t unit;     /* of kind_span: milliseconds of a bare number's unit */
	size_t most;      /* maximum number of items of a list; 0: no maximum */
	const struct names *words;
	const char *hint;          /* the next step if the value is refused; or NULL */
	const char *preset;        /* the default value, as text; or NULL */
	enum err missing, invalid; /* error codes; ERR_OK: USAGE and INVALID_INPUT */
};

/* Required, unless it names the actor: the actor may be known from the call. */
static inline bool field_required(const struct field *f)
{
	return (f->flags & FIELD_REQUIRED) && !(f->flags & FIELD_ACTOR);
}

/* The same on a command line. */
static inline bool field_required_cli(const struct field *f)
{
	return field_required(f) && !(f->flags & FIELD_ASSUMED);
}

/* Can the field be given as JSON? Not if it is a path or a reference of the person at the command
 * line. */
bool field_on_wire(const struct field *f);

/* Can a command hand the field over to another process? Not if that process would have to read a
 * file that the command line names. */
bool field_can_be_handed(const struct field *f);

/* The field's flag without its dashes; allocated if it is derived from the name. */
struct str field_flag(struct arena *mem, const struct field *f);

/* The field's name in messages: "TEXT" or "--limit" on a command line, else its JSON name. */
const char *field_label(struct call *c, const struct field *f);

/* Sets the value; one text adds an item to a list. */
enum err field_from_text(struct call *c, const struct field *f, struct str text, void *body);
enum err field_from_json(struct call *c, const struct field *f, const struct value *v, void *body);

void field_clear(const struct field *f, void *body);
void field_to_json(struct json *j, const struct field *f, const void *body);
void field_schema_members(struct json *j, const struct field *f);
void field_schema(struct json *j, const struct field *f);

#endif
