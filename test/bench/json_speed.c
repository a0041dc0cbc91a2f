/*
 * How fast JSON is read and written: json_speed FILE fills FILE with about 20 MB of records such
 * as the programs keep, a line each, then reads every line into an arena that is reset between
 * lines, and writes what was read. The best of several rounds counts. Prints one JSON object.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/system/file.h"
#include "base/text/json.h"
#include "base/text/value.h"

enum { SIZE = 20 * 1000 * 1000, ROUNDS = 9 };

static uint64_t state = 88172645463325252;

#define PICK(list) (list)[below(sizeof(list) / sizeof *(list))]

static unsigned below(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)(state >> 32) % n;
}

/* Some 80 to 400 bytes of prose: a line break or a quote here and there. */
static struct str prose(struct arena *mem)
{
	static const char *const word[] = {
		"the",
		"parser",
		"reads",
		"a",
		"lock",
		"before",
		"it",
		"merges",
		"and",
		"then",
		"tests",
		"failed",
		"because",
		"of",
		"issue",
		"bd-42",
		"src/base/system/file.c",
		"is",
		"done",
		"now",
		"waits",
		"assigned",
	};
	static const char *const foreign[] = { "Größe", "naïve", "→", "日本語", "…" };
	struct buf b = { .mem = mem };
	size_t length = 80 + below(320);

	while (b.n < length) {
		buf_put(&b, str_of(below(25) ? PICK(word) : PICK(foreign)));
		buf_put(&b, str_of(below(30) ? " " : below(2) ? ".\n" : " \"as is\" "));
	}
	return buf_str(&b);
}

static void record(struct json *j, struct arena *mem, int id)
{
	static const char *const priority[] = { "low", "medium", "high", "critical" };

	json_object(j);
	json_put_int(j, "id", id);
	json_put_str(j, "from_agent", arena_fmt(mem, "claude-%02u", below(12)));
	json_put_str(j, "content", prose(mem));
	json_put_array(j, "tags");
	for (unsigned n = below(4); n; n--)
		json_str(j, arena_fmt(mem, "topic-%u", below(30)));
	json_end(j);
	json_put_str(j, "priority", str_of(priority[below(4)]));
	json_key(j, STR("in_reply_to"));
	if (below(2))
		json_null(j);
	else
		json_int(j, (int64_t)below((unsigned)id + 1));
	json_put_array(j, "refs");
	for (unsigned n = below(3); n; n--) {
		json_object(j);
		json_put_str(j, "where", STR("tt"));
		json_put_str(j, "what", STR("issue"));
		json_put_int(j, "ref", below(5000));
		json_end(j);
	}
	json_end(j);
	json_put_str(j, "created_at", STR("2026-11-15T21:31:59.123Z"));
	json_end(j);
}

static struct str generate(struct arena *mem)
{
	struct buf all = { .mem = mem };

	for (int id = 1; all.n < SIZE; id++) {
		struct arena scratch = { 0 };
		struct json j = json_new(&scratch);

		record(&j, &scratch, id);
		buf_put(&all, json_text(&j));
		buf_char(&all, '\n');
		arena_release(&scratch);
	}
	return buf_str(&all);
}

struct lines {
	struct str *line;
	size_t n;
};

static struct lines split(struct arena *mem, struct str text)
{
	struct lines out = { arena_array(mem, text.n / 100, sizeof *out.line), 0 };

	while (str_next(&text, '\n', &out.line[out.n]) && text.p)
		out.n++;
	return out;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads every line, and writes it again if `out` is there; how long it took. */
static double round_trip(const struct lines *lines, struct buf *out)
{
	double start = seconds();
	struct arena mem = { 0 };
	struct value_error why;

	for (size_t i = 0; i < lines->n; i++) {
		const struct value *v = value_parse(&mem, lines->line[i], &why);
		struct json j = json_new(&mem);

		if (!v) {
			fprintf(stderr, "at %zu: %s\n", why.offset, why.why);
			exit(1);
		}
		if (out) {
			json_value(&j, v);
			buf_put(out, json_text(&j));
			buf_char(out, '\n');
		}
		arena_reset(&mem);
	}
	arena_release(&mem);
	return seconds() - start;
}

static void least(double *best, double took)
{
	if (!*best || took < *best)
		*best = took;
}

static void report(struct str text, double parse, double both)
{
	double mb = (double)text.n / 1e6;

	printf("{\"bytes\":%zu,\"parse_mb_s\":%.0f,\"write_mb_s\":%.0f}\n", text.n, mb / parse,
	       mb / (both - parse));
}

int main(int argc, char **argv)
{
	struct call c = { 0 };
	double parse = 0, both = 0;
	struct buf out = { .mem = &c.mem };

	if (argc != 2) {
		fputs("usage: json_speed FILE\n", stderr);
		return 2;
	}

	struct str text = generate(&c.mem);
	struct lines lines = split(&c.mem, text);

	if (file_replace(&c, str_of(argv[1]), text, 0644)) {
		fprintf(stderr, STR_FMT "\n", STR_ARG(c.message));
		return 1;
	}
	for (int i = 0; i < ROUNDS; i++) {
		least(&parse, round_trip(&lines, NULL));
		out.n = 0;
		least(&both, round_trip(&lines, &out));
	}
	if (!str_eq(buf_str(&out), text)) {
		fputs("what was written is not what was read\n", stderr);
		return 1;
	}
	report(text, parse, both);
	call_release(&c);
	return 0;
}
