#include "base/id.h"

#include <assert.h>

#include "base/moment.h"
#include "base/system/platform.h"

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

struct str id_mint_as(struct arena *mem, const char *kind, int64_t now_ms, struct str digits)
{
	const char *t = moment_format(mem, now_ms).p; /* YYYY-MM-DDThh:mm:ss.sssZ */

	return arena_fmt(mem, "%s_%.4s%.2s%.2s_%.2s%.2s%.2s_" STR_FMT, kind, t, t + 5, t + 8,
			 t + 11, t + 14, t + 17, STR_ARG(digits));
}

bool id_is_minted(struct str id, const char *kind)
{
	static const char form[] = "_00000000_000000_xxxxxxxxxxxxxxxx";
	struct str head = str_of(kind);

	if (!str_starts(id, head) || id.n != head.n + sizeof form - 1)
		return false;
	for (size_t i = 0; form[i]; i++) {
		char ch = id.p[head.n + i];
		bool digit = ch >= '0' && ch <= '9', hex = digit || (ch >= 'a' && ch <= 'f');

		if (form[i] == '_' ? ch != '_' : form[i] == '0' ? !digit : !hex)
			return false;
	}
	return true;
}
