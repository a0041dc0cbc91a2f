#include "store/git_tool.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/number.h"
#include "base/path.h"
#include "base/spawn.h"
#include "store/place.h"

enum { FIRST = 5, MOST_WORDS = 16, WAIT_MS = 60000, OID = 40 };

static void note(void *arg, struct str line)
{
	struct str *said = arg;

	if (line.n && !said->p)
		*said = line;
}

/* `words` ends with NULL. Who only looks does not lock the index against who works. */
static enum err git(struct call *c, struct str dir, const char *const *words,
		    struct str *out)
{
	const char *argv[MOST_WORDS + FIRST] = { "/usr/bin/env", "git",
						 "--no-optional-locks", "-C",
						 arena_cstr(&c->mem, dir) };
	struct str said = { 0 };
	struct spawn s = {
		.argv = argv, .timeout_ms = WAIT_MS, .heard = note, .arg = &said
	};
	enum err e;

	for (size_t i = 0; i < MOST_WORDS - 1 && words[i]; i++)
		argv[i + FIRST] = words[i];
	if ((e = spawn_run(c, &s)))
		return e;
	*out = s.out;
	if (!s.status)
		return ERR_OK;
	call_fail(c, ERR_INTERNAL_ERROR, "'git %s' failed%s" STR_FMT, words[0],
		  said.p ? ": " : "", STR_ARG(said));
	return call_step(c, "Try it by hand: it has to work for this, too.");
}

static struct git_path *path_new(struct call *c, struct str path, int64_t at_ms)
{
	struct git_path *p = arena_new(&c->mem, struct git_path);

	*p = (struct git_path){ .path = path, .at_ms = at_ms };
	return p;
}

static enum err diff_index(struct call *c, struct str dir, const char *with,
			   struct str *out)
{
	const char *const words[] = {
		"diff",          "--cached",      "--name-only", "-z", "--no-renames",
		"--no-ext-diff", "--no-relative", with,          NULL
	};

	return git(c, dir, words, out);
}

static bool merges(struct call *c, struct str dir)
{
	static const char *const words[] = { "rev-parse", "-q", "--verify", "MERGE_HEAD",
					     NULL };
	struct str oid;
	bool yes = !git(c, dir, words, &oid);

	c->code = ERR_OK;
	return yes;
}

enum err git_staged(struct call *c, struct str dir, struct git_path **out)
{
	struct map other = { .mem = &c->mem };
	bool merge = merges(c, dir);
	struct str text, path;
	enum err e = merge ? diff_index(c, dir, "MERGE_HEAD", &text) : ERR_OK;

	while (!e && merge && text.n && str_next(&text, '\0', &path))
		map_put(&other, path);
	*out = NULL;
	if (!e)
		e = diff_index(c, dir, NULL, &text);
	while (!e && text.n && str_next(&text, '\0', &path)) {
		if (merge && !map_find(&other, path))
			continue;
		*out = path_new(c, path, 0);
		out = &(*out)->next;
	}
	return e;
}

/* "XY path" each; without renames there is one path. */
enum err git_changed(struct call *c, struct str dir, struct git_path **out)
{
	static const char *const words[] = {
		"status",       "--porcelain",           "-z",
		"--no-renames", "--untracked-files=all", NULL
	};
	struct str text, entry;
	enum err e = git(c, dir, words, &text);

	*out = NULL;
	while (!e && text.n && str_next(&text, '\0', &entry)) {
		if (entry.n < 4)
			continue;
		*out = path_new(c, str_skip(entry, 3), 0);
		out = &(*out)->next;
	}
	return e;
}

/* --- what is pushed --- */

#define COMMIT "\001commit "

/* For each commit the mark with its time, then a line's end and the paths. */
static void read_log(struct call *c, struct str text, struct git_path ***tail)
{
	const struct str mark = STR(COMMIT);
	struct str part;
	int64_t at_ms = 0;

	while (text.n && str_next(&text, '\0', &part)) {
		int64_t seconds;

		if (str_starts(part, mark)) {
			/* a reservation of the same second counts as earlier */
			if (number_int(str_skip(part, mark.n), &seconds))
				at_ms = seconds * 1000 + 999;
			continue;
		}
		if (part.n && part.p[0] == '\n')
			part = str_skip(part, 1);
		if (!part.n)
			continue;
		**tail = path_new(c, part, at_ms);
		*tail = &(**tail)->next;
	}
}

