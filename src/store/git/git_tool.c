#include "store/git/git_tool.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "store/git/git_index.h"
#include "store/place.h"

enum { MOST_WORDS = 64, OID = 40 };

/*
 * The search for changed files gets a shorter timeout, because the ignore patterns of a cloned
 * repository can make it run for ever. The output is limited, because a few small trees that
 * contain each other can list any number of paths.
 */
enum { WAIT_MS = 60000, SEARCH_MS = 5000, OUTPUT_MOST = 64 << 20 };

static void git_tool_note(void *arg, struct str line)
{
	struct str *said = arg;

	if (line.n && !said->p)
		*said = line;
}

/* Appends words, up to a NULL, to a command. */
static size_t add_words(const char *argv[MOST_WORDS], size_t n, const char *const *words)
{
	for (; *words && n < MOST_WORDS - 1; words++)
		argv[n++] = *words;
	argv[n] = NULL;
	return n;
}

/* A call of Git. */
struct git_question {
	struct str dir;
	const char *const *words; /* NULL-terminated */
	const char *const *unset; /* variables to remove, NULL-terminated; or NULL */
	const char *set;          /* a variable to set, "NAME=value"; or NULL */
	int64_t timeout_ms;       /* 0: WAIT_MS */
};

static enum err git_tool_failed(struct call *c, const struct git_question *q, const struct spawn *s,
				struct str said)
{
	if (s->timed_out) {
		call_fail(c, ERR_QUERY_TIMEOUT, "'git %s' did not end within %d s", q->words[0],
			  (int)(s->timeout_ms / 1000));
		return call_step(c, "To see what it waits for, run: git -C " STR_FMT " %s",
				 STR_ARG(spawn_word(&c->mem, q->dir)), q->words[0]);
	}
	if (s->too_long) {
		call_fail(c, ERR_QUERY_TIMEOUT, "'git %s' printed more than %d MB", q->words[0],
			  OUTPUT_MOST >> 20);
		return call_step(c, "To see what it prints, run: git -C " STR_FMT " %s",
				 STR_ARG(spawn_word(&c->mem, q->dir)), q->words[0]);
	}
	call_fail(c, ERR_INTERNAL_ERROR, "'git %s' failed%s" STR_FMT, q->words[0],
		  said.p ? ": " : "", STR_ARG(said));
	return call_step(c, "Run it by hand to see the error.");
}

/*
 * --no-optional-locks, so that a query does not lock the index against the user's commands.
 * --no-replace-objects, because a push sends the original commits, not their replacements.
 */
static enum err git_ask(struct call *c, const struct git_question *q, struct str *out)
{
	const char *const first[] = { "git", "--no-optional-locks",       "--no-replace-objects",
				      "-C",  arena_cstr(&c->mem, q->dir), NULL };
	const char *argv[MOST_WORDS] = { "/usr/bin/env" };
	struct str said = { 0 };
	struct spawn s = { .argv = argv,
			   .timeout_ms = q->timeout_ms ? q->timeout_ms : WAIT_MS,
			   .most = OUTPUT_MOST,
			   .tied = true,
			   .heard = git_tool_note,
			   .arg = &said };
	size_t n = 1;
	enum err e;

	for (size_t i = 0; q->unset && q->unset[i]; i++)
		n = add_words(argv, n, (const char *const[]){ "-u", q->unset[i], NULL });
	n = add_words(argv, n, (const char *const[]){ q->set, NULL });
	n = add_words(argv, n, first);
	add_words(argv, n, q->words);
	if ((e = spawn_run(c, &s)))
		return e;
	*out = s.out;
	return s.status || s.timed_out || s.too_long ? git_tool_failed(c, q, &s, said) : ERR_OK;
}

static enum err git_tool_git(struct call *c, struct str dir, const char *const *words,
			     struct str *out)
{
	const struct git_question q = { .dir = dir, .words = words };

	return git_ask(c, &q, out);
}

