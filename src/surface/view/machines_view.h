#ifndef SURFACE_VIEW_MACHINES_VIEW_H
#define SURFACE_VIEW_MACHINES_VIEW_H

struct value;
struct view;

void view_share(struct view *v, const struct value *data);
void view_machines(struct view *v, const struct value *data);
void view_machine(struct view *v, const struct value *data);
void view_machine_forgotten(struct view *v, const struct value *data);
void view_machine_trusted(struct view *v, const struct value *data);

#endif
