#include "op/notices.h"

#include "agents/mail.h"
#include "agents/registry.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/lost.h"
#include "board/unread.h"
#include "op/op.h"
#include "store/agent_files.h"

/* Replaces a notice of that name: an operation may run others, as `vybe loop` does. */
static void notices_put(struct call *c, const char *name, struct str json)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	VALUE_EACH(one, c->meta.p ? value_read(&c->mem, c->meta) : NULL)
		if (!str_is(one->key, name))
			json_put_member(&j, one);
	json_put_raw(&j, name, json);
	json_end(&j);
	c->meta = json_text(&j);
}

enum err notices_add_unread(struct call *c, struct board *b)
{
	struct json j = json_new(&c->mem);
	struct unread unread;
	enum err e;

	if (!call_named(c))
		return ERR_OK;
	if ((e = unread_count(c, b, c->actor, &unread)))
		return e;
	unread_encode(&j, &unread);
	notices_put(c, "unread", json_text(&j));
	return ERR_OK;
}

static void notices_put_mail(struct call *c, struct mail_waiting mail)
{
	struct json j = json_new(&c->mem);

	if (!mail.unread && !mail.unacked)
		return;
	json_object(&j);
	json_put_int(&j, "unread", mail.unread);
	json_put_int(&j, "to_accept", mail.unacked);
	json_end(&j);
	notices_put(c, "mail", json_text(&j));
}

/*
 * A command that wrote moves the agent's last-seen time to the millisecond; one that only read
 * moves it if it is more than SEEN_LEAST_MS old.
 */
void notices_add_mail(struct call *c, bool wrote)
{
	struct mail_waiting mail = { 0 };
	struct agent_files files;
	struct call before;

	/* most people's names cannot be the id of an agent */
	if (!call_named(c) || (!registry_id_valid(c->actor) && !registry_id_valid(call_present(c))))
		return;
	before = call_save(c);
	if (!agent_files_open(c, AGENTS_READ, &files)) {
		registry_saw(c, &files, call_present(c), wrote ? 1 : SEEN_LEAST_MS);
		mail = mail_waiting(c, &files, c->actor);
	}
	call_restore(c, &before);
	notices_put_mail(c, mail);
}

/* The name of the machine that an agent works on; absent: this one, or unknown. */
static struct str notices_machine_of(struct call *c, struct str agent)
{
	struct call before = call_save(c);
	struct agent_files files;
	struct registered *a;
	struct str machine = { 0 };

	if (registry_id_valid(agent) && !agent_files_open(c, AGENTS_READ, &files) && files.home.p &&
	    !registry_find(c, &files, agent, &a))
		machine = a->machine;
	call_restore(c, &before);
	return machine;
}

void notices_name_machine(struct call *c)
{
	const struct value *details = c->details.p ? value_read(&c->mem, c->details) : NULL;
	struct str holder = value_str(details, "holder"), machine = { 0 };
	struct json j = json_new(&c->mem);

	if (holder.p && !value_find(details, "machine"))
		machine = notices_machine_of(c, holder);
	if (!machine.p)
		return;
	json_object(&j);
	json_put_members(&j, c->details);
	json_put_str(&j, "machine", machine);
	json_end(&j);
	c->details = json_text(&j);
	c->message = arena_fmt(&c->mem, STR_FMT " (on " STR_FMT ")", STR_ARG(c->message),
			       STR_ARG(machine));
}

static struct str notices_lost_text(struct call *c, const struct value *list)
{
	struct buf b = { .mem = &c->mem };

	for (size_t i = 0; i < list->count; i++)
		buf_fmt(&b, "%s" STR_FMT, i ? "; " : "",
			STR_ARG(value_str(&list->item[i], "message")));
	return buf_str(&b);
}

/* Those of the list that are about scopes, or the others; no notice if there are none. */
static void notices_put_lost(struct call *c, const struct value *list, const char *name,
			     bool scopes)
{
	struct json j = json_new(&c->mem);
	size_t count = 0;

	json_array(&j);
	VALUE_EACH(one, list)
		if ((value_find(one, "scope") != NULL) == scopes) {
			json_value(&j, one);
			count++;
		}
	json_end(&j);
	if (count)
		notices_put(c, name, json_text(&j));
}

/* The reply of a sync lists the lost claims of all actors, and only a host reads that of a hook. */
void notices_add_lost_claims(struct call *c, const struct op *op)
{
	struct str lost = { 0 }, text;
	struct call before;
	struct beads b;

	if (!c->actor.p || (op->flags & (OP_HOST | OP_LOST)))
		return;
	before = call_save(c);
	if (c->home.p ||
	    (!beads_locate(c, &b) && lost_waits(c, b.home, c->actor) && !beads_home(c, &b)))
		lost = lost_take(c, c->home, c->actor);
	call_restore(c, &before);
	if (!lost.p)
		return;
	text = notices_lost_text(c, value_read(&c->mem, lost));
	notices_put_lost(c, value_read(&c->mem, lost), "lost_claims", false);
	notices_put_lost(c, value_read(&c->mem, lost), "lost_reservations", true);
	call_warn(c, STR_FMT, STR_ARG(text));
}
