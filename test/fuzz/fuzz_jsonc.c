/*
 * Edits of somebody else's JSON file: the member is there after it was put, the text before and
 * behind the edit stays as it was, and a member that was added and removed leaves the file that
 * was there.
 */
#include "base/text/json.h"
#include "base/text/value.h"
#include "fuzz.h"
#include "hosts/jsonc.h"

static const char *const path[] = { "mcpServers", "abacus", NULL };
#define MEMBER STR("{\"command\":\"bb\",\"args\":[\"mcp\"]}")

static struct str meaning(struct call *c, struct str text)
{
	struct json j = json_new(&c->mem);
	const struct value *v = NULL;

	rule(!jsonc_parse(c, text, &v), "an edited file can be read");
	if (!v)
		return STR("{}"); /* blank: a document to be begun */
	json_canonical(&j, v);
	return json_text(&j);
}

static bool is_blank(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\n';
}

/* All of the old text but blanks is in the new one, in its order. */
static void check_kept(struct str old, struct str new)
{
	size_t at = 0;

	for (size_t i = 0; i < old.n; i++) {
		while (at < new.n &&new.p[at] != old.p[i] && !is_blank(old.p[i]))
			at++;
		if (!is_blank(old.p[i]))
			rule(at++ < new.n, "adding a member keeps all others");
	}
}

static void check_put(struct call *c, struct str text, bool there)
{
	struct str put, found, again, removed;

	if (jsonc_put(c, text, path, MEMBER, &put)) {
		rule(c->message.n, "a file is refused with a reason");
		c->code = ERR_OK;
		return;
	}
	rule(!jsonc_find(c, put, path, &found) && found.p, "the member is there");
	rule(str_eq(meaning(c, found), meaning(c, MEMBER)), "the member is what was put");
	rule(!jsonc_put(c, put, path, MEMBER, &again) && str_eq(put, again),
	     "putting it again changes nothing");
	rule(!jsonc_remove(c, put, path, &removed), "the member can be removed");
	rule(!jsonc_find(c, removed, path, &found) && !found.p, "the member is gone");
	meaning(c, removed);
	if (!there && str_trim(text).n)
		check_kept(text, put);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size), found = { 0 };
	struct call c = fuzz_call();
	const struct value *v;
	bool valid = !jsonc_parse(&c, text, &v), there;

	c.code = ERR_OK;
	there = !jsonc_find(&c, text, path, &found) && found.p;
	c.code = ERR_OK;
	rule(!there || valid, "a member is found only in a valid file");
	check_put(&c, text, there);
	call_release(&c);
	return 0;
}
