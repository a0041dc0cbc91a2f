#include "live/feed_sources.h"

#include "agents/mailbox.h"
#include "agents/registry.h"
#include "base/moment.h"
#include "base/system/path.h"
#include "base/system/watch.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/model/record.h"
#include "continuity/continuity.h"
#include "live/feed.h"
#include "store/db/board_agents.h"
#include "store/db/board_artifacts.h"
#include "store/db/board_db.h"
#include "store/db/board_messages.h"

/* --- places --- */

static struct source *source_of(struct sources *s, struct str name)
{
	void **at = map_find(&s->known, name);

	if (at)
		return *at;
	s->known.mem = &s->mem;
	at = map_put(&s->known, arena_copy(&s->mem, name));
	*at = arena_new(&s->mem, struct source);
	return *at;
}

static void feed_sources_put_place(struct json *j, const struct source *source)
{
	int count = PLACE_NUMBERS;

	while (count > 1 && !source->at[count - 1])
		count--;
	json_array(j);
	for (int i = 0; i < count; i++)
		json_int(j, source->at[i]);
	json_end(j);
}

static void feed_sources_read_place(const struct value *v, struct source *out)
{
	*out = (struct source){ 0 };
	for (size_t i = 0; v && v->type == VALUE_ARRAY && i < v->count; i++)
		if (i < PLACE_NUMBERS)
			value_number(&v->item[i], &out->at[i]);
}

void sources_encode(struct json *j, const struct sources *s)
{
	for (size_t i = 0; i < s->known.count; i++) {
		json_key(j, s->known.entry[i].key);
		feed_sources_put_place(j, s->known.entry[i].value);
	}
}

void sources_decode(struct sources *s, const struct value *v)
{
	for (size_t i = 0; v && i < v->count; i++)
		feed_sources_read_place(&v->item[i], source_of(s, v->item[i].key));
}

void sources_learn(struct call *c, struct sources *s, struct str data)
{
	const struct value *from = value_find(value_read(&c->mem, data), "from");

	if (value_str(from, "source").p)
		feed_sources_read_place(value_find(from, "to"),
					source_of(s, value_str(from, "source")));
}

struct sources sources_copy(struct arena *mem, const struct sources *s)
{
	struct sources copy = { .known.mem = mem };

	for (size_t i = 0; i < s->known.count; i++) {
		struct source *one = arena_new(mem, struct source);

		*one = *(const struct source *)s->known.entry[i].value;
		*map_put(&copy.known, s->known.entry[i].key) = one;
	}
	return copy;
}

void sources_restore(struct sources *s, const struct sources *copy)
{
	for (size_t i = 0; i < copy->known.count; i++)
		*source_of(s, copy->known.entry[i].key) =
			*(const struct source *)copy->known.entry[i].value;
}

/* --- events --- */

struct feed_sources_telling {
	struct call *c; /* of the round */
	struct sources *s;
	source_tell *tell;
	void *arg;
	struct str name; /* of the current source */
	struct source *at;
};

static struct json feed_sources_begin(struct call *c)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	return j;
}

static void feed_sources_end(struct feed_sources_telling *t, const char *type, struct json *j)
{
	json_put_object(j, "from");
	json_put_str(j, "source", t->name);
	json_name(j, STR("to"));
	feed_sources_put_place(j, t->at);
	json_end(j);
	json_end(j);
	if (t->tell)
		t->tell(t->arg, type, json_text(j));
}

static void feed_sources_choose(struct feed_sources_telling *t, struct str name)
{
	t->name = name;
	t->at = source_of(t->s, name);
}

/* The known part of a source is gone, so clients have to read everything again. */
static void tell_reset(struct feed_sources_telling *t)
{
	struct json j = feed_sources_begin(t->c);

	feed_sources_end(t, "reset", &j);
}

/* A store was removed, and with it all sources whose names begin with one of `heads`. */
static void tell_gone(struct feed_sources_telling *t, const char *const *heads)
{
	static const struct source nowhere;
	bool lost = false;

	for (; *heads; heads++)
		for (size_t i = 0; i < t->s->known.count; i++) {
			const struct map_entry *one = &t->s->known.entry[i];

			if (!str_starts(one->key, str_of(*heads)) ||
			    !memcmp(one->value, &nowhere, sizeof nowhere))
				continue;
			feed_sources_choose(t, one->key);
			*t->at = nowhere;
			lost = true;
		}
	if (lost)
		tell_reset(t);
}

