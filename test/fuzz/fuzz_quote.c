/* Whatever is quoted, it cannot leave its lines: each begins with "> ", and no character in it is
 * one that a terminal obeys. */
#include "base/text/quote.h"
#include "base/text/utf8.h"
#include "fuzz.h"

static size_t check_quote(struct str quote, size_t columns)
{
	struct str line, rest = quote;
	size_t lines = 0, width = 0, n;

	rule(str_ends(quote, STR("\n")), "a quote ends with its line");
	while (rest.n && str_next(&rest, '\n', &line)) {
		rule(str_starts(line, STR("> ")), "every line of a quote is marked");
		width += utf8_width(str_skip(line, 2));
		lines++;
	}
	rule(width <= columns, "a quote is no wider than it may be");
	for (rest = quote; rest.n; rest = str_skip(rest, n)) {
		uint32_t cp;

		n = utf8_decode(rest, &cp);
		rule(n, "a quote is UTF-8");
		rule(cp == '\n' || cp == '\t' || !utf8_is_unsafe(cp), "a quote is safe");
	}
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t columns[] = { 0, 1, 7, 80, 10000 };
	struct arena mem = { 0 };
	struct str text = fuzz_text(data, size);

	for (size_t i = 0; i < COUNT(columns); i++) {
		check_quote(quote_lines(&mem, text, columns[i]), columns[i]);
		rule(check_quote(quote_line(&mem, text, columns[i]), columns[i]) == 1,
		     "one line stays one line");
	}
	arena_release(&mem);
	return 0;
}
