/* Tables: columns as wide as their cells, or less if the terminal is too narrow. */
#include "surface/view/view.h"

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

void table_row(struct table *t)
{
	struct arena *mem = t->view->out.mem;

	if (t->rows == t->cap) {
		size_t cap = t->cap ? t->cap * 2 : 16, size = t->columns * sizeof(struct cell);
		struct cell *cells = arena_array(mem, cap, size);
		struct str *below = arena_array(mem, cap, sizeof *below);

		if (t->rows) {
			memcpy(cells, t->cells, t->rows * size);
			memcpy(below, t->below, t->rows * sizeof *below);
		}
		t->cells = cells;
		t->below = below;
		t->cap = cap;
	}
	t->rows++;
}

void table_cell(struct table *t, size_t column, enum paint paint, struct str text)
{
	struct cell *cell = &t->cells[(t->rows - 1) * t->columns + column];

	cell->text = text;
	cell->paint = paint;
}

void table_tail(struct table *t, enum paint paint, struct str text)
{
	struct cell *cell = &t->cells[t->rows * t->columns - 1];

	cell->tail = text;
	cell->tail_paint = paint;
}

void table_below(struct table *t, struct str text)
{
	t->below[t->rows - 1] = text;
}

enum { TAIL_GAP = 2, TAIL_LEAST = 6 };

static size_t view_widest(const struct table *t, size_t column)
{
	size_t width = strlen(t->heads[column]);

	for (size_t row = 0; row < t->rows; row++) {
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

	for (size_t row = 0; apart && row < t->rows; row++) {
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
		width[i] = view_widest(t, i);
		all += width[i] + (i ? 2 : 0);
	}
	return all;
}

enum { SPARE_BELOW = 100 }; /* columns of a screen that is wide enough for every column */

static void table_drop(struct table *t, size_t column)
{
	const char **heads = arena_array(t->view->out.mem, t->columns, sizeof *heads);
	size_t n = 0, cells = 0;

	for (size_t i = 0; i < t->columns; i++)
		if (i != column)
			heads[n++] = t->heads[i];
	for (size_t i = 0; i < t->rows * t->columns; i++)
		if (i % t->columns != column)
			t->cells[cells++] = t->cells[i];
	t->heads = heads;
	t->columns--;
}

void table_print(struct table *t)
{
	struct view *v = t->view;
	size_t *width = arena_array(v->out.mem, t->columns, sizeof *width);

	if (view_measure(t, width) > v->width && v->width < SPARE_BELOW && t->spare) {
		table_drop(t, t->spare);
		view_measure(t, width);
	}
	view_fit(t, width);
	if (t->path)
		table_widen_paths(t, width);
	for (size_t i = 0; *t->heads[0] && i < t->columns; i++)
		print_cell(t, i, width[i],
			   &(struct cell){ .text = str_of(t->heads[i]), .paint = PAINT_BOLD });
	for (size_t row = 0; row < t->rows; row++) {
		for (size_t i = 0; i < t->columns; i++)
			print_cell(t, i, width[i], &t->cells[row * t->columns + i]);
		if (t->below[row].p && t->quotes)
			view_quote(v, t->below[row]);
		else if (t->below[row].p)
			view_hang(v, t->below[row], 2, 6);
	}
}

void table_print_or(struct table *t, const char *none)
{
	if (t->rows)
		table_print(t);
	else
		view_line(t->view, "%s", none);
}
