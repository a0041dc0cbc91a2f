/* The acts on the board, and the notes of agents. */
#include "base/buf.h"
#include "continuity/continuity.h"
#include "live/activity_parts.h"
#include "live/conversation.h"
#include "live/open.h"
#include "store/board/board_agents.h"
#include "store/board/board_artifacts.h"
#include "store/board/board_db.h"
#include "store/board/board_messages.h"

/* The bead that is asked for, if the text or the references name it. */
static struct str board_bead(const struct activity *a, struct str text, struct str refs)
{
	return a->bead.p && (conversation_names(text, a->bead) ||
			     conversation_names(refs, a->bead)) ?
		       a->bead :
		       STR_NONE;
}

static enum err activity_read_posts(struct activity *a, struct board *b)
{
	struct message_filter newest = { .min_priority = -1,
					 .limit = (int64_t)a->most,
					 .mentions = a->bead };
	struct message *m;
	size_t count = 0;
	enum err e = message_each(a->c, b, &newest, &m);

	for (; !e && m; m = m->next) {
		activity_add(a, &(struct act){
					.at = { m->created_at, m->id },
					.key = arena_fmt(&a->c->mem, "post %lld", (long long)m->id),
					.kind = ACT_POST,
					.what = ACT_POSTED,
					.by = m->from_agent,
					.bead = board_bead(a, m->content, m->refs),
					.text = m->content,
					.category = -1 });
		if (++count == a->most)
			activity_has_more(a, m->created_at);
	}
	return e;
}

static enum err activity_read_artifacts(struct activity *a, struct board *b)
{
	struct artifact_filter newest = { .limit = (int64_t)a->most, .mentions = a->bead };
	struct artifact *one;
	size_t count = 0;
	enum err e = artifact_each(a->c, b, &newest, &one);

	for (; !e && one; one = one->next) {
		activity_add(a, &(struct act){ .at = { one->created_at, one->id },
					       .key = arena_fmt(&a->c->mem, "artifact %lld %lld",
								(long long)one->id,
								(long long)one->created_at),
					       .kind = ACT_ARTIFACT,
					       .what = ACT_ADDED,
					       .by = one->produced_by,
					       .bead = board_bead(a, one->description, one->refs),
					       .text = one->path,
					       .category = -1 });
		if (++count == a->most)
			activity_has_more(a, one->created_at);
	}
	return e;
}

/* The board keeps only the last status of each agent. */
static enum err activity_read_statuses(struct activity *a, struct board *b)
{
	struct arena *mem = &a->c->mem;
	struct agent *one;
	enum err e = agent_each(a->c, b, &one);

	for (; !e && one; one = one->next) {
		struct str task = one->current_task;
		bool blocked = one->blockers.n;

		if (!task.n && !blocked && !one->progress)
			continue; /* it has posted, but never set a status */
		activity_add(
			a, &(struct act){
				   .at.ms = one->updated_at,
				   .key = arena_fmt(mem, "status " STR_FMT " %lld",
						    STR_ARG(one->id), (long long)one->updated_at),
				   .kind = ACT_STATUS,
				   .what = ACT_SET,
				   .by = one->id,
				   .bead = board_bead(a, task, one->blockers),
				   .text = arena_fmt(mem, "%s, %lld%%%s" STR_FMT "%s" STR_FMT,
						     names_word(&agent_statuses, one->status),
						     (long long)one->progress, task.n ? ": " : "",
						     STR_ARG(task), blocked ? "; blocked by: " : "",
						     STR_ARG(one->blockers)),
				   .category = -1 });
	}
	return e;
}

enum err activity_read_board(struct activity *a)
{
	struct board b;
	bool there;
	enum err e = live_open_board(a->c, &b, &there);

	if (e || !there)
		return e;
	if (!(e = activity_read_posts(a, &b)) && !(e = activity_read_artifacts(a, &b)))
		e = activity_read_statuses(a, &b);
	e = board_explain(a->c, &b, e);
	board_close(&b);
	return e;
}

/* The kind of the event, as words, and its message. */
static struct str activity_note_text(struct arena *mem, const struct event_row *row)
{
	struct buf text = { .mem = mem };

	for (size_t i = 0; i < row->kind.n; i++)
		buf_char(&text, row->kind.p[i] == '_' ? ' ' : row->kind.p[i]);
	if (row->message.n)
		buf_fmt(&text, ": " STR_FMT, STR_ARG(row->message));
	return buf_str(&text);
}

/* The events of tasks are changes of beads, and are read as such. */
static void activity_add_note(struct activity *a, const struct event_row *row)
{
	if (str_starts(row->kind, STR("task_")))
		return;
	activity_add(a,
		     &(struct act){ .at = { row->created, row->id },
				    .key = arena_fmt(&a->c->mem, "note %lld", (long long)row->id),
				    .kind = ACT_NOTE,
				    .what = ACT_NOTED,
				    .by = row->agent,
				    .bead = row->task,
				    .text = activity_note_text(&a->c->mem, row),
				    .category = -1 });
}

enum err activity_read_notes(struct activity *a)
{
	struct event_filter newest = { .task = a->bead,
				       .limit = (int64_t)a->most,
				       .archived = true };
	struct event_row *row = NULL;
	struct str project = a->c->project,
		   gitdir = a->c->gitdir; /* continuity_open() may change them */
	struct continuity k;
	size_t count = 0;
	enum err e = continuity_open(a->c, VYBE_READ, &k);

	a->c->project = project;
	a->c->gitdir = gitdir;
	if (e)
		return e;
	if (k.db.db)
		e = vybe_event_each(a->c, &k.db, &newest, &row);
	continuity_close(&k);
	for (; !e && row; row = row->next) {
		activity_add_note(a, row);
		if (++count == a->most)
			activity_has_more(a, row->created);
	}
	return e;
}
