#include "hosts/delivery.h"

#include "agents/mail.h"
#include "base/buf.h"
#include "base/id.h"
#include "base/text/quote.h"
#include "continuity/posts.h"
#include "continuity/sessions.h"

enum { DELIVERED_MOST = 5 };

/* The agent's unread messages that no hook has shown yet, oldest first; NULL: there are none. */
static struct mail *delivery_mail(struct call *c, const struct vybe_delivery *shown)
{
	struct mail_filter filter = { .state = MAIL_UNREAD,
				      .limit = INT64_MAX,
				      .after = shown->mail };
	struct mail *newest, *first = NULL, *next;
	struct agent_files files;

	if (!registry_id_valid(shown->agent) || agent_files_open(c, AGENTS_READ, &files) ||
	    !files.home.p || mail_inbox(c, &files, shown->agent, &filter, &newest, NULL))
		return NULL;
	for (; newest; newest = next) {
		next = newest->next;
		newest->next = first;
		first = newest;
	}
	return first;
}

static void delivery_put_mail(struct call *c, struct buf *b, struct str name, const struct mail *m)
{
	struct str head = arena_fmt(&c->mem, "from " STR_FMT " about " STR_FMT, STR_ARG(m->from),
				    STR_ARG(m->bead));

	buf_fmt(b, "Mail from another agent (%s). ", names_word(&categories, m->category));
	if (id_is_minted(m->id, "msg")) {
		buf_fmt(b, "Read it: bb agent read --agent " STR_FMT " --message " STR_FMT "\n",
			STR_ARG(name), STR_ARG(m->id));
		if (m->requires_ack)
			buf_fmt(b,
				"Accept it: bb agent ack --agent " STR_FMT " --message " STR_FMT
				"\n",
				STR_ARG(name), STR_ARG(m->id));
	} else {
		buf_fmt(b, "Read it: bb agent inbox --agent " STR_FMT "\n", STR_ARG(name));
	}
	buf_put(b, quote_line(&c->mem, head, 200));
	buf_put(b, quote_line(&c->mem, m->subject, 200));
	buf_put(b, quote_lines(&c->mem, m->body, 1000));
}

/* A few messages at a time. */
static void delivery_show_mail(struct call *c, struct buf *b, struct vybe_delivery *shown)
{
	int left = DELIVERED_MOST;

	for (const struct mail *m = delivery_mail(c, shown); m && left--; m = m->next) {
		shown->mail = m->id;
		delivery_put_mail(c, b, shown->agent, m);
	}
	call_forgive(c);
}

static void delivery_show_posts(struct call *c, struct buf *b, struct vybe_delivery *shown)
{
	int64_t last = shown->post;

	for (const struct message *m = posts_to(c, shown->agent, shown->post, &last); m;
	     m = m->next) {
		struct str head = arena_fmt(&c->mem, "from " STR_FMT, STR_ARG(m->from_agent));

		buf_fmt(b, "On the board, another agent to you (bb message %lld):\n",
			(long long)m->id);
		buf_put(b, quote_line(&c->mem, head, 100));
		buf_put(b, quote_lines(&c->mem, m->content, 1000));
	}
	if (last > shown->post)
		shown->post = last;
	call_forgive(c);
}

static void delivery_count_mail(struct call *c, struct str brief, struct vybe_delivery *shown)
{
	for (const struct mail *m = delivery_mail(c, shown); m && str_has(brief, m->id);
	     m = m->next)
		shown->mail = m->id;
	call_forgive(c);
}

static void delivery_count_posts(struct call *c, struct str brief, struct vybe_delivery *shown)
{
	int64_t last = shown->post;

	for (const struct message *m = posts_to(c, shown->agent, shown->post, &last); m;
	     m = m->next) {
		if (!str_has(brief, arena_fmt(&c->mem, "(bb message %lld)", (long long)m->id)))
			break;
		shown->post = m->id;
	}
	call_forgive(c);
}

/* Visits what was shown to the agent, and to the sessions that it continues. With a brief, counts
 * what it contains; without, shows what is new. */
static struct str delivery_each(struct call *c, struct continuity *k, const struct str *brief)
{
	struct buf b = { .mem = &c->mem };
	struct str *name;
	size_t count;

	if (sessions_names(c, k, &name, &count)) {
		call_forgive(c);
		return STR("");
	}
	for (size_t i = 0; i < count; i++) {
		struct vybe_delivery before, shown;

		if (!vybe_delivery_find(c, &k->db, name[i], &before)) {
			shown = before;
			if (brief) {
				delivery_count_mail(c, *brief, &shown);
				delivery_count_posts(c, *brief, &shown);
			} else {
				delivery_show_mail(c, &b, &shown);
				delivery_show_posts(c, &b, &shown);
			}
			if (!str_eq(shown.mail, before.mail) || shown.post != before.post)
				vybe_delivery_put(c, &k->db, &shown);
		}
		call_forgive(c);
	}
	return buf_str(&b);
}

struct str delivery_news(struct call *c, struct continuity *k)
{
	return delivery_each(c, k, NULL);
}

void delivery_count(struct call *c, struct continuity *k, struct str brief)
{
	delivery_each(c, k, &brief);
}

enum brief_state delivery_brief(struct call *c, struct continuity *k, struct str session)
{
	struct vybe_delivery shown;
	enum err e = vybe_delivery_find(c, &k->db, session, &shown);

	call_forgive(c);
	return e ? BRIEF_SHOWN : shown.brief;
}

static void delivery_set_brief(struct call *c, struct continuity *k, struct str session,
			       enum brief_state state)
{
	struct vybe_delivery shown;

	if (!vybe_delivery_find(c, &k->db, session, &shown) && shown.brief != state) {
		shown.brief = state;
		vybe_delivery_put(c, &k->db, &shown);
	}
	call_forgive(c);
}

void delivery_brief_shown(struct call *c, struct continuity *k, struct str session)
{
	delivery_set_brief(c, k, session, BRIEF_SHOWN);
}

void delivery_brief_lost(struct call *c, struct continuity *k, struct str session)
{
	if (delivery_brief(c, k, session) == BRIEF_SHOWN)
		delivery_set_brief(c, k, session, BRIEF_LOST);
}
