#ifndef SURFACE_VIEW_WORK_VIEW_H
#define SURFACE_VIEW_WORK_VIEW_H

struct value;
struct view;

/* Text for people: what beads touch, and where they collide. */
void work_view_touches(struct view *v, const struct value *data);
void work_view_conflicts(struct view *v, const struct value *data);
void work_view_current(struct view *v, const struct value *data);
void work_view_slots(struct view *v, const struct value *data);
void work_view_rules(struct view *v, const struct value *data);

#endif
