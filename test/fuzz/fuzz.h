#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/call.h"

/*
 * A fuzz target is one file with LLVMFuzzerTestOneInput(). libFuzzer calls it if clang has
 * libFuzzer; else driver.c does. Its seeds are the files of corpus/<target>/.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Aborts if a property does not hold, so that the driver keeps the input. */
static inline void rule(bool holds, const char *property)
{
	if (holds)
		return;
	fprintf(stderr, "broken property: %s\n", property);
	abort();
}

/* Takes the next file from an input of several files, which form feeds separate. */
static inline struct str fuzz_part(struct str *rest)
{
	struct str part = { "", 0 };

	if (rest->n)
		str_next(rest, '\f', &part);
	return part.p ? part : STR("");
}

static inline struct str fuzz_text(const uint8_t *data, size_t size)
{
	return (struct str){ size ? (const char *)data : "", size };
}

/* A call as a command would have it, at a moment that never changes. */
static inline struct call fuzz_call(void)
{
	return (struct call){ .now_ms = INT64_C(1790000000000),
			      .still = true,
			      .actor = STR("fuzz"),
			      .dir = STR("/") };
}

#endif
