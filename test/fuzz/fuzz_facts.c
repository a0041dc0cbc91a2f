/* A line of another machine's log: a fact that was accepted stays the same when it is written and
 * read again, and a fact is equal to itself. */
#include "base/text/json.h"
#include "fuzz.h"
#include "machines/fact.h"

static void check_again(struct call *c, const struct fact *f)
{
	struct json data = json_new(&c->mem);
	struct fact again, third;
	struct str line;

	json_canonical(&data, f->data);
	line = fact_line(&c->mem, f, json_text(&data));
	rule(fact_parse(&c->mem, f->machine, line, &again) == FACT_KNOWN,
	     "what was written can be read");
	rule(again.seq == f->seq && again.kind == f->kind && str_eq(again.subject, f->subject) &&
		     !fact_cmp(&again, f),
	     "and is the same fact");
	rule(fact_parse(&c->mem, f->machine, fact_line(&c->mem, &again, json_text(&data)),
			&third) == FACT_KNOWN &&
		     str_eq(third.line, line),
	     "and is written in one way");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct call c = fuzz_call();
	struct fact f;

	if (fact_parse(&c.mem, STR("0123456789abcdef"), fuzz_text(data, size), &f) == FACT_KNOWN) {
		rule(f.seq > 0 && f.subject.n && f.by.n <= FACT_NAME_MOST,
		     "a fact has a number, a subject and a bounded actor");
		check_again(&c, &f);
	}
	call_release(&c);
	return 0;
}
