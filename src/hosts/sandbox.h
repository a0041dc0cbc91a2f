#ifndef HOSTS_SANDBOX_H
#define HOSTS_SANDBOX_H

#include "base/call.h"

/*
 * Folders that the sandbox of Codex lets programs write to, besides the workspace: the array
 * `writable_roots` in the table `sandbox_workspace_write` of its configuration file. Codex does not
 * start a program if one of them is inside of the workspace and missing.
 */
struct sandbox_roots {
	struct str path[4];
	size_t count;
};

/*
 * The folders of the project's stores that exist and that the sandbox would protect: the store in
 * the Git directory; from a linked worktree, those in the main worktree too. With `ever`, all
 * folders that this could have been at some time.
 */
enum err sandbox_roots(struct call *c, struct str root, bool ever, struct sandbox_roots *out);

/* The file's text with these folders in the array, or without; absent text: a new file. */
enum err sandbox_allow(struct call *c, struct str text, const struct sandbox_roots *roots,
		       struct str *out);
enum err sandbox_forbid(struct call *c, struct str text, const struct sandbox_roots *roots,
			struct str *out);

/* For the model, in a session of Codex: which store its commands may not be able to write, and what
 * to do then; absent: its sandbox allows all of them. */
struct str sandbox_note(struct call *c);

/* Does the user's configuration file of Codex list the folder? */
bool sandbox_lists(struct call *c, struct str path);

#endif
