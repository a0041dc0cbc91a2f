/* A moment or duration that was read can be written and is read the same. */
#include "base/moment.h"
#include "fuzz.h"

static const char *const corpus[] = {
	"2026-11-15T21:31:59.123Z",
	"1969-12-31t23:59:59.999999999z",
	"2024-02-29 00:00:00",
	"0000-01-01T00:00:00+23:59",
	"9999-12-31T23:59:60-00:01",
	"2000-02-29T12:34:56.7+05:30",
	"30s",
	"10m",
	"1h",
	"2d",
	"999999999w",
};

static const char *check(struct arena *mem, struct str text, bool *taken)
{
	int64_t ms, again;

	if (moment_parse(text, &ms)) {
		struct str written = moment_format(mem, ms);

		*taken = true;
		if (written.n != sizeof "2026-11-15T21:31:59.123Z" - 1)
			return "a moment has another length";
		if (!moment_parse(written, &again) || again != ms)
			return "a moment does not come back";
	}
	if (duration_parse(text, &ms)) {
		*taken = true;
		if (!duration_parse(duration_format(mem, ms), &again) || again != ms)
			return "a duration does not come back";
	}
	return NULL;
}

int main(int argc, char **argv)
{
	return fuzz_run(argc, argv, corpus, COUNT(corpus), check);
}
