#include "beads/validate.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/value.h"
#include "beads/graph.h"
#include "beads/line.h"
#include "beads/state.h"

struct checker {
	struct arena *mem;
	struct arena scratch; /* for one line */
	int64_t now_ms;
	struct map live, gone; /* ids */
	struct edge_row *edges, **last_edge;
	struct finding *first, **last;
	int findings;
	enum snapshot_file file; /* and where in it */
	int64_t line;
};

static void found(struct checker *k, enum severity severity, const char *code,
		  struct str id, struct str message)
{
	struct finding *f;

	if (++k->findings > FINDINGS_MOST)
		return;
	f = arena_new(k->mem, struct finding);
	*f = (struct finding){ code,
			       severity,
			       snapshot_name(k->file),
			       k->line,
			       arena_copy(k->mem, id),
			       arena_copy(k->mem, message),
			       NULL };
	*k->last = f;
	k->last = &f->next;
}

static void skewed(struct checker *k, struct str id, struct stamp at)
{
	if (at.ms > k->now_ms + STAMP_FOLLOWED_MS)
		found(k, SEVERITY_WARNING, "clock_skew", id,
		      arena_fmt(k->mem,
				"it was written at %s, which is more than a day ahead",
				moment_format(k->mem, at.ms).p));
}

/* Is the line what this program would write? */
static void compare(struct checker *k, struct str id, struct str line, struct str text)
{
	if (!str_eq(line, text))
		found(k, SEVERITY_ERROR, "not_canonical", id,
		      STR("the line is not written in the canonical way"));
}

/* A record: its key for sorting, which lasts; or absent if it was refused. */
typedef struct str check_line(struct checker *k, const struct value *v, struct str line);

static struct str refused(struct checker *k, struct str id, struct str why)
{
	found(k, SEVERITY_ERROR, "invalid_field", id, why);
	return (struct str){ 0 };
}

static struct str check_bead(struct checker *k, const struct value *v, struct str line)
{
	struct str why, id = value_str(v, "id");
	struct bead b;

	if (!line_decode(&k->scratch, v, &b, &why))
		return refused(k, id, why);
	if (!bead_whole(&b))
		refused(k, id, STR("\"_at\" and \"_by\" are missing"));
	skewed(k, id, bead_top(&b).at);
	compare(k, id, line, line_text(&k->scratch, &b));
	id = arena_copy(k->mem, id);
	map_put(&k->live, id);
	return id;
}

static struct str check_tombstone(struct checker *k, const struct value *v,
				  struct str line)
{
	struct state *s = state_new(&k->scratch);
	struct str why, id = value_str(v, "id");
	struct json j = { .out.mem = &k->scratch };

	if (!state_read_tombstone(s, v, &why))
		return refused(k, id, why);
	tombstone_encode(&j, state_find(s, id));
	compare(k, id, line, json_text(&j));
	skewed(k, id, state_clock(s, INT64_MAX));
	id = arena_copy(k->mem, id);
	map_put(&k->gone, id);
	return id;
}

static struct str check_edge(struct checker *k, const struct value *v, struct str line)
{
	struct edge_row *row;
	struct str why;
	struct edge e;

	if (!edge_decode(&k->scratch, v, &e, &why))
		return refused(k, value_str(v, "from"), why);
	compare(k, e.from, line, edge_text(&k->scratch, &e));
	skewed(k, e.from, e.life.at);
	row = arena_new(k->mem, struct edge_row);
	*row = (struct edge_row){ .from = arena_copy(k->mem, e.from),
				  .to = arena_copy(k->mem, e.to),
				  .kind = arena_copy(k->mem, e.kind),
				  .active = !e.deleted };
	*k->last_edge = row;
	k->last_edge = &row->next;
	return edge_key(k->mem, &e);
}

static void in_order(struct checker *k, struct str before, struct str key)
{
	int order = before.p ? str_cmp(before, key) : -1;

	if (!order)
		found(k, SEVERITY_ERROR, "duplicate_id", key,
		      arena_fmt(k->mem, "'" STR_FMT "' is there twice", STR_ARG(key)));
	else if (order > 0)
		found(k, SEVERITY_ERROR, "unsorted", key,
		      arena_fmt(k->mem, "'" STR_FMT "' comes after '" STR_FMT "'",
				STR_ARG(key), STR_ARG(before)));
}