/* --- beads --- */

static struct journal_place journal_place_of(const struct source *s)
{
	return (struct journal_place){ .segment = s->at[0],
				       .offset = s->at[1],
				       .last = s->at[2],
				       .crc = s->at[3],
				       .first = s->at[4] };
}

static void set_journal_place(struct source *s, const struct journal_place *p)
{
	*s = (struct source){ { p->segment, p->offset, p->last, p->crc, p->first } };
}

/* The writer of a line, or of the members that the line sets. */
static struct str writer_of(const struct value *line)
{
	const struct value *marks = value_find(line, "_v"), *notes = value_find(line, "notes");
	struct str by = value_str(line, "_by");

	if (!by.p && marks && marks->count && marks->item[0].count == 2)
		by = marks->item[0].item[1].text;
	if (!by.p && notes && notes->count)
		by = value_str(&notes->item[0], "author");
	return by.p ? by : value_str(line, "deleted_by");
}

struct touched {
	struct map ids;
	struct str by;
};

static void feed_sources_touch(struct touched *t, struct str id)
{
	if (id.p)
		map_put(&t->ids, id);
}

static void touch_lines(struct touched *t, const struct value *list)
{
	for (size_t i = 0; list && list->type == VALUE_ARRAY && i < list->count; i++) {
		const struct value *line = &list->item[i];

		feed_sources_touch(t, value_str(line, "id"));
		feed_sources_touch(t, value_str(line, "from"));
		feed_sources_touch(t, value_str(line, "to"));
		if (!t->by.p)
			t->by = writer_of(line);
	}
}

enum { IDS_MOST = 64 }; /* in one event; with more, clients read all beads again */

static void put_ids(struct json *j, const struct map *ids, bool all)
{
	json_put_array(j, "ids");
	for (size_t i = 0; i < ids->count && i < IDS_MOST; i++)
		json_str(j, ids->entry[i].key);
	json_end(j);
	json_put_bool(j, "all", all || ids->count > IDS_MOST);
}

enum { ROUND = 2000 }; /* maximum records of a source in one round */

/* The place after a record is known only when the next record, or the end, is reached. So the event
 * of a record is held until then. */
struct held_record {
	struct feed_sources_telling *t;
	const struct journal_place *place;
	struct str data; /* the held event, without its place; or absent */
	int count;
	bool limited; /* only up to `limit`: later records are not in the cache yet */
	struct journal_place limit;
	struct str home;
	int64_t segment; /* the current one */
	int64_t carried; /* the segment repeats records of the one before up to this offset */
};

static void tell_pending(struct held_record *p)
{
	struct json j = feed_sources_begin(p->t->c);

	if (!p->data.p)
		return;
	set_journal_place(p->t->at, p->place);
	json_put_members(&j, p->data);
	feed_sources_end(p->t, "bead", &j);
	p->data = STR_NONE;
}

static struct str feed_sources_describe(struct arena *mem, struct arena *scratch, struct str record)
{
	struct touched t = { .ids.mem = scratch };
	struct json j = json_new(mem);
	const struct value *v = value_read(scratch, record);
	const struct value *base = value_find(v, "base");

	touch_lines(&t, value_find(v, "beads"));
	touch_lines(&t, value_find(v, "tombstones"));
	touch_lines(&t, value_find(v, "deps"));
	json_object(&j);
	put_ids(&j, &t.ids, value_find(base, "whole"));
	json_put_str(&j, "by", base ? STR_NONE : t.by);
	json_put_str(&j, "op", value_str(value_find(v, "receipt"), "op"));
	json_put_bool(&j, "sync", base);
	json_end(&j);
	return json_text(&j);
}

/* A journal that was cut begins with the records that no commit has; then comes its base. */
static enum err feed_sources_find_base(struct call *c, const struct journal_record *r, void *arg)
{
	struct held_record *p = arg;
	struct arena scratch = { 0 };
	const struct value *base;
	int64_t segment = 0, offset = 0;

	(void)c;
	if (r->segment != p->segment)
		return JOURNAL_STOP;
	if (!record_is_base(r->json))
		return ERR_OK;
	base = value_find(value_read(&scratch, r->json), "base");
	value_int(base, "segment", &segment);
	value_int(base, "offset", &offset);
	arena_release(&scratch);
	if (segment == p->segment && !offset)
		p->carried = r->offset;
	return JOURNAL_STOP;
}

