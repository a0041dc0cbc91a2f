#ifndef STORE_GIT_GIT_HOOKS_H
#define STORE_GIT_GIT_HOOKS_H

#include "base/call.h"

/*
 * A section of ours in the repository's hooks, between two markers. It comes first, so that the
 * rest of the hook works as before, with the same input. All other bytes are preserved. A hook that
 * has only our section is removed with it.
 */
struct git_section {
	const char *begin, *end;   /* the markers: whole lines */
	const char *by_hand;       /* next step if a hook cannot be edited */
	const char *by_hand_there; /* next step if the hooks are outside of the repository */
};

struct git_hook {
	const char *name;  /* "pre-commit" */
	struct str script; /* the section's lines of sh */
};

/*
 * The folder of the repository's hooks, for a section in the hooks of these names (the last is
 * NULL), and the root of the main worktree. INVALID_INPUT if the folder is outside of the
 * repository, because it then serves other repositories too; UNSAFE_PATH if a hook is a link that
 * leads out of it.
 */
enum err git_hooks_find(struct call *c, struct str dir, const struct git_section *section,
			const char *const *names, struct str *out, struct str *main);

/* The change that was made to a hook. */
enum hook_change { HOOK_MADE, HOOK_ADDED, HOOK_RENEWED, HOOK_SAME, HOOK_TAKEN_OUT, HOOK_REMOVED };
extern const struct names hook_changes;

/*
 * INVALID_INPUT if the existing hook is not a shell script, or Git would not run it; then nothing
 * is changed.
 */
enum err git_hook_check(struct call *c, const struct git_section *section, struct str dir,
			const struct git_hook *hook);
enum err git_hook_add(struct call *c, const struct git_section *section, struct str dir,
		      const struct git_hook *hook, enum hook_change *out);
enum err git_hook_remove(struct call *c, const struct git_section *section, struct str dir,
			 const struct git_hook *hook, enum hook_change *out);

#endif
