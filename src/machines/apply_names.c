/* Renames agents: if two machines registered the same name, the later agent gets another one. */
#include "agents/agent_names.h"
#include "agents/mailbox.h"
#include "agents/registry.h"
#include "base/text/value.h"
#include "machines/apply.h"

/* A rename to be done, of all registrations that one machine made under one name. */
struct rename {
	const struct registration *one; /* the earliest of them */
	struct map mail;                /* ids of the messages that were sent to them */
};

struct renaming {
	struct map due; /* by old and new name: struct rename */
	struct map own; /* by old name: the new name of an agent of this machine */
};

static bool rename_is_here(const struct applying *k, const struct registration *one)
{
	return str_eq(one->machine, k->m->me.self.id);
}

/* A message to or from a renamed agent is joined again, with the new name. */
static enum err rename_note_mail(const struct fact_row *row, struct arena *scratch, void *arg)
{
	struct applying *k = arg;
	const struct registration *to, *from;
	int64_t registered;
	struct fact f;
	struct str id;

	if (fact_parse(scratch, row->machine, row->line, &f) != FACT_KNOWN)
		return ERR_OK;
	to = apply_recipient(k, &f, &registered);
	from = registrations_own(&k->agents, f.machine, value_str(f.data, "from"));
	if (!(to && to->rename) && !(from && from->rename))
		return ERR_OK;
	id = arena_copy(&k->c->mem, f.subject);
	map_put(&k->again, id);
	if (to && to->rename)
		map_put(&to->rename->mail, id);
	return ERR_OK;
}

/* Anybody who can push may cause many renames: all messages are read once for all of them. */
static enum err rename_find_mail(struct applying *k, const struct renaming *r)
{
	struct fact_filter filter = { .kind = STR("message.sent") };

	if (!r->due.count)
		return ERR_OK;
	return fact_row_visit_each(k->c, &k->m->db, &filter, rename_note_mail, k);
}

/* Did this registration have the name here before? */
static enum err rename_had(struct applying *k, const struct registration *one, struct str name,
			   bool *out)
{
	return value_row_find(k->c, &k->m->db, STR("name of"), name, one->machine, out);
}

/* On its own machine, all mail under the old name is its own: the other agent was not known. */
static enum err rename_move_mail(struct applying *k, const struct rename *r, struct str from)
{
	const struct map *ids = rename_is_here(k, r->one) ? NULL : &r->mail;
	struct str place = mailbox_file(k->c, from);
	struct call part;
	enum err e;

	if (ids && !ids->count)
		return ERR_OK;
	part = call_part(k->c);
	e = call_part_end(k->c, &part, mailbox_move(&part, &k->files, from, r->one->shown, ids));
	return e ? e : place_row_put(k->c, &k->m->db, place, STR("0")); /* both are read again */
}

/* The agent's mail is under its first name, or under the name that it was given before this one. */
static enum err rename_move_all_mail(struct applying *k, const struct rename *r)
{
	const struct registration *one = r->one;
	bool had = false;
	enum err e = rename_move_mail(k, r, one->name);

	if (e || str_eq(one->alias[0], one->shown) ||
	    (e = rename_had(k, one, one->alias[0], &had)) || !had)
		return e;
	return rename_move_mail(k, r, one->alias[0]);
}

static enum err rename_tell(struct applying *k, const struct registration *one)
{
	struct call *c = k->c;
	struct str before = c->request_id;
	struct mail_draft draft = {
		.from = STR("abacus"),
		.to = one->shown,
		.bead = STR("none"),
		.category = CATEGORY_INFO,
		.urgency = -1,
		.system = true,
		.subject = arena_fmt(&c->mem, "Your name is now " STR_FMT, STR_ARG(one->shown)),
		.body = arena_fmt(
			&c->mem,
			"An agent on another machine registered the name " STR_FMT
			" before you did. You are " STR_FMT
			" from now on; on this machine the old name still means you. Your "
			"mail and reservations are under the new name.",
			STR_ARG(one->name), STR_ARG(one->shown)),
	};
	struct mail *sent;
	enum err e;

	c->request_id = arena_fmt(&c->mem, "renamed:" STR_FMT, STR_ARG(one->shown));
	e = mail_send(c, &k->files, &draft, &sent);
	c->request_id = before;
	k->files.unsettled = NULL;
	k->m->acted = true;
	return e;
}

