#include "agents/mailbox.h"

#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"

/* --- text --- */

static struct str mailbox_text_of(struct call *c, const struct mail *m)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	mail_put(&j, m);
	json_put_present(&j, "via", m->via);
	json_put_present(&j, "read_request", m->read_mark);
	json_put_present(&j, "ack_request", m->ack_mark);
	if (m->again)
		json_put_bool(&j, "again", true);
	json_end(&j);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

static bool decode_moment(const struct value *v, const char *key, int64_t *ms)
{
	struct str text = value_str(v, key);

	*ms = 0;
	return !text.p || moment_parse(text, ms);
}

/* A line that is no message takes no memory, as there may be millions of them. */
struct mail *mailbox_decode(struct arena *mem, struct str line)
{
	struct arena before = arena_mark(mem);
	const struct value *v = agent_line_parse(mem, line);
	struct mail *m = arena_new(mem, struct mail);
	int category = names_exact(&categories, value_str(v, "category")),
	    state = names_exact(&mail_states, value_str(v, "state"));

	*m = (struct mail){ .id = value_str(v, "message_id"),
			    .thread = value_str(v, "thread_id"),
			    .bead = value_str(v, "bead_id"),
			    .from = value_str(v, "from_agent"),
			    .to = value_str(v, "to_agent"),
			    .subject = value_str(v, "subject"),
			    .body = value_str(v, "body"),
			    .category = (enum category)category,
			    .state = (enum mail_state)state,
			    .requires_ack = value_yes(v, "requires_ack"),
			    .machine = value_str(v, "machine"),
			    .via = value_str(v, "via"),
			    .read_mark = value_str(v, "read_request"),
			    .ack_mark = value_str(v, "ack_request"),
			    .again = value_find(v, "again") != NULL };
	if (m->id.n && m->to.n && m->from.n && m->bead.n && m->body.p && category >= 0 &&
	    state >= 0 && decode_moment(v, "created_at", &m->created_ms) &&
	    decode_moment(v, "read_at", &m->read_ms) && decode_moment(v, "acked_at", &m->acked_ms))
		return m;
	arena_rewind(mem, before);
	return NULL;
}

/* --- files --- */

struct str mailbox_file(struct call *c, struct str agent)
{
	return arena_fmt(&c->mem, "messages/" STR_FMT ".jsonl", STR_ARG(agent));
}

static struct str index_of(struct call *c, struct str id)
{
	return arena_fmt(&c->mem, "messages/index/" STR_FMT ".json", STR_ARG(id));
}

static struct str box_of(struct call *c, struct str agent)
{
	return arena_fmt(&c->mem, "messages/boxes/" STR_FMT ".json", STR_ARG(agent));
}

static struct mailbox empty_box(struct call *c, struct str agent)
{
	return (struct mailbox){ .agent = agent,
				 .unacked.mem = &c->mem,
				 .opened.mem = &c->mem,
				 .fresh.mem = &c->mem,
				 .unsure.mem = &c->mem };
}

/* False if there is no snapshot, or a damaged one. */
static bool read_box(struct call *c, struct str text, struct mailbox *box)
{
	const struct value *v = text.p ? agent_snapshot_parse(&c->mem, text) : NULL,
			   *unacked = value_find(v, "owed"), *unsure = value_find(v, "unsure"),
			   *opened = value_find(v, "opened");
	bool well = unacked && unacked->type == VALUE_ARRAY && value_int(v, "known", &box->known) &&
		    box->known >= 0 && value_int(v, "latest", &box->latest_ms);

	for (int i = 0; i < MAIL_STATES; i++)
		well = well && value_int(v, names_word(&mail_states, i), &box->count[i]) &&
		       box->count[i] >= 0 && box->count[i] <= box->known;
	for (size_t i = 0; well && i < unacked->count; i++) {
		well = unacked->item[i].type == VALUE_STRING;
		if (well)
			*map_put(&box->unacked, unacked->item[i].text) = box;
	}
	for (size_t i = 0; well && opened && i < opened->count; i++)
		*map_put(&box->opened, opened->item[i].text) = box;
	for (size_t i = 0; well && unsure && i < unsure->count; i++)
		*map_put(&box->unsure, unsure->item[i].text) = box;
	return well;
}