static bool nothing(struct str oid)
{
	return str_count(oid, '0') == oid.n;
}

/* What the other side has may be unknown here; what is known of all remotes is, then.
 * However the user likes to read the log, here it is the same. */
static enum err log_commits(struct call *c, struct str dir, struct str local,
			    struct str remote, int64_t since_ms, struct str *out)
{
	const char *words[] = {
		"log",
		"--format=%x01commit %ct",
		"--name-only",
		"-z",
		"--no-renames",
		"--no-relative",
		"--no-show-signature",
		"--root",
		"--first-parent",
		"--no-merges",
		arena_fmt(&c->mem, "--since=@%lld", (long long)since_ms / 1000).p,
		arena_cstr(&c->mem, local),
		"--not",
		nothing(remote) ? "--remotes" : arena_cstr(&c->mem, remote),
		NULL
	};
	enum err e = git(c, dir, words, out);

	if (!e || nothing(remote))
		return e;
	c->code = ERR_OK;
	words[13] = "--remotes";
	return git(c, dir, words, out);
}

enum err git_pushed(struct call *c, struct str dir, struct str lines, int64_t since_ms,
		    struct git_path **out)
{
	struct str line, text;
	enum err e;

	*out = NULL;
	while (lines.n && str_next(&lines, '\n', &line)) {
		struct str word[4] = { { 0 } };

		for (int i = 0; i < 4; i++)
			if (!line.p || !str_next(&line, ' ', &word[i]))
				break;
		if (word[3].n < OID || word[1].n < OID || nothing(word[1]))
			continue; /* not a line of it, or a ref that is deleted */
		if ((e = log_commits(c, dir, word[1], word[3], since_ms, &text)))
			return e;
		read_log(c, text, &out);
	}
	return ERR_OK;
}

/* --- the rest --- */

/* GIT_DIR may name another repository. */
enum err git_tracks(struct call *c, const struct repository *repo, struct str path,
		    bool *yes)
{
	const char *words[] = {
		arena_fmt(&c->mem, "--git-dir=" STR_FMT, STR_ARG(repo->gitdir)).p,
		arena_fmt(&c->mem, "--work-tree=" STR_FMT, STR_ARG(repo->tree)).p,
		"ls-files",
		"-z",
		"--",
		arena_fmt(&c->mem, ":(top,icase,literal)" STR_FMT, STR_ARG(path)).p,
		NULL
	};
	struct str out;
	enum err e = git(c, repo->tree, words, &out);

	*yes = !e && out.n;
	return e;
}

enum err git_hooks_dir(struct call *c, struct str dir, struct str *out)
{
	static const char *const words[] = { "rev-parse", "--git-path", "hooks", NULL };
	enum err e = git(c, dir, words, out);

	if (!e)
		*out = path_resolve(&c->mem, dir, str_trim(*out));
	return e;
}

static bool octal(struct str s, size_t at, char *out)
{
	int value = 0;

	for (size_t i = at; i < at + 3; i++) {
		if (i >= s.n || s.p[i] < '0' || s.p[i] > '7')
			return false;
		value = value * 8 + (s.p[i] - '0');
	}
	*out = (char)value;
	return true;
}

struct str git_unquote(struct arena *mem, struct str path)
{
	static const char meant[128] = {
		['a'] = '\a', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r',
		['t'] = '\t', ['v'] = '\v', ['"'] = '"',  ['\\'] = '\\'
	};
	struct buf b = { .mem = mem };

	if (path.n < 2 || path.p[0] != '"' || path.p[path.n - 1] != '"')
		return path;
	path = (struct str){ path.p + 1, path.n - 2 };
	for (size_t i = 0; i < path.n; i++) {
		unsigned char next = i + 1 < path.n ? (unsigned char)path.p[i + 1] : 0;
		char ch = path.p[i];

		if (ch == '\\' && octal(path, i + 1, &ch))
			i += 3;
		else if (ch == '\\' && next < 128 && meant[next])
			ch = meant[next], i++;
		buf_char(&b, ch);
	}
	return buf_str(&b);
}
