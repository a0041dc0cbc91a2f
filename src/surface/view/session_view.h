#ifndef SURFACE_VIEW_SESSION_VIEW_H
#define SURFACE_VIEW_SESSION_VIEW_H

struct value;
struct view;

/* What everybody is doing; all that was said about a bead. */
void view_sessions(struct view *v, const struct value *data);
void view_conversation(struct view *v, const struct value *data);

#endif
