#include "base/id.h"

#include <assert.h>

#include "base/moment.h"
#include "base/platform.h"

struct str id_random(struct arena *mem, size_t digits)
{
	unsigned char noise[32];
	char *out = arena_alloc(mem, digits + 1);

	assert(digits <= 2 * sizeof noise);
	platform_random(noise, sizeof noise);
	for (size_t i = 0; i < digits; i++)
		out[i] = "0123456789abcdef"[noise[i / 2] >> (i % 2 * 4) & 15];
	return (struct str){ out, digits };
}

struct str id_mint(struct arena *mem, const char *kind, int64_t now_ms)
{
	return id_mint_as(mem, kind, now_ms, id_random(mem, 16));
}

struct str id_mint_as(struct arena *mem, const char *kind, int64_t now_ms,
		      struct str digits)
{
	const char *t = moment_format(mem, now_ms).p; /* YYYY-MM-DDThh:mm:ss.sssZ */

	return arena_fmt(mem, "%s_%.4s%.2s%.2s_%.2s%.2s%.2s_" STR_FMT, kind, t, t + 5,
			 t + 8, t + 11, t + 14, t + 17, STR_ARG(digits));
}
