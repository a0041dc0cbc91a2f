#include "store/board/board_artifacts.h"

#include "base/buf.h"
#include "base/moment.h"
#include "store/board/board_db.h"
#include "store/db/db.h"

#define COLUMNS "id, path, produced_by, description, version, refs, created_at"

static struct artifact *board_artifacts_decode(struct arena *mem, struct stmt *st)
{
	struct artifact *a = arena_new(mem, struct artifact);

	a->id = stmt_int(st);
	a->path = stmt_str(st, mem);
	a->produced_by = stmt_str(st, mem);
	a->description = stmt_str(st, mem);
	a->version = stmt_str(st, mem);
	a->refs = stmt_json(st, mem, STR("[]"));
	moment_parse(stmt_str(st, mem), &a->created_at);
	return a;
}

static struct str board_artifacts_select_sql(struct arena *mem, const struct artifact_filter *f)
{
	struct buf sql = { .mem = mem };

	buf_put(&sql, STR("SELECT " COLUMNS " FROM artifacts WHERE 1"));
	if (f->produced_by.p)
		buf_put(&sql, STR(" AND produced_by = ?1"));
	if (f->since)
		buf_put(&sql, STR(" AND (replace(created_at, ' ', 'T') >= ?2"
				  " OR id > ?8)"));
	if (f->ref)
		buf_put(&sql, STR(" AND refs <> '[]' AND EXISTS (SELECT 1 FROM json_each(refs) r"
				  " WHERE json_extract(refs, r.fullkey || '.where') = ?3"
				  " AND json_extract(refs, r.fullkey || '.what') = ?4"
				  " AND (refs -> (r.fullkey || '.ref')) = ?5)"));
	if (f->mentions.p)
		buf_put(&sql, STR(" AND (instr(description, ?7) OR instr(refs, ?7))"));
	buf_put(&sql, STR(" ORDER BY replace(created_at, ' ', 'T') DESC, id DESC LIMIT ?6"));
	return buf_str(&sql);
}

enum err artifact_each(struct call *c, struct board *b, const struct artifact_filter *f,
		       struct artifact **out)
{
	AUTO_STMT *st = db_stmt_once(b->db, board_artifacts_select_sql(&c->mem, f));
	const struct ref none = { 0 }, *ref = f->ref ? f->ref : &none;
	struct str since = { 0 };

	if (f->since)
		since = str_head(moment_format(&c->mem, f->since), 23);

	*out = NULL;
	stmt_bind_opt(st, f->produced_by);
	stmt_bind_opt(st, since);
	stmt_bind_opt(st, ref->where);
	stmt_bind_opt(st, ref->what);
	stmt_bind_opt(st, ref->json);
	stmt_bind_int(st, f->limit ? f->limit : -1);
	stmt_bind_opt(st, f->mentions);
	if (f->since)
		stmt_bind_int(st, f->or_after ? f->or_after : INT64_MAX);
	for (; stmt_row(st); out = &(*out)->next)
		*out = board_artifacts_decode(&c->mem, st);
	return stmt_end(c, st);
}

enum err artifact_find(struct call *c, struct board *b, struct str path, struct artifact **out)
{
	AUTO_STMT *st = db_stmt(b->db, "SELECT " COLUMNS " FROM artifacts WHERE path = ?");

	stmt_bind_str(st, path);
	*out = stmt_row(st) ? board_artifacts_decode(&c->mem, st) : NULL;
	return stmt_end(c, st);
}

static void board_artifacts_bind(struct call *c, struct stmt *st, const struct artifact *a)
{
	stmt_bind_str(st, a->produced_by);
	stmt_bind_str(st, a->description);
	stmt_bind_str(st, a->version);
	stmt_bind_str(st, a->refs);
	stmt_bind_str(st, moment_format(&c->mem, a->created_at));
	stmt_bind_str(st, a->path);
}

/* Two statements, because an upsert would consume an id each time. */
enum err artifact_put(struct call *c, struct board *b, const struct artifact *a)
{
	AUTO_STMT *again = db_stmt(b->db, "UPDATE artifacts SET produced_by = ?, description = ?,"
					  " version = ?, refs = ?, created_at = ? WHERE path = ?");
	AUTO_STMT *first = db_stmt(b->db, "INSERT INTO artifacts (produced_by, description,"
					  " version, refs, created_at, path)"
					  " VALUES (?, ?, ?, ?, ?, ?)");
	enum err e;

	board_artifacts_bind(c, again, a);
	if ((e = stmt_run(c, again)) || db_changes(b->db))
		return e;
	board_artifacts_bind(c, first, a);
	return stmt_run(c, first);
}

enum err artifact_delete_all(struct call *c, struct board *b)
{
	return db_exec(c, b->db, "DELETE FROM artifacts");
}
