#ifndef AGENTS_SCOPE_H
#define AGENTS_SCOPE_H

#include "base/call.h"
#include "base/names.h"

/*
 * The part of a project that an agent has reserved: a file, or a folder with all that is in it.
 * Two of them are compared as text, so the answer is the same for files that are not there yet,
 * and on every machine.
 */

enum overlap { OVERLAP_DISJOINT, OVERLAP_PARTIAL, OVERLAP_EXACT };
extern const struct names overlaps;

/*
 * A path as it is compared: from the project's root, without a slash at either end, without "."
 * and "..", and without stars at its end, which mean what the folder alone means: everything in
 * it. The root itself is "". INVALID_INPUT if it lies outside of the root, or has stars
 * elsewhere.
 */
enum err scope_normalise(struct call *c, struct str root, struct str text, struct str *out);

/* The same without an error, for a question. */
enum scope_fault { SCOPE_FINE, SCOPE_NO_TEXT, SCOPE_STAR, SCOPE_OUTSIDE };
enum scope_fault scope_parse(struct arena *mem, struct str root, struct str text, struct str *out);

/* A file as scopes are compared, the same in every worktree: `tree` is the one at hand. False: it
 * lies outside of the project, where nobody can reserve anything. */
bool scope_of_path(struct arena *mem, struct str root, struct str tree, struct str path,
		   struct str *out);

/* Of two that are normalised. */
enum overlap scope_overlap(struct str a, struct str b);

#endif
