#ifndef SURFACE_VIEW_LONG_H
#define SURFACE_VIEW_LONG_H

#include "base/system/spool.h"
#include "base/text/items.h"
#include "surface/view/view.h"

/*
 * A list that is shown without all of it in memory. Its reply is read item by item from the spool
 * that the operation has written, the rows of its table and the text to print are kept in others.
 */
struct view_long {
	struct buf *reply;
	struct value list;         /* stands for the items of the reply */
	struct items items, again; /* read in order; read once more, in any order */
	struct arena mem;          /* of the parts of these texts that are in memory */
	struct arena before;       /* the memory of the view before the item was read */
	struct table *table;       /* whose rows are kept; or NULL */
	struct buf rows, text;     /* the text is safe to print */
	struct spool rows_file, text_file;
};

/* The view gets what this returns. After it, `damaged` of the items tells if the reply was JSON. */
const struct value *view_begin_long(struct view *v, struct view_long *l, struct buf *reply);
void view_end_long(struct view *v);

/* Moves the lines of the view so far to the text of a long reply. */
void view_flush(struct view *v);

/* Moves a row that is in memory to the rows of a long reply. */
void table_keep(struct table *t);

#endif
