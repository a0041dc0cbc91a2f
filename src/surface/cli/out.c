#include "surface/cli/out.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/system/file.h"
#include "base/text/utf8.h"
#include "surface/cli/screen.h"
#include "surface/view/long.h"

/* If a reply could not be written, the exit status says so, because the caller did not get it. */
static int out_status(bool written, int status)
{
	if (written)
		return status;
	if (errno != EPIPE)
		fprintf(stderr, "error: cannot write the answer: %s\n", strerror(errno));
	return status ? status : 1;
}

static int out_print(struct str text, int status)
{
	return out_status(file_write(STDOUT_FILENO, text), status);
}

int out_view(struct view *v, int status)
{
	if (!v->long_reply)
		return out_print(view_text(v), status);
	view_flush(v);
	return out_status(buf_write(&v->long_reply->text, STDOUT_FILENO), status);
}

/* A text that is safe to print; on a terminal, no line is wider than that. */
static struct str out_fit(struct arena *mem, struct str text, int fd)
{
	struct view v = {
		.out.mem = mem, .terminal = isatty(fd), .width = screen_columns(fd), .message = true
	};

	buf_put(&v.out, utf8_safe(mem, text));
	return view_text(&v);
}

int out_text(struct arena *mem, struct str text, int status)
{
	return out_print(out_fit(mem, text, STDOUT_FILENO), status);
}

static void put_escape(struct buf *b, uint32_t cp)
{
	if (cp > 0xffff) {
		buf_fmt(b, "\\u%04x", (unsigned)(0xd800 + ((cp - 0x10000) >> 10)));
		cp = 0xdc00 + ((cp - 0x10000) & 0x3ff);
	}
	buf_fmt(b, "\\u%04x", (unsigned)cp);
}

/*
 * Escapes the characters in JSON that a terminal would interpret. They occur only inside strings,
 * where \u escapes mean the same.
 */
static struct str out_escaped(struct arena *mem, struct str json)
{
	struct buf b = { .mem = mem };
	uint32_t cp;
	size_t n;

	for (; json.n; json = str_skip(json, n)) {
		n = utf8_decode(json, &cp);
		if (n && cp >= 0x20 && utf8_is_unsafe(cp))
			put_escape(&b, cp);
		else
			buf_put(&b, str_head(json, n ? n : 1));
		n = n ? n : 1;
	}
	return buf_str(&b);
}

int out_json(struct arena *mem, struct str json, int status)
{
	/* an exported table is not JSON, and its titles may contain control characters */
	return out_print(isatty(STDOUT_FILENO) ? utf8_safe(mem, out_escaped(mem, json)) : json,
			 status);
}

int out_large(struct buf *text, int status)
{
	if (isatty(STDOUT_FILENO))
		return out_json(text->mem, buf_str(text), status);
	return out_status(buf_write(text, STDOUT_FILENO), status);
}

void out_say(const char *fmt, ...)
{
	struct arena mem = { 0 };
	va_list ap;
	struct str line;

	va_start(ap, fmt);
	line = utf8_line(&mem, arena_vfmt(&mem, fmt, ap));
	va_end(ap);
	line = out_fit(&mem, line, STDERR_FILENO);
	fprintf(stderr, STR_FMT "\n", STR_ARG(line));
	arena_release(&mem);
}

void out_say_json(struct arena *mem, struct str json)
{
	if (isatty(STDERR_FILENO))
		json = out_escaped(mem, json);
	fprintf(stderr, STR_FMT "\n", STR_ARG(json));
}

void out_ask(const char *question)
{
	fputs(question, stderr);
	fflush(stderr);
}

void out_screen(struct str picture)
{
	file_write(STDOUT_FILENO, picture);
}
