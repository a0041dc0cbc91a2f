#ifndef SURFACE_VIEW_VIEW_H
#define SURFACE_VIEW_VIEW_H

#include "base/buf.h"
#include "base/text/value.h"
#include "op/op.h"

struct request;

/*
 * The output for people. A view turns the data of a reply, which is the JSON that `--json` prints,
 * into text.
 *
 * Most of that text was written by others, and may contain escape sequences for the terminal.
 * view_parse() gives a view only text that is safe to show, one line each, and view_text() makes
 * the whole output safe once more. Colours are marks beside the text, so no text can contain one.
 * On a terminal, view_text() also breaks lines that are too long: a terminal would begin the next
 * row at its first column, where the words of others look like a line of ours. In a reply, a line
 * that begins like an error or a warning is indented.
 */
struct view {
	struct buf out;
	struct view_mark *marks;
	size_t marked;
	bool colour;
	bool terminal; /* lines that are too long are broken, even in the middle of a drawing */
	size_t width;  /* of the terminal, in columns */
	bool message;  /* an error, a warning or another text of Abacus itself, not a reply */
	int64_t now_ms;
	int64_t total; /* number of results without the limit; 0: all are in the reply */
	const struct request *asked; /* the request of the reply; or NULL */
	struct view_target *targets; /* for a screen on which lines can be chosen */
	size_t target_count;
	struct view_long *long_reply; /* NULL: the reply and the text fit into memory */
};

/* The output from here to the end of its line is about a bead; an absent id: about none. */
struct view_target {
	size_t at;
	struct str id;
};
void view_target(struct view *v, struct str id);

/* Parses the reply and makes its text safe; NULL: not valid JSON. */
const struct value *view_parse(struct view *v, struct str reply);

/* The same for a value that was just parsed: its items are changed. */
const struct value *view_clean(struct view *v, const struct value *data);

/*
 * The items of a list that is the reply, for a loop. If the reply is long (long.h), an item and all
 * memory that the view took for it are valid until the next one is read.
 */
const struct value *view_next(struct view *v, const struct value *list, const struct value *one);
#define VIEW_EACH(one, v, list)                                         \
	for (const struct value *one = view_next(v, list, NULL); (one); \
	     (one) = view_next(v, list, one))

/* The place of the item that was just read, and the item at such a place, which is valid as long
 * as the memory of the view that was taken after it. */
size_t view_place(const struct view *v, const struct value *list, const struct value *one);
const struct value *view_again(struct view *v, const struct value *list, size_t place);

/*
 * A text of the reply as it was written, with its newlines and runs of blanks, for view_wrap(),
 * view_quote() and view_lines(). Everywhere else the text is one line, as value_str() has it.
 */
struct str view_whole(const struct value *text);

/* The output with its colours, safe to print. */
struct str view_text(struct view *v);

/* The value of a parameter that concerns only the display: a bool, or the number of a word. */
bool view_wants(const struct view *v, enum field_role role);
int view_choice(const struct view *v, enum field_role role);
int64_t view_limit(const struct view *v); /* 0: none */

enum paint { PAINT_NONE, PAINT_BOLD, PAINT_DIM, PAINT_RED, PAINT_GREEN, PAINT_YELLOW };

/* Shows every item of a list, or the one object that the data is. */
void view_each(struct view *v, const struct value *data,
	       void (*show)(struct view *v, const struct value *one));

void view_line(struct view *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Puts a text in which {key} stands for that member of `of`, a text or a number, and {key~} for the
 * age of a time. view_say() also ends the line.
 */
void view_put(struct view *v, const struct value *of, const char *text);
void view_say(struct view *v, const struct value *of, const char *text);
void view_paint(struct view *v, enum paint paint, struct str text);

/* The texts of a list, with commas between them. */
struct str view_join(struct view *v, const struct value *list);

/* The name of an agent: "amber-otter", or "amber-otter@laptop" if that is another machine. */
struct str view_at_machine(struct view *v, const struct value *one, const char *key);

/* The colour for an agent's liveness. */
enum paint view_liveness(struct str liveness);

/* "just now", "5m ago", "2h ago", "3d ago", "in 1h59m"; of RFC 3339 text */
struct str view_age(struct view *v, struct str moment);

/* The same without "ago", for columns: "5m", "now". */
struct str view_short_age(struct view *v, struct str moment);

/*
 * Text in lines of at most `width` columns, each behind `indent` spaces. A text of others that is
 * one line goes to view_hang(): here, its second row would look like a line of ours.
 */
void view_wrap(struct view *v, struct str text, size_t indent);

/* A text of one line. Its first row is behind `indent` spaces, the others are behind `hang`. */
void view_hang(struct view *v, struct str text, size_t indent, size_t hang);

/* The same, with "> " before each line: text that other people or agents wrote. */
void view_quote(struct view *v, struct str text);

/* Text of several lines, unchanged, for the user to copy. */
void view_lines(struct view *v, struct str text);

/*
 * Aligned columns that fit the terminal, even with wide characters. Cells are added row by row. In
 * a long reply, only the last row is in memory, and the others in a file.
 */
struct table {
	struct view *view;
	size_t columns, rows;
	const char *const *heads; /* the first one is empty: no line of heads */
	size_t kept;              /* rows in memory, the last ones */
	struct cell *cells;       /* kept × columns */
	size_t cap;
	struct str *below; /* a line under each row; absent: none */
	size_t *widest;    /* of the rows in the file, for each column; NULL: no row is there */
	size_t path;       /* the number of the column with paths, from 1; 0: none */
	size_t whole;      /* the number of the column that is never cut, from 1; 0: none */
	bool quotes;       /* the lines below are text of others: see view_quote() */
	size_t spare;      /* a column that is left out if the others need its room; 0: none */
	unsigned hidden;   /* columns that are left out, as bits */
};

struct table table_new(struct view *v, const char *const *heads); /* ends with NULL */
void table_row(struct table *t);
void table_cell(struct table *t, size_t column, enum paint paint, struct str text);
/* Text behind that of the last column, if there is room for it. */
void table_tail(struct table *t, enum paint paint, struct str text);
void table_below(struct table *t, struct str text);
void table_print(struct table *t);
void table_print_or(struct table *t, const char *none); /* that line if there are no rows */

/* Paths in this column are cut in the middle, and two different ones never look the same. */
void table_has_paths(struct table *t, size_t column);

/* Leaves a column out, but not the first or the last one. */
void table_hide(struct table *t, size_t column);

/* The cells of this column, such as ids, are copied by people, and so never cut. */
void table_keep_whole(struct table *t, size_t column);

#endif
