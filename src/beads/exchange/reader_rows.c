/*
 * Rows of upstream's tables: the files of .beads/backup, and beads.db. A row of `issues` has every
 * column of the table: null and "" for nothing, 0 and 1 for booleans, JSON as text. Labels,
 * dependencies and comments have tables of their own, and are joined by `issue_id`.
 */
#include "base/map.h"
#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/exchange/readers.h"
#include "beads/model/limits.h"
#include "store/db/db_rows.h"

enum { ROWS_ISSUES, ROWS_DEPENDENCIES, ROWS_LABELS, ROWS_COMMENTS, ROWS_TABLES };

/* The rows of the other tables that belong to an issue, each as JSON. */
struct rows_of_issue {
	struct buf items[ROWS_TABLES];
	struct str newest; /* the row of `issues` that gets them, if several have this id */
	int64_t ms;        /* when it was changed */
};

static const struct {
	const char *table, *key;
} rows_tables[] = {
	[ROWS_ISSUES] = { "issues", NULL },
	[ROWS_DEPENDENCIES] = { "dependencies", "dependencies" },
	[ROWS_LABELS] = { "labels", "labels" },
	[ROWS_COMMENTS] = { "comments", "comments" },
};

static const struct value *rows_parse(struct arena *mem, struct str line)
{
	struct value_error error;
	const struct value *v = line.n <= LIMIT_OWN_LINE ?
					value_parse_bounded(mem, line, LIMIT_OWN_VALUES, &error) :
					NULL;

	return v && v->type == VALUE_OBJECT ? v : NULL;
}

/* Gathers the rows of a table by issue. */
static void rows_gather(struct call *c, struct map *issues, int table, struct str text)
{
	struct arena scratch = { 0 };
	struct str line;

	while (text.n && str_next(&text, '\n', &line)) {
		const struct value *v = rows_parse(&scratch, str_trim(line));
		struct str id = value_str(v, "issue_id"), label = value_str(v, "label");
		struct rows_of_issue *of;
		struct json j = json_new(&c->mem);
		void **at;

		if (!id.n || (table == ROWS_LABELS && !label.n))
			continue;
		at = map_find(issues, id);
		if (!at)
			at = map_put(issues, arena_copy(&c->mem, id));
		if (!*at)
			*at = arena_new(&c->mem, struct rows_of_issue);
		of = *at;
		of->items[table].mem = &c->mem;
		if (table == ROWS_LABELS)
			json_str(&j, label);
		else
			json_value(&j, v);
		buf_fmt(&of->items[table], "%s" STR_FMT, of->items[table].n ? "," : "",
			STR_ARG(json_text(&j)));
		arena_reset(&scratch);
	}
	arena_release(&scratch);
}

/* Chooses the same row as the import does: of several rows, the one that was changed last. */
static void rows_choose(struct map *issues, struct str text)
{
	struct arena scratch = { 0 };
	struct str line;

	while (text.n && str_next(&text, '\n', &line)) {
		const struct value *v = rows_parse(&scratch, line = str_trim(line));
		void **at = v ? map_find(issues, value_str(v, "id")) : NULL;
		struct rows_of_issue *of = at ? *at : NULL;
		int64_t ms = 0;

		moment_parse(value_str(v, "updated_at"), &ms);
		if (of && (!of->newest.p || of->ms <= ms)) {
			of->newest = line;
			of->ms = ms;
		}
		arena_reset(&scratch);
	}
	arena_release(&scratch);
}

static const struct names boolean_members =
	NAMES_OF("crystallizes", "ephemeral", "is_template", "no_history", "pinned");

static void rows_put_member(struct json *j, struct arena *mem, const struct value *member)
{
	const struct value *inner = NULL;

	if (member->type == VALUE_NULL || (member->type == VALUE_STRING && !member->text.n))
		return;
	if (str_is(member->key, "metadata") && member->type == VALUE_STRING)
		inner = value_read(mem, member->text);
	if (inner && inner->type == VALUE_OBJECT && !inner->count)
		return;
	if (names_has(&boolean_members, member->key) && member->type == VALUE_NUMBER) {
		if (!str_is(member->text, "0")) {
			json_key(j, member->key);
			json_bool(j, true);
		}
		return;
	}
	json_key(j, member->key);
	json_value(j, inner ? inner : member);
}

