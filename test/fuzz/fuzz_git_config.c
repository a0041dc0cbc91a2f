/* Git's configuration: settings that were read are read the same from a file that says them in
 * the plainest way. */
#include "base/buf.h"
#include "fuzz.h"
#include "store/git/git_config.h"

struct settings {
	struct buf list;  /* names and values, to be compared */
	struct buf plain; /* a file that says the same */
};

static void put_escaped(struct buf *b, struct str text, bool value)
{
	for (size_t i = 0; i < text.n; i++) {
		if (value && text.p[i] == '\n') {
			buf_put(b, STR("\\n"));
			continue;
		}
		if (text.p[i] == '"' || text.p[i] == '\\')
			buf_char(b, '\\');
		buf_char(b, text.p[i]);
	}
}

/* [section "sub"] and key = "value" */
static void put_plain(struct buf *b, struct str name, struct str value)
{
	size_t first = 0, last = name.n;

	while (first < name.n && name.p[first] != '.')
		first++;
	while (last && name.p[last - 1] != '.')
		last--;
	buf_char(b, '[');
	buf_put(b, str_head(name, first));
	if (last > first + 1) {
		buf_put(b, STR(" \""));
		put_escaped(b, str_skip(str_head(name, last - 1), first + 1), false);
		buf_char(b, '"');
	}
	buf_put(b, STR("]\n"));
	buf_put(b, str_skip(name, last));
	if (value.p) {
		buf_put(b, STR(" = \""));
		put_escaped(b, value, true);
		buf_char(b, '"');
	}
	buf_char(b, '\n');
}

static void see(void *arg, struct str name, struct str value)
{
	struct settings *s = arg;
	size_t dot = name.n;

	while (dot && name.p[dot - 1] != '.')
		dot--;
	rule(dot && dot < name.n, "a setting has a section and a key");
	for (size_t i = dot; i < name.n; i++)
		rule(name.p[i] < 'A' || name.p[i] > 'Z', "a key is in lower case");
	buf_put(&s->list, name);
	buf_char(&s->list, value.p ? '=' : '!');
	buf_put(&s->list, value);
	buf_char(&s->list, '\0');
	put_plain(&s->plain, name, value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena mem = { 0 };
	struct settings first = { { .mem = &mem }, { .mem = &mem } }, again = first;

	git_config_parse(&mem, fuzz_text(data, size), see, &first);
	git_config_parse(&mem, buf_str(&first.plain), see, &again);
	rule(str_eq(buf_str(&first.list), buf_str(&again.list)), "settings are read as they were");
	arena_release(&mem);
	return 0;
}
