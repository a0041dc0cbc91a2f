/*
 * Reads JSON from standard input and prints its canonical text, or says on standard error what is
 * wrong and where, and ends with 1. With -l every line is a text of its own: "+" and the
 * canonical text, or "-" and the reason, one line for each.
 */
#include <stdio.h>

#include "base/system/file.h"
#include "base/text/json.h"
#include "base/text/value.h"

static struct str slurp(struct arena *mem)
{
	enum { CHUNK = 64 * 1024 };
	struct buf b = { .mem = mem };
	ssize_t got;

	while ((got = file_some(0, buf_room(&b, CHUNK), CHUNK)) > 0)
		b.n += (size_t)got;
	return buf_str(&b);
}

static bool convert(struct arena *mem, struct str text, struct str *out)
{
	struct value_error error;
	const struct value *v = value_parse(mem, text, &error);
	struct json j = json_new(mem);

	if (!v) {
		*out = arena_fmt(mem, "at %zu: %s", error.offset, error.why);
		return false;
	}
	json_canonical(&j, v);
	*out = json_text(&j);
	return true;
}

static int each_line(struct str text)
{
	struct arena mem = { 0 };
	struct str line, out;

	while (str_next(&text, '\n', &line) && text.p) {
		putchar(convert(&mem, line, &out) ? '+' : '-');
		fwrite(out.p, 1, out.n, stdout);
		putchar('\n');
		arena_reset(&mem);
	}
	arena_release(&mem);
	return 0;
}

int main(int argc, char **argv)
{
	struct arena mem = { 0 };
	struct str text = slurp(&mem), out;
	int status = 0;

	if (argc == 2 && str_is(str_of(argv[1]), "-l")) {
		status = each_line(text);
	} else if (convert(&mem, text, &out)) {
		fwrite(out.p, 1, out.n, stdout);
	} else {
		fprintf(stderr, STR_FMT "\n", STR_ARG(out));
		status = 1;
	}
	arena_release(&mem);
	return status;
}
