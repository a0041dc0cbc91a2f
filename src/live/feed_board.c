/* Reads the board and the events of continuity for the feed. */
#include "continuity/continuity.h"
#include "live/feed_round.h"
#include "store/board/board_agents.h"
#include "store/board/board_artifacts.h"
#include "store/board/board_db.h"
#include "store/board/board_messages.h"

static void feed_collect_posts(struct feed_round *t, struct board *b)
{
	struct message_filter filter = { .min_priority = -1,
					 .oldest_first = true,
					 .limit = FEED_RECORDS_MOST };
	struct message *m, *last = NULL;
	struct message_filter newest = { .min_priority = -1, .limit = 1 };

	feed_round_choose(t, STR("board/messages"));
	if (message_each(t->c, b, &newest, &last))
		return;
	if (!last || last->id < t->at->at[0]) {
		bool lost = t->at->at[0];

		t->at->at[0] = last ? last->id : 0;
		if (lost)
			feed_round_reset(t);
		return;
	}
	if (!t->tell) {
		t->at->at[0] = last->id;
		return;
	}
	filter.after = t->at->at[0];
	if (last->id == t->at->at[0] || message_each(t->c, b, &filter, &m))
		return;
	for (; m; m = m->next) {
		struct json j = feed_round_begin(t->c);

		t->at->at[0] = m->id;
		json_put_int(&j, "id", m->id);
		json_put_str(&j, "by", m->from_agent);
		json_put_word(&j, "priority", &priorities, m->priority);
		feed_round_end(t, "post", &j);
	}
}

/* The place after an artifact: the latest time, the number of artifacts with it, the highest id. */
static void feed_pass_artifact(struct source *at, const struct artifact *a)
{
	if (a->created_at > at->at[0])
		*at = (struct source){ { a->created_at, 0, at->at[2] } };
	if (a->created_at == at->at[0])
		at->at[1]++;
	if (a->id > at->at[2])
		at->at[2] = a->id;
}

/* An artifact that is registered again is an event too, and so is a new one with an older time,
 * after the clock was set back. */
static void feed_collect_artifacts(struct feed_round *t, struct board *b)
{
	struct artifact_filter filter = { 0 };
	struct artifact *list, **order;
	int64_t known, count = 0;

	feed_round_choose(t, STR("board/artifacts"));
	filter.since = t->at->at[0];
	filter.or_after = t->at->at[2];
	if (artifact_each(t->c, b, &filter, &list))
		return;
	for (struct artifact *a = list; a; a = a->next)
		count++;
	order = arena_array(&t->c->mem, (size_t)count + 1, sizeof *order);
	for (int64_t i = count; list; list = list->next)
		order[--i] = list;
	known = t->at->at[1];
	for (int64_t i = 0; i < count; i++) {
		struct artifact *a = order[i];
		struct json j = feed_round_begin(t->c);

		if (a->created_at == filter.since && known-- > 0)
			continue;
		feed_pass_artifact(t->at, a);
		json_put_str(&j, "path", a->path.n > 1024 ? STR_NONE : a->path);
		json_put_str(&j, "by", a->produced_by);
		feed_round_end(t, "artifact", &j);
	}
}

static void feed_collect_statuses(struct feed_round *t, struct board *b, bool first)
{
	struct agent *a;

	if (agent_each(t->c, b, &a))
		return;
	for (; a; a = a->next) {
		struct str now = arena_fmt(&t->c->mem, "%d %3lld %lld", a->status,
					   (long long)a->progress, (long long)a->updated_at);
		struct json j = feed_round_begin(t->c);

		if (!feed_round_has_changed(&t->s->status, &t->s->mem, a->id, now) || first ||
		    !t->tell)
			continue;
		json_put_str(&j, "agent_id", a->id);
		json_put_word(&j, "status", &agent_statuses, a->status);
		json_end(&j);
		t->tell(t->arg, "status", json_text(&j));
	}
}

void feed_collect_board(struct feed_round *t, bool look, bool first)
{
	struct board b;
	struct str where;

	if (board_open(t->c, BOARD_READ, &b)) {
		call_forgive(t->c);
		if (!place_find(t->c, STR(".bb"), &where) && !where.p)
			feed_round_gone(t, (const char *const[]){ "board/", NULL });
		return;
	}
	feed_collect_posts(t, &b);
	feed_collect_artifacts(t, &b);
	if (look)
		feed_collect_statuses(t, &b, first);
	board_close(&b);
}

static enum err feed_read_events(struct feed_round *t, struct continuity *k, int64_t *last,
				 struct event_row **out)
{
	struct event_filter filter = { .ascending = true,
				       .archived = true,
				       .since = t->at->at[0],
				       .limit = FEED_RECORDS_MOST };
	enum err e = vybe_event_last(t->c, &k->db, last);

	*out = NULL;
	if (e || !t->tell || *last <= filter.since)
		return e;
	return vybe_event_each(t->c, &k->db, &filter, out);
}

void feed_collect_events(struct feed_round *t)
{
	struct event_row *row;
	struct str project = t->c->project,
		   gitdir = t->c->gitdir; /* continuity_open() may change them */
	struct continuity k;
	int64_t last;
	enum err e = continuity_open(t->c, VYBE_READ, &k);

	t->c->project = project;
	t->c->gitdir = gitdir;
	if (e)
		return;
	feed_round_choose(t, STR("vybe/events"));
	e = feed_read_events(t, &k, &last, &row);
	continuity_close(&k);
	if (e)
		return;
	if (!t->tell) {
		t->at->at[0] = last;
	} else if (last < t->at->at[0]) { /* the database was made anew */
		t->at->at[0] = last;
		feed_round_reset(t);
	}
	for (; row; row = row->next) {
		struct json j = feed_round_begin(t->c);

		t->at->at[0] = row->id;
		json_put_int(&j, "id", row->id);
		json_put_str(&j, "kind", row->kind.n > 128 ? STR("other") : row->kind);
		json_put_str(&j, "by", row->agent);
		json_put_str(&j, "bead_id", row->task);
		feed_round_end(t, "note", &j);
	}
}
