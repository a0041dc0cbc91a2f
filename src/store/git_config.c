#include "store/git_config.h"

#include <stdlib.h>
#include <strings.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/path.h"

enum { DEEPEST = 4 }; /* of files that include each other */

static enum err read_file(struct call *c, struct str path, int depth, struct str *name);

static bool is_section(struct str line, const char *name)
{
	size_t n = strlen(name);

	return line.n == n + 2 && line.p[0] == '[' && line.p[n + 1] == ']' &&
	       !strncasecmp(line.p + 1, name, n);
}

/* What a value means: quotes and a comment behind it are not part of it. */
static struct str value_of(struct call *c, struct str text)
{
	struct buf b = { .mem = &c->mem };
	bool quoted = false;

	for (size_t i = 0; i < text.n; i++) {
		char ch = text.p[i];

		if (ch == '"') {
			quoted = !quoted;
			continue;
		}
		if (!quoted && (ch == '#' || ch == ';'))
			break;
		if (ch == '\\' && i + 1 < text.n)
			ch = text.p[++i];
		buf_char(&b, ch);
	}
	return str_trim(buf_str(&b));
}

static struct str home_path(struct call *c, struct str from, struct str path)
{
	if (str_starts(path, STR("~/")))
		return path_join(&c->mem, path_home(), str_skip(path, 2));
	return path_resolve(&c->mem, path_parent(from), path);
}

static enum err read_line(struct call *c, struct str path, struct str section,
			  struct str line, int depth, struct str *name)
{
	struct str key, rest = line;

	str_next(&rest, '=', &key);
	key = str_trim(key);
	if (!rest.p)
		return ERR_OK;
	if (is_section(section, "user") && key.n == 4 && !strncasecmp(key.p, "name", 4))
		*name = value_of(c, rest);
	if (is_section(section, "include") && key.n == 4 &&
	    !strncasecmp(key.p, "path", 4))
		return read_file(c, home_path(c, path, value_of(c, rest)), depth + 1,
				 name);
	return ERR_OK;
}

static enum err read_file(struct call *c, struct str path, int depth, struct str *name)
{
	struct str text, line, section = STR("");
	enum err e;

	if (depth > DEEPEST || (e = file_read(c, path, &text)))
		return ERR_OK; /* who cannot be asked has no name for us */
	while (str_next(&text, '\n', &line)) {
		line = str_trim(line);
		if (line.n && line.p[0] == '[')
			section = line;
		else if (line.n && line.p[0] != '#' && line.p[0] != ';' &&
			 (e = read_line(c, path, section, line, depth, name)))
			return e;
	}
	return ERR_OK;
}

/* The later file has the last word: the user's, then the repository's. */
enum err git_config_user(struct call *c, struct str common, struct str *out)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"),
		   *global = getenv("GIT_CONFIG_GLOBAL");
	struct str config = xdg && *xdg ? str_of(xdg) :
					  path_join(&c->mem, path_home(), STR(".config"));
	struct str name = { 0 };

	read_file(c, STR("/etc/gitconfig"), 0, &name);
	if (global && *global) {
		read_file(c, str_of(global), 0, &name);
	} else {
		read_file(c, path_join(&c->mem, config, STR("git/config")), 0, &name);
		read_file(c, path_join(&c->mem, path_home(), STR(".gitconfig")), 0,
			  &name);
	}
	if (common.p)
		read_file(c, path_join(&c->mem, common, STR("config")), 0, &name);
	c->code = ERR_OK;
	*out = name.n ? name : (struct str){ 0 };
	return ERR_OK;
}
