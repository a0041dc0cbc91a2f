#include "beads/model/lines.h"

#include "base/text/value.h"
#include "beads/model/edge.h"

/* --- keys --- */

/* The end of the string that begins at `i`, after the closing quote; 0: unterminated. */
static size_t lines_skip_string(struct str line, size_t i)
{
	for (i++; i < line.n; i++) {
		if (line.p[i] == '\\')
			i++;
		else if (line.p[i] == '"')
			return i + 1;
	}
	return 0;
}

struct lines_member {
	const char *name;
	struct str text; /* between the quotes */
};

/* Fills in members of the top-level object, not of nested ones. */
static bool lines_find_members(struct str line, struct lines_member *want, size_t count)
{
	size_t depth = 0, found = 0, end;

	for (size_t i = 0; i < line.n && found < count;) {
		char ch = line.p[i];
		struct str key;

		if (ch != '"') {
			depth += ch == '{' || ch == '[';
			depth -= (ch == '}' || ch == ']') && depth;
			i++;
			continue;
		}
		if (!(end = lines_skip_string(line, i)))
			return false;
		key = (struct str){ line.p + i + 1, end - i - 2 };
		i = end;
		if (depth != 1 || i + 1 >= line.n || line.p[i] != ':' || line.p[i + 1] != '"')
			continue;
		if (!(end = lines_skip_string(line, i + 1)))
			return false;
		for (size_t k = 0; k < count; k++)
			if (!want[k].text.p && str_is(key, want[k].name)) {
				want[k].text = (struct str){ line.p + i + 2, end - i - 3 };
				found++;
			}
		i = end;
	}
	return found == count;
}

static struct str parsed_edge_key(struct arena *mem, struct str line)
{
	const struct value *v = value_read(mem, line);
	struct edge e = { .from = value_str(v, "from"),
			  .to = value_str(v, "to"),
			  .kind = value_str(v, "kind") };

	return e.from.p && e.to.p && e.kind.p ? edge_key(mem, &e) : STR_NONE;
}

static bool lines_find_ends(struct str line, struct edge *out)
{
	struct lines_member ends[] = { { "from", { 0 } }, { "kind", { 0 } }, { "to", { 0 } } };

	if (!lines_find_members(line, ends, 3))
		return false;
	*out = (struct edge){ .from = ends[0].text, .kind = ends[1].text, .to = ends[2].text };
	return true;
}

static bool lines_is_escaped(const struct edge *e)
{
	return memchr(e->kind.p, '\\', e->kind.n);
}

struct str lines_key(struct arena *mem, enum snapshot_file file, struct str line)
{
	struct lines_member id = { "id", { 0 } };
	struct edge e;

	if (file != FILE_DEPS)
		return lines_find_members(line, &id, 1) ? id.text : STR_NONE;
	if (!lines_find_ends(line, &e))
		return STR_NONE;
	return lines_is_escaped(&e) ? parsed_edge_key(mem, line) : edge_key(mem, &e);
}

/* Like str_cmp(edge_key(), key), without building the key, because a search compares many. */
static int lines_compare_edge(const struct edge *e, struct str key)
{
	const struct str part[] = { e->from, STR(" "), e->to, STR(" "), e->kind };

	for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
		int order = str_cmp(part[i], str_head(key, part[i].n));

		if (order)
			return order;
		key = str_skip(key, part[i].n);
	}
	return key.n ? -1 : 0;
}

static int lines_compare(struct arena *mem, enum snapshot_file file, struct str line,
			 struct str key)
{
	struct edge e;

	if (file == FILE_DEPS && lines_find_ends(line, &e) && !lines_is_escaped(&e))
		return lines_compare_edge(&e, key);
	return str_cmp(lines_key(mem, file, line), key);
}

/* --- looking --- */

static struct str line_at(struct str text, size_t at)
{
	struct str rest = str_skip(text, at);
	const char *end = rest.n ? memchr(rest.p, '\n', rest.n) : NULL;

