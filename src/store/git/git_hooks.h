#ifndef STORE_GIT_GIT_HOOKS_H
#define STORE_GIT_GIT_HOOKS_H

#include "base/call.h"

/*
 * Our section in the repository's hooks, between two markers. It comes first, so that the rest of
 * the hook works as before, with the same input. All other bytes are preserved. A hook that has
 * only our section is removed with it.
 */
struct git_hook {
	const char *name;  /* "pre-commit" */
	struct str script; /* the section's lines of sh */
};

/* The change that was made to a hook. */
enum hook_change { HOOK_MADE, HOOK_ADDED, HOOK_RENEWED, HOOK_SAME, HOOK_TAKEN_OUT, HOOK_REMOVED };
extern const struct names hook_changes;

/*
 * INVALID_INPUT if the existing hook is not a shell script, or Git would not run it; then nothing
 * is changed.
 */
enum err git_hook_check(struct call *c, struct str dir, const struct git_hook *hook);
enum err git_hook_add(struct call *c, struct str dir, const struct git_hook *hook,
		      enum hook_change *out);
enum err git_hook_remove(struct call *c, struct str dir, const struct git_hook *hook,
			 enum hook_change *out);

#endif
