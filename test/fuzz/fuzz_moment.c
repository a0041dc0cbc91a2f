/* A moment or a duration that was read can be written, and is read as the same. */
#include "base/moment.h"
#include "base/number.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena mem = { 0 };
	struct str text = fuzz_text(data, size);
	int64_t ms, again;

	if (moment_parse(text, &ms)) {
		struct str written = moment_format(&mem, ms);

		rule(written.n == sizeof "2026-11-15T21:31:59.123Z" - 1,
		     "every moment has the same length");
		rule(moment_parse(written, &again) && again == ms, "a moment is read as it was");
	}
	if (duration_parse(text, &ms)) {
		rule(ms >= 0, "a duration is not negative");
		rule(duration_parse(duration_format(&mem, ms), &again) && again == ms,
		     "a duration is read as it was");
	}
	if (number_int(text, &ms))
		rule(number_int(arena_fmt(&mem, "%lld", (long long)ms), &again) && again == ms,
		     "a number is read as it was");
	arena_release(&mem);
	return 0;
}
