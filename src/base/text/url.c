#include "base/text/url.h"

#include <stdlib.h>
#include <strings.h>

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

/*
 * The length of the '@' or ':' that `s` begins with; 0: it begins with something else. With
 * `escapes`, "%40" and "%3a" count too, even if the percent sign is escaped again.
 */
static size_t url_mark_length(struct str s, char mark, bool escapes)
{
	const char *digits = mark == '@' ? "40" : "3a";
	size_t n = 1;

	if (s.n && s.p[0] == mark)
		return 1;
	if (!escapes || !s.n || s.p[0] != '%')
		return 0;
	while (str_starts(str_skip(s, n), STR("25")))
		n += 2;
	return n + 2 <= s.n && !strncasecmp(s.p + n, digits, 2) ? n + 2 : 0;
}

/* The index of the first '@' or ':', plain or escaped; `s.n` if there is none. */
static size_t url_first_mark(struct str s, char mark)
{
	size_t i = 0;

	while (i < s.n && !url_mark_length(str_skip(s, i), mark, true))
		i++;
	return i;
}

/* The index of the last '@'; `s.n` if there is none. */
static size_t url_last_at(struct str s, bool escapes)
{
	for (size_t i = s.n; i-- > 0;)
		if (url_mark_length(str_skip(s, i), '@', escapes))
			return i;
	return s.n;
}

static bool url_in_scheme(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
	       ch == '+' || ch == '-' || ch == '.';
}

/* The index after all slashes and backslashes from `n` on. */
static size_t url_skip_slashes(struct str text, size_t n)
{
	while (n < text.n && (text.p[n] == '/' || text.p[n] == '\\'))
		n++;
	return n;
}

/* The length of the scheme, including any text before it; 0: no scheme. */
static size_t url_scheme_length(struct str text, bool wary)
{
	const char *mark = str_find(text, STR("://"));
	size_t n = mark ? (size_t)(mark - text.p) : 0, end;
	struct str before = str_head(text, n);

	if (!wary)
		return mark ? n + 3 : 0;
	if (mark) { /* perhaps a slash too many follows */
		end = url_skip_slashes(text, n + 1);
		return url_first_mark(before, ':') < n || url_first_mark(before, '@') < n ? 0 : end;
	}
	while (n < text.n && url_in_scheme(text.p[n])) /* mistyped "http:/" or "http:\\" */
		n++;
	if (!n || n >= text.n || text.p[n] != ':')
		return 0;
	end = url_skip_slashes(text, n + 1);
	return end > n + 1 ? end : 0;
}

/*
 * A password should be escaped, but may contain '@' or '/' nevertheless, and the scheme may be
 * mistyped or missing. With `wary`, for code that hides passwords, a possible password extends from
 * any ':' to the last '@' of all, and both may be escaped.
 */
static bool url_parse(struct str text, bool wary, struct url *out)
{
	size_t scheme = url_scheme_length(text, wary), at;
	struct str host;
	bool password;

	out->scheme = str_head(text, scheme);
	out->userinfo = STR_NONE;
	out->rest = str_skip(text, scheme);
	at = url_last_at(out->rest, wary);
	password = wary && at < out->rest.n && url_first_mark(str_head(out->rest, at), ':') < at;
	if (!scheme && !password)
		return false;
	host = password ? out->rest : str_head(out->rest, find_any(out->rest, "/?#"));
	at = url_last_at(host, wary);
	if (at == host.n)
		return true;
	out->userinfo = str_head(out->rest, at);
	out->rest = str_skip(out->rest, at + url_mark_length(str_skip(host, at), '@', wary));
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
			 STR_ARG(str_head(u.userinfo, url_first_mark(u.userinfo, ':'))),
			 STR_ARG(u.rest));
}

size_t url_scp_host_length(struct str address)
{
	size_t i = 0;

	if (address.n && address.p[0] == '[') /* an IPv6 address contains colons */
		i = find_any(address, "]");
	return i + find_any(str_skip(address, i), ":");
}

bool url_scp_has_password(struct str address)
{
	size_t colon = url_scp_host_length(address), at, user;
	struct str host = str_head(address, colon), path = str_skip(address, colon);

	user = url_last_at(host, true);
	if (user < host.n && url_first_mark(str_head(host, user), ':') < user)
		return true;
	path = str_skip(path, path.n ? 1 : 0);
	at = url_last_at(path, true);
	return at < path.n && (user == host.n || url_first_mark(path, ':') < path.n);
}

struct str url_secret(struct str url)
{
	enum { TOKEN = 16 };
	struct str none = { 0 }, user;
	struct url u;
	size_t colon;

	if (!url_parse(url, true, &u) || !u.userinfo.n ||
	    (!u.scheme.n && !url_scp_has_password(url)))
		return none;
	user = u.userinfo;
	colon = find_any(user, ":");
	if (colon == user.n)
		colon = url_first_mark(user, ':');
	if (colon < user.n)
		return str_skip(user, colon + url_mark_length(str_skip(user, colon), ':', true));
	return user.n >= TOKEN ? user : none;
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
