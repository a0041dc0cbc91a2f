#ifndef SURFACE_VIEW_SESSION_VIEW_H
#define SURFACE_VIEW_SESSION_VIEW_H

struct value;
struct view;

/* The overview of all agents, and the conversation about a bead. */
void view_sessions(struct view *v, const struct value *data);
void view_conversation(struct view *v, const struct value *data);

#endif
