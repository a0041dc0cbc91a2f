#ifndef SURFACE_VIEW_VIEW_H
#define SURFACE_VIEW_VIEW_H

#include "base/buf.h"
#include "base/text/value.h"
#include "op/op.h"

struct request;

/*
 * What a person reads. A view turns the data of a reply, which is JSON whatever the surface, into
 * text.
 *
 * Most of that text was written by others, and may try to give orders to the terminal. It cannot:
 * view_parse() hands the view only text that is safe to show, in one line each, and view_text()
 * makes all of the output safe once more. Colours are not in the text: they are marks beside it,
 * so no text can contain one.
 */
struct view {
	struct buf out;
	struct view_mark *marks;
	size_t marked, room;
	bool colour;
	size_t width; /* of the terminal, in columns */
	int64_t now_ms;
	const struct request *asked; /* what the reply answers; or NULL */
};

/* The reply as a view may read it; NULL: it is not valid JSON. */
const struct value *view_parse(struct view *v, struct str reply);

/* All that was put into it, with its colours, safe to be printed. */
struct str view_text(struct view *v);

/* How a parameter that is only about looks was set: a bool, or the number of a word. */
bool view_wants(const struct view *v, enum field_role role);
int view_choice(const struct view *v, enum field_role role);
int64_t view_limit(const struct view *v); /* 0: none */

enum paint { PAINT_NONE, PAINT_BOLD, PAINT_DIM, PAINT_RED, PAINT_GREEN, PAINT_YELLOW };

/* A member of the data: 0, or false, where it is something else. */
int64_t view_number(const struct value *v, const char *key);
bool view_yes(const struct value *v, const char *key);

void view_line(struct view *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void view_paint(struct view *v, enum paint paint, struct str text);

/* The colour of whether somebody is there. */
enum paint view_liveness(struct str liveness);

/* "just now", "5m ago", "2h ago", "3d ago", "in 2h"; of RFC 3339 text */
struct str view_age(struct view *v, struct str moment);

/* Text in lines of at most `width` columns, each behind `indent` spaces. */
void view_wrap(struct view *v, struct str text, size_t indent);

/* The same, each line behind "> ": words of others, for people and agents. */
void view_quote(struct view *v, struct str text);

/* Text of several lines as it is, to be copied. */
void view_lines(struct view *v, struct str text);

/*
 * Columns that line up whatever the letters, and together fit the terminal. Cells are added row
 * by row.
 */
struct table {
	struct view *view;
	size_t columns, rows;
	const char *const *heads;
	struct cell *cells; /* rows × columns */
	size_t cap;
	struct str *below; /* a line under each row; absent: none */
};

struct table table_new(struct view *v, const char *const *heads); /* ends with NULL */
void table_row(struct table *t);
void table_cell(struct table *t, size_t column, enum paint paint, struct str text);
void table_below(struct table *t, struct str text);
void table_print(struct table *t);

#endif
