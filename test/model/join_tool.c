/*
 * The join, for a model in another language to compare itself with. A line of standard input is
 * an array of states, {"beads":[...],"tombstones":[...],"deps":[...]}, of the objects of
 * canonical lines. They are joined from left to right, and a line of standard output is what came
 * of it: the same, with each line of the files as a string; or {"refused":"..."}, if one of the
 * objects cannot be a line.
 */
#include <stdio.h>

#include "base/system/file.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/snapshot.h"
#include "beads/model/state.h"

static const struct {
	const char *name;
	enum snapshot_file file;
	bool (*read)(struct state *s, const struct value *line, struct str *why);
} kinds[] = {
	{ "tombstones", FILE_TOMBSTONES, state_read_tombstone },
	{ "beads", FILE_STATE, state_read_bead },
	{ "deps", FILE_DEPS, state_read_edge },
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct str slurp(struct arena *mem)
{
	enum { CHUNK = 64 * 1024 };
	struct buf b = { .mem = mem };
	ssize_t got;

	while ((got = file_some(0, buf_room(&b, CHUNK), CHUNK)) > 0)
		b.n += (size_t)got;
	return buf_str(&b);
}

static bool read_state(struct state *s, const struct value *v, struct str *why)
{
	for (int k = 0; k < KINDS; k++) {
		const struct value *list = value_find(v, kinds[k].name);

		for (size_t i = 0; list && i < list->count; i++)
			if (!kinds[k].read(s, &list->item[i], why))
				return false;
	}
	return true;
}

static bool join_all(struct state *s, const struct value *states, struct str *why)
{
	for (size_t i = 0; i < states->count; i++) {
		struct state *more = state_new(s->mem);

		if (!read_state(more, &states->item[i], why))
			return false;
		state_add(s, more);
	}
	return true;
}

static void put_lines(struct json *j, const char *name, struct str text)
{
	struct str line;

	json_put_array(j, name);
	while (str_next(&text, '\n', &line))
		if (line.n)
			json_str(j, line);
	json_end(j);
}

static struct str answer(struct arena *mem, struct str line)
{
	struct value_error error;
	const struct value *states = value_parse(mem, line, &error);
	struct state *s = state_new(mem);
	struct json j = json_new(mem);
	struct snapshot files;
	struct str why = { 0 };

	json_object(&j);
	if (!states) {
		json_put_str(&j, "refused", str_of(error.why));
	} else if (!join_all(s, states, &why)) {
		json_put_str(&j, "refused", why);
	} else {
		files = snapshot_encode(mem, s);
		for (int k = 0; k < KINDS; k++)
			put_lines(&j, kinds[k].name, files.file[kinds[k].file]);
	}
	json_end(&j);
	return json_text(&j);
}

int main(void)
{
	struct arena input = { 0 }, mem = { 0 };
	struct str text = slurp(&input), line;

	while (str_next(&text, '\n', &line)) {
		struct str out;

		if (!line.n)
			continue;
		out = answer(&mem, line);
		fwrite(out.p, 1, out.n, stdout);
		putchar('\n');
		arena_reset(&mem);
	}
	arena_release(&mem);
	arena_release(&input);
	return 0;
}
