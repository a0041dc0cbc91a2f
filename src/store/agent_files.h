#ifndef STORE_AGENT_FILES_H
#define STORE_AGENT_FILES_H

#include "base/lock.h"

/*
 * The folder `.beadboard/agent` of a project: who works here, what they wrote to each
 * other, what they have reserved. Plain files that other programs read too. A file is
 * replaced whole or appended to, under one lock that dies with its process.
 */
struct agent_files {
	struct str root; /* the project */
	struct str home; /* absent: there is none yet */
	struct lock lock;
};

enum agents_mode { AGENTS_READ, AGENTS_WRITE };

enum err agent_files_open(struct call *c, enum agents_mode mode, struct agent_files *out);
void agent_files_close(struct agent_files *f);

/* For a writer: makes the folder, if it is not there. */
enum err agent_files_begin(struct call *c, struct agent_files *f);

/* A file's text, by its name below the folder; absent: there is none. IO_READ_FAILED.
 * Of a file of lines, only those that have an end. */
enum err agent_file_read(struct call *c, const struct agent_files *f, struct str name,
			 struct str *out);

/* Old content or new content, never a mixture. IO_WRITE_FAILED. */
enum err agent_file_replace(struct call *c, const struct agent_files *f, struct str name,
			    struct str text);

/*
 * Adds a line, on the medium before it returns. What somebody has left unfinished at the
 * end of the file was never acknowledged, and goes.
 */
enum err agent_file_append(struct call *c, const struct agent_files *f, struct str name,
			   struct str line);

/* IO_READ_FAILED: for whoever finds that a line of it says nothing. */
enum err agent_file_damaged(struct call *c, struct str name, size_t line);

/* How long a file is; 0 if there is none. */
int64_t agent_file_size(struct call *c, const struct agent_files *f, struct str name);

/* The names of the files in a folder below it that end so, without the end; sorted. */
enum err agent_files_list(struct call *c, const struct agent_files *f, struct str folder,
			  struct str end, struct str **names, size_t *count);

#endif
