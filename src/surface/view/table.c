/* Tables: columns as wide as their cells, or less if the terminal is too narrow. */
#include "surface/view/long.h"

#include <assert.h>

#include "base/map.h"
#include "base/text/utf8.h"

struct cell {
	struct str text, tail;
	enum paint paint, tail_paint;
};

struct table table_new(struct view *v, const char *const *heads)
{
	struct table t = { .view = v, .heads = heads };

	while (heads[t.columns])
		t.columns++;
	return t;
}

static void table_grow(struct table *t, struct arena *mem)
{
	size_t cap = t->cap ? t->cap * 2 : 16, size = t->columns * sizeof(struct cell);
	struct cell *cells = arena_array(mem, cap, size);
	struct str *below = arena_array(mem, cap, sizeof *below);

	if (t->kept) {
		memcpy(cells, t->cells, t->kept * size);
		memcpy(below, t->below, t->kept * sizeof *below);
	}
	t->cells = cells;
	t->below = below;
	t->cap = cap;
}

void table_row(struct table *t)
{
	struct view_long *l = t->view->long_reply;

	if (l) {
		table_keep(t);
		assert(!l->table || l->table == t); /* only the rows of one table are in the file */
		l->table = t;
	}
	if (t->kept == t->cap)
		table_grow(t, l ? &l->mem : t->view->out.mem);
	t->kept++;
	t->rows++;
}

void table_cell(struct table *t, size_t column, enum paint paint, struct str text)
{
	struct cell *cell = &t->cells[(t->kept - 1) * t->columns + column];

	cell->text = text;
	cell->paint = paint;
}

void table_tail(struct table *t, enum paint paint, struct str text)
{
	struct cell *cell = &t->cells[t->kept * t->columns - 1];

	cell->tail = text;
	cell->tail_paint = paint;
}

void table_below(struct table *t, struct str text)
{
	t->below[t->kept - 1] = text;
}

void table_hide(struct table *t, size_t column)
{
	t->hidden |= 1u << column;
}

static bool table_hides(const struct table *t, size_t column)
{
	return t->hidden & 1u << column;
}

enum { TAIL_GAP = 2, TAIL_LEAST = 6 };

static size_t view_widest(const struct table *t, size_t column)
{
	size_t width = strlen(t->heads[column]);

	if (t->widest && t->widest[column] > width)
		width = t->widest[column];
	for (size_t row = 0; row < t->kept; row++) {
		const struct cell *cell = &t->cells[row * t->columns + column];
		size_t gap = cell->tail.n ? TAIL_GAP : 0, w;

		if (cell->text.n + gap + cell->tail.n <= width)
			continue; /* no character has more columns than bytes */
		w = utf8_width(cell->text) + gap + utf8_width(cell->tail);
		width = w > width ? w : width;
	}
	return width;
}

/* Narrows the widest column, one by one, until the table fits. */
static void view_fit(const struct table *t, size_t *width)
{
	enum { LEAST = 8, GAP = 2 };

	for (;;) {
		size_t all = 0, most = t->columns;

		for (size_t i = 0; i < t->columns; i++) {
			if (table_hides(t, i))
				continue;
			all += width[i] + (i ? GAP : 0);
			if (i + 1 != t->whole && (most == t->columns || width[i] > width[most]))
				most = i;
		}
		if (all <= t->view->width || most == t->columns || width[most] <= LEAST)
			return;
		width[most]--;
	}
}

void table_has_paths(struct table *t, size_t column)
{
	t->path = column + 1;
}

void table_keep_whole(struct table *t, size_t column)
{
	t->whole = column + 1;
}

static struct str table_text(const struct table *t, size_t column, struct str text, size_t width)
{
	struct arena *mem = t->view->out.mem;

	return t->path == column + 1 ? utf8_shorten_middle(mem, text, width) :
				       utf8_shorten(mem, text, width);
}

/* Does every path of the column look different at this width? */
static bool table_tells_apart(const struct table *t, size_t column, size_t width)
{
	struct arena scratch = { 0 };
	struct map seen = { .mem = &scratch };
	bool apart = true;

	for (size_t row = 0; apart && row < t->kept; row++) {
		struct str text = t->cells[row * t->columns + column].text,
			   shown = utf8_shorten_middle(&scratch, text, width);
		void **at = map_put(&seen, shown);

		apart = !*at || str_eq(*(struct str *)*at, text);
		*at = &t->cells[row * t->columns + column].text;
	}
	arena_release(&scratch);
	return apart;
}

/* Widens the column of paths until they look different, first at the cost of the widest column. */
static void table_widen_paths(const struct table *t, size_t *width)
{
	enum { LEAST = 8 };
	size_t path = t->path - 1, widest = view_widest(t, path);

	while (width[path] < widest && !table_tells_apart(t, path, width[path])) {
		size_t other = path;

		for (size_t i = 0; i < t->columns; i++)
			if (i != path && i + 1 != t->whole &&
			    (other == path || width[i] > width[other]))
				other = i;
		if (other != path && width[other] > LEAST)
			width[other]--;
		width[path]++;
	}
}