static void enter_segment(struct call *c, struct held_record *p, int64_t segment)
{
	struct journal_place start = { .segment = segment, .last = -1 };

	p->segment = segment;
	p->carried = 0;
	journal_each(c, p->home, &start, feed_sources_find_base, p);
}

static enum err feed_sources_see_record(struct call *c, const struct journal_record *r, void *arg)
{
	struct held_record *p = arg;
	struct arena scratch = { 0 };

	bool beyond = r->segment > p->limit.segment ||
		      (r->segment == p->limit.segment && r->offset >= p->limit.offset);

	if ((p->limited && beyond) || p->count++ == ROUND)
		return JOURNAL_STOP;
	tell_pending(p);
	if (r->segment != p->segment)
		enter_segment(c, p, r->segment);
	if (r->offset < p->carried) /* it was in the segment before */
		return ERR_OK;
	p->data = feed_sources_describe(&p->t->c->mem, &scratch, r->json);
	arena_release(&scratch);
	return ERR_OK;
}

static enum err skip_record(struct call *c, const struct journal_record *r, void *arg)
{
	(void)c, (void)r, (void)arg;
	return ERR_OK;
}

/* Sets the place to the end of the journal; false if the journal cannot be read now. */
static bool learn_journal(struct feed_sources_telling *t, struct str home)
{
	struct journal_place end = { .last = -1 };

	if (journal_each(t->c, home, &end, skip_record, NULL))
		return false;
	set_journal_place(t->at, &end);
	return true;
}

static void collect_beads(struct feed_sources_telling *t)
{
	struct journal_place place;
	struct held_record p = { .t = t, .place = &place };
	enum journal_news news;
	struct beads b;
	enum err e = beads_home(t->c, &b);

	feed_sources_choose(t, STR("journal"));
	if (e)
		return;
	if (!journal_exists(t->c, b.home)) {
		tell_gone(t, (const char *const[]){ "journal", NULL });
		return;
	}
	place = journal_place_of(t->at);
	if (!t->tell) {
		learn_journal(t, b.home);
		return;
	}
	if (place.crc) {
		if ((e = journal_compare(t->c, b.home, place, &news)))
			news = JOURNAL_AHEAD;
		if (news == JOURNAL_SAME)
			return;
		if (news >= JOURNAL_AHEAD) /* all records of the old segment were read */
			place = (struct journal_place){ place.segment + 1, 0, -1, place.crc,
							place.first };
	}
	p.home = b.home;
	/* A client reads a change as soon as it gets the event, and has to find it in the cache. */
	p.limited = beads_being_written(t->c, &b, &p.limit);
	p.segment = place.offset ? place.segment : 0;
	e = journal_each(t->c, b.home, &place, feed_sources_see_record, &p);
	tell_pending(&p);
	/* The records after the place are gone. */
	if (e && !p.count && learn_journal(t, b.home))
		tell_reset(t);
}

/* --- the files of the agents --- */

/* Copies only the members that say what the line is about. */
static void put_members_of(struct json *j, const struct value *v, const char *const *names)
{
	for (; *names; names++) {
		const struct value *member = value_find(v, *names);

		if (!member || member->type == VALUE_ARRAY || member->type == VALUE_OBJECT ||
		    member->text.n > 512)
			continue;
		json_name(j, str_of(*names));
		json_value(j, member);
	}
}

static void collect_lines(struct feed_sources_telling *t, struct agent_files *f, struct str file,
			  const char *type, const char *const *names)
{
	struct str text, line;
	int64_t size, from;

	feed_sources_choose(t, file);
	if (agent_file_size(t->c, f, file, &size)) {
		t->c->code = ERR_OK; /* the next round tries again */
		return;
	}
	if (size == t->at->at[0])
		return;
	if (size < t->at->at[0] || !t->tell) {
		bool lost = t->at->at[0];

		t->at->at[0] = size;
		if (lost)
			tell_reset(t);
		return;
	}
	from = t->at->at[0];
	if (agent_file_read_part(t->c, f, file, &from, &text)) {
		t->c->code = ERR_OK;
		return;
	}
	while (text.n && str_next(&text, '\n', &line)) {
		struct arena scratch = { 0 };
		const struct value *v = agent_line_parse(&scratch, line);
		struct json j = feed_sources_begin(t->c);

		t->at->at[0] += (int64_t)line.n + 1;
		put_members_of(&j, v, names);
		feed_sources_end(t, type, &j);
		arena_release(&scratch);
	}
	t->at->at[0] = from; /* a damaged line may lack its end */
}