/* Writes the newest of them. Each sender that dies before its message is complete adds one. */
static void put_unsure(struct json *j, const struct map *unsure)
{
	enum { UNSURE_MOST = 100 };
	size_t from = unsure->count > UNSURE_MOST ? unsure->count - UNSURE_MOST : 0;

	if (!unsure->count)
		return;
	json_put_array(j, "unsure");
	for (size_t i = from; i < unsure->count; i++)
		json_str(j, unsure->entry[i].key);
	json_end(j);
}

static void put_ids(struct json *j, const char *key, const struct map *ids)
{
	json_put_array(j, key);
	for (size_t i = 0; i < ids->count; i++)
		if (ids->entry[i].value)
			json_str(j, ids->entry[i].key);
	json_end(j);
}

static enum err write_box(struct call *c, struct agent_files *f, struct mailbox *box)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_int(&j, "known", box->known);
	json_put_int(&j, "latest", box->latest_ms);
	for (int i = 0; i < MAIL_STATES; i++)
		json_put_int(&j, names_word(&mail_states, i), box->count[i]);
	put_ids(&j, "owed", &box->unacked);
	put_ids(&j, "opened", &box->opened);
	put_unsure(&j, &box->unsure);
	json_end(&j);
	buf_char(&j.out, '\n');
	return agent_file_swap(c, f, box_of(c, box->agent), buf_str(&j.out));
}

/* Counts a line. The state before it is known from an earlier line, or is the preceding state. */
static void mailbox_apply(struct mailbox *box, struct mail *m)
{
	void **at = map_put(&box->fresh, m->id);
	int before = (int)(*at ? ((struct mail *)*at)->state : m->state) - (!*at && !m->again);

	*at = m;
	if (before >= 0 && box->count[before]) /* 0: the earlier line is lost */
		box->count[before]--;
	box->count[m->state]++;
	if (m->created_ms > box->latest_ms)
		box->latest_ms = m->created_ms;
	if (!m->requires_ack)
		return;
	*map_put(&box->unacked, m->id) = m->state == MAIL_ACKED ? NULL : m;
	*map_put(&box->opened, m->id) = m->state == MAIL_READ ? m : NULL;
}

/* Applies the lines after the known ones. If `known` is not the end of a line, the record was
 * edited since, and is read from its start. */
static enum err apply_rest(struct call *c, struct agent_files *f, struct mailbox *box)
{
	struct str name = mailbox_file(c, box->agent), text, rest, line;
	int64_t from = box->known ? box->known - 1 : 0;
	struct agent_skips skips = { 0 };
	enum err e = agent_file_read_from(c, f, name, from, &text);

	if (e)
		return e;
	if (box->known && !str_starts(text, STR("\n"))) {
		*box = empty_box(c, box->agent);
		return apply_rest(c, f, box);
	}
	rest = box->known ? str_skip(text, 1) : text;
	while (agent_line_next(&rest, &line)) {
		struct mail *m = mailbox_decode(&c->mem, line);

		if (m)
			mailbox_apply(box, m);
		else
			agent_skips_add(&skips, from + (line.p - text.p));
	}
	box->known = from + (int64_t)text.n;
	agent_skips_warn(c, f, name, &skips);
	return ERR_OK;
}

/* Whether the id may be used in a file name. */
static bool mailbox_plausible(struct str id)
{
	return id.n < 200 && str_starts(id, STR("msg_")) && !memchr(id.p, '/', id.n);
}

static enum err read_index(struct call *c, const struct agent_files *f, struct str id,
			   struct mail **out)
{
	struct str text = { 0 };
	enum err e = mailbox_plausible(id) ? agent_file_read(c, f, index_of(c, id), &text) : ERR_OK;

	*out = text.p ? mailbox_decode(&c->mem, text) : NULL;
	if (*out && !str_eq((*out)->id, id))
		*out = NULL;
	return e;
}

/*
 * A program that keeps no boxes writes to the index alone that a message was read or accepted. So
 * as long as there is no box, the state of a message is the later one of record and index.
 */
static struct mail *mailbox_adopted(struct call *c, const struct agent_files *f, struct mail *m)
{
	struct mail *indexed;

	if (read_index(c, f, m->id, &indexed)) {
		call_forgive(c); /* the record counts */
		return m;
	}
	return indexed && str_eq(indexed->to, m->to) && indexed->state > m->state ? indexed : m;
}

static void put_steps(struct call *c, struct buf *lines, const struct mail *m,
		      const struct mail *now)
{
	struct mail read = *now;

	read.state = MAIL_READ;
	read.acked_ms = 0;
	read.ack_mark = STR_NONE;
	if (m->state < MAIL_READ && now->state > MAIL_READ)
		buf_put(lines, mailbox_text_of(c, &read));
	buf_put(lines, mailbox_text_of(c, now));
}

