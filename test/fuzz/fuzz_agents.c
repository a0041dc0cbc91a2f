/*
 * The agents' files, which anything on this machine may have written: the mail and its snapshot,
 * reservations and theirs, what is pending, who is registered. They are read or refused with a
 * message; what is answered is JSON; and what is written on top of them is read again.
 */
#include "agents/mailbox.h"
#include "agents/reservation.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "folder.h"
#include "store/agent_pending.h"

#define AGENT "amber-otter"

static const char *const files[] = {
	"messages/" AGENT ".jsonl",
	"messages/boxes/" AGENT ".json",
	"reservations/history.jsonl",
	"reservations/active.json",
	"pending.jsonl",
	"agents/history.jsonl",
};

static void lay_out(struct call *c, struct str *input)
{
	static const char *const folders[] = { "agents", "messages", "messages/index",
					       "messages/boxes", "reservations" };

	for (size_t i = 0; i < COUNT(folders); i++)
		if (file_make_dir(c, path_join(&c->mem, folder(), str_of(folders[i])), 0700))
			abort();
	for (size_t i = 0; i < COUNT(files); i++) {
		struct str part = fuzz_part(input);

		folder_put(c, files[i], part.n ? part : STR_NONE);
	}
}

static void check_json(struct call *c, struct json *j)
{
	rule(value_read(&c->mem, json_text(j)), "an answer is JSON");
}

static void check_mail(struct call *c, struct agent_files *f)
{
	struct mail_filter all = { .state = -1, .limit = 100 };
	struct mail_totals totals;
	struct mailbox box;
	struct mail *m = NULL;

	if (!mailbox_open(c, f, STR(AGENT), &box))
		mailbox_settle(c, f, &box);
	c->code = ERR_OK;
	mail_totals(c, f, STR(AGENT), STR_NONE, &totals);
	c->code = ERR_OK;
	if (mail_inbox(c, f, STR(AGENT), &all, &m, NULL))
		rule(c->message.n, "mail is refused with a message");
	for (; !c->code && m; m = m->next) {
		struct json j = json_new(&c->mem);

		mail_encode(&j, m);
		check_json(c, &j);
	}
	c->code = ERR_OK;
}

static void check_reservations(struct call *c, struct agent_files *f)
{
	struct reservation *all = NULL;

	if (reservation_each(c, f, STR_NONE, STR_NONE, &all))
		rule(c->message.n, "reservations are refused with a message");
	for (; !c->code && all; all = all->next) {
		struct json j = json_new(&c->mem);

		reservation_encode(&j, c, all);
		check_json(c, &j);
	}
	c->code = ERR_OK;
}

/* Something is reserved and released, whatever the files have. */
static void check_reserving(struct call *c, struct agent_files *f)
{
	struct reserve_ask ask = { .agent = STR(AGENT),
				   .scope = STR("src/lib"),
				   .bead = STR("bd-1"),
				   .minutes = 10,
				   .takeover = true };
	struct incursion *incursions = NULL;
	struct reservation *made, *again;

	if (!reservation_make(c, f, &ask, &made, &incursions)) {
		rule(!reservation_release(c, f, ask.agent, ask.scope, made->epoch, &again) &&
			     str_eq(made->id, again->id),
		     "what was reserved can be released");
	}
	c->code = ERR_OK;
}

static void check_pending(struct call *c, struct agent_files *f)
{
	if (agent_pending_complete(c, f)) {
		rule(c->message.n, "what is pending is refused with a message");
		c->code = ERR_OK;
		return;
	}
	rule(!f->pending_count, "what was pending is done");
	agent_pending_load(c, f);
	rule(!f->pending_count, "what was pending is done once");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size);
	struct call c = fuzz_call();
	struct agent_files f = { .root = folder(), .home = folder(), .lock = LOCK_NONE };
	struct registered *agents;

	c.dir = folder();
	lay_out(&c, &text);
	agent_pending_load(&c, &f); /* as a reader */
	check_mail(&c, &f);
	check_reservations(&c, &f);
	check_pending(&c, &f); /* as a writer */
	check_mail(&c, &f);
	check_reserving(&c, &f);
	check_reservations(&c, &f);
	registry_each(&c, &f, STR_NONE, STR_NONE, &agents);
	call_release(&c);
	return 0;
}
