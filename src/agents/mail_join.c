/*
 * Messages that come from other machines. However many there are for a mailbox, its record is read
 * once and appended to once, because every command that sends waits for the lock meanwhile, and
 * every append waits for the disk.
 */
#include "agents/mail_join.h"

#include "base/id.h"
#include "base/text/utf8.h"

enum { TITLE_MOST = 500, TEXT_MOST = 1024 * 1024 }; /* bytes, as in mail.c */

/* The same bounds as for a message that is sent here; ids and names become names of files. */
static bool mail_join_valid(const struct mail *m)
{
	return id_is_minted(m->id, "msg") && registry_id_valid(m->to) && m->from.n &&
	       m->from.n <= TITLE_MOST && !utf8_has_control(m->from) && str_trim(m->bead).n &&
	       m->bead.n <= TITLE_MOST && !utf8_has_control(m->bead) && m->subject.n &&
	       m->subject.n <= TITLE_MOST && m->body.n && m->body.n <= TEXT_MOST &&
	       m->thread.n <= TITLE_MOST;
}

static int64_t mail_earlier(int64_t a, int64_t b)
{
	return !a ? b : !b ? a : a < b ? a : b;
}

/* The later state, with the earliest times. */
static struct mail mail_join_states(const struct mail *here, const struct mail *there)
{
	struct mail both = *here;

	both.state = here->state > there->state ? here->state : there->state;
	both.read_ms = mail_earlier(here->read_ms, there->read_ms);
	both.acked_ms = mail_earlier(here->acked_ms, there->acked_ms);
	both.via = there->via;
	both.from = there->from; /* its sender may have another name now */
	return both;
}

/* --- the record --- */

/* A member of a line as this program writes it, without escapes; absent: it has none. */
static struct str mail_member(struct str line, struct str member)
{
	const char *at = str_find(line, member), *end;
	struct str rest;

	if (!at)
		return STR_NONE;
	rest = str_skip(line, (size_t)(at - line.p) + member.n);
	end = memchr(rest.p, '"', rest.n);
	return end ? str_head(rest, (size_t)(end - rest.p)) : STR_NONE;
}

/* The id of a line in the form that this program writes, or else from its JSON. */
static struct str mail_line_id(struct call *c, struct str line)
{
	const struct str first = STR("{\"message_id\":\"");
	struct mail *m;

	if (str_starts(line, first))
		return mail_member(line, first);
	m = mailbox_decode(&c->mem, line);
	return m ? m->id : STR_NONE;
}

/* A message in the record of a mailbox. */
struct mail_join_known {
	struct str line;    /* its last line */
	struct str machine; /* the machine that its first line came from; absent: this one */
	int64_t reserved;   /* bytes kept free for its next steps */
};

/*
 * The bytes that a message still needs: reading and acking it append its whole line again, each
 * with one more time. The commands of this machine must always be able to do so.
 */
static int64_t mail_join_next_steps(size_t line, enum mail_state state)
{
	enum { STEP_MORE = 64 };

	return (int64_t)(MAIL_ACKED - state) * ((int64_t)line + STEP_MORE);
}

static void mail_join_take(struct mail_join_box *b, struct str machine, int64_t bytes)
{
	*map_number(&b->taken, machine) += bytes;
	b->taken_all += bytes;
}

/*
 * Counts a line towards the share of the machine that it came from. A line that was written here
 * counts towards the share of the machine that sent the message.
 */
static void mail_join_count_line(struct call *c, struct mail_join_box *b, struct str id,
				 struct str line)
{
	struct str via = mail_member(line, STR(",\"via\":\""));
	void **at = map_put(&b->known, id);
	struct mail_join_known *known = *at;

	if (!known) {
		*at = known = arena_new(&c->mem, struct mail_join_known);
		*known = (struct mail_join_known){ .machine = via };
	}
	known->line = line;
	if (!via.n)
		via = known->machine;
	if (via.n)
		mail_join_take(b, via, (int64_t)line.n + 1);
}

/* Reserves room for the next steps of the messages that other machines have sent. */
static void mail_join_reserve_all(struct mail_join_box *b)
{
	for (size_t i = 0; i < b->known.count; i++) {
		struct mail_join_known *known = b->known.entry[i].value;
		int state =
			names_exact(&mail_states, mail_member(known->line, STR(",\"state\":\"")));

		if (!known->machine.n)
			continue;
		known->reserved = mail_join_next_steps(
			known->line.n, state < 0 ? MAIL_UNREAD : (enum mail_state)state);
		b->reserved += known->reserved;
		mail_join_take(b, known->machine, known->reserved);
	}
}

/* Reads the record once, however many messages are joined. */
static enum err mail_join_scan(struct call *c, struct agent_files *f, struct mail_join_box *b)
{
	struct str text, line;
	enum err e = agent_file_read(c, f, mailbox_file(c, b->box.agent), &text);

	b->size = (int64_t)text.n;
	while (!e && agent_line_next(&text, &line)) {
		struct str id = mail_line_id(c, line);

		if (id.n)
			mail_join_count_line(c, b, id, line);
	}
	mail_join_reserve_all(b);
	return e;
}

/* A full record is not opened: it may be too large to read, and must not stop the other facts. */
static enum err mail_join_open(struct mail_joining *k, struct str agent, struct mail_join_box *b)
{
	struct call *c = k->c;
	enum err e = agent_file_size(c, k->files, mailbox_file(c, agent), &b->size);

