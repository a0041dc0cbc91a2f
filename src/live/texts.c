#include "live/texts.h"

#include "agents/mailbox.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/system/path.h"
#include "continuity/continuity.h"
#include "store/board/board_db.h"
#include "store/board/board_messages.h"

enum { BATCH = 500 }; /* rows that are read at once */

int64_t texts_number(struct str key)
{
	int64_t n = 0;

	number_int(key, &n);
	return n;
}

static struct str texts_key(struct call *c, int64_t n)
{
	return arena_fmt(&c->mem, "%lld", (long long)n);
}

/* --- mail: the record of each agent; a place is an offset --- */

static enum err texts_mail_end(struct call *c, const struct text_source *s, int64_t *place)
{
	return agent_file_size(c, s->arg, mailbox_file(c, s->name), place);
}

/* The mark is a hash of the last MARK_BYTES bytes before the place. */
static enum err texts_mail_mark(struct call *c, const struct text_source *s, int64_t place,
				struct str *out)
{
	enum { MARK_BYTES = 1024 };
	int64_t from = place > MARK_BYTES ? place - MARK_BYTES : 0;
	size_t n = (size_t)(place - from);
	struct str text;
	enum err e = agent_file_read_part(c, s->arg, mailbox_file(c, s->name), &from, &text);

	*out = !e && text.n >= n ? sha256_pieces(&c->mem, &(struct str){ text.p, n }, 1) : STR_NONE;
	return e;
}

struct texts_mail {
	struct call *c; /* keeps a failure; the call of a visit ends with it */
	struct text_db *t;
	struct str box;
	enum err e;
};

static void texts_put_mail(struct call *c, const struct mail *m, void *arg)
{
	struct texts_mail *into = arg;
	struct text_tally change = { 0, 0, m->created_ms, m->from, m->category };

	mail_count_step(m, &change.unread, &change.unacked);
	if (!into->e)
		into->e = text_db_count(into->c, into->t, into->box, m->bead, &change);
	if (into->e || m->state != MAIL_UNREAD)
		return;
	into->e = text_db_put(
		into->c, into->t,
		&(struct text_new){ .source = into->box,
				    .key = m->id,
				    .bead = m->bead,
				    .at_ms = m->created_ms,
				    .text = arena_fmt(&c->mem, STR_FMT "\n" STR_FMT,
						      STR_ARG(m->subject), STR_ARG(m->body)) });
}

static enum err texts_read_mail(struct call *c, const struct text_source *s, int64_t *place,
				struct text_db *t)
{
	struct texts_mail into = { .c = c, .t = t, .box = s->name };
	enum err e = mailbox_each(c, s->arg, s->name, place, STR_NONE, texts_put_mail, &into);

	return e ? e : into.e;
}

enum err texts_open_mail(struct call *c, struct agent_files *f, struct text_db *out)
{
	struct text_source *sources;
	struct str *agents;
	size_t count;
	enum err e = mailbox_list(c, f, &agents, &count);

	if (e)
		return e;
	sources = arena_array(&c->mem, count, sizeof *sources);
	for (size_t i = 0; i < count; i++)
		sources[i] = (struct text_source){ agents[i], f, texts_mail_end, texts_mail_mark,
						   texts_read_mail };
	return text_db_open(c, f->home, sources, count, out);
}

/* `source` comes from the index, an untrusted cache: it must not lead out of the folder. */
enum err texts_find_mail(struct call *c, struct agent_files *f, struct map *boxes,
			 struct str source, struct str key, struct mail **out)
{
	void **at = map_put(boxes, source);
	enum err e = ERR_OK;

	*out = NULL;
	if (memchr(source.p, '/', source.n))
		return ERR_OK;
	if (!*at) {
		*at = arena_new(&c->mem, struct mailbox);
		e = mailbox_open(c, f, source, *at);
	}
	return e ? e : mailbox_find(c, f, *at, key, out);
}

/* --- posts; a place is the number of a post, and its mark the time of that post --- */

static enum err texts_posts_end(struct call *c, const struct text_source *s, int64_t *place)
{
	struct message_filter newest = { .min_priority = -1, .limit = 1 };
	struct message *m;
	enum err e = message_each(c, s->arg, &newest, &m);

	*place = !e && m ? m->id : 0;
	return e;
}