static void check_lines(struct checker *k, enum snapshot_file file, struct str text,
			check_line *check)
{
	struct map keys = { .mem = k->mem };
	struct str line, before = { 0 };

	k->file = file;
	k->line = 0;
	bool ended = !text.n || text.p[text.n - 1] == '\n';

	while (text.n && k->findings <= FINDINGS_MOST && str_next(&text, '\n', &line)) {
		struct str key, why;
		const struct value *v;

		k->line++;
		arena_reset(&k->scratch);
		if (!(v = snapshot_parse_line(&k->scratch, file, line, &why))) {
			found(k, SEVERITY_ERROR, "invalid_json", (struct str){ 0 }, why);
			continue;
		}
		key = check(k, v, line);
		if (!key.p)
			continue;
		if (map_find(&keys, key) && !str_eq(key, before))
			in_order(k, key, key);
		else
			in_order(k, before, key);
		map_put(&keys, key);
		before = key;
	}
	if (!ended)
		found(k, SEVERITY_ERROR, "not_canonical", (struct str){ 0 },
		      STR("the last line has no end"));
}

static void check_meta(struct checker *k, const struct snapshot *files)
{
	struct str why;
	const struct value *v = snapshot_parse_meta(k->mem, files, &why);
	const struct value *sums = value_find(v, "checksums"),
			   *prefix = value_find(v, "prefix");
	struct mark mark;
	int64_t version;

	k->file = FILE_META;
	k->line = 1;
	if (!v) {
		found(k, SEVERITY_ERROR, "invalid_json", (struct str){ 0 }, why);
		return;
	}
	if (!value_int(v, "format_version", &version))
		refused(k, (struct str){ 0 }, STR("\"format_version\" is not a number"));
	else if (version != FORMAT_VERSION)
		refused(k, (struct str){ 0 },
			arena_fmt(k->mem,
				  "the format is version %lld; this program knows "
				  "version %d",
				  (long long)version, FORMAT_VERSION));
	if (prefix && prefix->type == VALUE_OBJECT &&
	    (!bead_prefix_valid(value_str(prefix, "value")) ||
	     !mark_decode(value_find(prefix, "mark"), &mark)))
		refused(k, (struct str){ 0 },
			STR("\"prefix\" is not a prefix of ids and its mark"));
	for (int i = FILE_STATE; i < FILE_META; i++) {
		struct str sum = value_str(sums, snapshot_name((enum snapshot_file)i));

		if (sum.p && !str_eq(sum, sha256_hex(k->mem, files->file[i])))
			found(k, SEVERITY_ERROR, "checksum", (struct str){ 0 },
			      arena_fmt(k->mem, "%s is not the file it was made for",
					snapshot_name((enum snapshot_file)i)));
	}
}

static void check_end(struct checker *k, struct str from, struct str id)
{
	if (map_find(&k->live, id))
		return;
	if (map_find(&k->gone, id))
		found(k, SEVERITY_WARNING, "orphaned_dependency", from,
		      arena_fmt(k->mem, "'" STR_FMT "' was deleted", STR_ARG(id)));
	else
		found(k, SEVERITY_WARNING, "dangling_dependency", from,
		      arena_fmt(k->mem, "there is no '" STR_FMT "'", STR_ARG(id)));
}

static void check_edges(struct checker *k)
{
	struct edge_row *active = NULL, **tail = &active, *next;

	k->file = FILE_DEPS;
	k->line = 0;
	for (struct edge_row *e = k->edges; e; e = next) {
		next = e->next;
		k->line++;
		if (!e->active)
			continue;
		check_end(k, e->from, e->from);
		check_end(k, e->from, e->to);
		*tail = e;
		tail = &e->next;
	}
	*tail = NULL;
	k->line = 0;
	for (struct cycle *c = graph_cycles(k->mem, active); c; c = c->next) {
		struct buf b = { .mem = k->mem };

		for (size_t i = 0; i < c->count; i++)
			buf_fmt(&b, STR_FMT " → ", STR_ARG(c->ids[i]));
		buf_put(&b, c->ids[0]);
		found(k, SEVERITY_WARNING, "dependency_cycle", c->ids[0],
		      arena_fmt(k->mem, "these wait for each other (" STR_FMT "): %s",
				STR_ARG(c->kind), buf_str(&b).p));
	}
}

struct finding *validate_snapshot(struct arena *mem, const struct snapshot *files,
				  int64_t now_ms)
{
	static check_line *const checks[] = { [FILE_STATE] = check_bead,
					      [FILE_TOMBSTONES] = check_tombstone,
					      [FILE_DEPS] = check_edge };
	struct checker k = {
		.mem = mem, .now_ms = now_ms, .live.mem = mem, .gone.mem = mem
	};

	k.last = &k.first;
	k.last_edge = &k.edges;
	for (int i = FILE_STATE; i < SNAPSHOT_FILES; i++) {
		k.file = (enum snapshot_file)i;
		k.line = 0;
		if (!files->file[i].p)
			found(&k, SEVERITY_ERROR, "missing_file", (struct str){ 0 },
			      STR("the file is missing"));
		else if (i == FILE_META)
			check_meta(&k, files);
		else
			check_lines(&k, (enum snapshot_file)i, files->file[i], checks[i]);
	}
	arena_release(&k.scratch);
	check_edges(&k);
	return k.first;
}
