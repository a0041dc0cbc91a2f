#include "beads/repair/validate.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/graph.h"
#include "beads/model/line.h"
#include "beads/model/lines.h"
#include "beads/model/state.h"
#include "store/db/bead_words.h"

struct checker {
	struct arena *mem;    /* memory of the findings */
	struct arena work;    /* memory of all checks */
	struct arena scratch; /* memory of one line */
	int64_t now_ms;
	struct map live;                     /* by id: the line, a struct str */
	struct map gone;                     /* ids */
	struct edge_row *edges, **last_edge; /* each is a struct numbered_edge */
	struct finding *first, **last;
	int findings;
	struct state *rewritten; /* for a sync: gets the lines that can be normalised; or NULL */
	bool relations; /* the checks of single lines are done; relations between records follow */
	enum snapshot_file file; /* the line */
	int64_t line;
};

struct numbered_edge {
	struct edge_row row;
	int64_t line;
};

static void validate_found(struct checker *k, enum severity severity, const char *code,
			   struct str id, struct str message)
{
	struct finding *f;

	if (k->rewritten && severity == SEVERITY_WARNING)
		return;
	if (++k->findings > FINDINGS_MOST)
		return;
	f = arena_new(k->mem, struct finding);
	*f = (struct finding){ code,
			       severity,
			       snapshot_name(k->file),
			       k->line,
			       arena_copy(k->mem, id),
			       arena_copy(k->mem, message),
			       k->relations,
			       NULL };
	*k->last = f;
	k->last = &f->next;
}

static void validate_check_clock(struct checker *k, struct str id, struct stamp at)
{
	if (at.ms > k->now_ms + STAMP_FOLLOWED_MS)
		validate_found(k, SEVERITY_WARNING, "clock_skew", id,
			       arena_fmt(&k->scratch,
					 "it is dated %s, which is more than a day in the future",
					 moment_format(&k->scratch, at.ms).p));
}

static bool validate_is_mark(struct str key)
{
	return str_is(key, "_at") || str_is(key, "_by") || str_is(key, "_v");
}

/* A record without its marks, for comparison; also without those of the bead in a tombstone. */
static struct value validate_without_marks(struct arena *mem, const struct value *v)
{
	struct value out = *v;

	out.item = arena_array(mem, v->count + 1, sizeof *out.item);
	out.count = 0;
	for (size_t i = 0; i < v->count; i++) {
		if (validate_is_mark(v->item[i].key))
			continue;
		out.item[out.count++] = str_is(v->item[i].key, "bead") ?
						validate_without_marks(mem, &v->item[i]) :
						v->item[i];
	}
	return out;
}

/* Do two records differ only in the spelling of their marks? */
static bool validate_same_content(struct arena *mem, const struct value *v, struct str normal)
{
	struct value a = validate_without_marks(mem, v),
		     b = validate_without_marks(mem, value_read(mem, normal));

	return str_eq(json_canonical_text(mem, &a), json_canonical_text(mem, &b));
}

static void validate_rewritten(struct checker *k, struct str id, const struct value *v)
{
	struct str why;

	if (k->rewritten)
		snapshot_keep(k->rewritten, &k->scratch, k->file, v, &why);
	else if (validate_same_content(&k->scratch, v, snapshot_spelled(&k->scratch, k->file, v)))
		validate_found(k, SEVERITY_WARNING, "not_normalized", id,
			       STR("\"_at\", \"_by\" and \"_v\" are not in their normal form; the "
				   "next change to this record rewrites them"));
	else
		validate_found(k, SEVERITY_ERROR, "not_canonical", id,
			       STR("the line is not in canonical form"));
}

/* Is the line canonical? */
static void validate_compare(struct checker *k, struct str id, const struct value *v,
			     struct str line)
{
	struct str why;
	enum taken taken = snapshot_compare(&k->scratch, k->file, v, line, &why);
	bool fits = snapshot_spelled(&k->scratch, k->file, v).p;

	if (taken == TAKEN_REWRITTEN)
		validate_rewritten(k, id, v);
	else if (taken == TAKEN_NOT)
		validate_found(k, SEVERITY_ERROR, fits ? "not_canonical" : "invalid_field", id,
			       why);
}

/* A copy of a text of a line that lasts as long as the checks, unless it is part of the file. */
static struct str validate_keep_text(struct checker *k, struct str line, struct str text)
{
	bool within = text.p >= line.p && text.p < line.p + line.n;

	return within ? text : arena_copy(&k->work, text);
}

/* Checks one line; returns its sort key, absent if the line is invalid. */
typedef struct str check_line(struct checker *k, const struct value *v, struct str line);

static struct str validate_refused(struct checker *k, struct str id, struct str why)
{
	validate_found(k, SEVERITY_ERROR, "invalid_field", id, why);
	return STR_NONE;
}

