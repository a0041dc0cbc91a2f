/* The output of a host: whether it says that a rate limit is reached, and until when. The wait ends
 * in the future and within the longest limit of a host; neither the case of letters nor unrelated
 * output before the message changes it. */
#include "base/buf.h"
#include "fuzz.h"
#include "hosts/rate_limit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { LONGEST_DAYS = 8, NOT_FOUND = 0 };
	struct call c = fuzz_call();
	struct str text = fuzz_text(data, size);
	struct buf other = { .mem = &c.mem }, longer = { .mem = &c.mem };
	int64_t until, again;
	bool limited = rate_limit_find(&c, text, true, &until);

	if (!limited)
		until = NOT_FOUND;
	rule(limited || !rate_limit_find(&c, text, false, &again),
	     "what is no message after a failure is none after a success");
	again = NOT_FOUND;
	if (limited) {
		rule(until > c.now_ms, "the limit ends in the future");
		rule(until - c.now_ms <= INT64_C(86400000) * LONGEST_DAYS, "the wait is bounded");
	}
	for (size_t i = 0; i < text.n; i++) {
		char ch = text.p[i];

		buf_char(&other, ch >= 'a' && ch <= 'z' ? (char)(ch & ~0x20) : ch);
	}
	rule(rate_limit_find(&c, buf_str(&other), true, &again) == limited && until == again,
	     "capital letters mean the same");
	buf_put(&longer, STR("compiling the parser\n"));
	buf_put(&longer, text);
	again = NOT_FOUND;
	rule(rate_limit_find(&c, buf_str(&longer), true, &again) == limited && until == again,
	     "output before the message changes nothing");
	call_release(&c);
	return 0;
}