static struct git_path *path_new(struct call *c, struct str path)
{
	struct git_path *p = arena_new(&c->mem, struct git_path);

	*p = (struct git_path){ .path = path };
	return p;
}

static enum err diff_index(struct call *c, struct str dir, const char *with, struct str *out)
{
	const char *const words[] = { "diff",
				      "--cached",
				      "--name-only",
				      "-z",
				      "--no-renames",
				      "--no-ext-diff",
				      "--no-relative",
				      "--ignore-submodules=none",
				      with,
				      NULL };

	return git_tool_git(c, dir, words, out);
}

static bool git_tool_merges(struct call *c, struct str dir)
{
	static const char *const words[] = { "rev-parse", "-q", "--verify", "MERGE_HEAD", NULL };
	struct str oid;
	bool yes = !git_tool_git(c, dir, words, &oid);

	call_forgive(c);
	return yes;
}

enum err git_staged(struct call *c, struct str dir, struct git_path **out)
{
	struct map other = { .mem = &c->mem };
	bool merge = git_tool_merges(c, dir);
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
		*out = path_new(c, path);
		out = &(*out)->next;
	}
	return e;
}

/*
 * Each entry is "XY path"; without rename detection there is one path. Git would run itself in each
 * submodule to look for changes, with the settings there, which may name programs; others may write
 * those settings, as they are part of the worktree.
 */
enum err git_changed(struct call *c, struct str dir, struct git_path **out)
{
	static const char *const words[] = { "status",
					     "--porcelain",
					     "-z",
					     "--no-renames",
					     "--untracked-files=all",
					     "--ignore-submodules=dirty",
					     NULL };
	const struct git_question q = { .dir = dir, .words = words, .timeout_ms = SEARCH_MS };
	struct str text, entry;
	enum err e = git_ask(c, &q, &text);

	*out = NULL;
	while (!e && text.n && str_next(&text, '\0', &entry)) {
		if (entry.n < 4)
			continue;
		*out = path_new(c, str_skip(entry, 3));
		out = &(*out)->next;
	}
	return e;
}

/* --- pushes --- */

/* A line of the input of a pre-push hook. */
struct ref_update {
	struct str local_oid, remote_ref, remote_oid;
};

static bool is_zero(struct str oid)
{
	return str_count(oid, '0') == oid.n;
}

/* False: the line is invalid, or deletes a ref, which changes no file. */
static bool parse_update(struct str line, struct ref_update *out)
{
	struct str word[4] = { { 0 } };

	for (int i = 0; i < 4; i++)
		if (!line.p || !str_next(&line, ' ', &word[i]))
			return false;
	*out = (struct ref_update){ word[1], word[2], word[3] };
	return word[1].n >= OID && word[3].n >= OID && !is_zero(word[1]);
}

static bool has_commit(struct call *c, struct str dir, struct str oid)
{
	const char *const words[] = { "cat-file", "-e",
				      arena_fmt(&c->mem, STR_FMT "^{commit}", STR_ARG(oid)).p,
				      NULL };
	struct str nothing;
	bool yes = !git_tool_git(c, dir, words, &nothing);

	call_forgive(c);
	return yes;
}

/*
 * The commits of `from`, except those of `without` (or absent) and, if `unpublished`, those of any
 * remote-tracking ref.
 */
struct range {
	struct str from, without;
	bool unpublished;
};

/* `words` is the beginning of a command, with `n` words; the range is appended. */
static enum err git_range(struct call *c, struct str dir, const struct range *range,
			  const char *words[MOST_WORDS], size_t n, struct str *out)
{
	words[n++] = arena_cstr(&c->mem, range->from);
	words[n++] = "--not";
	if (range->without.p)
		words[n++] = arena_cstr(&c->mem, range->without);
	if (range->unpublished)
		words[n++] = "--remotes";
	words[n] = NULL;
	return git_tool_git(c, dir, words, out);
}