/* An invalid line has an id too: a dependency on it does not dangle. */
static struct str check_bead(struct checker *k, const struct value *v, struct str line)
{
	struct str why, id = value_str(v, "id"), *kept;
	struct bead b;

	if (id.n) {
		id = validate_keep_text(k, line, id);
		kept = arena_new(&k->work, struct str);
		*kept = line;
		*map_put(&k->live, id) = kept;
	}
	if (!line_decode(&k->scratch, v, &b, &why))
		return validate_refused(k, id, why);
	validate_check_clock(k, id, bead_top(&b).at);
	validate_compare(k, id, v, line);
	return id;
}

/* An id may be in both files if the bead was created or restored after the deletion, or took over
 * the id of a remapped bead. Otherwise one of the two lines is wrong. */
static void check_both(struct checker *k, struct str id, const struct value *tombstone)
{
	struct state *s = state_new(&k->scratch);
	void **line = map_find(&k->live, id);
	const struct slot *slot;
	struct str why;

	if (!line || k->rewritten ||
	    !snapshot_take_text(s, FILE_STATE, *(const struct str *)*line, false, &why) ||
	    !state_read_tombstone(s, tombstone, &why))
		return;
	state_add(s, state_new(&k->scratch)); /* also applies deletions without a lineage */
	slot = state_find(s, id);
	if (!slot_live(slot) || !slot_has_tombstone(slot))
		validate_found(k, SEVERITY_ERROR, "duplicate_id", id,
			       arena_fmt(&k->scratch,
					 "'" STR_FMT "' has a tombstone, but is in %s too",
					 STR_ARG(id), snapshot_name(FILE_STATE)));
}

static struct str check_tombstone(struct checker *k, const struct value *v, struct str line)
{
	struct state *s = state_new(&k->scratch);
	struct str why, id = value_str(v, "id");

	if (id.n) {
		id = validate_keep_text(k, line, id);
		map_put(&k->gone, id);
	}
	if (!state_read_tombstone(s, v, &why))
		return validate_refused(k, id, why);
	validate_compare(k, id, v, line);
	check_both(k, id, v);
	validate_check_clock(k, id, state_clock(s, INT64_MAX));
	return id;
}

static struct str validate_kind(struct checker *k, struct str kind)
{
	int known = names_exact(&edge_kinds, kind);

	return known < 0 ? arena_copy(&k->work, kind) : str_of(names_word(&edge_kinds, known));
}

/* A sync keeps kinds that it does not know. Once such a dependency is removed, it is no error. */
static void check_kind(struct checker *k, const struct edge *e)
{
	if (!k->rewritten && !e->deleted && names_exact(&edge_kinds, e->kind) < 0)
		validate_refused(k, e->from,
				 STR("\"kind\" is not blocks, parent, related or discovered_from"));
}

static struct str check_edge(struct checker *k, const struct value *v, struct str line)
{
	struct numbered_edge *kept;
	struct str why;
	struct edge e;

	if (!edge_decode(&k->scratch, v, &e, &why))
		return validate_refused(k, value_str(v, "from"), why);
	validate_compare(k, e.from, v, line);
	validate_check_clock(k, e.from, e.life.at);
	check_kind(k, &e);
	kept = arena_new(&k->work, struct numbered_edge);
	kept->row = (struct edge_row){ .from = validate_keep_text(k, line, e.from),
				       .to = validate_keep_text(k, line, e.to),
				       .kind = validate_kind(k, e.kind),
				       .active = !e.deleted };
	kept->line = k->line;
	*k->last_edge = &kept->row;
	k->last_edge = &kept->row.next;
	return edge_key(&k->scratch, &e);
}

/* The order of the keys of a file. */
struct ordering {
	struct checker *k;
	struct str text;   /* state of the check of one file */
	struct buf before; /* the last key; empty: none */
	struct map keys;   /* all keys; built when one is first out of order */
};

static void ordering_index(struct ordering *o, struct str line)
{
	struct str rest = str_head(o->text, (size_t)(line.p - o->text.p)), earlier;

	o->keys.mem = &o->k->work;
	while (rest.n && str_next(&rest, '\n', &earlier)) {
		struct str key = lines_key(o->keys.mem, o->k->file, earlier);

		if (key.p)
			map_put(&o->keys, key);
	}
}

static void validate_check_duplicate(struct checker *k, struct str key)
{
	validate_found(k, SEVERITY_ERROR, "duplicate_id", key,
		       arena_fmt(&k->scratch, "'" STR_FMT "' occurs twice", STR_ARG(key)));
}