static const char *const event_members[] = { "id",       "event_type", "bead_id",    "from_agent",
					     "to_agent", "scope",      "created_at", NULL };
static const char *const reservation_members[] = {
	"reservation_id", "scope", "agent_id", "bead_id", "state", "expires_at", NULL
};
static const char *const agent_members[] = { "agent_id", "display_name", "role", NULL };
static const char *const mail_members[] = { "message_id", "bead_id",      "from_agent",
					    "to_agent",   "category",     "state",
					    "created_at", "requires_ack", NULL };

static bool news_of(struct map *map, struct arena *mem, struct str key, struct str now)
{
	void **at = map_find(map, key);
	struct str *was;

	if (at && str_eq(*(struct str *)*at, now))
		return false;
	if (!at) {
		map->mem = mem;
		at = map_put(map, arena_copy(mem, key));
		*at = arena_new(mem, struct str);
	}
	was = *at;
	if (was->n == now.n && was->p) /* reuses the memory: the length rarely changes */
		memcpy((char *)was->p, now.p, now.n);
	else
		*was = arena_copy(mem, now);
	return true;
}

/* The agents whose last_seen_at has changed. This has no place: a new service begins anew. */
static void collect_seen(struct feed_sources_telling *t, struct agent_files *f, bool first)
{
	struct json j = feed_sources_begin(t->c);
	struct registered *a;
	size_t count = 0;

	if (registry_each(t->c, f, STR_NONE, STR_NONE, &a))
		return;
	json_put_object(&j, "agents");
	for (; a; a = a->next) {
		struct str now = moment_format(&t->c->mem, a->seen_ms);

		if ((count == IDS_MOST && !first) || !news_of(&t->s->seen, &t->s->mem, a->id, now))
			continue;
		json_key(&j, a->id);
		json_str(&j, now);
		count++;
	}
	json_end(&j);
	json_end(&j);
	if (count && !first && t->tell)
		t->tell(t->arg, "seen", json_text(&j));
}

static const char *const agent_sources[] = { "agents/", "reservations/", "events.jsonl",
					     "messages/", NULL };

static void collect_agents(struct feed_sources_telling *t, bool look, bool first)
{
	struct agent_files f;
	struct str *agents;
	size_t count;

	if (agent_files_open(t->c, AGENTS_READ, &f))
		return;
	if (!f.home.p) {
		tell_gone(t, agent_sources);
		return;
	}
	collect_lines(t, &f, STR("agents/history.jsonl"), "agent", agent_members);
	collect_lines(t, &f, STR("reservations/history.jsonl"), "reservation", reservation_members);
	collect_lines(t, &f, STR("events.jsonl"), "protocol", event_members);
	if (!mailbox_list(t->c, &f, &agents, &count))
		for (size_t i = 0; i < count; i++)
			collect_lines(t, &f,
				      arena_fmt(&t->c->mem, "messages/" STR_FMT ".jsonl",
						STR_ARG(agents[i])),
				      "mail", mail_members);
	if (look)
		collect_seen(t, &f, first);
}

/* --- the board, and the events of continuity --- */

static void collect_messages(struct feed_sources_telling *t, struct board *b)
{
	struct message_filter filter = { .min_priority = -1, .oldest_first = true, .limit = ROUND };
	struct message *m, *last = NULL;
	struct message_filter newest = { .min_priority = -1, .limit = 1 };

	feed_sources_choose(t, STR("board/messages"));
	if (message_each(t->c, b, &newest, &last))
		return;
	if (!last || last->id < t->at->at[0]) {
		bool lost = t->at->at[0];

		t->at->at[0] = last ? last->id : 0;
		if (lost)
			tell_reset(t);
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
		struct json j = feed_sources_begin(t->c);

		t->at->at[0] = m->id;
		json_put_int(&j, "id", m->id);
		json_put_str(&j, "by", m->from_agent);
		json_put_word(&j, "priority", &priorities, m->priority);
		feed_sources_end(t, "post", &j);
	}
}

/* The place after an artifact: the latest time, the number of artifacts with it, the highest id. */
static void pass_artifact(struct source *at, const struct artifact *a)
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
static void collect_artifacts(struct feed_sources_telling *t, struct board *b)
{
	struct artifact_filter filter = { 0 };
	struct artifact *list, **order;
	int64_t known, count = 0;

	feed_sources_choose(t, STR("board/artifacts"));
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
		struct json j = feed_sources_begin(t->c);

		if (a->created_at == filter.since && known-- > 0)
			continue;
		pass_artifact(t->at, a);
		json_put_str(&j, "path", a->path.n > 1024 ? STR_NONE : a->path);
		json_put_str(&j, "by", a->produced_by);
		feed_sources_end(t, "artifact", &j);
	}
}

