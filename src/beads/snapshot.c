#include "beads/snapshot.h"

#include "base/hash.h"
#include "base/json.h"
#include "beads/line.h"
#include "beads/state.h"

const char *snapshot_name(enum snapshot_file file)
{
	static const char *const names[] = {
		[FILE_STATE] = "state.jsonl",
		[FILE_TOMBSTONES] = "tombstones.jsonl",
		[FILE_DEPS] = "deps.jsonl",
		[FILE_META] = "meta.json",
	};

	return names[file];
}

static void end_line(struct json *j)
{
	buf_char(&j->out, '\n');
	j->comma = false;
}

/* Nothing that differs between replicas that hold the same. */
static struct str meta_text(struct arena *mem, const struct state *s,
			    const struct snapshot *files)
{
	static const enum snapshot_file order[] = { FILE_DEPS, FILE_STATE,
						    FILE_TOMBSTONES };
	struct json j = { .out.mem = mem };

	json_object(&j);
	json_put_object(&j, "checksums");
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		json_put_str(&j, snapshot_name(order[i]),
			     sha256_hex(mem, files->file[order[i]]));
	json_end(&j);
	json_put_int(&j, "format_version", FORMAT_VERSION);
	if (s->prefix_mark.by.p) {
		json_put_object(&j, "prefix");
		json_key(&j, STR("mark"));
		mark_encode(&j, s->prefix_mark);
		json_put_str(&j, "value", s->prefix);
		json_end(&j);
	}
	json_end(&j);
	end_line(&j);
	return buf_str(&j.out);
}

struct snapshot snapshot_encode(struct arena *mem, const struct state *s)
{
	const struct map_entry **slots = map_sorted(&s->slots, mem),
			       **edges = map_sorted(&s->edges, mem);
	struct json state = { .out.mem = mem }, tombs = state, deps = state;
	struct snapshot out;

	for (size_t i = 0; i < s->slots.count; i++) {
		const struct slot *slot = slots[i]->value;

		if (slot_live(slot) && !bead_blank(slot->bead)) {
			line_encode(&state, slot->bead);
			end_line(&state);
		}
		if (slot_has_tombstone(slot)) {
			tombstone_encode(&tombs, slot);
			end_line(&tombs);
		}
	}
	for (size_t i = 0; i < s->edges.count; i++) {
		edge_encode(&deps, edges[i]->value);
		end_line(&deps);
	}
	out.file[FILE_STATE] = buf_str(&state.out);
	out.file[FILE_TOMBSTONES] = buf_str(&tombs.out);
	out.file[FILE_DEPS] = buf_str(&deps.out);
	out.file[FILE_META] = meta_text(mem, s, &out);
	return out;
}
