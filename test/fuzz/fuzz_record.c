/* A record of the journal that is read can be written, and is read as the same. */
#include "base/text/json.h"
#include "beads/model/record.h"
#include "beads/model/state.h"
#include "files.h"
#include "store/db/bead_cache.h"

static void check_receipts(const struct record *a, const struct record *b)
{
	rule(a->receipt_count == b->receipt_count, "no receipt is lost");
	for (size_t i = 0; i < a->receipt_count; i++)
		rule(str_eq(a->receipts[i].id, b->receipts[i].id) &&
			     str_eq(a->receipts[i].reply, b->receipts[i].reply) &&
			     a->receipts[i].at == b->receipts[i].at,
		     "a receipt is read as it was");
}

static void check_record(struct call *c, struct record *r)
{
	struct str text = record_encode(c, r), why = { 0 };
	struct record again = { .change = state_new(&c->mem) };
	struct snapshot first = snapshot_encode(&c->mem, r->change), second;

	rule(!memchr(text.p, '\n', text.n), "a record is one line");
	rule(record_is_base(text) == (r->base.p || r->anew), "a base is recognised by its text");
	rule(record_decode(text, &again, &why), "a record that was written is accepted");
	second = snapshot_encode(&c->mem, again.change);
	rule(files_same(&first, &second), "a change is read as it was");
	rule(str_eq(r->base, again.base) && r->segment == again.segment &&
		     r->offset == again.offset && r->whole == again.whole &&
		     r->anew == again.anew && r->joined == again.joined,
	     "a base is read as it was");
	check_receipts(r, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct call c = fuzz_call();
	struct record r = { .change = state_new(&c.mem) };
	struct str why = { 0 };

	if (record_decode(fuzz_text(data, size), &r, &why))
		check_record(&c, &r);
	else
		rule(why.n, "a record is refused with a reason");
	call_release(&c);
	return 0;
}
