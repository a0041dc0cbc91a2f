#ifndef BASE_SYSTEM_PROCESS_H
#define BASE_SYSTEM_PROCESS_H

#include "base/arena.h"

/*
 * Processes by their numbers. A number means something only on one machine and in one container,
 * which `space` names.
 */
enum { ANCESTORS = 6 };
struct ancestors {
	int64_t id[ANCESTORS]; /* the parent first; 0: no more are known */
	struct str space;
};

/* Those that started this process. */
struct ancestors process_ancestors(struct arena *mem);

/* Their numbers and their space as a line of text, and back. What is no such line names no
 * process. */
struct str ancestors_encode(struct arena *mem, const struct ancestors *a);
struct ancestors ancestors_decode(struct arena *mem, struct str text);

/* The nearest one of `a` that is among `b`, too; 0: none. */
int64_t ancestors_common(const struct ancestors *a, const struct ancestors *b);
bool ancestors_have(const struct ancestors *a, int64_t process);

/* Whether a process of this space has ended. Its number may have been given to another one since,
 * which then counts. */
bool process_ended(int64_t process);

#endif
