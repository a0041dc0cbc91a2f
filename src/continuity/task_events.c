#include "continuity/task_events.h"

enum err task_note(struct call *c, struct continuity *k, const char *kind, const struct task *t,
		   struct str message, int64_t *event)
{
	struct event_note note = {
		.kind = kind, .task = t->id, .project = t->project, .message = message
	};
	enum err e = continuity_note(c, k, &note, event);

	return e ? e : continuity_know(c, k, t);
}

enum err task_complete(struct call *c, struct continuity *k, const struct task_move *move,
		       struct task_moved *out)
{
	bool ends = move->to == TASK_COMPLETED || move->to == TASK_BLOCKED;
	struct task *t = &out->task;
	struct str word;
	enum err e = task_move(c, move, t);

	out->close_event = 0;
	if (e)
		return e;
	word = str_of(names_word(&task_statuses, (int)t->status));
	if ((e = task_note(c, k, "task_status", t, word, &out->status_event)) || !ends)
		return e;
	return task_note(c, k, "task_closed", t, move->summary.n ? move->summary : word,
			 &out->close_event);
}