/* While keys ascend there are no duplicates, so the keys need not be kept. */
static void validate_in_order(struct ordering *o, struct str line, struct str key)
{
	struct checker *k = o->k;
	struct str before = { o->before.p, o->before.n };
	int order = before.n ? str_cmp(before, key) : -1;

	if (order > 0 && !o->keys.mem)
		ordering_index(o, line);
	if (!order || (o->keys.mem && map_find(&o->keys, key)))
		validate_check_duplicate(k, key);
	else if (order > 0)
		validate_found(k, SEVERITY_ERROR, "unsorted", key,
			       arena_fmt(&k->scratch,
					 "'" STR_FMT "' is out of order, after '" STR_FMT "'",
					 STR_ARG(key), STR_ARG(before)));
	if (o->keys.mem)
		map_put(&o->keys, arena_copy(o->keys.mem, key));
	o->before.n = 0;
	buf_put(&o->before, key);
}

static void validate_check_lines(struct checker *k, enum snapshot_file file, struct str text,
				 check_line *check)
{
	struct ordering order = { .k = k, .text = text, .before.mem = &k->work };
	bool ended = !text.n || text.p[text.n - 1] == '\n';
	struct str line;

	k->file = file;
	k->line = 0;
	while (text.n && k->findings <= FINDINGS_MOST && str_next(&text, '\n', &line)) {
		struct str key, why;
		const struct value *v;

		k->line++;
		arena_reset(&k->scratch);
		if (!(v = snapshot_parse_line(&k->scratch, file, line, &why))) {
			validate_found(k, SEVERITY_ERROR, "invalid_json", STR_NONE, why);
			continue;
		}
		key = check(k, v, line);
		if (key.p)
			validate_in_order(&order, line, key);
	}
	if (!ended)
		validate_found(k, SEVERITY_ERROR, "not_canonical", STR_NONE,
			       STR("the last line has no end"));
}

static void check_sums(struct checker *k, const struct snapshot *files, const struct value *sums)
{
	for (int i = FILE_STATE; sums && i < FILE_META; i++) {
		const char *name = snapshot_name((enum snapshot_file)i);
		struct str sum = value_str(sums, name);

		if (sum.p && !str_eq(sum, sha256_hex(k->mem, files->file[i])))
			validate_found(
				k, SEVERITY_ERROR, "checksum", STR_NONE,
				arena_fmt(k->mem, "the checksum of %s does not match", name));
		else if (!sum.p && !k->rewritten)
			validate_found(k, SEVERITY_ERROR, "checksum", STR_NONE,
				       arena_fmt(k->mem, "the checksum of %s is missing", name));
	}
}

static void validate_check_version(struct checker *k, const struct value *v)
{
	int64_t version;

	if (!value_int(v, "format_version", &version))
		validate_refused(k, STR_NONE, STR("\"format_version\" is not a number"));
	else if (version != FORMAT_VERSION)
		validate_refused(
			k, STR_NONE,
			arena_fmt(
				k->mem,
				"the format is version %lld, and this program supports version %d",
				(long long)version, FORMAT_VERSION));
}

static void validate_check_meta(struct checker *k, const struct snapshot *files)
{
	struct str why, text = files->file[FILE_META];
	const struct value *v = snapshot_parse_meta(k->mem, files, &why),
			   *prefix = value_find(v, "prefix");
	struct mark mark;

	k->file = FILE_META;
	k->line = 1;
	if (!v) {
		validate_found(k, SEVERITY_ERROR, "invalid_json", STR_NONE, why);
		return;
	}
	validate_check_version(k, v);
	if (prefix && prefix->type == VALUE_OBJECT &&
	    (!bead_prefix_valid(value_str(prefix, "value")) ||
	     !mark_decode(value_find(prefix, "mark"), &mark)))
		validate_refused(k, STR_NONE,
				 STR("\"prefix\" is not a prefix of ids and its mark"));
	check_sums(k, files, value_find(v, "checksums"));
	if (!k->rewritten &&
	    !str_eq(text, arena_fmt(k->mem, STR_FMT "\n", STR_ARG(json_canonical_text(k->mem, v)))))
		validate_found(k, SEVERITY_ERROR, "not_canonical", STR_NONE,
			       STR("the file is not in canonical form"));
}

/* Is the bead at the end of an edge live? */
static bool check_end(struct checker *k, struct str from, struct str id)
{
	if (map_find(&k->live, id))
		return true;
	if (map_find(&k->gone, id))
		validate_found(k, SEVERITY_WARNING, "orphaned_dependency", from,
			       arena_fmt(&k->scratch, "'" STR_FMT "' was deleted", STR_ARG(id)));
	else
		validate_found(k, SEVERITY_WARNING, "dangling_dependency", from,
			       arena_fmt(&k->scratch, "there is no '" STR_FMT "'", STR_ARG(id)));
	return false;
}

