#ifndef CONTINUITY_MEMORY_H
#define CONTINUITY_MEMORY_H

#include "continuity/continuity.h"

/* Values that agents keep under a key, in a scope, until they expire. */

enum memory_scope { SCOPE_GLOBAL, SCOPE_PROJECT, SCOPE_TASK, SCOPE_AGENT };
enum memory_type { TYPE_STRING, TYPE_NUMBER, TYPE_BOOLEAN, TYPE_JSON, TYPE_ARRAY };
enum memory_kind { KIND_FACT, KIND_DIRECTIVE, KIND_LESSON };
extern const struct names memory_scopes, memory_types, memory_kinds;

/* A scope and its id. The scope of an agent defaults to the actor. Functions set `id` to the form
 * that resume uses. */
struct memory_where {
	int scope; /* enum memory_scope */
	struct str id;
};
enum err memory_where(struct call *c, struct continuity *k, struct memory_where *where);

struct memory_ask {
	struct memory_where where;
	struct str key, value;
	int type, kind;     /* -1: a string */
	int64_t expires_ms; /* 0: never */
	bool pinned;
};
/* INVALID_INPUT if memory_set() would refuse it, whatever is stored already. */
enum err memory_check(struct call *c, const struct memory_ask *ask);
enum err memory_set(struct call *c, struct continuity *k, const struct memory_ask *ask,
		    int64_t *event);

/* NOT_FOUND. */
enum err memory_find(struct call *c, struct continuity *k, const struct memory_where *where,
		     struct str key, struct memory_row **out);
enum err memory_pin(struct call *c, struct continuity *k, const struct memory_where *where,
		    struct str key, bool pinned, int64_t *event);
enum err memory_delete(struct call *c, struct continuity *k, const struct memory_where *where,
		       struct str key, int64_t *event);
enum err memory_each(struct call *c, struct continuity *k, const struct memory_where *where,
		     int64_t limit, struct memory_row **out);

#endif