/* Takes over later states from the index; a writer appends them to the record. */
static enum err mailbox_adopt(struct call *c, struct agent_files *f, struct mailbox *box)
{
	struct buf lines = { .mem = &c->mem };
	enum err e;

	for (size_t i = 0; i < box->fresh.count; i++) {
		struct mail *m = box->fresh.entry[i].value, *now = mailbox_adopted(c, f, m);

		if (now == m)
			continue;
		put_steps(c, &lines, m, now);
		if (f->lock.fd < 0)
			mailbox_apply(box, now);
	}
	if (!lines.n || f->lock.fd < 0 || f->pending_count)
		return ERR_OK;
	e = agent_file_append(c, f, mailbox_file(c, box->agent), buf_str(&lines));
	return e ? e : apply_rest(c, f, box);
}

/* Reads the snapshot, then the size of the record, which only grows. */
static enum err load_box(struct call *c, struct agent_files *f, struct str agent,
			 struct mailbox *out, int64_t *size)
{
	struct str text;
	enum err e = agent_file_read(c, f, box_of(c, agent), &text);

	*out = empty_box(c, agent);
	if (e || (e = agent_file_size(c, f, mailbox_file(c, agent), size)))
		return e;
	if (!read_box(c, text, out))
		*out = empty_box(c, agent);
	if (out->known > *size) { /* the index still has each message */
		agent_file_warn_shortened(c, mailbox_file(c, agent));
		*out = empty_box(c, agent);
	}
	out->begun = text.p;
	return ERR_OK;
}

enum err mailbox_check(struct call *c, struct agent_files *f, struct str agent)
{
	struct mailbox box;
	int64_t size;

	return load_box(c, f, agent, &box, &size);
}

enum err mailbox_open(struct call *c, struct agent_files *f, struct str agent, struct mailbox *out)
{
	int64_t size;
	enum err e = load_box(c, f, agent, out, &size);

	if (!e && out->known < size)
		e = apply_rest(c, f, out);
	for (size_t i = 0; !e && i < out->fresh.count; i++)
		*map_put(&out->unsure, out->fresh.entry[i].key) = out;
	return !e && !out->begun ? mailbox_adopt(c, f, out) : e;
}

/* Writes the snapshots, including those for lines of writers that died before they could. */
static enum err mailbox_catch_up(struct call *c, struct agent_files *f, struct mailbox *box)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < box->fresh.count; i++) {
		const struct mail *m = box->fresh.entry[i].value;

		e = agent_file_swap(c, f, index_of(c, m->id), mailbox_text_of(c, m));
	}
	return e ? e : write_box(c, f, box);
}

struct agent_append mailbox_line(struct call *c, const struct mailbox *box, const struct mail *m)
{
	return (struct agent_append){ .name = mailbox_file(c, box->agent),
				      .lines = mailbox_text_of(c, m) };
}

/* While lines are pending, the snapshots must not know more than the record. */
enum err mailbox_settle(struct call *c, struct agent_files *f, struct mailbox *box)
{
	enum err e;

	if (f->pending_count)
		return ERR_OK;
	if ((e = apply_rest(c, f, box)))
		return e;
	return agent_file_later(c, mailbox_catch_up(c, f, box));
}

enum err mailbox_put(struct call *c, struct agent_files *f, const struct mailbox *box,
		     const struct mail *m, const struct mail *then)
{
	struct buf lines = { .mem = &c->mem };

	buf_put(&lines, mailbox_text_of(c, m));
	if (then)
		buf_put(&lines, mailbox_text_of(c, then));
	return agent_file_append(c, f, mailbox_file(c, box->agent), buf_str(&lines));
}

/* --- finding messages --- */

static enum err mailbox_search(struct call *c, struct agent_files *f, struct str agent,
			       struct str id, struct mail **out)
{
	struct mailbox_walk w = mailbox_walk(c, f, agent);
	enum err e;

	while (!(e = mailbox_next(c, &w, out)) && *out)
		if (str_eq((*out)->id, id))
			break;
	mailbox_walk_end(c, &w);
	return e;
}

/* The state in the record: the last line with the id counts; lines without it are not parsed. */
static enum err mailbox_last(struct call *c, struct agent_files *f, const struct mailbox *box,
			     struct mail **m)
{
	struct lines_back back = { .f = f, .name = mailbox_file(c, box->agent) };
	struct str id = (*m)->id, line;
	enum err e;

