#include "board/posts.h"

#include <inttypes.h>

#include "base/moment.h"
#include "base/text/json.h"
#include "board/unread.h"
#include "store/board/board_agents.h"
#include "store/board/board_db.h"

static enum err posts_require(struct call *c, struct board *b, int64_t id, const char *what,
			      struct message **out)
{
	enum err e = message_find(c, b, id, out);

	if (e || *out)
		return e;
	call_fail(c, ERR_NOT_FOUND, "there is no message #%" PRId64 "%s", id, what);
	return call_step(c, "Run 'bb log' to list the messages.");
}

enum err post_add(struct call *c, struct board *b, const struct post *draft, struct message **out)
{
	struct message *m = arena_new(&c->mem, struct message), *parent;
	enum err e;

	if (draft->in_reply_to &&
	    (e = posts_require(c, b, draft->in_reply_to, " to reply to", &parent)))
		return e;
	*m = (struct message){
		.from_agent = c->actor,
		.content = draft->content,
		.tags = draft->tags,
		.refs = draft->refs,
		.priority = draft->priority,
		.in_reply_to = draft->in_reply_to,
		.created_at = c->now_ms,
	};
	*out = m;
	if ((e = agent_touch(c, b, c->actor)) || (e = message_put(c, b, m)))
		return e;
	return reads_add(c, b, c->actor, (struct span){ m->id, m->id, NULL });
}

struct str tags_encode(struct call *c, const struct str *tags, size_t count)
{
	struct json j = json_new(&c->mem);

	json_strs(&j, tags, count);
	return json_text(&j);
}

/* Reads the first messages in the gaps, up to the limit. */
static enum err read_gaps(struct call *c, struct board *b, const struct message_filter *filter,
			  const struct gap *gap, struct message **out)
{
	struct message_filter f = *filter;

	*out = NULL;
	f.oldest_first = true;
	for (; gap->before && f.limit > 0; gap++) {
		enum err e;

		f.after = gap->after;
		f.before = gap->before;
		if ((e = message_each(c, b, &f, out)))
			return e;
		for (; *out; out = &(*out)->next)
			f.limit--;
	}
	return ERR_OK;
}

static bool posts_unfiltered(const struct message_filter *f)
{
	return !f->since && !f->from_agent.p && !f->tags.p && f->min_priority < 0 && !f->ref;
}

static void posts_catch_up(struct call *c, struct board *b, const struct message *shown)
{
	struct span all = { 1, 0, NULL };

	for (; shown; shown = shown->next)
		all.last = shown->id > all.last ? shown->id : all.last;
	if (all.last && !reads_note(b, c->actor, &all))
		c->warning = STR("the board is busy, so older messages could not be marked as "
				 "read; run the command again");
}

static enum err who_asks(struct call *c)
{
	call_fail(c, ERR_IDENTITY_REQUIRED, "%s requires your name",
		  c->wire ? "unread" : "--unread");
	return call_step(c, c->wire ? "Pass your name as \"agent\"." :
				      "Pass --as NAME or set ABACUS_AGENT.");
}

enum err post_read(struct call *c, struct board *b, const struct post_query *query,
		   struct message **out)
{
	struct span *seen = NULL;
	enum err e;

	if (!call_named(c)) {
		if (query->unread || query->catch_up)
			return who_asks(c);
		return message_each(c, b, &query->filter, out);
	}
	if ((e = reads_each(c, b, c->actor, &seen)))
		return e;
	if (query->unread)
		e = read_gaps(c, b, &query->filter, unread_gaps(c, seen), out);
	else
		e = message_each(c, b, &query->filter, out);
	if (e)
		return e;
	unread_show(c, b, seen, *out, !query->unread && posts_unfiltered(&query->filter));
	if (query->catch_up)
		posts_catch_up(c, b, *out);
	return ERR_OK;
}

enum err post_thread(struct call *c, struct board *b, int64_t id, struct message **out,
		     int64_t *left_out)
{
	struct message *root;
	struct span *seen;
	int64_t total = 0;
	enum err e;

	if ((e = posts_require(c, b, id, "", &root)) ||
	    (e = message_thread(c, b, id, THREAD_MOST, out, &total)))
		return e;
	*left_out = total > THREAD_MOST ? total - THREAD_MOST : 0;
	if (!call_named(c))
		return ERR_OK;
	if ((e = reads_each(c, b, c->actor, &seen)))
		return e;
	unread_show(c, b, seen, *out, false);
	return ERR_OK;
}

void message_encode(struct json *j, const struct message *m)
{
	json_object(j);
	json_put_int(j, "id", m->id);
	json_put_str(j, "from_agent", m->from_agent);
	json_put_str(j, "content", m->content);
	json_put_raw(j, "tags", m->tags);
	json_put_str(j, "priority", str_of(names_word(&priorities, m->priority)));
	json_key(j, STR("in_reply_to"));
	if (m->in_reply_to)
		json_int(j, m->in_reply_to);
	else
		json_null(j);
	json_put_raw(j, "refs", m->refs);
	json_put_str(j, "created_at", moment_format(j->out.mem, m->created_at));
	if (m->seen)
		json_put_bool(j, "unread", m->seen == SEEN_FIRST);
	json_end(j);
}

void message_encode_all(struct json *j, const struct message *list)
{
	json_array(j);
	for (; list; list = list->next)
		message_encode(j, list);
	json_end(j);
}