/* The options override the user's settings for the log. `merges` says how merges are compared. */
static enum err log_files(struct call *c, struct str dir, const struct range *range,
			  const char *merges, struct str *out)
{
	const char *words[MOST_WORDS] = {
		"log",          "--format=",     "--name-only",         "-z",
		"--no-renames", "--no-relative", "--no-show-signature", "--ignore-submodules=none",
		"--root",       merges
	};

	return git_range(c, dir, range, words, 10, out);
}

static enum err has_octopus(struct call *c, struct str dir, const struct range *range, bool *yes)
{
	const char *words[MOST_WORDS] = { "rev-list", "--min-parents=3", "--max-count=1" };
	struct str found;
	enum err e = git_range(c, dir, range, words, 3, &found);

	*yes = !e && found.n;
	return e;
}

/*
 * Git before 2.35 cannot redo the automatic merge (--remerge-diff), and no version can for more
 * than two parents: then every difference from any parent counts.
 */
static enum err add_commits(struct call *c, struct str dir, const struct range *range,
			    struct git_path ***tail)
{
	struct str text, path;
	bool octopus;
	enum err e = has_octopus(c, dir, range, &octopus);

	if (e)
		return e;
	if (octopus || (e = log_files(c, dir, range, "--remerge-diff", &text))) {
		if (e == ERR_QUERY_TIMEOUT)
			return e;
		call_forgive(c);
		if ((e = log_files(c, dir, range, "-m", &text)))
			return e;
	}
	while (text.n && str_next(&text, '\0', &path)) {
		if (!path.n)
			continue;
		**tail = path_new(c, path);
		*tail = &(**tail)->next;
	}
	return ERR_OK;
}

/* If the remote's branch is not an ancestor of the pushed commit, the push removes commits. */
static enum err add_update(struct call *c, struct str dir, const struct ref_update *u,
			   struct git_path ***tail)
{
	bool known = !is_zero(u->remote_oid) && has_commit(c, dir, u->remote_oid),
	     branch = str_starts(u->remote_ref, STR("refs/heads/"));
	struct range added = { u->local_oid, known ? u->remote_oid : STR_NONE, true },
		     removed = { u->remote_oid, u->local_oid, false };
	enum err e;

	if (branch && !known && !is_zero(u->remote_oid)) {
		call_fail(c, ERR_INTERNAL_ERROR,
			  "the remote's '" STR_FMT "' points to commit " STR_FMT
			  ", which is not in this repository",
			  STR_ARG(u->remote_ref), STR_ARG(str_head(u->remote_oid, 12)));
		return call_step(c, "Run 'git fetch' first.");
	}
	if ((e = add_commits(c, dir, &added, tail)))
		return e;
	return branch && known ? add_commits(c, dir, &removed, tail) : ERR_OK;
}

enum err git_pushed(struct call *c, struct str dir, struct str lines, struct git_path **out)
{
	struct ref_update u;
	struct str line;
	enum err e;

	*out = NULL;
	while (lines.n && str_next(&lines, '\n', &line))
		if (parse_update(line, &u) && (e = add_update(c, dir, &u, &out)))
			return e;
	return ERR_OK;
}

/* --- index and hooks --- */

/*
 * These variables select a repository, an index or files, or how paths are matched. The caller may
 * have set them for another repository, or for a commit in progress.
 */
static const char *const other_repository[] = {
	"GIT_DIR",
	"GIT_WORK_TREE",
	"GIT_IMPLICIT_WORK_TREE",
	"GIT_COMMON_DIR",
	"GIT_INDEX_FILE",
	"GIT_NAMESPACE",
	"GIT_PREFIX",
	"GIT_INTERNAL_SUPER_PREFIX",
	"GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_LITERAL_PATHSPECS",
	"GIT_GLOB_PATHSPECS",
	"GIT_NOGLOB_PATHSPECS",
	"GIT_ICASE_PATHSPECS",
	NULL,
};

