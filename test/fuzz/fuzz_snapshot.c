/*
 * The four files of a commit: what the check before a sync finds sound can be read, and what can
 * be read is written in a way that is sound and is read as the same.
 */
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/repair/salvage.h"
#include "files.h"

static void check_written(struct call *c, const struct state *s)
{
	struct snapshot first = snapshot_encode(&c->mem, s), again;

	rule(!snapshot_check(c, &first), "files that were written have their checksums");
	again = snapshot_encode(&c->mem, files_state(c, &first));
	rule(files_same(&first, &again), "files that were written are read as the same");
}

static void check_salvage(struct call *c, const struct snapshot *files)
{
	struct json report = json_new(&c->mem);
	const struct value *list;
	struct snapshot made;
	size_t lost;

	json_array(&report);
	rule(!salvage(c, files, &report, &made, &lost), "anything can be salvaged");
	json_end(&report);
	list = value_read(&c->mem, json_text(&report));
	rule(list && list->count >= lost, "every line that is set aside is reported");
	rule(files_sound(c, &made), "what was salvaged is sound");
	check_written(c, files_state(c, &made));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size);
	struct call c = fuzz_call();
	struct snapshot files = { 0 };
	struct state *s = state_new(&c.mem);

	for (int f = 0; f < SNAPSHOT_FILES; f++)
		files.file[f] = fuzz_part(&text);
	if (files_sound(&c, &files))
		rule(!snapshot_check(&c, &files) && !snapshot_read(&c, &files, s),
		     "files that are sound can be read");
	else if (snapshot_read(&c, &files, s))
		rule(c.details.p, "files are refused with the place");
	if (!c.code)
		check_written(&c, s);
	c.code = ERR_OK;
	check_salvage(&c, &files);
	call_release(&c);
	return 0;
}
