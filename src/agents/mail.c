#include "agents/mail.h"

#include "agents/protocol.h"
#include "base/id.h"
#include "base/json.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/utf8.h"
#include "base/value.h"

enum { TITLE_MOST = 500, TEXT_MOST = 1024 * 1024 }; /* bytes */

static const char *const category_words[] = { "HANDOFF", "BLOCKED", "DECISION", "INFO" };
const struct names categories = { category_words, 4, NULL };

static const char *const state_words[] = { "unread", "read", "acked" };
const struct names mail_states = { state_words, 3, NULL };

/* --- text --- */

void mail_encode(struct json *j, const struct mail *m)
{
	json_object(j);
	json_put_str(j, "message_id", m->id);
	json_put_str(j, "thread_id", m->thread);
	json_put_str(j, "bead_id", m->bead);
	json_put_str(j, "from_agent", m->from);
	json_put_str(j, "to_agent", m->to);
	json_put_str(j, "category", str_of(names_word(&categories, m->category)));
	json_put_str(j, "subject", m->subject);
	json_put_str(j, "body", m->body);
	json_put_str(j, "state", str_of(names_word(&mail_states, m->state)));
	json_put_bool(j, "requires_ack", m->requires_ack);
	json_put_moment(j, "created_at", m->created_ms);
	json_put_moment(j, "read_at", m->read_ms);
	json_put_moment(j, "acked_at", m->acked_ms);
	json_end(j);
}

static struct str text_of(struct call *c, const struct mail *m)
{
	struct json j = { .out.mem = &c->mem };

	mail_encode(&j, m);
	buf_char(&j.out, '\n');
	return buf_str(&j.out);
}

static bool decode_moment(const struct value *v, const char *key, int64_t *ms)
{
	struct str text = value_str(v, key);

	*ms = 0;
	return !text.p || moment_parse(text, ms);
}

static struct mail *decode(struct arena *mem, struct str line)
{
	struct value_error error;
	const struct value *v = value_parse(mem, line, &error),
			   *ack = value_find(v, "requires_ack");
	struct mail *m = arena_new(mem, struct mail);

	*m = (struct mail){ .id = value_str(v, "message_id"),
			    .thread = value_str(v, "thread_id"),
			    .bead = value_str(v, "bead_id"),
			    .from = value_str(v, "from_agent"),
			    .to = value_str(v, "to_agent"),
			    .subject = value_str(v, "subject"),
			    .body = value_str(v, "body"),
			    .category =
				    names_exact(&categories, value_str(v, "category")),
			    .state = names_exact(&mail_states, value_str(v, "state")),
			    .requires_ack = ack && ack->type == VALUE_BOOL && ack->yes };
	return m->id.n && m->to.n && m->from.n && m->bead.n && m->body.p &&
			       m->category >= 0 && m->state >= 0 &&
			       decode_moment(v, "created_at", &m->created_ms) &&
			       decode_moment(v, "read_at", &m->read_ms) &&
			       decode_moment(v, "acked_at", &m->acked_ms) ?
		       m :
		       NULL;
}

/* --- files --- */

static struct str stream_of(struct call *c, struct str agent)
{
	return arena_fmt(&c->mem, "messages/" STR_FMT ".jsonl", STR_ARG(agent));
}

static struct str index_of(struct call *c, struct str id)
{
	return arena_fmt(&c->mem, "messages/index/" STR_FMT ".json", STR_ARG(id));
}

/* The record first: what it says counts, also if the snapshot is lost. */
static enum err store(struct call *c, struct agent_files *f, const struct mail *m)
{
	struct str line = text_of(c, m);
	enum err e = agent_file_append(c, f, stream_of(c, m->to), line);

	return e ? e : agent_file_replace(c, f, index_of(c, m->id), line);
}

struct stream {
	struct map last;     /* by id: how it is now */
	struct mail **order; /* as they were sent */
	size_t count;
};

static enum err read_stream(struct call *c, struct agent_files *f, struct str agent,
			    struct stream *out)
{
	struct str name = stream_of(c, agent), text, line;
	enum err e = agent_file_read(c, f, name, &text);