/* Have the edges of this kind a cycle? Both of their beads are live. */
static bool validate_has_cycle(struct checker *k, const struct edge_row *edges, enum edge_kind kind)
{
	struct str word = str_of(names_word(&edge_kinds, kind));
	struct arena mem = { 0 };
	struct edge_numbers *number;
	size_t count = 0;
	bool has;

	for (const struct edge_row *e = edges; e; e = e->next)
		count += str_eq(e->kind, word);
	number = arena_array(&mem, count, sizeof *number);
	count = 0;
	for (const struct edge_row *e = edges; e; e = e->next)
		if (str_eq(e->kind, word))
			number[count++] = (struct edge_numbers){
				(uint32_t)map_place(&k->live, map_find(&k->live, e->from)),
				(uint32_t)map_place(&k->live, map_find(&k->live, e->to)),
			};
	has = count && graph_has_cycle(number, count, k->live.count);
	arena_release(&mem);
	return has;
}

static void validate_check_cycles(struct checker *k, const struct edge_row *active)
{
	if (!validate_has_cycle(k, active, EDGE_BLOCKS) &&
	    !validate_has_cycle(k, active, EDGE_PARENT))
		return;
	for (struct cycle *c = graph_cycles(&k->work, active); c; c = c->next) {
		struct buf b = { .mem = &k->scratch };

		arena_reset(&k->scratch);
		for (size_t i = 0; i < c->count; i++)
			buf_fmt(&b, STR_FMT " → ", STR_ARG(c->ids[i]));
		buf_put(&b, c->ids[0]);
		validate_found(k, SEVERITY_WARNING, "dependency_cycle", c->ids[0],
			       arena_fmt(&k->scratch, "these form a cycle (" STR_FMT "): %s",
					 STR_ARG(c->kind), buf_str(&b).p));
	}
}

static void check_edges(struct checker *k)
{
	struct edge_row *active = NULL, **tail = &active, *next;

	k->file = FILE_DEPS;
	for (struct edge_row *e = k->edges; e; e = next) {
		bool live;

		next = e->next;
		arena_reset(&k->scratch);
		k->line = ((const struct numbered_edge *)e)->line;
		if (!e->active)
			continue;
		/* both beads are deleted: the edge has no effect until they are restored */
		if (map_find(&k->gone, e->from) && map_find(&k->gone, e->to))
			continue;
		live = check_end(k, e->from, e->from);
		if (!check_end(k, e->from, e->to) || !live)
			continue;
		*tail = e;
		tail = &e->next;
	}
	*tail = NULL;
	k->line = 0;
	validate_check_cycles(k, active);
}

static struct finding *validate_check_all(struct checker *k, const struct snapshot *files)
{
	static check_line *const checks[] = { [FILE_STATE] = check_bead,
					      [FILE_TOMBSTONES] = check_tombstone,
					      [FILE_DEPS] = check_edge };

	k->live.mem = k->gone.mem = &k->work;
	k->last = &k->first;
	k->last_edge = &k->edges;
	for (int i = FILE_STATE; i < SNAPSHOT_FILES; i++) {
		k->file = (enum snapshot_file)i;
		k->line = 0;
		if (!files->file[i].p)
			validate_found(k, SEVERITY_ERROR, "missing_file", STR_NONE,
				       STR("the file is missing"));
		else if (i == FILE_META)
			validate_check_meta(k, files);
		else
			validate_check_lines(k, (enum snapshot_file)i, files->file[i], checks[i]);
	}
	k->relations = true;
	check_edges(k);
	arena_release(&k->scratch);
	arena_release(&k->work);
	return k->first;
}

struct finding *validate_snapshot(struct arena *mem, const struct snapshot *files, int64_t now_ms)
{
	struct checker k = { .mem = mem, .now_ms = now_ms };

	return validate_check_all(&k, files);
}

struct finding *validate_readable(struct arena *mem, const struct snapshot *files, int64_t now_ms,
				  struct state *rewritten)
{
	struct checker k = { .mem = mem, .now_ms = now_ms, .rewritten = rewritten };

	return validate_check_all(&k, files);
}

static enum err validate_fail(struct call *c, const struct snapshot *files, const struct finding *f)
{
	int file = FILE_STATE;

	while (strcmp(f->file, snapshot_name((enum snapshot_file)file)) != 0)
		file++;
	return snapshot_fail(c, files, (enum snapshot_file)file, (size_t)f->line, f->message);
}

enum err validate_usable(struct call *c, const struct snapshot *files, struct state *rewritten)
{
	const struct finding *f = validate_readable(&c->mem, files, c->now_ms, rewritten);

	return f ? validate_fail(c, files, f) : snapshot_check(c, files);
}
