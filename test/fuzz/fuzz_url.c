/* What could be secret in a URL is not in the text that is shown. */
#include "base/text/url.h"
#include "fuzz.h"

/* Characters that end a URL in a text; see url_hide(). */
static bool has_end(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] && strchr(" \t\r\n'\"`<>", s.p[i]))
			return true;
	return false;
}

static void check_one(struct arena *mem, struct str url)
{
	enum { TELLING = 8 };
	struct str secret = url_secret(url), hidden = url_hide(mem, url),
		   dropped = url_drop_password(mem, url);

	/* a short secret may be a part of the host's name by chance */
	if (secret.n >= TELLING && str_count(url, secret.p[0]) == 1)
		rule(!str_has(hidden, secret), "a secret is hidden");
	rule(str_eq(url_drop_password(mem, dropped), dropped),
	     "a URL without its password has no other one");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena mem = { 0 };
	struct str text = fuzz_text(data, size), hidden = url_hide(&mem, text), decoded;

	rule(str_eq(url_hide(&mem, hidden), hidden), "hiding twice hides no more");
	if (!memchr(text.p, '@', text.n) && !memchr(text.p, '?', text.n) &&
	    !memchr(text.p, '%', text.n))
		rule(str_eq(hidden, text), "a text without URLs stays as it is");
	if (!has_end(text) && !memchr(text.p, '\0', text.n))
		check_one(&mem, text);
	decoded = url_decode(&mem, text);
	rule(decoded.n <= text.n, "decoding makes nothing longer");
	if (!memchr(text.p, '%', text.n))
		rule(str_eq(decoded, text), "a text without escapes stays as it is");
	arena_release(&mem);
	return 0;
}
