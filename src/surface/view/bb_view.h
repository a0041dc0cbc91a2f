#ifndef SURFACE_VIEW_BB_VIEW_H
#define SURFACE_VIEW_BB_VIEW_H

struct value;
struct view;

/* How `bb` shows its replies to people. Each command of bb.c names its view. */
void bb_view_init(struct view *v, const struct value *data);
void bb_view_install(struct view *v, const struct value *data);
void bb_view_destroy(struct view *v, const struct value *data);
void bb_view_agents(struct view *v, const struct value *data);
void bb_view_agent(struct view *v, const struct value *data);
void bb_view_status_set(struct view *v, const struct value *data);
void bb_view_status_clear(struct view *v, const struct value *data);
void bb_view_log(struct view *v, const struct value *data);
void bb_view_post(struct view *v, const struct value *data);
void bb_view_thread(struct view *v, const struct value *data);
void bb_view_artifacts(struct view *v, const struct value *data);
void bb_view_artifact_add(struct view *v, const struct value *data);
void bb_view_artifact(struct view *v, const struct value *data);
void bb_view_refs(struct view *v, const struct value *data);
void bb_view_clear(struct view *v, const struct value *data);
void bb_view_summary(struct view *v, const struct value *data);

void bb_view_register(struct view *v, const struct value *data);
void bb_view_registered(struct view *v, const struct value *data);
void bb_view_sent(struct view *v, const struct value *data);
void bb_view_inbox(struct view *v, const struct value *data);
void bb_view_read(struct view *v, const struct value *data);
void bb_view_acked(struct view *v, const struct value *data);
void bb_view_reserved(struct view *v, const struct value *data);
void bb_view_reservation(struct view *v, const struct value *data);
void bb_view_agent_status(struct view *v, const struct value *data);
void bb_view_waited(struct view *v, const struct value *data);
void bb_view_session(struct view *v, const struct value *data);
void bb_view_guard(struct view *v, const struct value *data);
void bb_view_hooks(struct view *v, const struct value *data);
void bb_view_events(struct view *v, const struct value *data);
void bb_view_registry(struct view *v, const struct value *data);

#endif
