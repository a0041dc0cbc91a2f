/* Renames agents: if two machines registered the same name, the later agent gets another one. */
#include "agents/agent_names.h"
#include "agents/mailbox.h"
#include "agents/registry.h"
#include "base/text/value.h"
#include "machines/apply.h"

/* The messages that were sent to this registration, and those that its agent has sent. */
static enum err rename_find_mail(struct applying *k, const struct registration *one, struct map *to)
{
	struct fact *f;
	enum err e = apply_facts(k, STR("message.sent"), STR_NONE, false, &f);

	for (; !e && f; f = f->next) {
		struct str machine = value_str(f->data, "to_machine");
		int64_t registered = 0;

		value_int(f->data, "to_registered", &registered);
		if (registered == one->created_ms && str_eq(value_str(f->data, "to"), one->name) &&
		    (!machine.p || str_eq(machine, one->machine)))
			map_put(to, f->subject);
		else if (!str_eq(f->machine, one->machine) ||
			 !str_eq(value_str(f->data, "from"), one->name))
			continue;
		map_put(&k->again, f->subject);
	}
	return e;
}

/* On its own machine, all mail under the old name is its own: the other agent was not known. */
static enum err rename_move_mail(struct applying *k, const struct registration *one, bool here)
{
	struct map to = { .mem = &k->c->mem };
	struct str place = mailbox_file(k->c, one->name);
	enum err e = rename_find_mail(k, one, &to);

	if (e || (e = mailbox_move(k->c, &k->files, one->name, one->shown, here ? NULL : &to)))
		return e;
	return place_row_put(k->c, &k->m->db, place, STR("0")); /* both are read again */
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

static enum err rename_own(struct applying *k, const struct registration *one)
{
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
	    (e = rename_move_mail(k, one, true)))
		return e;
	return rename_tell(k, one);
}

enum err apply_each_renamed(struct applying *k, renamed_each *each, void *arg)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < k->agents.names.count; i++) {
		const struct registration *one = k->agents.names.entry[i].value;

		for (one = one->next; !e && one; one = one->next)
			e = each(k, arg, one);
	}
	return e;
}

/* Runs once for each registration that was renamed. */
static enum err rename_once(struct applying *k, void *arg, const struct registration *one)
{
	struct map *renamed = arg;
	bool here = str_eq(one->machine, k->m->me.self.id), done;
	struct str kind = STR("renamed");
	enum err e = value_row_find(k->c, &k->m->db, kind, one->name, one->shown, &done);

	if (here)
		*map_put(renamed, one->name) = (void *)&one->shown;
	if (e || done || !registry_id_valid(one->shown))
		return e;
	if ((e = here ? rename_own(k, one) : rename_move_mail(k, one, false)))
		return e;
	k->m->reserved = k->renamed = true;
	return value_row_put(k->c, &k->m->db, kind, one->name, one->shown);
}

enum err apply_names(struct applying *k)
{
	struct map renamed = { .mem = &k->c->mem };
	enum err e = apply_each_renamed(k, rename_once, &renamed);

	return e ? e : agent_names_put(k->c, &k->files, k->m->me.self.name, &renamed);
}