	return end ? str_head(rest, (size_t)(end - rest.p)) : rest;
}

static size_t start_of_line(struct str text, size_t at)
{
	while (at && text.p[at - 1] != '\n')
		at--;
	return at;
}

struct str lines_find(struct arena *mem, enum snapshot_file file, struct str text, struct str key)
{
	size_t low = 0, high = text.n;

	while (low < high) {
		size_t at = start_of_line(text, low + (high - low) / 2);
		struct str line = line_at(text, at);
		int order = lines_compare(mem, file, line, key);

		if (!order)
			return line;
		if (order > 0)
			high = at;
		else
			low = at + line.n + 1;
	}
	low = low < text.n ? low : text.n;
	return str_part(text, low, low);
}

/* --- comparing --- */

struct lines_walk {
	struct arena *mem;
	enum snapshot_file file;
	struct str a, b;   /* what is left */
	struct str before; /* the last line of b */
	size_t number;     /* of the next line of b */
	struct str *why;
};

static struct str first_line(struct str text)
{
	return text.n ? line_at(text, 0) : STR_NONE;
}

static void lines_step(struct str *text, struct str line)
{
	*text = str_skip(*text, line.n < text->n ? line.n + 1 : text->n);
}

/* Skips the lines that are the same in both. */
static void skip_same(struct lines_walk *w)
{
	while (w->a.n && w->b.n) {
		struct str line = line_at(w->a, 0);

		if (w->b.n <= line.n || memcmp(w->a.p, w->b.p, line.n) != 0 ||
		    w->b.p[line.n] != '\n' || w->a.n == line.n)
			return;
		w->before = (struct str){ w->b.p, line.n };
		lines_step(&w->a, line);
		lines_step(&w->b, line);
		w->number++;
	}
}

static bool lines_check(struct lines_walk *w, struct str key, struct str line)
{
	struct str last = w->before.p ? lines_key(w->mem, w->file, w->before) : STR_NONE;
	int order = last.p ? str_cmp(last, key) : -1;

	if (!key.p)
		*w->why = STR("it is not a record with a key");
	else if (line.n == w->b.n)
		*w->why = STR("the last line has no end");
	else if (!order)
		*w->why = arena_fmt(w->mem, "'" STR_FMT "' occurs twice", STR_ARG(key));
	else if (order > 0)
		*w->why = arena_fmt(w->mem, "'" STR_FMT "' is out of order, after '" STR_FMT "'",
				    STR_ARG(key), STR_ARG(last));
	else
		return true;
	return false;
}

enum err lines_diff(struct arena *mem, enum snapshot_file file, struct str a, struct str b,
		    lines_visit *visit, void *arg, size_t *number, struct str *why)
{
	struct lines_walk w = { .mem = mem, .file = file, .a = a, .b = b, .number = 1, .why = why };
	enum err e = ERR_OK;

	*why = STR_NONE;
	for (skip_same(&w); !e && (w.a.n || w.b.n); skip_same(&w)) {
		struct line_pair pair = { .a = first_line(w.a),
					  .b = first_line(w.b),
					  .number = w.number };
		struct str key_a = pair.a.p ? lines_key(mem, file, pair.a) : pair.a,
			   key_b = pair.b.p ? lines_key(mem, file, pair.b) : pair.b;
		int order = !pair.a.p ? 1 : !pair.b.p ? -1 : str_cmp(key_a, key_b);

		*number = w.number;
		if (pair.b.p && !lines_check(&w, key_b, pair.b))
			return ERR_REMOTE_DAMAGED;
		pair.key = order > 0 ? key_b : key_a;
		if (order <= 0)
			lines_step(&w.a, pair.a);
		else
			pair.a = STR_NONE;
		if (order >= 0) {
			w.before = pair.b;
			lines_step(&w.b, pair.b);
			w.number++;
		} else {
			pair.b = STR_NONE;
		}
		e = visit(arg, &pair);
	}
	return e;
}
