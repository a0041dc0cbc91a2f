/* Exclusive reservations as others wrote them: what was accepted stays the same when it is written
 * and read again, and a lease that is taken overlaps no lease of another agent. */
#include "fuzz.h"
#include "machines/lease.h"

static struct str same_name(void *arg, struct str machine)
{
	(void)arg;
	return machine;
}

static void check_taken(struct call *c, struct leases *l)
{
	struct agent_files none = { 0 };
	struct lease_ask ask = { .lease = { .id = STR("lease_1"),
					    .agent = STR("amber-otter"),
					    .machine = STR("0123456789abcdef"),
					    .bead = STR("bd-1"),
					    .scope = STR("src"),
					    .at_ms = c->now_ms,
					    .until_ms = c->now_ms + 60000 },
				 .epoch = 3,
				 .takeover = true,
				 .name = same_name };
	int64_t before = l->epoch;
	struct lease *mine;

	if (leases_take(c, &none, l, &ask, &mine))
		return;
	rule(mine->epoch > before && mine->epoch > 3, "a new lease has the highest epoch");
	for (const struct lease *one = l->first; one; one = one->next)
		rule(one == mine || scope_overlap(one->scope, mine->scope) == OVERLAP_DISJOINT ||
			     (str_eq(one->agent, mine->agent) &&
			      str_eq(one->machine, mine->machine)),
		     "no two agents have leases that overlap");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct call c = fuzz_call();
	struct leases first, again;
	struct str text;

	if (!leases_parse(&c, fuzz_text(data, size), &first)) {
		text = leases_encode(&c, &first);
		rule(!leases_parse(&c, text, &again), "what was written can be read");
		rule(str_eq(text, leases_encode(&c, &again)), "and is the same");
		check_taken(&c, &again);
	}
	call_release(&c);
	return 0;
}
