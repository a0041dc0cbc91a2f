#include "live/search.h"

#include <ctype.h>
#include <strings.h>

#include "agents/mailbox.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "continuity/continuity.h"
#include "live/open.h"
#include "live/texts.h"
#include "store/board/board_db.h"
#include "store/board/board_messages.h"
#include "store/db/bead_query.h"

enum { MEMORY_DEPTH = 20000 }; /* entries that are read at most */

struct search {
	struct call *c;
	struct str query;
	size_t limit;
	struct json *j;
};

struct search_hit {
	const char *kind;
	struct str bead, by, key, text; /* all but the text may be absent */
	int64_t at;
};

static void search_put(struct search *s, const struct search_hit *f)
{
	json_object(s->j);
	json_put_str(s->j, "kind", str_of(f->kind));
	json_put_str(s->j, "text", f->text);
	json_put_str(s->j, "bead_id", f->bead);
	json_put_str(s->j, "by", f->by);
	json_put_str(s->j, "key", f->key);
	json_put_moment(s->j, "at", f->at);
	json_end(s->j);
}

/* --- beads --- */

static enum err search_beads(struct search *s)
{
	struct bead_filter filter = { .words = s->query, .limit = (int64_t)s->limit, .lean = true };
	struct bead_row *row = NULL;
	struct beads b;
	bool there;
	enum err e = live_open_beads(s->c, &b, &there);

	if (e || !there)
		return e;
	e = query_each(s->c, &b.cache, &filter, &row);
	beads_close(&b);
	for (; !e && row; row = row->next)
		search_put(s, &(struct search_hit){ .kind = "bead",
						    .bead = row->id,
						    .by = row->assignee,
						    .text = row->title,
						    .at = row->updated });
	return e;
}

/* --- mail, posts and notes, by their indexes --- */

struct search_store {
	struct search *s;
	void *from;       /* struct agent_files, board or continuity */
	struct map boxes; /* of mail; see texts_find_mail() */
	size_t count;
	enum err e;
};

/* Counts a result. The index may know texts that the store no longer has. */
static bool search_found(struct search_store *in, enum err e, const struct search_hit *hit)
{
	in->e = e;
	if (!e && hit) {
		search_put(in->s, hit);
		in->count++;
	}
	return !e && in->count < in->s->limit;
}

static bool search_visit_mail(struct call *c, struct str box, struct str id, void *arg)
{
	struct search_store *in = arg;
	struct mail *m;
	enum err e = texts_find_mail(c, in->from, &in->boxes, box, id, &m);

	if (e || !m)
		return search_found(in, e, NULL);
	return search_found(in, ERR_OK,
			    &(struct search_hit){ .kind = "mail",
						  .bead = m->bead,
						  .by = m->from,
						  .text = m->subject,
						  .at = m->created_ms });
}

static bool search_visit_post(struct call *c, struct str source, struct str key, void *arg)
{
	struct search_store *in = arg;
	struct message *m = NULL;
	enum err e = message_find(c, in->from, texts_number(key), &m);

	(void)source;
	if (e || !m)
		return search_found(in, e, NULL);
	return search_found(in, ERR_OK,
			    &(struct search_hit){ .kind = "post",
						  .by = m->from_agent,
						  .text = m->content,
						  .at = m->created_at });
}

static bool search_visit_note(struct call *c, struct str source, struct str key, void *arg)
{
	struct search_store *in = arg;
	struct continuity *k = in->from;
	struct event_row *row = NULL;
	enum err e = vybe_event_find(c, &k->db, texts_number(key), &row);

	(void)source;
	if (e || !row)
		return search_found(in, e, NULL);
	return search_found(in, ERR_OK,
			    &(struct search_hit){ .kind = "note",
						  .bead = row->task,
						  .by = row->agent,
						  .text = row->message,
						  .at = row->created });
}

/* Searches an index, if it could be opened (`e`), and closes it. */
static enum err search_index(struct search *s, enum err e, struct text_db *t, text_visit *visit,
			     void *from)
{
	struct search_store in = { .s = s, .from = from, .boxes.mem = &s->c->mem };

	if (e)
		return e;
	e = text_db_find(s->c, t, s->query, visit, &in);
	text_db_close(t);
	return e ? e : in.e;
}

static enum err search_mails(struct search *s)
{
	struct agent_files files;
	struct text_db t;
	enum err e = agent_files_open(s->c, AGENTS_READ, &files);

	if (e || !files.home.p)
		return e;
	return search_index(s, texts_open_mail(s->c, &files, &t), &t, search_visit_mail, &files);
}

static enum err search_posts(struct search *s)
{
	struct text_db t;
	struct board b;
	bool there;
	enum err e = live_open_board(s->c, &b, &there);

	if (e || !there)
		return e;
	e = search_index(s, texts_open_posts(s->c, &b, &t), &t, search_visit_post, &b);
	e = board_explain(s->c, &b, e);
	board_close(&b);
	return e;
}

/* --- memory, which has few entries and is often changed --- */

/* Whether the word begins a word of the text. */
static bool search_has(struct str text, struct str word)
{
	for (size_t i = 0; i + word.n <= text.n; i++)
		if ((!i || !isalnum((unsigned char)text.p[i - 1])) &&
		    !strncasecmp(text.p + i, word.p, word.n))
			return true;
	return false;
}

/* Whether each word of the query occurs in one of the two texts. */
static bool search_matches(const struct search *s, struct str a, struct str b)
{
	struct str rest = s->query, word;

	while (str_next(&rest, ' ', &word))
		if (word.n && !search_has(a, word) && !search_has(b, word))
			return false;
	return true;
}

static enum err search_memory(struct search *s, struct continuity *k)
{
	struct str rest = str_trim(s->query), word = STR_NONE;
	struct memory_row *row = NULL;
	size_t count = 0;
	enum err e;

	str_next(&rest, ' ', &word);
	e = vybe_memory_newest(s->c, &k->db, word, MEMORY_DEPTH, &row);
	for (; !e && row && count < s->limit; row = row->next)
		if (search_matches(s, row->key, row->value)) {
			search_put(s, &(struct search_hit){ .kind = "memory",
							    .key = row->key,
							    .text = row->value,
							    .at = row->updated });
			count++;
		}
	return e;
}

static enum err search_continuity(struct search *s)
{
	struct str project = s->c->project, gitdir = s->c->gitdir;
	struct continuity k;
	struct text_db t;
	enum err e = continuity_open(s->c, VYBE_READ, &k);

	s->c->project = project; /* continuity_open() may change them */
	s->c->gitdir = gitdir;
	if (e)
		return e;
	if (k.db.db &&
	    !(e = search_index(s, texts_open_notes(s->c, &k, &t), &t, search_visit_note, &k)))
		e = search_memory(s, &k);
	continuity_close(&k);
	return e;
}

enum err search_encode(struct call *c, struct str query, size_t limit, struct json *j)
{
	struct search s = { .c = c, .query = query, .limit = limit, .j = j };
	enum err e;

	json_array(j);
	if ((e = search_beads(&s)) || (e = search_mails(&s)) || (e = search_posts(&s)) ||
	    (e = search_continuity(&s)))
		return e;
	json_end(j);
	return ERR_OK;
}
