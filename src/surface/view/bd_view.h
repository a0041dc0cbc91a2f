#ifndef SURFACE_VIEW_BD_VIEW_H
#define SURFACE_VIEW_BD_VIEW_H

#include "surface/view/view.h"

/* How `bd` shows its replies to people, by noun. Each command of bd.c names its view. */

/* The colour for the status of a bead, on every page. */
enum paint bd_view_status_paint(struct str status);

/* What a dependency means to the bead that is shown first, or, `up`, to the one at its other end:
 * "blocked by" and "blocks". */
struct str bd_view_relation(struct str kind, bool up);

/* --- bd_view.c: one bead --- */

void bd_view_created(struct view *v, const struct value *data);
void bd_view_updated(struct view *v, const struct value *data);
void bd_view_deferred(struct view *v, const struct value *data);
void bd_view_reopened(struct view *v, const struct value *data);
void bd_view_restored(struct view *v, const struct value *data);
void bd_view_claimed(struct view *v, const struct value *data);
void bd_view_reclaimed(struct view *v, const struct value *data);
void bd_view_closed(struct view *v, const struct value *data);
void bd_view_deleted(struct view *v, const struct value *data);
void bd_view_show(struct view *v, const struct value *data);
void bd_view_why(struct view *v, const struct value *data);
void bd_view_comment(struct view *v, const struct value *data);
void bd_view_comments(struct view *v, const struct value *data);
void bd_view_labels(struct view *v, const struct value *data);

/* --- bd_list_view.c: lists of beads --- */

void bd_view_list(struct view *v, const struct value *data);
void bd_view_plan(struct view *v, const struct value *data);
void bd_view_ready(struct view *v, const struct value *data);
void bd_view_blocked(struct view *v, const struct value *data);
void bd_view_epics(struct view *v, const struct value *data);
void bd_view_tombstones(struct view *v, const struct value *data);

/* --- bd_graph.c: dependencies --- */

void bd_view_edge(struct view *v, const struct value *data);
void bd_view_edges(struct view *v, const struct value *data);
void bd_view_links(struct view *v, const struct value *data);
void bd_view_tree(struct view *v, const struct value *data);
void bd_view_graph(struct view *v, const struct value *data);
void bd_view_cycles(struct view *v, const struct value *data);

/* --- bd_sync_view.c: syncs, repairs, history --- */

void bd_sync_state(struct view *v, const struct value *data);
void bd_view_export(struct view *v, const struct value *data);
void bd_view_import(struct view *v, const struct value *data);
void bd_view_sync(struct view *v, const struct value *data);
void bd_view_repair(struct view *v, const struct value *data);
void bd_view_commits(struct view *v, const struct value *data);
void bd_view_trend(struct view *v, const struct value *data);
void bd_view_history(struct view *v, const struct value *data);
void bd_view_blame(struct view *v, const struct value *data);
void bd_view_diff(struct view *v, const struct value *data);
void bd_view_undo(struct view *v, const struct value *data);

/* --- bd_store_view.c: the store as a whole --- */

void bd_view_init(struct view *v, const struct value *data);
void bd_view_status(struct view *v, const struct value *data);
void bd_view_count(struct view *v, const struct value *data);
void bd_view_all_labels(struct view *v, const struct value *data);
void bd_view_validate(struct view *v, const struct value *data);
void bd_view_doctor(struct view *v, const struct value *data);
void bd_view_where(struct view *v, const struct value *data);
void bd_view_info(struct view *v, const struct value *data);
void bd_view_version(struct view *v, const struct value *data);
void bd_view_setting(struct view *v, const struct value *data);
void bd_view_settings(struct view *v, const struct value *data);

#endif
