#ifndef STORE_GIT_GIT_HOOKS_H
#define STORE_GIT_GIT_HOOKS_H

#include "base/call.h"

/*
 * A section of ours in the repository's hooks, between two marks. It comes first, so that
 * whatever the hook does afterwards it does as before, with the same input; and all other bytes
 * stay as they are. A hook that does nothing else goes with it.
 */
struct git_hook {
	const char *name;  /* "pre-commit" */
	struct str script; /* of the section, lines of sh */
};

/* What became of a hook. */
enum hook_change { HOOK_MADE, HOOK_ADDED, HOOK_RENEWED, HOOK_SAME, HOOK_TAKEN_OUT, HOOK_REMOVED };
extern const struct names hook_changes;

/*
 * INVALID_INPUT if the hook is there and is no script of a shell, or Git would not run it: then
 * nothing is changed.
 */
enum err git_hook_check(struct call *c, struct str dir, const struct git_hook *hook);
enum err git_hook_add(struct call *c, struct str dir, const struct git_hook *hook,
		      enum hook_change *out);
enum err git_hook_remove(struct call *c, struct str dir, const struct git_hook *hook,
			 enum hook_change *out);

#endif
