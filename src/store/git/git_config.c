/*
 * Reads Git's configuration files. The parser walks over the text of one file and reports each
 * setting to a callback; the reader around it opens the files in Git's order of precedence and
 * follows their includes, with limits on depth and number.
 */
#include "store/git/git_config.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/path.h"

/* --- parser --- */

struct git_config_parser {
	struct arena *mem;
	const char *p, *end;
	struct str section; /* "section." or "section.Sub." */
	git_setting *see;
	void *arg;
};

static char git_config_lower(char ch)
{
	return ch >= 'A' && ch <= 'Z' ? (char)(ch + ('a' - 'A')) : ch;
}

static bool is_letter(char ch)
{
	return git_config_lower(ch) >= 'a' && git_config_lower(ch) <= 'z';
}

static bool is_key(char ch)
{
	return is_letter(ch) || (ch >= '0' && ch <= '9') || ch == '-';
}

static bool git_config_is_blank(char ch)
{
	return ch == ' ' || ch == '\t' || ch == '\r';
}

/* The next character; a newline at the end of the text. */
static char git_config_peek(const struct git_config_parser *t)
{
	return t->p < t->end ? *t->p : '\n';
}

static char git_config_take(struct git_config_parser *t)
{
	return t->p < t->end ? *t->p++ : '\n';
}

static void git_config_skip_blanks(struct git_config_parser *t)
{
	while (git_config_is_blank(git_config_peek(t)))
		t->p++;
}

static void skip_line(struct git_config_parser *t)
{
	while (git_config_peek(t) != '\n')
		t->p++;
}

/* Parses `"Sub"]` after the section's name. */
static bool parse_subsection(struct git_config_parser *t, struct buf *name)
{
	char ch;

	git_config_skip_blanks(t);
	if (git_config_take(t) != '"')
		return false;
	buf_char(name, '.');
	while ((ch = git_config_take(t)) != '"') {
		if (ch == '\\')
			ch = git_config_take(t);
		if (ch == '\n')
			return false;
		buf_char(name, ch);
	}
	return git_config_take(t) == ']';
}

static bool parse_section(struct git_config_parser *t)
{
	struct buf name = { .mem = t->mem };
	bool well;

	while (is_key(git_config_peek(t)) || git_config_peek(t) == '.')
		buf_char(&name, git_config_lower(git_config_take(t)));
	well = git_config_is_blank(git_config_peek(t)) ? parse_subsection(t, &name) :
							 git_config_take(t) == ']';
	buf_char(&name, '.');
	t->section = buf_str(&name);
	return well;
}

/* The meaning of a backslash and this character; 0: invalid in Git. */
static char git_config_escaped(char ch)
{
	switch (ch) {
	case 'n':
		return '\n';
	case 't':
		return '\t';
	case 'b':
		return '\b';
	case '"':
	case '\\':
		return ch;
	default:
		return 0;
	}
}

/* Parses the character after a backslash; a newline there continues the value on the next line. */
static bool git_config_parse_escape(struct git_config_parser *t, struct buf *b)
{
	char ch = git_config_take(t);

	if (ch == '\r' && git_config_peek(t) == '\n')
		ch = git_config_take(t);
	if (ch == '\n')
		return true;
	if ((ch = git_config_escaped(ch)))
		buf_char(b, ch);
	return ch;
}

/* Blanks at the end of an unquoted value do not count. */
static bool git_config_parse_value(struct git_config_parser *t, struct str *out)
{
	struct buf b = { .mem = t->mem };
	bool quoted = false;
	size_t solid = 0;
	char ch;

	git_config_skip_blanks(t);
	while ((ch = git_config_peek(t)) != '\n') {
		if (!quoted && (ch == '#' || ch == ';'))
			break;
		t->p++;
		if (ch == '"')
			quoted = !quoted;
		else if (ch != '\\')
			buf_char(&b, ch);
		else if (!git_config_parse_escape(t, &b))
			return false;
		if (quoted || !git_config_is_blank(ch))
			solid = b.n;
	}
	skip_line(t);
	b.n = solid;
	*out = buf_str(&b);
	return !quoted;
}

static bool parse_setting(struct git_config_parser *t)
{
	struct buf name = { .mem = t->mem };
	struct str value = { 0 };

	if (!is_letter(git_config_peek(t)) || !t->section.p)
		return false;
	buf_put(&name, t->section);
	while (is_key(git_config_peek(t)))
		buf_char(&name, git_config_lower(git_config_take(t)));
	git_config_skip_blanks(t);
	if (git_config_peek(t) == '=') {
		t->p++;
		if (!git_config_parse_value(t, &value))
			return false;
	} else if (git_config_peek(t) == '#' || git_config_peek(t) == ';') {
		skip_line(t);
	} else if (git_config_peek(t) != '\n') {
		return false;
	}
	t->see(t->arg, buf_str(&name), value);
	return true;
}