	b->full = b->size > AGENT_RECORD_FULL;
	if (e || b->full || (e = mailbox_open(c, k->files, agent, &b->box)))
		return e;
	return mail_join_scan(c, k->files, b);
}

static enum err mail_join_box(struct mail_joining *k, struct str agent, struct mail_join_box **out)
{
	struct call *c = k->c;
	struct map none = { .mem = &c->mem };
	void **at = map_find(&k->boxes, agent);
	enum err e;

	*out = at ? *at : NULL;
	if (*out)
		return ERR_OK;
	agent = arena_copy(&c->mem, agent);
	*out = arena_new(&c->mem, struct mail_join_box);
	**out = (struct mail_join_box){ .lines.mem = &c->mem, .known = none, .taken = none };
	if ((e = mail_join_open(k, agent, *out)))
		return e;
	*map_put(&k->boxes, agent) = *out;
	return ERR_OK;
}

/* --- joining --- */

/*
 * The lines that one other machine causes may fill a third of a mailbox, and those of all others
 * together two thirds. So no push can keep the agents of this machine from writing to each other. A
 * step for which room was reserved costs nothing more.
 */
static bool mail_join_fits(const struct mail_join_box *b, int64_t taken, int64_t more, size_t lines)
{
	enum { THIRD = AGENT_RECORD_FULL / 3 };
	int64_t size = b->size + (int64_t)b->lines.n;

	if (taken + more > THIRD || b->taken_all + more > 2 * (int64_t)THIRD)
		return false;
	return more > 0 ? size + b->reserved + more <= 2 * (int64_t)THIRD :
			  size + (int64_t)lines <= AGENT_RECORD_FULL;
}

/* Every line is one step after the line before it, so an acked message has three. */
static struct str mail_join_lines(struct call *c, const struct mailbox *box,
				  const struct mail *from, const struct mail *to)
{
	struct mail sent = *to, read = *to, acked = *to;
	struct buf lines = { .mem = &c->mem };
	bool same = from && to->state == from->state;

	sent.state = MAIL_UNREAD;
	sent.read_ms = sent.acked_ms = 0;
	read.state = MAIL_READ;
	read.acked_ms = 0;
	sent.again = read.again = acked.again = same;
	if (!from || to->state == MAIL_UNREAD)
		buf_put(&lines, mailbox_line(c, box, &sent).lines);
	if (to->state == MAIL_READ ||
	    (to->state == MAIL_ACKED && (!from || from->state == MAIL_UNREAD)))
		buf_put(&lines, mailbox_line(c, box, &read).lines);
	if (to->state == MAIL_ACKED)
		buf_put(&lines, mailbox_line(c, box, &acked).lines);
	return buf_str(&lines);
}

/* The message as the record has it; NULL: it does not. A state that was adopted from another
 * program is only in the box. */
static const struct mail *mail_join_find(struct call *c, const struct mail_join_box *b,
					 struct str id, const struct mail_join_known *known)
{
	void **fresh = map_find(&b->box.fresh, id);

	return fresh ? *fresh : known ? mailbox_decode(&c->mem, known->line) : NULL;
}

/* Adds the lines that move a message from one state (NULL: it is new) to another. */
static bool mail_join_add(struct call *c, struct mail_join_box *b,
			  const struct mail_join_known *known, const struct mail *from,
			  const struct mail *to)
{
	struct str lines = mail_join_lines(c, &b->box, from, to),
		   machine = known && known->machine.n ? known->machine : to->via;
	int64_t before = known ? known->reserved : 0, after = 0, more;

	if (!known || known->machine.n)
		after = mail_join_next_steps(mailbox_line(c, &b->box, to).lines.n, to->state);
	more = (int64_t)lines.n + after - before;
	if (!mail_join_fits(b, *map_number(&b->taken, machine), more, lines.n))
		return false;
	mail_join_take(b, machine, more);
	b->reserved += after - before;
	buf_put(&b->lines, lines);
	return true;
}

enum err mail_join(struct mail_joining *k, const struct mail *m, bool *left_out)
{
	struct call *c = k->c;
	const struct mail_join_known *known;
	const struct mail *here;
	struct mail both = *m;
	struct mail_join_box *b;
	void **at;
	enum err e;

	*left_out = false;
	if (!mail_join_valid(m))
		return ERR_OK;
	if ((e = agent_files_begin(c, k->files)) || (e = mail_join_box(k, m->to, &b)))
		return e;
	*left_out = b->full;
	if (b->full)
		return ERR_OK;
	at = map_find(&b->known, m->id);
	known = at ? *at : NULL;
	here = mail_join_find(c, b, m->id, known);
	if (here)
		both = mail_join_states(here, m);
	if (here && both.state == here->state && both.read_ms == here->read_ms &&
	    both.acked_ms == here->acked_ms && str_eq(both.from, here->from))
		return ERR_OK;
	*left_out = !mail_join_add(c, b, known, here, &both);
	return ERR_OK;
}

enum err mail_join_end(struct mail_joining *k)
{
	struct call *c = k->c;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < k->boxes.count; i++) {
		struct mail_join_box *b = k->boxes.entry[i].value;

		if (b && b->lines.n &&
		    !(e = agent_file_append(c, k->files, mailbox_file(c, b->box.agent),
					    buf_str(&b->lines))))
			e = mailbox_settle(c, k->files, &b->box);
	}
	return e;
}
