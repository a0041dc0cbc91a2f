#include "store/db/row.h"

void stmt_bind(struct stmt *st, const struct stmt_param *params)
{
	for (; params && params->type; params++)
		if (params->type == PARAM_STR)
			stmt_bind_str(st, params->text);
		else
			stmt_bind_int(st, params->number);
}

enum err db_run_params(struct call *c, struct db *db, const char *sql,
		       const struct stmt_param *params)
{
	AUTO_STMT *st = db_stmt(db, sql);

	stmt_bind(st, params);
	return stmt_run(c, st);
}

enum err db_number(struct call *c, struct db *db, const char *sql, const struct stmt_param *params,
		   int64_t *out)
{
	AUTO_STMT *st = db_stmt(db, sql);

	stmt_bind(st, params);
	*out = stmt_row(st) ? stmt_int(st) : 0;
	return stmt_end(c, st);
}

static int64_t column_number(const struct column *column, const void *at)
{
	return column->type == COLUMN_BOOL  ? *(const bool *)at :
	       column->type == COLUMN_SMALL ? *(const int *)at :
					      *(const int64_t *)at;
}

/* Binds the members of `row`, from left to right. */
static void stmt_bind_row(struct stmt *st, const struct column *columns, const void *row)
{
	for (; columns->type; columns++) {
		const void *at = (const char *)row + columns->at;

		if (columns->type == COLUMN_STR || columns->type == COLUMN_JSON)
			stmt_bind_str(st, *(const struct str *)at);
		else if (columns->type == COLUMN_MAYBE && !*(const int64_t *)at)
			stmt_bind_str(st, STR_NONE);
		else
			stmt_bind_int(st, column_number(columns, at));
	}
}

void stmt_read_row(struct stmt *st, struct arena *mem, const struct column *columns, void *row)
{
	for (; columns->type; columns++) {
		void *at = (char *)row + columns->at;

		if (columns->type == COLUMN_STR)
			*(struct str *)at = stmt_str(st, mem);
		else if (columns->type == COLUMN_JSON)
			*(struct str *)at = stmt_json(st, mem, STR_NONE);
		else if (columns->type == COLUMN_BOOL)
			*(bool *)at = stmt_int(st);
		else if (columns->type == COLUMN_SMALL)
			*(int *)at = (int)stmt_int(st);
		else
			*(int64_t *)at = stmt_int(st); /* NULL is 0 */
	}
}

enum err db_put_row(struct call *c, struct db *db, const char *sql, const struct column *columns,
		    const void *row)
{
	AUTO_STMT *st = db_stmt(db, sql);

	stmt_bind_row(st, columns, row);
	return stmt_run(c, st);
}
