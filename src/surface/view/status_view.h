#ifndef SURFACE_VIEW_STATUS_VIEW_H
#define SURFACE_VIEW_STATUS_VIEW_H

struct value;
struct view;

/* The project on one screen: `abacus status` and `abacus top`. */
void view_status(struct view *v, const struct value *data);

#endif
