#ifndef AGENTS_SCOPE_H
#define AGENTS_SCOPE_H

#include "base/call.h"
#include "base/names.h"

/*
 * A part of a project that an agent can reserve: a file, or a folder with its content. Scopes are
 * compared as text, so the result is the same for files that do not exist yet, and on every
 * machine.
 */

enum overlap { OVERLAP_DISJOINT, OVERLAP_PARTIAL, OVERLAP_EXACT };
extern const struct names overlaps;

/*
 * The normalised path: relative to the project's root, without a slash at either end, without "."
 * and "..", and without stars at its end, because a folder includes its content anyway. The root
 * itself is "". INVALID_INPUT if the path is outside of the root, or has stars elsewhere.
 */
enum err scope_normalise(struct call *c, struct str root, struct str text, struct str *out);

/* The same, but without an error in the call. */
enum scope_fault { SCOPE_FINE, SCOPE_NO_TEXT, SCOPE_STAR, SCOPE_OUTSIDE };
enum scope_fault scope_parse(struct arena *mem, struct str root, struct str text, struct str *out);

/* The normalised path of a file, the same in every worktree; `tree` is the current one. False if
 * the file is outside of the project. */
bool scope_of_path(struct arena *mem, struct str root, struct str tree, struct str path,
		   struct str *out);

/* Both scopes are normalised. */
enum overlap scope_overlap(struct str a, struct str b);

#endif