static enum err texts_posts_mark(struct call *c, const struct text_source *s, int64_t place,
				 struct str *out)
{
	struct message *m;
	enum err e = message_find(c, s->arg, place, &m);

	*out = !e && m ? texts_key(c, m->created_at) : STR_NONE;
	return e;
}

static enum err texts_put_posts(struct call *c, const struct text_source *s, int64_t *place,
				struct text_db *t, bool *more)
{
	struct message_filter next = {
		.min_priority = -1, .after = *place, .limit = BATCH, .oldest_first = true
	};
	struct message *m;
	enum err e = message_each(c, s->arg, &next, &m);

	*more = !e && m;
	for (; !e && m; m = m->next) {
		struct text_new text = {
			.source = s->name,
			.key = texts_key(c, m->id),
			.at_ms = m->created_at,
			.text = arena_fmt(&c->mem, STR_FMT "\n" STR_FMT "\n" STR_FMT,
					  STR_ARG(m->content), STR_ARG(m->tags), STR_ARG(m->refs))
		};

		*place = m->id;
		e = text_db_put(c, t, &text);
	}
	return e;
}

/* --- notes; places and marks as those of posts --- */

static enum err texts_notes_end(struct call *c, const struct text_source *s, int64_t *place)
{
	return vybe_event_last(c, s->arg, place);
}

static enum err texts_notes_mark(struct call *c, const struct text_source *s, int64_t place,
				 struct str *out)
{
	struct event_row *row;
	enum err e = vybe_event_find(c, s->arg, place, &row);

	*out = !e && row ? texts_key(c, row->created) : STR_NONE;
	return e;
}

/* Not events of tasks or memory, which repeat what beads and memory say. */
static bool texts_is_note(const struct event_row *row)
{
	return !str_starts(row->kind, STR("task_")) && !str_starts(row->kind, STR("memory_"));
}

static enum err texts_put_notes(struct call *c, const struct text_source *s, int64_t *place,
				struct text_db *t, bool *more)
{
	struct event_filter next = {
		.since = *place, .limit = BATCH, .ascending = true, .archived = true
	};
	struct event_row *row;
	enum err e = vybe_event_each(c, s->arg, &next, &row);

	*more = !e && row;
	for (; !e && row; row = row->next) {
		struct text_new text = { .source = s->name,
					 .key = texts_key(c, row->id),
					 .at_ms = row->created,
					 .text = arena_fmt(&c->mem, STR_FMT "\n" STR_FMT,
							   STR_ARG(row->message),
							   STR_ARG(row->kind)) };

		*place = row->id;
		if (texts_is_note(row))
			e = text_db_put(c, t, &text);
	}
	return e;
}

/* --- tables, which are read in batches --- */

typedef enum err texts_batch(struct call *c, const struct text_source *s, int64_t *place,
			     struct text_db *t, bool *more);

static enum err texts_read_batches(struct call *c, const struct text_source *s, int64_t *place,
				   struct text_db *t, texts_batch *put)
{
	bool more = true;
	enum err e = ERR_OK;

	while (!e && more) {
		struct call part = call_part(c);

		e = call_part_end(c, &part, put(&part, s, place, t, &more));
	}
	return e;
}

static enum err texts_read_posts(struct call *c, const struct text_source *s, int64_t *place,
				 struct text_db *t)
{
	return texts_read_batches(c, s, place, t, texts_put_posts);
}

static enum err texts_read_notes(struct call *c, const struct text_source *s, int64_t *place,
				 struct text_db *t)
{
	return texts_read_batches(c, s, place, t, texts_put_notes);
}

enum err texts_open_posts(struct call *c, struct board *b, struct text_db *out)
{
	const struct text_source posts = { STR("posts"), b, texts_posts_end, texts_posts_mark,
					   texts_read_posts };

	return text_db_open(c, path_join(&c->mem, b->root, STR(".bb")), &posts, 1, out);
}

/* No cache is put beside a file that the user named. */
enum err texts_open_notes(struct call *c, struct continuity *k, struct text_db *out)
{
	const struct text_source notes = { STR("notes"), &k->db, texts_notes_end, texts_notes_mark,
					   texts_read_notes };

	return text_db_open(c, str_is(k->source, "named") ? STR_NONE : path_parent(k->path), &notes,
			    1, out);
}
