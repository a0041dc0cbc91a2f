#ifndef OP_FIELD_H
#define OP_FIELD_H

#include "base/call.h"
#include "base/names.h"

struct field;
struct json;
struct value;

/*
 * A type of parameter: how it is read from a command line and from JSON, how it is written, and
 * what its schema says. `at` points to where its value lives.
 */
struct kind {
	const char *type; /* in JSON Schema */
	const char *arg;  /* what stands for it in help; NULL: it takes no value */
	size_t size;
	void (*clear)(void *at); /* to the value that means "not given" */
	enum err (*from_text)(struct call *c, const struct field *f, struct str text, void *at);
	enum err (*from_json)(struct call *c, const struct field *f, const struct value *v,
			      void *at);
	void (*to_json)(struct json *j, const struct field *f, const void *at);
	void (*schema)(struct json *j, const struct field *f); /* more members; or NULL */
};

extern const struct kind kind_str;      /* struct str; absent: not given */
extern const struct kind kind_line;     /* the same: one line, without control characters */
extern const struct kind kind_tag;      /* the same: one word */
extern const struct kind kind_agent;    /* struct str: an agent's name */
extern const struct kind kind_input;    /* struct str: standard input, if it is asked for */
extern const struct kind kind_int;      /* int64_t; ABSENT: not given */
extern const struct kind kind_id;       /* the same, of a thing: "#42" will do too */
extern const struct kind kind_bool;     /* bool; false: not given */
extern const struct kind kind_switch;   /* int: 1, 0; -1: not given */
extern const struct kind kind_word;     /* int, of field.words; -1: not given */
extern const struct kind kind_duration; /* int64_t in ms; ABSENT: not given */
extern const struct kind kind_path;     /* struct str, completed as a file name */
extern const struct kind kind_ref;      /* struct ref; where is absent: not given */
extern const struct kind kind_ref_part; /* struct str; a number will do too */
extern const struct kind kind_bead;     /* struct str: a bead's id, or the start of it */
extern const struct kind kind_priority; /* int64_t; ABSENT: not given; "P1" is 1 */
extern const struct kind kind_moment;   /* int64_t in ms; ABSENT: not given */
extern const struct kind kind_when;     /* struct when; spec is absent: not given */
extern const struct kind kind_stamp;    /* struct stamp; ms is ABSENT: not given */

#define ABSENT INT64_MIN

/* Where a list's values live; `item` is NULL if it was not given. */
struct list {
	void *item;
	size_t n;
};

enum field_flags {
	FIELD_REQUIRED = 1 << 0,
	FIELD_LIST = 1 << 1,    /* may be repeated; an array in JSON */
	FIELD_PLACE = 1 << 2,   /* on a command line it goes by its place, without a flag */
	FIELD_CLI = 1 << 3,     /* not for models; see field_on_wire() */
	FIELD_WIRE = 1 << 4,    /* only in JSON */
	FIELD_CLAMP = 1 << 5,   /* a number past the maximum becomes the maximum */
	FIELD_STDIN = 1 << 6,   /* "-" on a command line means standard input */
	FIELD_FILE = 1 << 7,    /* a command line names a file, whose content it is */
	FIELD_COMMAS = 1 << 8,  /* on a command line, one argument may be many items */
	FIELD_HIDDEN = 1 << 9,  /* is understood, but no help speaks of it */
	FIELD_ACTOR = 1 << 13,  /* the actor: where it is not given, the caller */
	FIELD_WHOSE = 1 << 15,  /* with FIELD_ACTOR: others may ask, without acting as it */
	FIELD_PIPED = 1 << 14,  /* where a command line does not give it, it is standard input */
	FIELD_LOOK = 1 << 11,   /* only how the reply looks; a repeated request may differ */
	FIELD_AT = 1 << 12,     /* where it is given, the operation reads what was then */
	FIELD_WRITES = 1 << 10, /* where it is given, an operation that reads also writes */
};

/* What a field means to the code around operations, which knows them by this alone. */
enum field_role {
	ROLE_NONE,
	ROLE_CLAIM,   /* also takes what it lists */
	ROLE_CONFIRM, /* without it, the operation only tells what it would do */
	ROLE_DRY_RUN, /* with it, likewise */
	ROLE_FIELDS,  /* which members the reply has */
	ROLE_FORCE,   /* does not ask */
	ROLE_FORMAT,  /* how the view draws it */
	ROLE_INPUT,   /* what a host's hook says */
	ROLE_LIMIT,   /* how many there are at most */
	ROLE_LONG,    /* shows more */
	ROLE_PEEK,    /* leaves no trace */
	ROLE_TREE,    /* draws a tree */
};

/*
 * One parameter of an operation: `--flag` on a command line, a member of the JSON object on the
 * wire, a property in a tool's schema, a line of help. All of them are read from this one row.
 */
struct field {
	const char *name; /* in JSON */
	const struct kind *kind;
	size_t at; /* offset into the request's body */
	unsigned flags;
	enum field_role role;
	const char *help;
	const char *flag; /* on a command line; NULL: the name, with dashes */
	const char *also; /* other flags for it, with spaces between; or NULL */
	char letter;      /* short flag; 0: none */
	const char *arg;  /* in help, if the kind's own is too dull */
	int64_t min, max; /* of a number; of a text's length in bytes; max 0: none */
	size_t most;      /* items of a list; 0: any number */
	const struct names *words;
	const char *preset;        /* the value if none is given, as text */
	enum err missing, invalid; /* ERR_OK: the usual ones */
};

/* Has everybody to give it? Who acts may be told in another way. */
static inline bool field_required(const struct field *f)
{
	return (f->flags & FIELD_REQUIRED) && !(f->flags & FIELD_ACTOR);
}

/* Can a program give it as JSON? Not what names a file of the person who types, or stands for
 * others by its place. */
bool field_on_wire(const struct field *f);

/* The field's flag without dashes; `mem` is used where it has to be made. */
struct str field_flag(struct arena *mem, const struct field *f);

/* What the field is called where the call comes from: "TEXT", "--limit", or its name. */
const char *field_label(struct call *c, const struct field *f);

/* Reads one value; for a list, adds it. */
enum err field_from_text(struct call *c, const struct field *f, struct str text, void *body);
enum err field_from_json(struct call *c, const struct field *f, const struct value *v, void *body);

void field_clear(const struct field *f, void *body);
void field_to_json(struct json *j, const struct field *f, const void *body);
void field_schema_members(struct json *j, const struct field *f);
void field_schema(struct json *j, const struct field *f);

#endif
