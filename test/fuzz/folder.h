#ifndef TEST_FUZZ_FOLDER_H
#define TEST_FUZZ_FOLDER_H

#include "base/system/file.h"
#include "base/system/path.h"
#include "fuzz.h"

/* A folder of the process's own for the targets that read files. In memory, where the system has
 * such a place. It goes with the process. */
static char folder_made[64];

static inline void folder_remove(void)
{
	struct call c = { 0 };

	file_remove_tree(&c, str_of(folder_made));
	call_release(&c);
}

static inline struct str folder(void)
{
	struct arena mem = { 0 };

	if (!folder_made[0]) {
		snprintf(folder_made, sizeof folder_made, "%s/abacus-fuzz-XXXXXX",
			 file_is_dir(&mem, STR("/dev/shm")) ? "/dev/shm" : "/tmp");
		if (!mkdtemp(folder_made))
			abort();
		atexit(folder_remove);
	}
	arena_release(&mem);
	return str_of(folder_made);
}

/* A file below that folder, with this content; an absent one is removed. */
static inline struct str folder_put(struct call *c, const char *name, struct str content)
{
	struct str path = path_join(&c->mem, folder(), str_of(name));
	FILE *file;

	if (!content.p) {
		remove(arena_cstr(&c->mem, path));
		return path;
	}
	file = fopen(arena_cstr(&c->mem, path), "wb");
	if (!file || fwrite(content.p, 1, content.n, file) != content.n || fclose(file))
		abort();
	return path;
}

#endif