	*out = (struct stream){ .last.mem = &c->mem };
	for (size_t n = 1; !e && text.n && str_next(&text, '\n', &line); n++) {
		struct mail *m = decode(&c->mem, line);
		void **at;

		if (!m)
			return agent_file_damaged(c, name, n);
		at = map_put(&out->last, m->id);
		if (*at) {
			*(struct mail *)*at = *m;
			continue;
		}
		*at = m;
		out->order = arena_room(&c->mem, out->order, out->count,
					sizeof(struct mail *));
		out->order[out->count++] = m;
	}
	return e;
}

/* --- sending --- */

static enum err check_text(struct call *c, const char *what, struct str text, size_t most)
{
	if (text.n > most)
		return call_fail(c, ERR_INVALID_INPUT, "%s is longer than %zu bytes",
				 what, most);
	return str_trim(text).n ? ERR_OK :
				  call_fail(c, ERR_INVALID_INPUT, "%s is blank", what);
}

static enum err check_letter(struct call *c, const struct letter *l)
{
	enum err e;

	if (!str_trim(l->bead).n || utf8_has_control(l->bead))
		return call_fail(c, ERR_MISSING_BEAD_ID,
				 "a message has to say which bead it is about");
	if (names_exact(&categories, l->category) < 0)
		return call_fail(c, ERR_INVALID_CATEGORY,
				 "'" STR_FMT "' is not a category of messages",
				 STR_ARG(l->category));
	if (l->urgency.p && !str_is(l->urgency, "low") && !str_is(l->urgency, "medium") &&
	    !str_is(l->urgency, "high"))
		return call_fail(c, ERR_INVALID_INPUT,
				 "the urgency is low, medium or high, not '" STR_FMT "'",
				 STR_ARG(l->urgency));
	if (l->action.p && (e = check_text(c, "the next action", l->action, TITLE_MOST)))
		return e;
	if (l->thread.p && (e = check_text(c, "the thread", l->thread, TITLE_MOST)))
		return e;
	if ((e = check_text(c, "the subject", l->subject, TITLE_MOST)))
		return e;
	return check_text(c, "the body", l->body, TEXT_MOST);
}

/* Somebody who is not registered is one of these, not simply not found. */
static enum err known(struct call *c, struct agent_files *f, struct str id, enum err what,
		      struct registered **out)
{
	enum err e = registry_find(c, f, id, out);

	if (e == ERR_AGENT_NOT_FOUND || e == ERR_INVALID_INPUT) {
		call_fail(c, what, "there is no agent '" STR_FMT "'", STR_ARG(id));
		return call_step(c, "'bb agent list' shows who is registered.");
	}
	return e;
}

static enum err send_to(struct call *c, struct agent_files *f, const struct letter *l,
			struct str to, struct mail ***tail)
{
	struct mail *m = arena_new(&c->mem, struct mail);
	int category = names_exact(&categories, l->category);

	*m = (struct mail){ .id = id_mint(&c->mem, "msg", c->now_ms),
			    .thread = l->thread.p ? l->thread :
						    arena_fmt(&c->mem, "bead:" STR_FMT,
							      STR_ARG(l->bead)),
			    .bead = l->bead,
			    .from = l->from,
			    .to = to,
			    .subject = l->subject,
			    .body = l->body,
			    .category = category,
			    .requires_ack = category == CATEGORY_HANDOFF ||
					    category == CATEGORY_BLOCKED,
			    .created_ms = c->now_ms };
	**tail = m;
	*tail = &m->next;
	return store(c, f, m);
}

/* A handoff, and a call for help, belong to the story of the session. */
static enum err record(struct call *c, struct agent_files *f, const struct letter *l,
		       const struct mail *m)
{
	struct protocol_event event = {
		.type = m->category == CATEGORY_HANDOFF ? EVENT_HANDOFF : EVENT_BLOCKED,
		.bead = l->bead,
		.from = l->from,
		.to = l->to,
		.subject = l->subject,
		.text = l->body,
		.action = l->action.p ? l->action : l->subject,
		.urgency = l->urgency.p ? l->urgency : STR("medium"),
	};

	return m->requires_ack ? protocol_record(c, f, &event) : ERR_OK;
}

enum err mail_send(struct call *c, struct agent_files *f, const struct letter *letter,
		   struct mail **out)
{
	struct registered *sender, *all;
	struct mail **tail = out;
	bool everybody = str_is(letter->to, "broadcast");
	enum err e;