	while (!(e = lines_back(c, &back, &line)) && line.p) {
		struct mail *said = str_has(line, id) ? mailbox_decode(&c->mem, line) : NULL;

		if (!said || !str_eq(said->id, id))
			continue;
		*m = said;
		break;
	}
	return e;
}

/* A power failure may leave a snapshot of a message that is older than the box. */
enum err mailbox_find(struct call *c, struct agent_files *f, const struct mailbox *box,
		      struct str id, struct mail **out)
{
	void **at = map_find(&box->fresh, id);
	enum err e;

	if (at) {
		*out = *at;
		return ERR_OK;
	}
	if ((e = read_index(c, f, id, out)))
		return e;
	if (*out && !str_eq((*out)->to, box->agent))
		*out = NULL;
	else if (!*out && mailbox_plausible(id))
		return mailbox_search(c, f, box->agent, id, out);
	at = map_find(&box->opened, id);
	return *out && (*out)->state == MAIL_UNREAD && at && *at ? mailbox_last(c, f, box, out) :
								   ERR_OK;
}

enum err mailbox_confirm(struct call *c, struct agent_files *f, const struct mailbox *box,
			 struct mail **m)
{
	enum mail_state before = (*m)->state;
	enum err e = mailbox_last(c, f, box, m);

	if (!e && (*m)->state != before)
		agent_file_later(
			c, agent_file_swap(c, f, index_of(c, (*m)->id), mailbox_text_of(c, *m)));
	return e;
}

enum err mailbox_find_unsure(struct call *c, struct agent_files *f, const struct mailbox *box,
			     struct str end, struct mail **out)
{
	*out = NULL;
	for (size_t i = 0; i < box->unsure.count; i++)
		if (str_ends(box->unsure.entry[i].key, end))
			return mailbox_find(c, f, box, box->unsure.entry[i].key, out);
	return ERR_OK;
}

enum err mailbox_owner(struct call *c, struct agent_files *f, struct str id, struct str *out)
{
	struct mail *m;
	enum err e = read_index(c, f, id, &m);

	*out = m ? m->to : STR_NONE;
	return e;
}

struct mailbox_walk mailbox_walk(struct call *c, const struct agent_files *f, struct str agent)
{
	int64_t size = 0;

	return (struct mailbox_walk){ .back = { .f = f, .name = mailbox_file(c, agent) },
				      .seen.mem = &c->mem,
				      .adopts = !agent_file_size(c, f, box_of(c, agent), &size) &&
						!size };
}

/*
 * Walking back, the line of a message's last state comes first; the message is returned at the line
 * of its sending. It has several of these if its sender was renamed, or if it was moved twice, but
 * is returned once.
 */
enum err mailbox_next(struct call *c, struct mailbox_walk *w, struct mail **out)
{
	struct str line;
	enum err e;

	while (!(e = lines_back(c, &w->back, &line)) && line.p) {
		bool blank = agent_line_blank(line);
		struct mail *m = blank ? NULL : mailbox_decode(&c->mem, line);
		void **at;

		if (!m) {
			if (!blank)
				agent_skips_add(&w->skips, lines_back_at(&w->back));
			continue;
		}
		at = map_put(&w->seen, m->id);
		if (!*at)
			*at = w->adopts ? mailbox_adopted(c, w->back.f, m) : m;
		*out = *at;
		if (m->state != MAIL_UNREAD || (*out)->listed)
			continue;
		(*out)->listed = true;
		return ERR_OK;
	}
	*out = NULL;
	return e;
}

void mailbox_walk_end(struct call *c, struct mailbox_walk *w)
{
	agent_skips_warn(c, w->back.f, w->back.name, &w->skips);
}

enum err mailbox_list(struct call *c, struct agent_files *f, struct str **agents, size_t *count)
{
	return agent_files_list(c, f, STR("messages"), STR(".jsonl"), agents, count);
}

/* `at` is the offset of the text in the record. */
static void mailbox_each_line(struct call *c, struct str text, int64_t at, struct str about,
			      struct agent_skips *skips, mail_each *each, void *arg)
{
	struct str rest = text, line;

	while (agent_line_next(&rest, &line)) {
		struct mail *m = str_has(line, about) ? mailbox_decode(&c->mem, line) : NULL;

		if (m)
			each(c, m, arg);
		else if (!about.p)
			agent_skips_add(skips, at + (line.p - text.p));
	}
}

