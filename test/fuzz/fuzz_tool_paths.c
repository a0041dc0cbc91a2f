/* A host's call of a tool, as JSON, or else a shell command: the files that it would write are
 * absolute paths. A command on a line before it hides none of them. */
#include "base/buf.h"
#include "base/text/value.h"
#include "fuzz.h"
#include "hosts/tool_paths.h"

static size_t check_paths(const struct guard_path *list)
{
	size_t count = 0;

	for (; list; list = list->next, count++) {
		rule(list->path.n && list->path.p[0] == '/', "a path is absolute");
		rule(!memchr(list->path.p, '\0', list->path.n), "a path has no NUL");
		rule(!str_has(list->path, STR("/../")) && !str_ends(list->path, STR("/..")),
		     "a path has no '..'");
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct call c = fuzz_call();
	struct str text = fuzz_text(data, size), dir = STR("/work/proj");
	const struct value *v = value_read(&c.mem, text);
	struct buf more = { .mem = &c.mem };
	size_t count;

	if (v) {
		check_paths(tool_paths(&c, v));
	} else {
		count = check_paths(tool_paths_of_shell(&c, dir, text));
		buf_put(&more, STR("true >/tmp/first\n"));
		buf_put(&more, text);
		rule(check_paths(tool_paths_of_shell(&c, dir, buf_str(&more))) >= count,
		     "a command on a line before it hides nothing");
	}
	call_release(&c);
	return 0;
}