/* A line of 'ls-files --stage': "100644 <object> 0<TAB>path". */
static bool parse_staged(struct str line, struct git_entry *out)
{
	struct str mode;

	if (!str_next(&line, ' ', &mode) || !str_next(&line, '\t', &STR_NONE))
		return false;
	*out = (struct git_entry){ line, str_is(mode, "160000") || str_is(mode, "040000") };
	return line.n > 0;
}

/* A submodule covers everything below it, so entries above `path` are listed, too. */
enum err git_tracks(struct call *c, const struct repository *repo, struct str index,
		    struct str path, enum tracked *tracked)
{
	struct str rest = path, top, out, line;
	struct git_entry entry;
	bool any = str_next(&rest, '/', &top);
	const char *words[] = { arena_fmt(&c->mem, "--git-dir=" STR_FMT, STR_ARG(repo->gitdir)).p,
				arena_fmt(&c->mem, "--work-tree=" STR_FMT, STR_ARG(repo->tree)).p,
				"ls-files",
				"--stage",
				"-z",
				"--",
				arena_fmt(&c->mem, ":(top,icase,literal)" STR_FMT, STR_ARG(top)).p,
				NULL };
	const struct git_question q = {
		.dir = repo->tree,
		.words = words,
		.unset = other_repository,
		.set = arena_fmt(&c->mem, "GIT_INDEX_FILE=" STR_FMT, STR_ARG(index)).p,
	};
	enum err e = git_ask(c, &q, &out);

	*tracked = TRACKED_NO;
	while (!e && any && *tracked == TRACKED_NO && out.n && str_next(&out, '\0', &line))
		if (parse_staged(line, &entry))
			*tracked = git_entry_covers(entry, path);
	return e;
}

/* Each entry is a letter, a space and a path; the letter of an untracked file is '?'. */
enum err git_folder(struct call *c, const struct repository *repo, struct str path,
		    struct git_folder *out)
{
	const char *words[] = { arena_fmt(&c->mem, "--git-dir=" STR_FMT, STR_ARG(repo->gitdir)).p,
				arena_fmt(&c->mem, "--work-tree=" STR_FMT, STR_ARG(repo->tree)).p,
				"ls-files",
				"-t",
				"-z",
				"--cached",
				"--others",
				"--",
				arena_fmt(&c->mem, ":(top,icase,literal)" STR_FMT, STR_ARG(path)).p,
				NULL };
	const struct git_question q = { .dir = repo->tree,
					.words = words,
					.unset = other_repository,
					.timeout_ms = SEARCH_MS };
	struct git_path **tail = &out->untracked;
	struct str text, line;
	enum err e = git_ask(c, &q, &text);

	*out = (struct git_folder){ 0 };
	while (!e && text.n && str_next(&text, '\0', &line)) {
		if (line.n < 2 + path.n)
			continue;
		if (line.p[0] != '?') {
			out->name = str_head(str_skip(line, 2), path.n);
			continue;
		}
		*tail = path_new(c, str_skip(line, 2));
		tail = &(*tail)->next;
	}
	return e;
}

enum err git_stage(struct call *c, struct str dir, struct str path)
{
	const char *const words[] = { "add", "-u", "--", arena_cstr(&c->mem, path), NULL };
	struct str out;

	return git_tool_git(c, dir, words, &out);
}

enum err git_hooks_dir(struct call *c, struct str dir, struct str *out)
{
	static const char *const words[] = { "rev-parse", "--git-path", "hooks", NULL };
	enum err e = git_tool_git(c, dir, words, out);

	if (!e)
		*out = path_resolve(&c->mem, dir, str_trim(*out));
	return e;
}

static bool git_tool_octal(struct str s, size_t at, char *out)
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

		if (ch == '\\' && git_tool_octal(path, i + 1, &ch))
			i += 3;
		else if (ch == '\\' && next < 128 && meant[next])
			ch = meant[next], i++;
		buf_char(&b, ch);
	}
	return buf_str(&b);
}