/* An issue as a line of issues.jsonl. A line that is no row stays as it is, to be reported. */
static struct str rows_line(struct arena *mem, const struct map *issues, struct str line)
{
	const struct value *v = rows_parse(mem, line);
	void **at = v ? map_find(issues, value_str(v, "id")) : NULL;
	const struct rows_of_issue *of = at ? *at : NULL;
	struct json j = json_new(mem);

	if (!v)
		return line;
	json_object(&j);
	VALUE_EACH(one, v)
		rows_put_member(&j, mem, one);
	for (int i = ROWS_DEPENDENCIES; of && of->newest.p == line.p && i < ROWS_TABLES; i++)
		if (of->items[i].n && !value_find(v, rows_tables[i].key))
			json_put_raw(&j, rows_tables[i].key,
				     arena_fmt(mem, "[" STR_FMT "]",
					       STR_ARG(((struct str){ of->items[i].p,
								      of->items[i].n }))));
	json_end(&j);
	return json_text(&j);
}

static enum err rows_join(struct call *c, struct str text[ROWS_TABLES], struct issue_source *out,
			  struct str file)
{
	struct reader_lines lines = { .c = c, .file = file, .text.mem = &c->mem };
	struct map issues = { .mem = &c->mem };
	struct str rest = text[ROWS_ISSUES], line;
	struct arena scratch = { 0 };
	enum err e = ERR_OK;

	for (int i = 0; i < ROWS_TABLES; i++)
		lines.read += text[i].n;
	for (int i = ROWS_DEPENDENCIES; i < ROWS_TABLES; i++)
		rows_gather(c, &issues, i, text[i]);
	rows_choose(&issues, text[ROWS_ISSUES]);
	while (!e && rest.n && str_next(&rest, '\n', &line)) {
		e = reader_put(&lines, rows_line(&scratch, &issues, str_trim(line)));
		arena_reset(&scratch);
	}
	arena_release(&scratch);
	reader_add(c, out, file, buf_str(&lines.text), false);
	return e;
}

enum err reader_backup(struct call *c, struct str path, struct issue_source *out)
{
	struct str text[ROWS_TABLES] = { { 0 } }, dir;
	enum err e = ERR_OK;

	if (!path.p)
		return call_fail(c, ERR_INVALID_INPUT,
				 "a backup is a folder of files, not standard input");
	dir = file_is_dir(&c->mem, path) ? path : path_parent(path);
	if (dir.p == path.p && dir.n == path.n) {
		path = path_join(&c->mem, dir, STR("issues.jsonl"));
		e = reader_refuse_link(c, path, path);
	}
	for (int i = 0; !e && i < ROWS_TABLES; i++) {
		struct str file = arena_fmt(&c->mem, "%s.jsonl", rows_tables[i].table);

		e = i ? file_own_read(c, path_join(&c->mem, dir, file), &text[i]) :
			reader_text(c, path, &text[i]);
	}
	return e ? e : rows_join(c, text, out, path_name(path));
}

enum err reader_sqlite(struct call *c, struct str path, struct issue_source *out)
{
	struct db_rows tables[ROWS_TABLES] = {
		{ .table = "issues" },
		{ .table = "dependencies", .optional = true },
		{ .table = "labels", .optional = true },
		{ .table = "comments", .optional = true },
	};
	struct str text[ROWS_TABLES];
	enum err e;

	if (!path.p)
		return call_fail(c, ERR_INVALID_INPUT, "a database is a file, not standard input");
	if ((e = db_rows_read(c, path, tables, ROWS_TABLES)))
		return e;
	for (int i = 0; i < ROWS_TABLES; i++)
		text[i] = tables[i].text;
	return rows_join(c, text, out, path_name(path));
}
