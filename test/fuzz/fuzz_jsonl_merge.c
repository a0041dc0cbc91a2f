/* The merge driver of issues.jsonl: no id of a side is lost, and merging again changes nothing. The
 * input is two versions; the common one is empty. */
#include "base/map.h"
#include "base/text/value.h"
#include "beads/exchange/jsonl_merge.h"
#include "fuzz.h"

static void note_ids(struct call *c, struct str text, struct map *ids)
{
	struct str line;

	while (text.n && str_next(&text, '\n', &line)) {
		struct str id = value_str(value_read(&c->mem, line), "id");

		if (id.p)
			map_put(ids, id);
	}
}

static void check_ids(struct call *c, struct str side, const struct map *merged)
{
	struct map ids = { .mem = &c->mem };

	note_ids(c, side, &ids);
	for (size_t i = 0; i < ids.count; i++)
		rule(map_find(merged, ids.entry[i].key) != NULL, "no id of a side is lost");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size);
	struct call c = fuzz_call();
	struct jsonl_sides sides = { .base = STR(""), .ours = fuzz_part(&text) }, again;
	struct map merged = { .mem = &c.mem };
	struct str out;

	sides.theirs = text;
	out = jsonl_merge(&c.mem, &sides);
	note_ids(&c, out, &merged);
	check_ids(&c, sides.ours, &merged);
	check_ids(&c, sides.theirs, &merged);
	again = (struct jsonl_sides){ .base = out, .ours = out, .theirs = out };
	rule(str_eq(jsonl_merge(&c.mem, &again), out), "merging the same again changes nothing");
	call_release(&c);
	return 0;
}
