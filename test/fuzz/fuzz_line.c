/*
 * What is read as a bead, an edge or a tombstone is written in the canonical way: that
 * text is read again, gives the same text, and joined to itself changes nothing.
 */
#include "base/json.h"
#include "base/value.h"
#include "beads/snapshot.h"
#include "beads/state.h"
#include "fuzz.h"

static const char *const corpus[] = {
	"{\"_at\":[1702234567890,42],\"_by\":\"claude@mac\",\"_v\":{\"status\":[["
	"1702234599000,43],"
	"\"alice\"]},\"created_at\":[1,0],\"created_by\":\"a\",\"id\":\"bd-a1\","
	"\"status\":\"closed\","
	"\"title\":\"fix bug\"}",
	"{\"_v\":{\"closed_at\":[[5,0],\"b\"],\"x\":[[6,1],\"c\"]},\"assignee\":null,"
	"\"created_at\":[1,0],"
	"\"created_by\":\"a\",\"id\":\"bd-a1\",\"labels\":[\"b\",\"a\",\"b\"],\"x\":{"
	"\"z\":1.50,\"a\":[]}}",
	"{\"_at\":[9,0],\"_by\":\"z\",\"assignee\":\"bob\",\"assignee_at\":[8,0],"
	"\"assignee_expires\":99,"
	"\"created_at\":[1,0],\"created_by\":\"a\",\"id\":\"bd-a1\",\"notes\":[{\"at\":["
	"7,0],\"author\":\"b\","
	"\"content\":\"\\u00e4\\n\",\"id\":\"n1\"}],\"priority\":0,\"title\":\"t\","
	"\"type\":\"epic\"}",
	"{\"created_at\":[3,0],\"created_by\":\"a\",\"deleted_at\":[4,0],\"deleted_by\":"
	"\"b\",\"from\":\"bd-a1\","
	"\"kind\":\"parent-child\",\"to\":\"bd-b2\",\"why\":null}",
	"{\"_at\":[5,0],\"_by\":\"c\",\"created_at\":[3,0],\"created_by\":\"a\",\"from\":"
	"\"bd-a1\",\"kind\":\"blocks\","
	"\"to\":\"bd-b2\"}",
	"{\"deleted_at\":[4,0],\"deleted_by\":\"b\",\"id\":\"bd-a1\",\"reason\":\"dup\"}",
	"{\"bead\":{\"_at\":[2,0],\"_by\":\"a\",\"created_at\":[1,0],\"created_by\":"
	"\"a\",\"id\":\"bd-a1\","
	"\"title\":\"t\"},\"deleted_at\":[4,0],\"deleted_by\":\"b\",\"every\":{\"deleted_"
	"at\":[3,0],"
	"\"deleted_by\":\"c\"},\"id\":\"bd-a1\"}",
};

typedef bool reader(struct state *s, const struct value *line, struct str *why);

static bool read_one(struct arena *mem, struct str text, reader *read,
		     struct snapshot *out)
{
	struct value_error error;
	const struct value *v = value_parse(mem, text, &error);
	struct state *made = state_new(mem), *s = state_new(mem);
	struct str why = { 0 };

	if (!v || !read(made, v, &why))
		return false;
	state_add(s, made);
	state_add(s, made);
	*out = snapshot_encode(mem, s);
	return true;
}

static const char *check_as(struct arena *mem, struct str text, reader *read,
			    enum snapshot_file file, bool *taken)
{
	struct snapshot first, again;
	struct str line;

	if (!read_one(mem, text, read, &first))
		return NULL;
	*taken = true;
	line = first.file[file];
	if (!line.n)
		return NULL; /* it only stands for the end of an edge */
	line.n--;
	if (memchr(line.p, '\n', line.n))
		return "one line has become two";
	if (!read_one(mem, line, read, &again))
		return "what was written is refused";
	for (int i = 0; i < SNAPSHOT_FILES; i++)
		if (!str_eq(first.file[i], again.file[i]))
			return "what was written is read as something else";
	return NULL;
}

static const char *check(struct arena *mem, struct str text, bool *taken)
{
	const char *rule = check_as(mem, text, state_read_bead, FILE_STATE, taken);

	if (!rule)
		rule = check_as(mem, text, state_read_edge, FILE_DEPS, taken);
	if (!rule)
		rule = check_as(mem, text, state_read_tombstone, FILE_TOMBSTONES, taken);
	return rule;
}

int main(int argc, char **argv)
{
	return fuzz_run(argc, argv, corpus, COUNT(corpus), check);
}
