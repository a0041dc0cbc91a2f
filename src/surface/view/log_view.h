#ifndef SURFACE_VIEW_LOG_VIEW_H
#define SURFACE_VIEW_LOG_VIEW_H

#include "base/str.h"
#include <stdbool.h>

struct value;
struct view;

/* The columns of the log. They only grow, so that later lines stay below the earlier ones. */
struct log_columns {
	size_t by, what, bead;
	bool clock; /* the time of day in UTC, not the age: the line stays on the screen */
};

/* What was done, in a word or two: "closed", "needs input". */
struct str view_act_word(const struct value *act);

void log_columns_fit(struct log_columns *w, const struct value *act);
void view_act(struct view *v, const struct log_columns *w, const struct value *act);

void view_activity(struct view *v, const struct value *data);

#endif