	*out = NULL;
	if ((e = check_letter(c, letter)) ||
	    (e = known(c, f, letter->from, ERR_UNKNOWN_SENDER, &sender)) ||
	    (!everybody && (e = known(c, f, letter->to, ERR_UNKNOWN_RECIPIENT, &all))))
		return e;
	if (!everybody)
		e = send_to(c, f, letter, letter->to, &tail);
	else if (!(e = registry_each(c, f, (struct str){ 0 }, (struct str){ 0 }, &all)))
		for (; !e && all; all = all->next)
			if (!str_eq(all->id, letter->from))
				e = send_to(c, f, letter, all->id, &tail);
	if (e || (*out && (e = record(c, f, letter, *out))))
		return e;
	return registry_touch(c, f, sender);
}

/* --- receiving --- */

enum err mail_inbox(struct call *c, struct agent_files *f, struct str agent,
		    const struct mail_filter *filter, struct mail **out)
{
	struct mail **tail = out;
	struct registered *a;
	struct stream s;
	int64_t left = filter->limit;
	enum err e;

	*out = NULL;
	if ((e = registry_find(c, f, agent, &a)) || (e = read_stream(c, f, agent, &s)))
		return e;
	for (size_t i = s.count; i-- > 0 && left;) {
		struct mail *m = s.order[i];

		if ((filter->state >= 0 && m->state != filter->state) ||
		    (filter->bead.p && !str_eq(m->bead, filter->bead)))
			continue;
		*tail = m;
		tail = &m->next;
		m->next = NULL;
		left--;
	}
	return ERR_OK;
}

/* From the stream of whoever it was sent to: the snapshot only says whose that is. */
static enum err find(struct call *c, struct agent_files *f, struct str agent,
		     struct str id, enum err forbidden, struct mail **out)
{
	struct registered *a;
	struct str text;
	struct mail *known_as;
	struct stream s;
	void **at;
	enum err e;

	if ((e = registry_find(c, f, agent, &a)) || (e = read_stream(c, f, agent, &s)))
		return e;
	if ((at = map_find(&s.last, id))) {
		*out = *at;
		return ERR_OK;
	}
	if (memchr(id.p, '/', id.n) || !str_starts(id, STR("msg_")))
		text = (struct str){ 0 };
	else if ((e = agent_file_read(c, f, index_of(c, id), &text)))
		return e;
	known_as = text.p ? decode(&c->mem, text) : NULL;
	if (known_as)
		return call_fail(c, forbidden,
				 "'" STR_FMT "' was sent to '" STR_FMT
				 "', not to '" STR_FMT "'",
				 STR_ARG(id), STR_ARG(known_as->to), STR_ARG(agent));
	return call_fail(c, ERR_MESSAGE_NOT_FOUND, "there is no message '" STR_FMT "'",
			 STR_ARG(id));
}

static enum err keep(struct call *c, struct agent_files *f, struct str agent,
		     struct mail *m, bool changed)
{
	struct registered *a;
	enum err e = changed ? store(c, f, m) : ERR_OK;

	if (!e && !(e = registry_find(c, f, agent, &a)))
		e = registry_touch(c, f, a);
	return e;
}

enum err mail_read(struct call *c, struct agent_files *f, struct str agent, struct str id,
		   struct mail **out)
{
	enum err e = find(c, f, agent, id, ERR_READ_FORBIDDEN, out);
	bool unread = !e && (*out)->state == MAIL_UNREAD;

	if (e)
		return e;
	if (unread) {
		(*out)->state = MAIL_READ;
		(*out)->read_ms = c->now_ms;
	}
	return keep(c, f, agent, *out, unread);
}

enum err mail_ack(struct call *c, struct agent_files *f, struct str agent, struct str id,
		  struct mail **out)
{
	enum err e = find(c, f, agent, id, ERR_ACK_FORBIDDEN, out);
	bool open = !e && (*out)->state != MAIL_ACKED;

	if (e)
		return e;
	if (open) {
		(*out)->state = MAIL_ACKED;
		(*out)->read_ms = (*out)->read_ms ? (*out)->read_ms : c->now_ms;
		(*out)->acked_ms = c->now_ms;
	}
	return keep(c, f, agent, *out, open);
}
