#ifndef HOSTS_INSTALLER_H
#define HOSTS_INSTALLER_H

#include "base/call.h"

/*
 * An entry of ours in a file that belongs to others. The old file is kept beside it, and what we
 * did is undone to the byte while the file is still as we left it.
 */
struct install_edit {
	/* The file's text with our entry, or without; absent text: there is no file. An absent
	 * result of `drop`: nothing would be left. */
	enum err (*add)(struct call *c, struct str text, const void *arg, struct str *out);
	enum err (*drop)(struct call *c, struct str text, const void *arg, struct str *out);
	const void *arg;
};

struct install_outcome {
	bool changed;
	struct str backup; /* of what was there; or absent */
};

/*
 * UNSAFE_PATH if the file of a project is somewhere else, whether or not it is there already, or
 * in a folder of Git's or of this program's: a link that came with the repository must not lead
 * to files that are none of its business.
 */
enum err install_check(struct call *c, struct str path, struct str project);

/* INVALID_INPUT, naming the file, where it cannot be understood: it is left alone. */
enum err install_add(struct call *c, struct str path, const struct install_edit *g,
		     struct install_outcome *out);
enum err install_drop(struct call *c, struct str path, const struct install_edit *g,
		      struct install_outcome *out);

#endif
