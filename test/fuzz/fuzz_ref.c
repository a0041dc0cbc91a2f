/* References "where:what:ref": what is stored of one is JSON that says the same. */
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "board/ref.h"
#include "fuzz.h"

static void check_ref(struct call *c, struct str text, const struct ref *ref)
{
	struct str stored = ref_encode_all(c, ref, 1), third;
	const struct value *v = value_read(&c->mem, stored), *one;
	struct ref again;

	rule(v && v->type == VALUE_ARRAY && v->count == 1, "what is stored is JSON");
	one = &v->item[0];
	third = value_find(one, "ref")->text;
	if (!utf8_valid(text))
		return; /* only the replacement of what is not UTF-8 can be stored */
	rule(str_eq(value_str(one, "where"), ref->where) &&
		     str_eq(value_str(one, "what"), ref->what),
	     "what is stored says the same");
	rule(!ref_make(c, ref->where, ref->what, third, &again) && str_eq(again.json, ref->json),
	     "a reference is made again from its parts");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size);
	struct call c = fuzz_call();
	struct ref ref;

	if (!ref_parse(&c, text, &ref)) {
		rule(str_count(text, ':') == 2, "a reference has three parts");
		check_ref(&c, text, &ref);
	} else {
		rule(c.message.n, "a reference is refused with a reason");
	}
	call_release(&c);
	return 0;
}