void git_config_parse(struct arena *mem, struct str text, git_setting *see, void *arg)
{
	static const struct str mark = { "\xef\xbb\xbf", 3 };
	struct git_config_parser t = { .mem = mem, .see = see, .arg = arg };
	bool well = true;

	if (str_starts(text, mark))
		text = str_skip(text, mark.n);
	t.p = t.end = text.p;
	if (text.n)
		t.end += text.n;
	while (well && t.p < t.end) {
		char ch = *t.p;

		if (ch == '\n' || git_config_is_blank(ch))
			t.p++;
		else if (ch == '#' || ch == ';')
			skip_line(&t);
		else if (ch == '[')
			t.p++, well = parse_section(&t);
		else
			well = parse_setting(&t);
	}
}

/* --- files and includes --- */

enum { DEEPEST = 10, MOST_FILES = 100 };

struct reading {
	struct call *c;
	git_setting *see;
	void *arg;
	struct str path; /* the file being read */
	int depth, files;
};

struct str git_config_path(struct arena *mem, struct str value)
{
	if (str_starts(value, STR("~/")) && path_home_known())
		return path_join(mem, path_home(), str_skip(value, 2));
	return value;
}

static void git_config_read_file(struct reading *r, struct str path);

static void see_setting(void *arg, struct str name, struct str value)
{
	struct reading *r = arg;
	struct arena *mem = &r->c->mem;

	r->see(r->arg, name, value);
	if (str_is(name, "include.path") && value.n)
		git_config_read_file(
			r, path_resolve(mem, path_parent(r->path), git_config_path(mem, value)));
}

static void git_config_read_file(struct reading *r, struct str path)
{
	struct str text, outer = r->path;

	if (r->depth >= DEEPEST || r->files++ >= MOST_FILES || file_read(r->c, path, &text) ||
	    !text.p)
		return;
	r->path = path;
	r->depth++;
	git_config_parse(&r->c->mem, text, see_setting, r);
	r->depth--;
	r->path = outer;
}

static bool is_true(const char *word)
{
	return word && *word && strcmp(word, "0") != 0 && strcmp(word, "false") != 0 &&
	       strcmp(word, "no") != 0 && strcmp(word, "off") != 0;
}

static void read_system(struct reading *r)
{
	const char *path = getenv("GIT_CONFIG_SYSTEM");

	if (!is_true(getenv("GIT_CONFIG_NOSYSTEM")))
		git_config_read_file(r, path ? str_of(path) : STR("/etc/gitconfig"));
}

static void read_global(struct reading *r)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *path = getenv("GIT_CONFIG_GLOBAL");
	struct arena *mem = &r->c->mem;

	if (path) {
		git_config_read_file(r, str_of(path));
		return;
	}
	if (xdg && *xdg)
		git_config_read_file(r, path_join(mem, str_of(xdg), STR("git/config")));
	if (!path_home_known())
		return;
	if (!xdg || !*xdg)
		git_config_read_file(r, path_join(mem, path_home(), STR(".config/git/config")));
	git_config_read_file(r, path_join(mem, path_home(), STR(".gitconfig")));
}

/* The canonical form of "Section.Sub.Key": the section and the key in lower case. */
static struct str git_config_canonical(struct arena *mem, struct str key)
{
	char *copy = (char *)arena_copy(mem, key).p;
	size_t first = 0, last = key.n;

	while (first < key.n && key.p[first] != '.')
		first++;
	while (last && key.p[last - 1] != '.')
		last--;
	for (size_t i = 0; i < key.n; i++)
		if (i < first || i >= last)
			copy[i] = git_config_lower(copy[i]);
	return (struct str){ copy, key.n };
}

static void read_environment(struct reading *r)
{
	const char *count = getenv("GIT_CONFIG_COUNT"), *key, *value;
	struct arena *mem = &r->c->mem;
	int64_t n = 0;

	if (!count || !number_int(str_of(count), &n))
		return;
	for (int64_t i = 0; i < n; i++) {
		key = getenv(arena_fmt(mem, "GIT_CONFIG_KEY_%lld", (long long)i).p);
		value = getenv(arena_fmt(mem, "GIT_CONFIG_VALUE_%lld", (long long)i).p);
		if (!key || !value)
			return;
		r->see(r->arg, git_config_canonical(mem, str_of(key)), str_of(value));
	}
}

void git_config_protected(struct call *c, git_setting *see, void *arg)
{
	struct reading r = { .c = c, .see = see, .arg = arg };
	struct call before = call_save(c);

	read_system(&r);
	read_global(&r);
	read_environment(&r);
	call_restore(c, &before);
}

/* --- user name --- */

static void see_name(void *arg, struct str name, struct str value)
{
	if (str_is(name, "user.name"))
		*(struct str *)arg = value;
}

enum err git_config_user(struct call *c, struct str common, struct str *out)
{
	struct str name = { 0 };
	struct reading r = { .c = c, .see = see_name, .arg = &name };

	read_system(&r);
	read_global(&r);
	if (common.p)
		git_config_read_file(&r, path_join(&c->mem, common, STR("config")));
	read_environment(&r);
	call_forgive(c);
	*out = name.n ? name : STR_NONE;
	return ERR_OK;
}
