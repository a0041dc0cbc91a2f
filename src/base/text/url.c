#include "base/text/url.h"

#include <stdlib.h>

#include "base/buf.h"

/* The parts of a URL that matter here; all of them are slices of it. */
struct url {
	struct str scheme;   /* with "://" */
	struct str userinfo; /* without the '@'; absent: none */
	struct str rest;     /* from the host on */
};

static size_t find_any(struct str s, const char *chars)
{
	size_t i = 0;

	while (i < s.n && !(s.p[i] && strchr(chars, s.p[i])))
		i++;
	return i;
}

/* Where the last '@' is; `s.n` if there is none. */
static size_t last_at(struct str s)
{
	for (size_t i = s.n; i-- > 0;)
		if (s.p[i] == '@')
			return i;
	return s.n;
}

/*
 * A password should be escaped, but may have '@' or '/' in it nevertheless. The code that hides
 * one is `wary`: where there may be a password, the last '@' of all ends it.
 */
static bool url_parse(struct str text, bool wary, struct url *out)
{
	const char *mark = str_find(text, STR("://"));
	struct str host;
	size_t at;

	if (!mark)
		return false;
	out->scheme = str_head(text, (size_t)(mark - text.p) + 3);
	out->userinfo = STR_NONE;
	out->rest = str_skip(text, out->scheme.n);
	host = str_head(out->rest, find_any(out->rest, "/?#"));
	if (wary && find_any(host, ":") < host.n)
		host = out->rest;
	at = last_at(host);
	if (at == host.n)
		return true;
	out->userinfo = str_head(out->rest, at);
	out->rest = str_skip(out->rest, at + 1);
	return true;
}

/* One URL, and nothing else. */
static void hide_one(struct buf *b, struct str url)
{
	struct url u;
	size_t query;

	if (!url_parse(url, true, &u)) {
		buf_put(b, url);
		return;
	}
	query = find_any(u.rest, "?");
	buf_put(b, u.scheme);
	buf_put(b, u.userinfo.p ? STR("***@") : STR(""));
	buf_put(b, str_head(u.rest, query));
	buf_put(b, query < u.rest.n ? STR("?***") : STR(""));
}

struct str url_hide(struct arena *mem, struct str text)
{
	static const char ends[] = " \t\r\n'\"`<>";
	struct buf b = { .mem = mem };

	while (text.n) {
		size_t n = find_any(text, ends);

		hide_one(&b, str_head(text, n));
		text = str_skip(text, n);
		if (text.n) {
			buf_char(&b, text.p[0]);
			text = str_skip(text, 1);
		}
	}
	return buf_str(&b);
}

struct str url_drop_password(struct arena *mem, struct str url)
{
	struct url u;

	if (!url_parse(url, false, &u) || !u.userinfo.p)
		return url;
	return arena_fmt(mem, STR_FMT STR_FMT "@" STR_FMT, STR_ARG(u.scheme),
			 STR_ARG(str_head(u.userinfo, find_any(u.userinfo, ":"))), STR_ARG(u.rest));
}

struct str url_secret(struct str url)
{
	enum { TOKEN = 16 };
	struct str none = { 0 };
	struct url u;
	size_t colon;

	if (!url_parse(url, true, &u) || !u.userinfo.n)
		return none;
	colon = find_any(u.userinfo, ":");
	if (colon < u.userinfo.n)
		return str_skip(u.userinfo, colon + 1);
	return u.userinfo.n >= TOKEN ? u.userinfo : none;
}

struct str url_decode(struct arena *mem, struct str text)
{
	struct buf b = { .mem = mem };

	for (size_t i = 0; i < text.n; i++) {
		char digits[3] = { 0 }, *end = digits;
		long ch = 0;

		if (text.p[i] == '%' && i + 2 < text.n) {
			memcpy(digits, text.p + i + 1, 2);
			ch = strtol(digits, &end, 16);
		}
		buf_char(&b, end == digits + 2 ? (char)ch : text.p[i]);
		i += end == digits + 2 ? 2 : 0;
	}
	return buf_str(&b);
}
