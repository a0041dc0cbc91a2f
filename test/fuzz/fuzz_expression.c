/* Expressions of 'bd query': a bead fits an expression or its negation. */
#include "base/text/value.h"
#include "fuzz.h"
#include "ops/upstream/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char bead[] =
		"{\"id\":\"bd-a\",\"title\":\"a\",\"priority\":1,\"pinned\":true,"
		"\"labels\":[\"x\"],\"assignee\":null,"
		"\"created_at\":\"2026-01-01T00:00:00Z\"}";
	struct str text = fuzz_text(data, size), not ;
	struct call c = fuzz_call();
	const struct value *v = value_read(&c.mem, str_of(bead));
	bool yes;

	if (!expression_wrong(&c, text)) {
		yes = expression_fits(&c, text, v);
		not = arena_fmt(&c.mem, "NOT (" STR_FMT ")", STR_ARG(text));
		if (!expression_wrong(&c, not )) /* it may be nested too deeply now */
			rule(expression_fits(&c, not, v) == !yes,
			     "a bead fits an expression or its negation");
	}
	call_release(&c);
	return 0;
}
