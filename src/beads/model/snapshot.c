#include "beads/model/snapshot.h"

#include "base/hash.h"
#include "base/names.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/limits.h"
#include "beads/model/line.h"
#include "beads/model/state.h"
#include "store/db/bead_words.h"

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

/* Members of meta.json that this program writes itself. */
static const struct names own_members = NAMES_OF("checksums", "format_version", "prefix");

static struct str own_meta(struct arena *mem, const struct state *s,
			   const struct str checksum[FILE_META])
{
	static const enum snapshot_file order[] = { FILE_DEPS, FILE_STATE, FILE_TOMBSTONES };
	struct json j = json_new(mem);

	json_object(&j);
	json_put_object(&j, "checksums");
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		json_put_str(&j, snapshot_name(order[i]), checksum[order[i]]);
	json_end(&j);
	json_put_int(&j, "format_version", FORMAT_VERSION);
	if (s->prefix_mark.by.p) {
		json_put_object(&j, "prefix");
		json_key(&j, STR("mark"));
		mark_encode(&j, s->prefix_mark);
		json_put_str(&j, "value", s->prefix);
		json_end(&j);
	}
	if (s->meta.p)
		json_put_members(&j, s->meta);
	json_end(&j);
	return json_text(&j);
}

/* meta.json has nothing that differs between replicas with the same state. */
struct str snapshot_meta(struct arena *mem, const struct state *s,
			 const struct str checksum[FILE_META])
{
	struct str text = own_meta(mem, s, checksum);
	struct json j = json_new(mem);

	json_canonical(&j, value_read(mem, text));
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

static void snapshot_add_line(struct buf *file, struct str line)
{
	buf_put(file, line);
	buf_char(file, '\n');
}

/* Encoding a line takes far more memory than the line, so the scratch is reset for each. */
static void snapshot_encode_slots(struct arena *scratch, const struct state *s, struct buf *state,
				  struct buf *tombstones)
{
	struct arena order = { 0 };
	const struct map_entry **slots = map_sorted(&s->slots, &order);

	for (size_t i = 0; i < s->slots.count; i++) {
		const struct slot *slot = slots[i]->value;

		arena_reset(scratch);
		if (slot_visible(slot))
			snapshot_add_line(state, line_text(scratch, slot->bead));
		if (slot_has_tombstone(slot))
			snapshot_add_line(tombstones, tombstone_text(scratch, slot));
	}
	arena_release(&order);
}

static void snapshot_encode_edges(struct arena *scratch, const struct state *s, struct buf *deps)
{
	struct arena order = { 0 };
	const struct map_entry **edges = map_sorted(&s->edges, &order);

	for (size_t i = 0; i < s->edges.count; i++) {
		arena_reset(scratch);
		snapshot_add_line(deps, edge_text(scratch, edges[i]->value));
	}
	arena_release(&order);
}

struct snapshot snapshot_encode_lines(struct arena *mem, const struct state *s)
{
	struct buf file[FILE_META] = { { .mem = mem }, { .mem = mem }, { .mem = mem } };
	struct arena scratch = { 0 };
	struct snapshot out = { 0 };

	snapshot_encode_slots(&scratch, s, &file[FILE_STATE], &file[FILE_TOMBSTONES]);
	snapshot_encode_edges(&scratch, s, &file[FILE_DEPS]);
	arena_release(&scratch);
	for (int i = 0; i < FILE_META; i++)
		out.file[i] = buf_str(&file[i]);
	return out;
}

struct snapshot snapshot_encode(struct arena *mem, const struct state *s)
{
	struct snapshot out = snapshot_encode_lines(mem, s);
	struct str checksum[FILE_META];

	for (int i = 0; i < FILE_META; i++)
		checksum[i] = sha256_hex(mem, out.file[i]);
	out.file[FILE_META] = snapshot_meta(mem, s, checksum);
	return out;
}

/* --- reading --- */

enum err snapshot_fail(struct call *c, const struct snapshot *files, enum snapshot_file file,
		       size_t line, struct str why)
{
	struct json j = json_new(&c->mem);
	struct str of =
		files->commit.p ? arena_fmt(&c->mem, " of commit %.10s", files->commit.p) : STR("");

	if (line)
		call_fail(c, ERR_REMOTE_DAMAGED,
			  "line %zu of %s" STR_FMT " cannot be used: " STR_FMT, line,
			  snapshot_name(file), STR_ARG(of), STR_ARG(why));
	else
		call_fail(c, ERR_REMOTE_DAMAGED, "%s" STR_FMT " cannot be used: " STR_FMT,
			  snapshot_name(file), STR_ARG(of), STR_ARG(why));
	json_object(&j);
	json_put_str(&j, "file", str_of(snapshot_name(file)));
	json_put_int(&j, "line", (int64_t)line);
	json_put_present(&j, "commit", files->commit);
	json_end(&j);
	return call_detail(c, json_text(&j));
}

bool snapshot_take(struct state *s, enum snapshot_file file, const struct value *line,
		   struct str *why)
{
	return file == FILE_STATE      ? state_read_bead(s, line, why) :
	       file == FILE_TOMBSTONES ? state_read_tombstone(s, line, why) :
					 state_read_edge(s, line, why);
}

static struct str spelled_tombstone(struct arena *mem, const struct value *line)
{
	struct state *alone = state_new(mem);
	const struct slot *slot;
	struct str why;

	if (!state_read_tombstone(alone, line, &why))
		return STR_NONE;
	slot = state_find(alone, value_str(line, "id"));
	return slot_has_tombstone(slot) ? tombstone_text(mem, slot) : STR_NONE;
}

struct str snapshot_spelled(struct arena *mem, enum snapshot_file file, const struct value *line)
{
	struct bead b;
	struct edge e;
	struct str why;

	if (file == FILE_STATE)
		return line_decode(mem, line, &b, &why) && bead_whole(&b) ? line_text(mem, &b) :
									    STR_NONE;
	if (file == FILE_DEPS)
		return edge_decode(mem, line, &e, &why) ? edge_text(mem, &e) : STR_NONE;
	return spelled_tombstone(mem, line);
}

/* Why a readable record does not belong into its file. */
static struct str snapshot_misfit(enum snapshot_file file)
{
	return file == FILE_TOMBSTONES ? STR("the bead in it was written to after its deletion") :
					 STR("\"_at\" and \"_by\" are missing");
}

const struct value *snapshot_parse_line(struct arena *mem, enum snapshot_file file, struct str line,
					struct str *why)
{
	bool tombstone = file == FILE_TOMBSTONES;
	size_t most = tombstone         ? LIMIT_TOMBSTONE :
		      file == FILE_DEPS ? LIMIT_EDGE :
					  LIMIT_LINE,
	       values = tombstone ? LIMIT_TOMBSTONE_VALUES : LIMIT_VALUES;
	struct value_error error;
	const struct value *v;

	if (line.n > most) {
		*why = arena_fmt(mem, "it has %zu bytes, and a line may have at most %zu", line.n,
				 most);
		return NULL;
	}
	if (!(v = value_parse_bounded(mem, line, values, &error)))
		*why = arena_fmt(mem, "%s at byte %zu", error.why, error.offset);
	return v;
}

const struct value *snapshot_parse_meta(struct arena *mem, const struct snapshot *files,
					struct str *why)
{
	struct str text = files->file[FILE_META];
	const struct value *v;

	if (text.n > LIMIT_META) {
		*why = arena_fmt(mem, "it has %zu bytes, and at most %d are allowed", text.n,
				 LIMIT_META);
		return NULL;
	}
	v = snapshot_parse_line(mem, FILE_META, text, why);
	if (!v || value_depth(v) <= LIMIT_DEPTH)
		return v;
	*why = arena_fmt(mem, "it is nested more than %d deep", LIMIT_DEPTH);
	return NULL;
}

/* The kind is part of an edge's key, so a synonym would change its place in the file. */
static bool is_synonym(struct str kind)
{
	return names_exact(&edge_kinds, kind) < 0 && names_value(&edge_kinds, kind) >= 0;
}

/* The canonical form of a line may be longer than the limit. */
static bool can_be_rewritten(struct arena *mem, enum snapshot_file file, struct str normal,
			     struct str *why)
{
	struct str reason;
	const struct value *v = snapshot_parse_line(mem, file, normal, &reason);

	if (v && snapshot_take(state_new(mem), file, v, &reason))
		return true;
	*why = arena_fmt(mem, "in its normal form, " STR_FMT, STR_ARG(reason));
	return false;
}

enum taken snapshot_compare(struct arena *mem, enum snapshot_file file, const struct value *v,
			    struct str line, struct str *why)
{
	struct str normal = snapshot_spelled(mem, file, v);

	if (!normal.p)
		*why = snapshot_misfit(file);
	else if (file == FILE_DEPS && is_synonym(value_str(v, "kind")))
		*why = STR("\"kind\" is not blocks, parent, related or discovered_from");
	else if (str_eq(line, normal))
		return TAKEN_AS_IS;
	else if (!str_eq(line, json_canonical_text(mem, v)))
		*why = STR("it is not in canonical form");
	else if (can_be_rewritten(mem, file, normal, why))
		return TAKEN_REWRITTEN;
	return TAKEN_NOT;
}

enum taken snapshot_take_text(struct state *s, enum snapshot_file file, struct str line,
			      bool strict, struct str *why)
{
	const struct value *v = snapshot_parse_line(s->mem, file, line, why);

	if (!v || !snapshot_take(s, file, v, why))
		return TAKEN_NOT;
	return strict ? snapshot_compare(s->mem, file, v, line, why) : TAKEN_AS_IS;
}

static bool snapshot_read_bead(struct state *s, struct arena *scratch, const struct value *v,
			       struct str *why)
{
	struct bead b;

	if (!line_decode(scratch, v, &b, why))
		return false;
	bead_own(s->mem, &b);
	state_put_bead(s, &b);
	return true;
}

static bool snapshot_read_edge(struct state *s, struct arena *scratch, const struct value *v,
			       struct str *why)
{
	struct edge e;

	if (!edge_decode(scratch, v, &e, why))
		return false;
	edge_own(s->mem, &e);
	state_put_edge(s, &e);
	return true;
}

static bool snapshot_read_tombstone(struct state *s, struct arena *scratch, const struct value *v,
				    struct str *why)
{
	struct state *one = state_new(scratch);

	if (!state_read_tombstone(one, v, why))
		return false;
	state_add(s, one);
	return true;
}

bool snapshot_keep(struct state *s, struct arena *scratch, enum snapshot_file file,
		   const struct value *line, struct str *why)
{
	return file == FILE_STATE      ? snapshot_read_bead(s, scratch, line, why) :
	       file == FILE_TOMBSTONES ? snapshot_read_tombstone(s, scratch, line, why) :
					 snapshot_read_edge(s, scratch, line, why);
}

/* Without a state, the line is only checked. */
static enum err snapshot_read_file(struct call *c, const struct snapshot *files,
				   enum snapshot_file file, struct state *s)
{
	struct str text = files->file[file], line;
	struct arena scratch = { 0 };
	enum err e = ERR_OK;

	for (size_t n = 1; !e && text.n && str_next(&text, '\n', &line); n++) {
		const struct value *v;
		struct str why = { 0 };

		arena_reset(&scratch);
		if (!str_trim(line).n)
			continue;
		v = snapshot_parse_line(&scratch, file, line, &why);
		if (v && snapshot_keep(s ? s : state_new(&scratch), &scratch, file, v, &why))
			continue;
		e = snapshot_fail(c, files, file, n, why);
	}
	arena_release(&scratch);
	return e;
}

static struct str unknown_meta(struct arena *mem, const struct value *v)
{
	struct json j = json_new(mem);
	size_t count = 0;

	json_object(&j);
	VALUE_EACH(one, v) {
		if (names_has(&own_members, one->key))
			continue;
		json_key(&j, one->key);
		json_canonical(&j, one);
		count++;
	}
	json_end(&j);
	return count ? json_text(&j) : STR_NONE;
}

static enum err snapshot_read_prefix(struct call *c, const struct snapshot *files,
				     const struct value *prefix, struct state *out)
{
	struct str value = value_str(prefix, "value");
	struct mark mark;

	if (!prefix || prefix->type != VALUE_OBJECT) /* a prefix without a mark is ignored */
		return ERR_OK;
	if (!bead_prefix_valid(value) || !mark_decode(value_find(prefix, "mark"), &mark))
		return snapshot_fail(c, files, FILE_META, 1,
				     STR("\"prefix\" is not a prefix of ids and its mark"));
	mark.by = arena_copy(out->mem, mark.by);
	state_put_prefix(out, arena_copy(out->mem, value),
			 mark_within(mark, c->now_ms + STAMP_FOLLOWED_MS));
	return ERR_OK;
}

enum err snapshot_read_meta(struct call *c, const struct snapshot *files, struct state *out)
{
	struct str why;
	const struct value *v = snapshot_parse_meta(&c->mem, files, &why);
	int64_t version;

	if (!v)
		return snapshot_fail(c, files, FILE_META, 1, why);
	if (!value_int(v, "format_version", &version))
		return snapshot_fail(c, files, FILE_META, 1,
				     STR("\"format_version\" is not a number"));
	if (version != FORMAT_VERSION) {
		snapshot_fail(c, files, FILE_META, 1,
			      arena_fmt(&c->mem,
					"the format is version %lld, and this program supports "
					"version %d",
					(long long)version, FORMAT_VERSION));
		return version < FORMAT_VERSION ?
			       c->code :
			       call_step(c, "Your own work is safe. Install a newer version of "
					    "Abacus, which supports that format. If there is none, "
					    "'bd repair' tells how to set the ref back.");
	}
	state_put_meta(out, unknown_meta(&c->mem, v));
	return snapshot_read_prefix(c, files, value_find(v, "prefix"), out);
}

enum err snapshot_read(struct call *c, const struct snapshot *files, struct state *out)
{
	enum err e;

	if ((e = snapshot_read_meta(c, files, out)) ||
	    (e = snapshot_read_file(c, files, FILE_TOMBSTONES, out)) ||
	    (e = snapshot_read_file(c, files, FILE_STATE, out)) ||
	    (e = snapshot_read_file(c, files, FILE_DEPS, out)))
		return e;
	state_add(out, state_new(&c->mem)); /* deletions that apply to every bead of an id */
	return ERR_OK;
}

enum err snapshot_try(struct call *c, const struct snapshot *files)
{
	enum err e = snapshot_read_meta(c, files, state_new(&c->mem));

	for (int f = 0; !e && f < FILE_META; f++)
		e = snapshot_read_file(c, files, (enum snapshot_file)f, NULL);
	return e;
}

enum err snapshot_check(struct call *c, const struct snapshot *files)
{
	const struct value *v, *sums;
	struct str why;

	for (int f = 0; f < SNAPSHOT_FILES; f++)
		if (!files->file[f].p)
			return snapshot_fail(c, files, (enum snapshot_file)f, 0,
					     STR("it is missing"));
	if (!(v = snapshot_parse_meta(&c->mem, files, &why)))
		return snapshot_fail(c, files, FILE_META, 1, why);
	sums = value_find(v, "checksums");
	for (int f = 0; f < FILE_META; f++) {
		struct str sum = value_str(sums, snapshot_name((enum snapshot_file)f));

		if (sum.p && !str_eq(sum, sha256_hex(&c->mem, files->file[f])))
			return snapshot_fail(c, files, (enum snapshot_file)f, 0,
					     STR("its checksum is not the one in meta.json"));
	}
	return ERR_OK;
}
