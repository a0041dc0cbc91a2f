/*
 * What is read as a bead, an edge or a tombstone is written in the canonical way: that text is
 * one line, is read again, gives the same text, and joined to itself changes nothing.
 */
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/snapshot.h"
#include "beads/model/state.h"
#include "fuzz.h"

static bool read_one(struct arena *mem, struct str text, enum snapshot_file file,
		     struct snapshot *out)
{
	struct state *made = state_new(mem), *s = state_new(mem);
	struct str why = { 0 };

	if (!snapshot_take_text(made, file, text, false, &why)) {
		rule(why.n, "a line is refused with a reason");
		return false;
	}
	state_add(s, made);
	state_add(s, made);
	*out = snapshot_encode(mem, s);
	return true;
}

static void check_as(struct arena *mem, struct str text, enum snapshot_file file)
{
	struct snapshot first, again;
	struct str line;

	if (!read_one(mem, text, file, &first))
		return;
	line = first.file[file];
	if (!line.n)
		return; /* it only stands for the end of an edge */
	line.n--;
	rule(!memchr(line.p, '\n', line.n), "one line stays one line");
	rule(read_one(mem, line, file, &again), "a line that was written is accepted");
	/* a deletion before the last write leaves lines in two files */
	rule(str_eq(first.file[file], again.file[file]),
	     "a line that was written is read as what it was");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena mem = { 0 };

	for (int file = FILE_STATE; file < FILE_META; file++)
		check_as(&mem, fuzz_text(data, size), (enum snapshot_file)file);
	arena_release(&mem);
	return 0;
}
