/*
 * A commit of somebody else is taken in, as sync_take_in() does, without Git: the input is the
 * commit's files, against a base that is known. A commit that is accepted, on any of the ways
 * that a sync may take, leaves files and a journal record that can be read again.
 */
#include "base/text/json.h"
#include "beads/message.h"
#include "beads/model/news.h"
#include "beads/model/record.h"
#include "files.h"

#define BEAD(id, at, title)                                                            \
	"{\"_at\":[" at ",0],\"_by\":\"a\",\"created_at\":[1,0],\"created_by\":\"a\"," \
	"\"id\":\"" id "\",\"priority\":2,\"status\":\"open\",\"title\":\"" title      \
	"\",\"type\":\"task\"}\n"

static const char base_files[] = BEAD("bd-1", "5", "one") BEAD("bd-2", "6", "two")
	BEAD("bd-3", "7",
	     "three") "\f{\"deleted_at\":[8,0],\"deleted_by\":\"b\",\"id\":\"bd-9\"}\n\f"
		      "{\"_at\":[5,0],\"_by\":\"c\",\"created_at\":[3,0],\"created_by\":\"a\","
		      "\"from\":\"bd-1\",\"kind\":\"blocks\",\"to\":\"bd-2\"}\n";

/* What the journal gets, and what somebody who opens the store makes of it. */
static struct state *through_journal(struct call *c, struct state *change)
{
	struct record r = { .change = change,
			    .base = STR("0123456789012345678901234567890123456789"),
			    .segment = 1 },
		      again = { .change = state_new(&c->mem) };
	struct str why = { 0 };

	rule(record_decode(record_encode(c, &r), &again, &why),
	     "the record of a commit that is taken in can be read");
	return again.change;
}

/* `now` is the base from here on. */
static void check_base(struct call *c, const struct snapshot *base, const struct snapshot *now,
		       struct news *news)
{
	struct state *known = files_state(c, base), *all = files_state(c, now);
	struct snapshot replayed, whole = snapshot_encode(&c->mem, all);

	rule(!snapshot_check(c, now), "files that are taken in have their checksums");
	rule(files_same(now, &whole), "files that are taken in are canonical");
	if (news->forgets)
		return; /* all of it is read from the commit */
	state_add(known, through_journal(c, news->change));
	replayed = snapshot_encode(&c->mem, known);
	rule(files_same(&replayed, now), "the base and its news are the new base");
}

/* They went different ways: both are joined in a commit of our own. */
static void take_apart(struct call *c, const struct snapshot *base, const struct snapshot *new)
{
	struct merge m = { .c = c, .side = { *new, *base }, .sides = 2 };
	struct snapshot joined;
	struct news news;

	if (merge_run(&m)) {
		rule(c->details.p, "a commit is refused with the place");
		return;
	}
	joined = files_merged(&m);
	rule(files_sound(c, &joined), "files that were joined are sound");
	rule(!news_between(c, base, &joined, true, &news),
	     "files that were joined can be compared with the base");
	message_of(&c->mem, m.changes, m.count);
	if (files_closed(c, new))
		check_base(c, base, &joined, &news);
}

/* It goes on from our base. */
static void take_next(struct call *c, const struct snapshot *base, const struct snapshot *new)
{
	struct merge m = { .c = c, .side = { *new, *base }, .sides = 2 };
	struct news news;

	if (news_between(c, base, new, true, &news) || merge_run(&m))
		rule(c->details.p, "a commit is refused with the place");
	else if (!m.count && !m.meta_changed && files_closed(c, new))
		check_base(c, base, new, &news);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size), known = str_of(base_files);
	struct call c = fuzz_call();
	struct snapshot base = files_next(&c.mem, &known), new = files_next(&c.mem, &text);

	rule(files_closed(&c, &base), "the base is sound");
	take_next(&c, &base, &new);
	c.code = ERR_OK;
	c.details = STR_NONE;
	if (files_sound(&c, &new))
		take_apart(&c, &base, &new);
	call_release(&c);
	return 0;
}
