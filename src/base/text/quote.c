#include "base/text/quote.h"

#include "base/buf.h"
#include "base/text/utf8.h"

/*
 * Safe text has no line break except '\n'. The text is made safe before it is shortened: most
 * unsafe characters have no width, but their replacements do.
 */
static struct str quote_shortened(struct arena *mem, struct str text, size_t columns)
{
	return utf8_shorten(mem, utf8_safe(mem, text), columns);
}

struct str quote_lines(struct arena *mem, struct str text, size_t columns)
{
	struct buf b = { .mem = mem };
	struct str line;

	text = quote_shortened(mem, text.p ? text : STR(""), columns);
	while (str_next(&text, '\n', &line)) {
		buf_put(&b, STR("> "));
		buf_put(&b, line);
		buf_char(&b, '\n');
	}
	return buf_str(&b);
}

struct str quote_line(struct arena *mem, struct str text, size_t columns)
{
	struct buf b = { .mem = mem };

	text = quote_shortened(mem, text, columns);
	buf_put(&b, STR("> "));
	for (size_t i = 0; i < text.n; i++)
		buf_char(&b, text.p[i] == '\n' || text.p[i] == '\t' ? ' ' : text.p[i]);
	buf_char(&b, '\n');
	return buf_str(&b);
}
