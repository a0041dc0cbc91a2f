/*
 * Stores of the program that the format comes from: what is read of one is written in our own
 * way, is sound, and is read as the same.
 */
#include "beads/repair/foreign.h"
#include "files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size), notes;
	struct call c = fuzz_call();
	struct snapshot files = { 0 }, ours, again;
	struct state *s = state_new(&c.mem);

	for (int f = 0; f < SNAPSHOT_FILES; f++)
		files.file[f] = fuzz_part(&text);
	notes = fuzz_part(&text);
	foreign_files(&c.mem, &files);
	if (foreign_read(&c, &files, notes.n ? notes : STR_NONE, s)) {
		rule(c.message.n, "a foreign store is refused with a message");
	} else {
		ours = snapshot_encode(&c.mem, s);
		rule(files_sound(&c, &ours), "a foreign store is rendered as sound files");
		again = snapshot_encode(&c.mem, files_state(&c, &ours));
		rule(files_same(&ours, &again), "a rendering is read as the same");
	}
	call_release(&c);
	return 0;
}
