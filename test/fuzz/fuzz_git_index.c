/*
 * Git's index. The answer does not depend on how the name is spelled, and a "yes" is found in the
 * file: in versions 2 and 3, every name is there in full.
 */
#include <strings.h>

#include "folder.h"
#include "store/git/git_index.h"

static bool has_name(struct str bytes, struct str name)
{
	for (size_t i = 0; i + name.n <= bytes.n; i++)
		if (!strncasecmp(bytes.p + i, name.p, name.n))
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = fuzz_text(data, size), name = STR(".beads"), path;
	struct call c = fuzz_call();
	enum tracked tracked;

	path = folder_put(&c, "index", bytes);
	tracked = git_index_look(&c.mem, path, name);
	rule(git_index_look(&c.mem, path, STR(".BEADS")) == tracked,
	     "upper and lower case are the same");
	if (tracked == TRACKED_YES && size > 7 && data[7] < 4)
		rule(has_name(bytes, name), "a name that is tracked is in the file");
	rule(size >= 12 || tracked == TRACKED_UNKNOWN, "a file without a head is unknown");
	call_release(&c);
	return 0;
}