static void print_cell(struct table *t, size_t column, size_t width, const struct cell *cell)
{
	struct view *v = t->view;
	struct str fit = table_text(t, column, cell->text, width);
	size_t room = width - utf8_width(fit);

	view_paint(v, cell->paint, fit);
	if (cell->tail.n && room >= TAIL_GAP + TAIL_LEAST) {
		buf_pad(&v->out, ' ', TAIL_GAP);
		view_paint(v, cell->tail_paint,
			   utf8_shorten(v->out.mem, cell->tail, room - TAIL_GAP));
	}
	if (column + 1 < t->columns)
		buf_pad(&v->out, ' ', room + 2);
	else
		buf_char(&v->out, '\n');
}

/* The columns' natural widths; the sum includes the gaps between them. */
static size_t view_measure(const struct table *t, size_t *width)
{
	size_t all = 0;

	for (size_t i = 0; i < t->columns; i++) {
		if (table_hides(t, i))
			continue;
		width[i] = view_widest(t, i);
		all += width[i] + (i ? 2 : 0);
	}
	return all;
}

enum { SPARE_BELOW = 100 }; /* columns of a screen that is wide enough for every column */

static void print_row(struct table *t, const size_t *width, const struct cell *cells,
		      struct str below)
{
	for (size_t i = 0; i < t->columns; i++)
		if (!table_hides(t, i))
			print_cell(t, i, width[i], &cells[i]);
	if (below.p && t->quotes)
		view_quote(t->view, below);
	else if (below.p)
		view_hang(t->view, below, 2, 6);
}

/* --- rows in a file --- */

/* The lengths of a cell's texts; the texts of all cells of a row follow those of its last cell. */
struct kept_cell {
	size_t text, tail;
	enum paint paint, tail_paint;
};

static void put_bytes(struct buf *b, const void *p, size_t n)
{
	buf_put(b, (struct str){ p, n });
}

void table_keep(struct table *t)
{
	struct view_long *l = t->view->long_reply;
	const struct cell *end;
	struct str below;

	if (!t->kept)
		return;
	end = t->cells + t->columns;
	below = *t->below;
	if (!t->widest)
		t->widest = arena_array(&l->mem, t->columns, sizeof *t->widest);
	for (size_t i = 0; i < t->columns; i++)
		t->widest[i] = view_widest(t, i);
	for (const struct cell *one = t->cells; one < end; one++)
		put_bytes(&l->rows,
			  &(struct kept_cell){ one->text.n, one->tail.n, one->paint,
					       one->tail_paint },
			  sizeof(struct kept_cell));
	put_bytes(&l->rows, &below, sizeof below);
	for (const struct cell *one = t->cells; one < end; one++) {
		buf_put(&l->rows, one->text);
		buf_put(&l->rows, one->tail);
	}
	buf_put(&l->rows, below);
	t->kept = 0;
	memset(t->cells, 0, t->columns * sizeof *t->cells);
	*t->below = STR_NONE;
}

/* The next row in the file; its texts are valid until the next one is read. */
static struct str table_read_row(struct table *t, struct reader *rows)
{
	struct kept_cell lengths;
	struct str texts, below;
	size_t n = 0;

	for (size_t i = 0; i < t->columns; i++) {
		memcpy(&lengths, reader_take(rows, sizeof lengths).p, sizeof lengths);
		t->cells[i] = (struct cell){ .text.n = lengths.text,
					     .tail.n = lengths.tail,
					     .paint = lengths.paint,
					     .tail_paint = lengths.tail_paint };
		n += lengths.text + lengths.tail;
	}
	memcpy(&below, reader_take(rows, sizeof below).p, sizeof below);
	texts = reader_take(rows, n + below.n);
	for (size_t i = 0; i < t->columns; i++) {
		t->cells[i].text.p = texts.p;
		texts = str_skip(texts, t->cells[i].text.n);
		t->cells[i].tail.p = texts.p;
		texts = str_skip(texts, t->cells[i].tail.n);
	}
	return below.p ? texts : STR_NONE;
}

static void print_long_rows(struct table *t, const size_t *width)
{
	struct view *v = t->view;
	struct view_long *l = v->long_reply;
	struct reader rows = reader_new(&l->mem, &l->rows);
	struct arena before;

	view_flush(v);
	before = arena_mark(v->out.mem);
	for (size_t i = 0; i < t->rows; i++) {
		struct str below = table_read_row(t, &rows);

		print_row(t, width, t->cells, below);
		view_flush(v);
		arena_rewind(v->out.mem, before);
	}
	spool_release(&l->rows_file);
	l->rows.n = 0;
	l->table = NULL;
}

void table_print(struct table *t)
{
	struct view *v = t->view;
	size_t *width = arena_array(v->out.mem, t->columns, sizeof *width);

	if (v->long_reply)
		table_keep(t);
	if (view_measure(t, width) > v->width && v->width < SPARE_BELOW && t->spare) {
		table_hide(t, t->spare);
		view_measure(t, width);
	}
	view_fit(t, width);
	if (t->path)
		table_widen_paths(t, width);
	for (size_t i = 0; *t->heads[0] && i < t->columns; i++)
		if (!table_hides(t, i))
			print_cell(
				t, i, width[i],
				&(struct cell){ .text = str_of(t->heads[i]), .paint = PAINT_BOLD });
	if (v->long_reply)
		print_long_rows(t, width);
	for (size_t row = 0; row < t->kept; row++)
		print_row(t, width, &t->cells[row * t->columns], t->below[row]);
}

void table_print_or(struct table *t, const char *none)
{
	if (t->rows)
		table_print(t);
	else
		view_line(t->view, "%s", none);
}