static void collect_status(struct feed_sources_telling *t, struct board *b, bool first)
{
	struct agent *a;

	if (agent_each(t->c, b, &a))
		return;
	for (; a; a = a->next) {
		struct str now = arena_fmt(&t->c->mem, "%d %3lld %lld", a->status,
					   (long long)a->progress, (long long)a->updated_at);
		struct json j = feed_sources_begin(t->c);

		if (!news_of(&t->s->status, &t->s->mem, a->id, now) || first || !t->tell)
			continue;
		json_put_str(&j, "agent_id", a->id);
		json_put_word(&j, "status", &agent_statuses, a->status);
		json_end(&j);
		t->tell(t->arg, "status", json_text(&j));
	}
}

static void collect_board(struct feed_sources_telling *t, bool look, bool first)
{
	struct board b;
	struct str where;

	if (board_open(t->c, BOARD_READ, &b)) {
		t->c->code = ERR_OK;
		if (!place_find(t->c, STR(".bb"), &where) && !where.p)
			tell_gone(t, (const char *const[]){ "board/", NULL });
		return;
	}
	collect_messages(t, &b);
	collect_artifacts(t, &b);
	if (look)
		collect_status(t, &b, first);
	board_close(&b);
}

static enum err feed_sources_read_notes(struct feed_sources_telling *t, struct continuity *k,
					int64_t *last, struct event_row **out)
{
	struct event_filter filter = {
		.ascending = true, .archived = true, .since = t->at->at[0], .limit = ROUND
	};
	enum err e = vybe_event_last(t->c, &k->db, last);

	*out = NULL;
	if (e || !t->tell || *last <= filter.since)
		return e;
	return vybe_event_each(t->c, &k->db, &filter, out);
}

static void collect_notes(struct feed_sources_telling *t)
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
	feed_sources_choose(t, STR("vybe/events"));
	e = feed_sources_read_notes(t, &k, &last, &row);
	continuity_close(&k);
	if (e)
		return;
	if (!t->tell) {
		t->at->at[0] = last;
	} else if (last < t->at->at[0]) { /* the database was made anew */
		t->at->at[0] = last;
		tell_reset(t);
	}
	for (; row; row = row->next) {
		struct json j = feed_sources_begin(t->c);

		t->at->at[0] = row->id;
		json_put_int(&j, "id", row->id);
		json_put_str(&j, "kind", row->kind.n > 128 ? STR("other") : row->kind);
		json_put_str(&j, "by", row->agent);
		json_put_str(&j, "bead_id", row->task);
		feed_sources_end(t, "note", &j);
	}
}

enum { LOOK_MS = 1000 }; /* interval at which last_seen_at and statuses are compared */

void sources_collect(struct call *c, struct sources *s, source_tell *tell, void *arg)
{
	struct feed_sources_telling t = { .c = c, .s = s, .tell = tell, .arg = arg };
	int64_t now = moment_ticks();
	bool first = !s->begun, look = first || now - s->looked_ms >= LOOK_MS;

	if (look)
		s->looked_ms = now;
	s->begun = true;
	collect_beads(&t);
	collect_agents(&t, look, first);
	collect_board(&t, look, first);
	collect_notes(&t);
	c->code = ERR_OK;
}

void sources_begin(struct call *c, struct sources *s)
{
	sources_collect(c, s, NULL, NULL);
}

enum err feed_watched(struct call *c, struct watch_at at[FEED_WATCHED])
{
	static const char *const folders[] = { "", "messages", "reservations", "agents" };
	struct agent_files f;
	struct beads b;
	struct str board;

	for (int i = 0; i < FEED_WATCHED; i++)
		at[i] = (struct watch_at){ .head = STR("") };
	if (!agent_files_open(c, AGENTS_READ, &f) && f.home.p)
		for (int i = 0; i < 4; i++)
			at[i].dir = path_join(&c->mem, f.home, str_of(folders[i]));
	if (!beads_home(c, &b))
		at[4].dir = b.home;
	if (!place_find(c, STR(".bb"), &board) && board.p)
		at[5].dir = path_join(&c->mem, board, STR(".bb"));
	c->code = ERR_OK;
	return ERR_OK;
}
