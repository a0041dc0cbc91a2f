#ifndef BASE_SYSTEM_PROCESS_H
#define BASE_SYSTEM_PROCESS_H

#include "base/arena.h"

/*
 * Processes by their ids. An id is meaningful only within one PID namespace of one machine, which
 * `space` names.
 */
enum { ANCESTORS = 6 };
struct ancestors {
	int64_t id[ANCESTORS]; /* the parent first; 0: unknown */
	struct str space;
};

/* The ancestors of this process. */
struct ancestors process_ancestors(struct arena *mem);

/* Ancestors as a line of text, and back. Invalid text decodes to no ancestors. */
struct str ancestors_encode(struct arena *mem, const struct ancestors *a);
struct ancestors ancestors_decode(struct arena *mem, struct str text);

/* The nearest process of `a` that is also in `b`; 0: none. */
int64_t ancestors_common(const struct ancestors *a, const struct ancestors *b);
bool ancestors_have(const struct ancestors *a, int64_t process);

/*
 * Has a process of this PID namespace ended? If its id was reused, the new process counts as the
 * old one.
 */
bool process_ended(int64_t process);

#endif
