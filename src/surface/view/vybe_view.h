#ifndef SURFACE_VIEW_VYBE_VIEW_H
#define SURFACE_VIEW_VYBE_VIEW_H

#include "surface/view/view.h"

/* How `vybe` shows its replies to people, on a terminal. Programs get JSON. */

/* --- vybe_task_view.c: tasks --- */

void vybe_view_task(struct view *v, const struct value *data);
void vybe_view_changed(struct view *v, const struct value *data);
void vybe_view_tasks(struct view *v, const struct value *data);
void vybe_view_message(struct view *v, const struct value *data);
void vybe_view_deleted(struct view *v, const struct value *data);
void vybe_view_loop(struct view *v, const struct value *data);
void vybe_view_loops(struct view *v, const struct value *data);

/* One task: its id and title, then its state. */
void vybe_show_task(struct view *v, const struct value *task);

/* --- vybe_view.c: continuity, hosts and upkeep --- */

void vybe_view_resume(struct view *v, const struct value *data);
void vybe_view_push(struct view *v, const struct value *data);
void vybe_view_memory(struct view *v, const struct value *data);
void vybe_view_memories(struct view *v, const struct value *data);
void vybe_view_memory_set(struct view *v, const struct value *data);
void vybe_view_memory_deleted(struct view *v, const struct value *data);
void vybe_view_memory_pinned(struct view *v, const struct value *data);
void vybe_view_collected(struct view *v, const struct value *data);
void vybe_view_events(struct view *v, const struct value *data);
void vybe_view_artifacts(struct view *v, const struct value *data);
void vybe_view_hooks(struct view *v, const struct value *data);
void vybe_view_status(struct view *v, const struct value *data);
void vybe_view_upgrade(struct view *v, const struct value *data);

#endif