static enum err rename_own(struct applying *k, const struct rename *r)
{
	const struct registration *one = r->one;
	const struct value *data = one->last.data;
	struct registered a = { .id = one->shown,
				.display = value_str(data, "display"),
				.role = value_str(data, "role"),
				.created_ms = one->created_ms,
				.seen_ms = one->created_ms,
				.via = one->machine },
			  *old;
	enum err e;

	if (!registry_find(k->c, &k->files, one->name, &old))
		a.seen_ms = old->seen_ms;
	call_forgive(k->c);
	if ((e = registry_join(k->c, &k->files, &k->history, &a)) ||
	    (e = rename_move_all_mail(k, r)))
		return e;
	return rename_tell(k, one);
}

enum err apply_each_renamed(struct applying *k, renamed_each *each, void *arg)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < k->agents.names.count; i++) {
		struct registration *one = k->agents.names.entry[i].value;

		for (; !e && one; one = one->next)
			if (registration_is_renamed(one))
				e = each(k, arg, one);
	}
	return e;
}

/* Older versions did not note whose name it is: then the first registration that is looked up has
 * it. */
static enum err rename_is_done(struct applying *k, const struct registration *one, bool *out)
{
	struct str kind = STR("name of");
	bool noted;
	enum err e = rename_had(k, one, one->shown, out);

	if (e || *out || (e = value_row_find_any(k->c, &k->m->db, kind, one->shown, &noted)) ||
	    noted)
		return e;
	e = value_row_find(k->c, &k->m->db, STR("renamed"), one->name, one->shown, out);
	return e || !*out ? e : value_row_put(k->c, &k->m->db, kind, one->shown, one->machine);
}

/* On this machine, each earlier name of the agent still refers to it. */
static enum err rename_note_own(struct applying *k, struct renaming *r,
				const struct registration *one)
{
	bool had;
	enum err e = rename_had(k, one, one->alias[0], &had);

	*map_put(&r->own, one->name) = (void *)&one->shown;
	if (had && !str_eq(one->alias[0], one->shown))
		*map_put(&r->own, one->alias[0]) = (void *)&one->shown;
	return e;
}

/* Notes a rename that was not done before. */
static enum err rename_note(struct applying *k, void *arg, struct registration *one)
{
	struct renaming *r = arg;
	struct rename **at;
	bool done;
	enum err e;

	if (!registry_id_valid(one->shown))
		return ERR_OK;
	if ((rename_is_here(k, one) && (e = rename_note_own(k, r, one))) ||
	    (e = rename_is_done(k, one, &done)) || done)
		return e;
	at = (struct rename **)map_put(&r->due, arena_fmt(r->due.mem, STR_FMT " " STR_FMT,
							  STR_ARG(one->name), STR_ARG(one->shown)));
	if (!*at) {
		*at = arena_new(r->due.mem, struct rename);
		**at = (struct rename){ .one = one, .mail.mem = r->due.mem };
	}
	one->rename = *at;
	map_put(&k->rejoin, one->name);
	return ERR_OK;
}

static enum err rename_do(struct applying *k, const struct rename *r)
{
	const struct registration *one = r->one;
	struct machine_db *db = &k->m->db;
	enum err e = rename_is_here(k, one) ? rename_own(k, r) : rename_move_all_mail(k, r);

	k->m->reserved = k->renamed = true;
	if (e || (e = value_row_put(k->c, db, STR("name of"), one->shown, one->machine)))
		return e;
	return value_row_put(k->c, db, STR("renamed"), one->name, one->shown);
}

/*
 * Agents of this machine come first: all mail under their old names is theirs, until the mail of
 * another agent is moved there.
 */
static enum err rename_do_all(struct applying *k, const struct renaming *r)
{
	enum err e = ERR_OK;

	for (int here = 1; here >= 0; here--)
		for (size_t i = 0; !e && i < r->due.count; i++) {
			const struct rename *one = r->due.entry[i].value;

			if (rename_is_here(k, one->one) == (bool)here)
				e = rename_do(k, one);
		}
	return e;
}

enum err apply_names(struct applying *k)
{
	struct map none = { .mem = &k->c->mem };
	struct renaming r = { none, none };
	enum err e;

	if ((e = apply_each_renamed(k, rename_note, &r)) || (e = rename_find_mail(k, &r)) ||
	    (e = rename_do_all(k, &r)))
		return e;
	return agent_names_put(k->c, &k->files, k->m->me.self.name, &r.own);
}
