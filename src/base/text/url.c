#include "base/text/url.h"

#include <stdlib.h>

#include "base/buf.h"

/* The parts of a URL; all of them are slices of it. */
struct url {
	struct str scheme;   /* with "://" */
	struct str userinfo; /* without the '@'; or absent */
	struct str rest;     /* from the host on */
};

static size_t find_any(struct str s, const char *chars)
{
	size_t i = 0;

	while (i < s.n && !(s.p[i] && strchr(chars, s.p[i])))
		i++;
	return i;
}

/* The index of the last '@'; `s.n` if there is none. */
static size_t last_at(struct str s)
{
	for (size_t i = s.n; i-- > 0;)
		if (s.p[i] == '@')
			return i;
	return s.n;
}

static bool url_in_scheme(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       ch == '+' || ch == '-' || ch == '.';
}

/* The length of the scheme, including any text before it; 0: no scheme. */
static size_t url_scheme_length(struct str text, bool wary)
{
	const char *mark = str_find(text, STR("://"));
	size_t n = 0, start;

	if (mark && !wary)
		return (size_t)(mark - text.p) + 3;
	if (mark) {
		n = start = (size_t)(mark - text.p);
		while (start && url_in_scheme(text.p[start - 1]))
			start--;
		return find_any(str_head(text, start), ":@") < start ? 0 : n + 3;
	}
	if (!wary)
		return 0;
	while (n < text.n && url_in_scheme(text.p[n])) /* mistyped "http:/" or "http:\\" */
		n++;
	start = n + 1;
	if (!n || n >= text.n || text.p[n] != ':')
		return 0;
	for (n = start; n < text.n && (text.p[n] == '/' || text.p[n] == '\\');)
		n++;
	return n > start ? n : 0;
}

/*
 * A password should be escaped, but may contain '@' or '/' nevertheless, and the scheme may be
 * mistyped or missing. With `wary`, for code that hides passwords, a possible password extends to
 * the last '@' of all.
 */
static bool url_parse(struct str text, bool wary, struct url *out)
{
	size_t scheme = url_scheme_length(text, wary), at;
	struct str host;

	out->scheme = str_head(text, scheme);
	out->userinfo = STR_NONE;
	out->rest = str_skip(text, scheme);
	host = scheme ? str_head(out->rest, find_any(out->rest, "/?#")) : out->rest;
	if (wary && find_any(host, ":") < host.n)
		host = out->rest;
	at = last_at(host);
	if (!scheme && (!wary || at == host.n || find_any(str_head(host, at), ":") == at))
		return false;
	if (at == host.n)
		return true;
	out->userinfo = str_head(out->rest, at);
	out->rest = str_skip(out->rest, at + 1);
	return true;
}

/* Hides the secrets of exactly one URL. */
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

struct str url_shown(struct arena *mem, struct str url)
{
	struct buf b = { .mem = mem };

	hide_one(&b, url);
	return buf_str(&b);
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

bool url_scp_has_password(struct str address)
{
	size_t colon = find_any(address, ":"), at;
	struct str path = str_skip(address, colon < address.n ? colon + 1 : address.n);

	if (address.n && address.p[0] == '[') /* an IPv6 address contains colons */
		return false;
	at = last_at(path);
	return at < path.n && (find_any(str_head(address, colon), "@") == colon ||
			       find_any(str_skip(path, at), ":") < path.n - at);
}

struct str url_secret(struct str url)
{
	enum { TOKEN = 16 };
	struct str none = { 0 };
	struct url u;
	size_t colon;

	if (!url_parse(url, true, &u) || !u.userinfo.n ||
	    (!u.scheme.n && !url_scp_has_password(url)))
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
