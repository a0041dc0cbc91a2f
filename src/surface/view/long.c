#include "surface/view/long.h"

const struct value *view_begin_long(struct view *v, struct view_long *l, struct buf *reply)
{
	*l = (struct view_long){ .reply = reply, .list.type = VALUE_ARRAY };
	l->rows = (struct buf){ .mem = &l->mem, .spool = &l->rows_file };
	l->text = (struct buf){ .mem = &l->mem, .spool = &l->text_file };
	v->long_reply = l;
	return &l->list;
}

void view_end_long(struct view *v)
{
	struct view_long *l = v->long_reply;

	v->long_reply = NULL;
	spool_release(&l->rows_file);
	spool_release(&l->text_file);
	arena_release(&l->mem);
}

void view_flush(struct view *v)
{
	if (!v->out.n)
		return;
	buf_put(&v->long_reply->text, view_text(v));
	v->out = (struct buf){ .mem = v->out.mem };
	v->marks = NULL;
	v->marked = 0;
}

/* Finishes what the view has made of an item. */
static void long_settle(struct view *v, struct view_long *l)
{
	if (l->table)
		table_keep(l->table);
	view_flush(v);
	arena_rewind(v->out.mem, l->before);
}

const struct value *view_next(struct view *v, const struct value *list, const struct value *one)
{
	struct view_long *l = v->long_reply;
	const struct value *next;

	if (!l || list != &l->list)
		return value_next(list, one);
	if (one) {
		long_settle(v, l);
	} else {
		view_flush(v);
		l->items = items_new(&l->mem, l->reply);
		l->before = arena_mark(v->out.mem);
	}
	next = items_next(&l->items, v->out.mem);
	return next ? view_clean(v, next) : NULL;
}

size_t view_place(const struct view *v, const struct value *list, const struct value *one)
{
	const struct view_long *l = v->long_reply;

	return l && list == &l->list ? l->items.place : (size_t)(one - list->item);
}

const struct value *view_again(struct view *v, const struct value *list, size_t place)
{
	struct view_long *l = v->long_reply;

	if (!l || list != &l->list)
		return &list->item[place];
	if (!l->again.text.text)
		l->again = items_around(&l->mem, l->reply);
	return view_clean(v, items_again(&l->again, place, v->out.mem));
}