enum err mailbox_each(struct call *c, struct agent_files *f, struct str agent, int64_t *from,
		      struct str about, mail_each *each, void *arg)
{
	struct str name = mailbox_file(c, agent), text;
	struct agent_skips skips = { 0 };
	enum err e;

	do {
		struct call part = call_part(c);
		int64_t at = *from;

		e = agent_file_read_part(&part, f, name, from, &text);
		if (!e)
			mailbox_each_line(&part, text, at, about, &skips, each, arg);
		call_part_end(c, &part, e);
	} while (!e && text.n);
	agent_skips_warn(c, f, name, &skips);
	return agent_file_pass_over(c, f, name, e);
}

/* --- repairs --- */

bool mailbox_line_valid(struct call *c, struct str line)
{
	return mailbox_decode(&c->mem, line);
}

/* The lines of a message in a record. */
struct lines_of {
	bool sent; /* the record has the line of its sending */
};

static void mailbox_put_lines(struct call *c, struct buf *out, struct mail *m)
{
	struct mail sent = *m;

	sent.state = MAIL_UNREAD;
	sent.read_ms = sent.acked_ms = 0;
	sent.read_mark = sent.ack_mark = STR_NONE;
	buf_put(out, mailbox_text_of(c, &sent));
	if (m->state != MAIL_UNREAD)
		buf_put(out, mailbox_text_of(c, m));
}

/* The messages of a record by id: struct lines_of. */
static struct map known_messages(struct call *c, struct str record)
{
	struct map known = { .mem = &c->mem };
	struct arena scratch = { 0 };
	struct str line;

	for (; agent_line_next(&record, &line); arena_reset(&scratch)) {
		struct mail *m = mailbox_decode(&scratch, line);
		void **at = m ? map_find(&known, m->id) : NULL;

		if (!m)
			continue;
		if (!at) {
			at = map_put(&known, arena_copy(&c->mem, m->id));
			*at = arena_new(&c->mem, struct lines_of);
		}
		if (m->state == MAIL_UNREAD)
			((struct lines_of *)*at)->sent = true;
	}
	arena_release(&scratch);
	return known;
}

struct mailbox_ids {
	struct str *id;
	size_t count;
};

static void mailbox_note_snapshot(struct call *c, struct map *all, struct str id, struct str to)
{
	void **at = map_find(all, to);
	struct mailbox_ids *ids;

	if (!at) {
		at = map_put(all, arena_copy(&c->mem, to));
		*at = arena_new(&c->mem, struct mailbox_ids);
	}
	ids = *at;
	ids->id = arena_room(&c->mem, ids->id, ids->count, sizeof *ids->id);
	ids->id[ids->count++] = id;
}

enum err mailbox_snapshots(struct call *c, struct agent_files *f, struct map *out)
{
	struct call part = call_part(c);
	struct str *ids;
	size_t count;
	enum err e = agent_files_list(c, f, STR("messages/index"), STR(".json"), &ids, &count);

	*out = (struct map){ .mem = &c->mem };
	if (e)
		return e;
	for (size_t i = 0; i < count; i++) {
		struct mail *m;

		arena_reset(&part.mem);
		if ((e = read_index(&part, f, ids[i], &m)))
			break;
		if (m)
			mailbox_note_snapshot(c, out, ids[i], m->to);
	}
	return call_part_end(c, &part, e);
}

enum err mailbox_missing(struct call *c, struct agent_files *f, const struct map *snapshots,
			 struct str agent, struct str record, struct str *lines, size_t *count)
{
	struct map known = known_messages(c, record);
	struct buf out = { .mem = &c->mem };
	void **of_agent = map_find(snapshots, agent);
	const struct mailbox_ids *ids = of_agent ? *of_agent : &(const struct mailbox_ids){ 0 };
	enum err e = ERR_OK;

	*count = 0;
	for (size_t i = 0; !e && i < ids->count; i++) {
		void **at = map_find(&known, ids->id[i]);
		struct mail *m;

		if (at && ((struct lines_of *)*at)->sent)
			continue;
		if ((e = read_index(c, f, ids->id[i], &m)) || !m || !str_eq(m->to, agent))
			continue;
		mailbox_put_lines(c, &out, m);
		++*count;
	}
	*lines = buf_str(&out);
	return e;
}

enum err mailbox_forget_box(struct call *c, struct agent_files *f, struct str agent)
{
	return agent_file_remove(c, f, box_of(c, agent));
}
