#include "live/search.h"

#include <ctype.h>
#include <strings.h>

#include "agents/mailbox.h"
#include "base/moment.h"
#include "base/text/json.h"
#include "continuity/continuity.h"
#include "live/open.h"
#include "store/board/board_db.h"
#include "store/board/board_messages.h"
#include "store/db/bead_query.h"

enum { SEARCH_DEPTH = 20000 }; /* posts, notes and memory entries that are read at most */

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

/* Most places of a text are ruled out by their first character, without a call. */
static bool search_has(struct str text, struct str word)
{
	const char low = (char)tolower((unsigned char)*word.p),
		   high = (char)toupper((unsigned char)*word.p);

	for (size_t i = 0; i + word.n <= text.n; i++)
		if ((text.p[i] == low || text.p[i] == high) &&
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

static enum err search_beads(struct search *s)
{
	struct bead_filter filter = { .words = s->query,
				      .sort = SORT_UPDATED,
				      .limit = (int64_t)s->limit };
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

/* The matches in all mailboxes. */
struct search_mail {
	struct search *s;
	struct map seen; /* ids: a record has a line for each step of a message */
	struct search_hit *found;
	size_t count;
};

static void search_take_mail(struct call *c, const struct mail *m, void *arg)
{
	struct search_mail *all = arg;
	struct arena *mem = &all->s->c->mem; /* the message itself is freed after this call */

	(void)c;
	if (!search_matches(all->s, m->subject, m->body) || map_find(&all->seen, m->id))
		return;
	map_put(&all->seen, arena_copy(mem, m->id));
	all->found = arena_room(mem, all->found, all->count, sizeof *all->found);
	all->found[all->count++] = (struct search_hit){ .kind = "mail",
							.bead = arena_copy(mem, m->bead),
							.by = arena_copy(mem, m->from),
							.text = arena_copy(mem, m->subject),
							.at = m->created_ms };
}

static int search_newer(const void *a, const void *b)
{
	int64_t x = ((const struct search_hit *)a)->at, y = ((const struct search_hit *)b)->at;

	return x < y ? 1 : x > y ? -1 : 0;
}

static enum err search_mails(struct search *s)
{
	struct search_mail all = { .s = s, .seen.mem = &s->c->mem };
	struct agent_files files;
	struct str *agents;
	size_t count = 0;
	enum err e = agent_files_open(s->c, AGENTS_READ, &files);

	if (e || !files.home.p)
		return e;
	e = mailbox_list(s->c, &files, &agents, &count);
	for (size_t i = 0; !e && i < count; i++)
		e = mailbox_each(s->c, &files, agents[i], &(int64_t){ 0 }, STR_NONE,
				 search_take_mail, &all);
	if (all.count)
		qsort(all.found, all.count, sizeof *all.found, search_newer);
	for (size_t i = 0; !e && i < all.count && i < s->limit; i++)
		search_put(s, &all.found[i]);
	return e;
}

static enum err search_posts(struct search *s)
{
	struct message_filter newest = { .min_priority = -1, .limit = SEARCH_DEPTH };
	struct message *m = NULL;
	size_t count = 0;
	struct board b;
	bool there;
	enum err e = live_open_board(s->c, &b, &there);

	if (e || !there)
		return e;
	e = board_explain(s->c, &b, message_each(s->c, &b, &newest, &m));
	board_close(&b);
	for (; !e && m && count < s->limit; m = m->next)
		if (search_matches(s, m->content, m->tags)) {
			search_put(s, &(struct search_hit){ .kind = "post",
							    .by = m->from_agent,
							    .text = m->content,
							    .at = m->created_at });
			count++;
		}
	return e;
}

/* The events of tasks and memory repeat what beads and memory say. */
static bool search_is_note(const struct event_row *row)
{
	return !str_starts(row->kind, STR("task_")) && !str_starts(row->kind, STR("memory_"));
}

static void search_put_notes(struct search *s, const struct event_row *row)
{
	for (size_t count = 0; row && count < s->limit; row = row->next)
		if (search_is_note(row) && search_matches(s, row->message, row->kind)) {
			search_put(s, &(struct search_hit){ .kind = "note",
							    .bead = row->task,
							    .by = row->agent,
							    .text = row->message,
							    .at = row->created });
			count++;
		}
}

static void search_put_memory(struct search *s, const struct memory_row *row)
{
	for (size_t count = 0; row && count < s->limit; row = row->next)
		if (search_matches(s, row->key, row->value)) {
			search_put(s, &(struct search_hit){ .kind = "memory",
							    .key = row->key,
							    .text = row->value,
							    .at = row->updated });
			count++;
		}
}

static enum err search_continuity(struct search *s)
{
	struct event_filter newest = { .limit = SEARCH_DEPTH, .archived = true };
	struct event_row *notes = NULL;
	struct memory_row *memory = NULL;
	struct str project = s->c->project, gitdir = s->c->gitdir;
	struct continuity k;
	enum err e = continuity_open(s->c, VYBE_READ, &k);

	s->c->project = project; /* continuity_open() may change them */
	s->c->gitdir = gitdir;
	if (e)
		return e;
	if (k.db.db && !(e = vybe_event_each(s->c, &k.db, &newest, &notes)))
		e = vybe_memory_newest(s->c, &k.db, SEARCH_DEPTH, &memory);
	continuity_close(&k);
	if (e)
		return e;
	search_put_notes(s, notes);
	search_put_memory(s, memory);
	return ERR_OK;
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
