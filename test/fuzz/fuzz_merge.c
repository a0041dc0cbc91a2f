/*
 * Files that came from elsewhere: whatever is in them, they are refused with a place, or
 * their join is one that is read again and joined to itself changes nothing. As the files
 * of another program, or of a damaged commit, they are read as far as they go.
 */
#include "base/buf.h"
#include "base/json.h"
#include "beads/foreign.h"
#include "beads/merge.h"
#include "beads/salvage.h"
#include "fuzz.h"

#define BEAD(id, at, title)                                                            \
	"{\"_at\":[" at ",0],\"_by\":\"a\",\"created_at\":[1,0],\"created_by\":\"a\"," \
	"\"id\":\"" id "\",\"priority\":2,\"status\":\"open\",\"title\":\"" title      \
	"\",\"type\":\"task\"}\n"

/* A part before each "\f" is a file: beads, tombstones, edges. */
static const char *const corpus[] = {
	BEAD("bd-1", "5", "one") BEAD("bd-2", "6", "two") "\f\f",
	BEAD("bd-1", "7", "uno") "\f{\"bead\":{\"_at\":[6,0],\"_by\":\"a\",\"created_"
				 "at\":[1,0],\"created_by\":\"a\",\"id\":\"bd-2\","
				 "\"priority\":2,\"status\":\"open\",\"title\":\"two\","
				 "\"type\":\"task\"},\"deleted_at\":[8,0],\"deleted_by\":"
				 "\"b\",\"id\":\"bd-2\"}\n\f",
	BEAD("bd-1", "5", "one")
		BEAD("bd-2", "6",
		     "two") "\f\f{\"_at\":[5,0],\"_by\":\"c\",\"created_at\":[3,0],"
			    "\"created_by\":\"a\",\"from\":\"bd-1\",\"kind\":"
			    "\"blocks\",\"to\":\"bd-2\"}\n",
	"{\"id\":\"bd-1\",\"created_at\":[1,0],\"created_by\":\"a\",\"title\":\"t\","
	"\"labels\":{\"entries\":{\"x\":[]}},\"status\":\"Done\",\"_at\":[2,0],\"_by\":"
	"\"a\",\"_v\":{\"workflow\":[[3,0],\"b\"]}}\n\f{\"id\":\"bd-9\",\"deleted_at\":["
	"1,"
	"0],\"deleted_by\":\"b\",\"lineage_created_at\":[1,0],\"lineage_created_by\":"
	"\"c\"}"
	"\n\f{\"cc\":{},\"entries\":[{\"key\":{\"from\":\"bd-1\",\"to\":{\"id\":\"bd-9\"}"
	","
	"\"kind\":\"blocks\"}}]}\n",
};

static struct snapshot files_of(struct arena *mem, struct str text)
{
	struct snapshot s = snapshot_encode(mem, state_new(mem));

	for (int f = 0; f < FILE_META; f++) {
		struct str part = { "", 0 };

		if (text.n)
			str_next(&text, '\f', &part);
		s.file[f] = part.p ? part : STR("");
	}
	return s;
}

static struct str text_of(struct arena *mem, const struct merge *m, int file)
{
	struct pieces pieces = merge_file(m, (enum snapshot_file)file);
	struct buf b = { .mem = mem };

	for (size_t i = 0; i < pieces.count; i++)
		buf_put(&b, pieces.piece[i]);
	return buf_str(&b);
}

static const char *check_join(struct call *c, struct str text)
{
	struct snapshot ours = files_of(&c->mem, str_of(corpus[0])), all = ours;
	struct merge m = { .c = c,
			   .side = { ours, files_of(&c->mem, text) },
			   .sides = 2 },
		     again = { .c = c, .sides = 2 };

	if (merge_run(&m))
		return c->details.p ? NULL : "it was refused without a place";
	for (int f = 0; f < FILE_META; f++)
		all.file[f] = text_of(&c->mem, &m, f);
	again.side[0] = again.side[1] = all;
	again.side[1] = files_of(&c->mem, text);
	if (merge_run(&again))
		return "what was joined is refused";
	return again.count ? "joined once more it is something else" : NULL;
}

static const char *check(struct arena *mem, struct str text, bool *taken)
{
	struct call c = { 0 };
	struct snapshot files = files_of(mem, text);
	struct json report = { .out.mem = mem };
	const char *wrong;

	wrong = check_join(&c, text);
	*taken = !c.code;
	call_release(&c);
	json_array(&report);
	salvage(mem, &files, state_new(mem), &report);
	json_end(&report);
	c = (struct call){ 0 };
	foreign_read(&c, &files, text, state_new(&c.mem));
	call_release(&c);
	return wrong;
}

int main(int argc, char **argv)
{
	return fuzz_run(argc, argv, corpus, COUNT(corpus), check);
}
