/*
 * Edits of somebody else's TOML file: a section that was put is found, a file without it stays as
 * it was before the new section, and is back to the byte once that is removed.
 */
#include "base/text/toml.h"
#include "fuzz.h"

#define HEADER STR("mcp_servers.abacus")
#define BODY   STR("command = \"bb\"\nargs = [\"mcp\"]\n")

static struct str str_trim_end(struct str s)
{
	while (s.n && strchr(" \t\r\n", s.p[s.n - 1]) && s.p[s.n - 1])
		s.n--;
	return s;
}

static void check_put(struct call *c, struct str text, bool there)
{
	struct str put, found, again, removed;

	if (toml_put(c, text, HEADER, BODY, &put)) {
		rule(c->message.n, "a file is refused with a reason");
		c->code = ERR_OK;
		return;
	}
	rule(!toml_find(c, put, HEADER, &found) && found.p, "the section is there");
	rule(!toml_put(c, put, HEADER, BODY, &again) && str_eq(put, again),
	     "putting it again changes nothing");
	rule(!toml_remove(c, put, HEADER, &removed), "the section can be removed");
	rule(!toml_find(c, removed, HEADER, &found) && !found.p, "the section is gone");
	if (there)
		return;
	rule(str_starts(put, str_trim_end(text)), "a new section goes to the end");
	rule(str_eq(removed, text), "a section that was added is gone to the byte");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size), found = { 0 };
	struct call c = fuzz_call();
	bool there = !toml_find(&c, text, HEADER, &found) && found.p;

	c.code = ERR_OK;
	check_put(&c, text, there);
	call_release(&c);
	return 0;
}
