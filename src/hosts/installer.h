#ifndef HOSTS_INSTALLER_H
#define HOSTS_INSTALLER_H

#include "base/call.h"

/*
 * Adds an entry to a file of a host, and removes it. The old file is kept as a backup, and as long
 * as nobody else has changed the file, removing the entry restores it to the byte.
 */
struct install_edit {
	/* The file's text with our entry, or without it; absent text: there is no file. `drop`
	 * gives an absent text if nothing would be left. */
	enum err (*add)(struct call *c, struct str text, const void *arg, struct str *out);
	enum err (*drop)(struct call *c, struct str text, const void *arg, struct str *out);
	const void *arg;
};

struct install_outcome {
	bool changed;
	struct str backup;       /* the path of the backup that was made; or absent */
	struct str path, before; /* the file, and its text before; absent: there was none */
	struct str used,
		kept; /* the backup that was restored and removed, and its text; or absent */
};

/*
 * UNSAFE_PATH if links lead a project's file, whether or not it exists, out of the project or into
 * a folder of Git or of this program: a link that came with the repository must not make the
 * installer write there.
 */
enum err install_check(struct call *c, struct str path, struct str project);

/* Adds the name of the file to the error of an edit. */
enum err install_left_alone(struct call *c, struct str path, enum err e);

/* INVALID_INPUT, naming the file, if it does not parse: it is left alone. */
enum err install_add(struct call *c, struct str path, const struct install_edit *g,
		     struct install_outcome *out);
enum err install_drop(struct call *c, struct str path, const struct install_edit *g,
		      struct install_outcome *out);

/* Restores what there was before the change, as far as that is possible. */
void install_undo(struct call *c, const struct install_outcome *done);

/*
 * What an edit changes, as lines with '-' and '+' between two unchanged ones; an absent text is an
 * empty file.
 */
struct str install_diff(struct arena *mem, struct str before, struct str after);

#endif
