/* Messages that come from other machines. */
#include "agents/mail.h"
#include "agents/mailbox.h"
#include "base/id.h"
#include "base/text/utf8.h"
#include "store/agent_pending.h"

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

/* Every line is one step after the line before it, so an acked message has three. */
static enum err mail_join_steps(struct call *c, struct agent_files *f, struct mailbox *box,
				const struct mail *from, const struct mail *to)
{
	struct mail read = *to, acked = *to;

	read.state = MAIL_READ;
	read.acked_ms = 0;
	acked.again = to->state == from->state;
	read.again = acked.again;
	if (to->state == MAIL_UNREAD)
		return mailbox_put(c, f, box, &acked, NULL);
	if (to->state == MAIL_READ)
		return mailbox_put(c, f, box, &read, NULL);
	return from->state == MAIL_UNREAD ? mailbox_put(c, f, box, &read, &acked) :
					    mailbox_put(c, f, box, &acked, NULL);
}

static enum err mail_join_new(struct call *c, struct agent_files *f, struct mailbox *box,
			      const struct mail *m)
{
	struct mail sent = *m;
	struct agent_append line;
	enum err e;

	sent.state = MAIL_UNREAD;
	sent.read_ms = sent.acked_ms = 0;
	line = mailbox_line(c, box, &sent);
	if ((e = agent_files_begin(c, f)) || (e = agent_files_append_all(c, f, &line, 1)) ||
	    (e = mailbox_settle(c, f, box)))
		return e;
	return m->state == MAIL_UNREAD ? ERR_OK : mail_join_steps(c, f, box, &sent, m);
}

enum err mail_join(struct call *c, struct agent_files *f, const struct mail *m, bool *changed)
{
	struct mailbox box;
	struct mail *here, both;
	enum err e;

	*changed = false;
	if (!mail_join_valid(m))
		return ERR_OK;
	if ((e = mailbox_open(c, f, m->to, &box)) || (e = mailbox_find(c, f, &box, m->id, &here)))
		return e;
	*changed = !here;
	if (!here)
		return mail_join_new(c, f, &box, m);
	if ((e = mailbox_confirm(c, f, &box, &here)))
		return e;
	both = mail_join_states(here, m);
	if (both.state == here->state && both.read_ms == here->read_ms &&
	    both.acked_ms == here->acked_ms && str_eq(both.from, here->from))
		return ERR_OK;
	*changed = true;
	return mail_join_steps(c, f, &box, here, &both);
}
