#ifndef STORE_DB_ROW_H
#define STORE_DB_ROW_H

#include "store/db/db.h"

/*
 * Shorter forms of the functions in db.h: a statement with all its parameters in one call, and rows
 * as structs, where one table of columns serves both to write and to read them.
 */

struct stmt_param {
	enum { PARAM_END, PARAM_STR, PARAM_INT } type;
	struct str text; /* absent: NULL */
	int64_t number;
};

static inline struct stmt_param param_str(struct str s)
{
	return (struct stmt_param){ PARAM_STR, s, 0 };
}

static inline struct stmt_param param_int(int64_t n)
{
	return (struct stmt_param){ PARAM_INT, STR_NONE, n };
}

/* A parameter: a struct str or a whole number. */
/* clang-format off */
#define BIND(x)     _Generic(x, struct str: param_str, default: param_int)(x)
/* clang-format on */
#define PARAMS(...) ((const struct stmt_param[]){ __VA_ARGS__, { 0 } })

/* Binds the parameters up to PARAM_END. */
void stmt_bind(struct stmt *st, const struct stmt_param *params);

/* Runs a statement that returns no rows: db_run(c, db, "DELETE … WHERE id = ?", BIND(id)). */
#define db_run(c, db, sql, ...) db_run_params(c, db, sql, PARAMS(__VA_ARGS__))
enum err db_run_params(struct call *c, struct db *db, const char *sql,
		       const struct stmt_param *params);

/* The number that a query returns; 0: no row, or NULL. `params` may be NULL. */
enum err db_number(struct call *c, struct db *db, const char *sql, const struct stmt_param *params,
		   int64_t *out);

enum column_type {
	COLUMN_END,
	COLUMN_STR,
	COLUMN_JSON,  /* a struct str; absent if it is not valid JSON */
	COLUMN_INT,   /* int64_t */
	COLUMN_MAYBE, /* int64_t; 0: NULL */
	COLUMN_SMALL, /* int */
	COLUMN_BOOL,
};

/* A column, and the member of a struct with its value. */
struct column {
	enum column_type type;
	size_t at;
};

/* clang-format off */
#define COLUMN_TYPE(x) _Generic(x, struct str: COLUMN_STR, int64_t: COLUMN_INT, \
				int: COLUMN_SMALL, bool: COLUMN_BOOL)
/* clang-format on */

/* The column of a member, with the type that follows from the member's. */
#define COLUMN(of, member)                                              \
	{                                                               \
		COLUMN_TYPE(((of *)NULL)->member), offsetof(of, member) \
	}

/* Reads the members of `row` from the current row, from left to right. */
void stmt_read_row(struct stmt *st, struct arena *mem, const struct column *columns, void *row);

/* Runs a statement whose parameters are the members of `row`. */
enum err db_put_row(struct call *c, struct db *db, const char *sql, const struct column *columns,
		    const void *row);

#endif
