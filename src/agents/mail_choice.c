#include "agents/mail_choice.h"

#include "agents/current.h"
#include "agents/mailbox.h"
#include "base/buf.h"
#include "base/system/spawn.h"
#include "base/text/utf8.h"
#include "beads/find.h"

/* --- messages --- */

enum { CHOICES = 5 }; /* ids that an error lists */

/* The first ids of a list, separated by commas. */
struct choices {
	struct str id[CHOICES + 1];
	size_t count;
};

static void choices_add(struct choices *all, struct str id)
{
	if (all->count <= CHOICES)
		all->id[all->count++] = id;
}

static struct str choices_text(struct call *c, const struct choices *all)
{
	struct buf b = { .mem = &c->mem };

	for (size_t i = 0; i < all->count && i < CHOICES; i++)
		buf_fmt(&b, "%s" STR_FMT, i ? ", " : "", STR_ARG(all->id[i]));
	buf_put(&b, all->count > CHOICES ? STR(" and more") : STR(""));
	return buf_str(&b);
}

/* The id ends with a random part, which is easier to type than the time before it. */
static bool mail_id_matches(struct str id, struct str text)
{
	struct str rest = id, part;

	if (str_starts(id, text))
		return true;
	if (str_starts(id, STR("msg_")) && str_starts(str_skip(id, 4), text))
		return true;
	while (str_next(&rest, '_', &part))
		;
	return str_starts(part, text);
}

static enum err mail_none_such(struct call *c, struct str agent, struct str text,
			       const struct choices *newest)
{
	if (newest->count)
		call_fail(c, ERR_MESSAGE_NOT_FOUND,
			  "'" STR_FMT "' has no message '" STR_FMT "'; the newest are " STR_FMT,
			  STR_ARG(agent), STR_ARG(text), STR_ARG(choices_text(c, newest)));
	else
		call_fail(c, ERR_MESSAGE_NOT_FOUND,
			  "'" STR_FMT "' has no message '" STR_FMT "', and no other messages",
			  STR_ARG(agent), STR_ARG(text));
	return call_step(c, "'bb agent inbox --agent " STR_FMT "' lists that agent's messages.",
			 STR_ARG(spawn_word(&c->mem, agent)));
}

static enum err mail_choose_by_part(struct call *c, struct agent_files *f, struct str agent,
				    struct str text, struct str *id)
{
	struct mailbox_walk w = mailbox_walk(c, f, agent);
	struct choices fitting = { 0 }, newest = { 0 };
	struct mail *m;
	enum err e;

	while (!(e = mailbox_next(c, &w, &m)) && m) {
		choices_add(&newest, m->id);
		if (mail_id_matches(m->id, text))
			choices_add(&fitting, m->id);
	}
	mailbox_walk_end(c, &w);
	if (e)
		return e;
	if (!fitting.count)
		return mail_none_such(c, agent, text, &newest);
	if (fitting.count > 1)
		return find_ambiguous(c, text, fitting.id, fitting.count);
	*id = fitting.id[0];
	return ERR_OK;
}

static enum err mail_choose_newest(struct call *c, struct agent_files *f, struct str agent,
				   enum mail_state to, struct str *id)
{
	struct mail_filter unread = { .state = MAIL_UNREAD, .limit = 1 };
	struct mail_totals totals = { 0 };
	struct mail *m = NULL;
	enum err e = mail_find_done(c, f, agent, to, id);

	if (e || id->p)
		return e;
	if (to == MAIL_READ) {
		e = mail_inbox(c, f, agent, &unread, &m, NULL);
	} else {
		e = mail_totals(c, f, agent, STR_NONE, &totals);
		m = totals.unacked;
	}
	if (e)
		return e;
	if (m) {
		*id = m->id;
		return ERR_OK;
	}
	call_fail(c, ERR_MESSAGE_NOT_FOUND, "'" STR_FMT "' has no %s", STR_ARG(agent),
		  to == MAIL_READ ? "unread message" : "message that has to be acknowledged");
	return call_step(c, "'bb agent inbox --agent " STR_FMT "' lists that agent's messages.",
			 STR_ARG(spawn_word(&c->mem, agent)));
}

enum err mail_choose(struct call *c, struct agent_files *f, struct str agent, struct str text,
		     enum mail_state to, struct str *id)
{
	struct registered *a;
	struct mailbox box;
	struct mail *m;
	struct str owner;
	enum err e;

	if ((e = registry_find(c, f, agent, &a)))
		return e;
	if (!text.p)
		return mail_choose_newest(c, f, agent, to, id);
	*id = text;
	if ((e = mailbox_open(c, f, agent, &box)) || (e = mailbox_find(c, f, &box, text, &m)) ||
	    (e = mailbox_owner(c, f, text, &owner)))
		return e;
	return m || owner.p ? ERR_OK : mail_choose_by_part(c, f, agent, text, id);
}

/* --- beads --- */

static bool mail_has_no_beads(enum err e)
{
	return e == ERR_NOT_A_REPOSITORY || e == ERR_NOT_INITIALIZED;
}

enum err mail_check_bead(struct call *c, struct str text, struct str *id)
{
	struct call before = call_save(c);
	struct bead_row *row;
	struct beads b;
	enum err e;

	*id = str_trim(text);
	if (!id->n || utf8_has_control(*id)) /* mail_send() refuses it */
		return ERR_OK;
	if ((e = beads_open(c, BEADS_READ, &b))) {
		call_restore(c, &before);
		if (!mail_has_no_beads(e))
			call_warn(c, "the beads cannot be read, so '" STR_FMT "' was not checked",
				  STR_ARG(*id));
		return ERR_OK;
	}
	e = find_bead(c, &b, *id, &row);
	beads_close(&b);
	if (!e)
		*id = row->id;
	return e;
}

enum err mail_filter_bead(struct call *c, struct str text, struct str *id)
{
	enum err e = mail_check_bead(c, text, id);

	if (e != ERR_NOT_FOUND && e != ERR_DELETED)
		return e;
	return call_forgive(c);
}

enum err mail_current_bead(struct call *c, struct str agent, struct str *id)
{
	struct bead_row *row = NULL;
	struct choices all = { 0 };
	struct beads b;
	enum err e;

	*id = current_bead(c);
	if (id->p)
		return ERR_OK;
	if (!(e = beads_open(c, BEADS_READ, &b))) {
		e = find_claimed(c, &b, agent, &row);
		beads_close(&b);
	} else if (mail_has_no_beads(e)) {
		e = call_forgive(c);
	}
	if (e)
		return e;
	for (; row; row = row->next)
		choices_add(&all, row->id);
	*id = all.id[0];
	if (all.count == 1)
		return ERR_OK;
	if (all.count)
		call_fail(c, ERR_MISSING_BEAD_ID,
			  "'" STR_FMT "' works on more than one bead: " STR_FMT, STR_ARG(agent),
			  STR_ARG(choices_text(c, &all)));
	else
		call_fail(c, ERR_MISSING_BEAD_ID, "'" STR_FMT "' works on no bead", STR_ARG(agent));
	return call_step(c,
			 "Add --bead ID with the bead that the message is about; 'bd list' lists "
			 "the open beads.");
}
