#include "store/git/git_hooks.h"

#include <sys/stat.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "store/git/git_tool.h"
#include "store/place.h"

#define SHEBANG "#!/bin/sh\n"

const struct names hook_changes =
	NAMES_OF([HOOK_MADE] = "made", [HOOK_ADDED] = "added", [HOOK_RENEWED] = "renewed",
		 [HOOK_SAME] = "unchanged", [HOOK_TAKEN_OUT] = "section removed",
		 [HOOK_REMOVED] = "removed");

static struct str git_hooks_path_of(struct call *c, struct str dir, const struct git_hook *hook)
{
	return path_join(&c->mem, dir, str_of(hook->name));
}

/* The text before the section and after it; false: there is no section. */
static bool git_hooks_cut(const struct git_section *section, struct str text, struct str *before,
			  struct str *after)
{
	const char *from = str_find(text, str_of(section->begin)), *to;

	*before = text;
	*after = STR("");
	if (!from)
		return false;
	*before = (struct str){ text.p, (size_t)(from - text.p) };
	*after = str_skip(text, before->n);
	if (!(to = str_find(*after, str_of(section->end)))) {
		*before = text;
		return false;
	}
	*after = str_skip(*after, (size_t)(to - after->p) + strlen(section->end));
	return true;
}

/*
 * Is the interpreter of "#!/usr/bin/env bash -e" a shell? Without such a line, Git runs the hook
 * with sh.
 */
static bool is_shell(struct str text)
{
	struct str line, word, program = { 0 };

	if (!str_starts(text, STR("#!")))
		return !memchr(text.p ? text.p : "", '\0', text.n);
	str_next(&text, '\n', &line);
	line = str_skip(line, 2);
	while (line.n && str_next(&line, ' ', &word)) {
		word = path_name(word);
		if (!word.n || str_is(word, "env") || word.p[0] == '-')
			continue;
		program = word;
		break;
	}
	return str_is(program, "sh") || str_is(program, "bash") || str_is(program, "dash") ||
	       str_is(program, "zsh") || str_is(program, "ksh") || str_is(program, "ash");
}

static enum err git_hooks_refuse(struct call *c, const struct git_section *section, struct str path,
				 const char *why)
{
	call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' %s", STR_ARG(path), why);
	return call_step(c, "%s", section->by_hand);
}

enum err git_hook_check(struct call *c, const struct git_section *section, struct str dir,
			const struct git_hook *hook)
{
	struct str path = git_hooks_path_of(c, dir, hook), text;
	struct stat st;
	enum err e = file_read_regular(c, path, &text);

	if (e || !text.p)
		return e;
	if (stat(arena_cstr(&c->mem, path), &st) == 0 && !(st.st_mode & 0111))
		return git_hooks_refuse(c, section, path,
					"is not executable, so Git does not run it");
	return is_shell(text) ? ERR_OK :
				git_hooks_refuse(c, section, path, "is not a shell script");
}

enum err git_hook_add(struct call *c, const struct git_section *section, struct str dir,
		      const struct git_hook *hook, enum hook_change *out)
{
	struct str path = git_hooks_path_of(c, dir, hook), text, before, after, first;
	struct buf b = { .mem = &c->mem };
	bool ours;
	enum err e = file_read_regular(c, path, &text);

	if (e)
		return e;
	ours = git_hooks_cut(section, text, &before, &after);
	*out = !text.p ? HOOK_MADE : ours ? HOOK_RENEWED : HOOK_ADDED;
	if (!text.p) {
		before = STR(SHEBANG);
	} else if (!ours) {
		after = text;
		before = STR("");
		if (str_starts(text, STR("#!")) && str_next(&after, '\n', &first)) {
			before = str_head(text, text.n - (after.p ? after.n : 0));
			after = after.p ? after : STR("");
		}
	}
	buf_put(&b, before);
	if (b.n && b.p[b.n - 1] != '\n')
		buf_char(&b, '\n');
	buf_put(&b, str_of(section->begin));
	buf_put(&b, hook->script);
	buf_put(&b, str_of(section->end));
	buf_put(&b, after);
	if (text.p && str_eq(buf_str(&b), text)) {
		*out = HOOK_SAME;
		return ERR_OK;
	}
	if ((e = file_make_dir(c, dir, 0755)))
		return e;
	if (!(e = file_replace(c, path, buf_str(&b), 0755)))
		call_stored(c, STORED_PART);
	return e;
}

enum err git_hook_remove(struct call *c, const struct git_section *section, struct str dir,
			 const struct git_hook *hook, enum hook_change *out)
{
	struct str path = git_hooks_path_of(c, dir, hook), text, before, after;
	struct buf b = { .mem = &c->mem };
	enum err e = file_read_regular(c, path, &text);

	*out = HOOK_SAME;
	if (e || !text.p || !git_hooks_cut(section, text, &before, &after))
		return e;
	*out = HOOK_TAKEN_OUT;
	buf_put(&b, before);
	buf_put(&b, after);
	if (str_is(buf_str(&b), SHEBANG)) {
		*out = HOOK_REMOVED;
		e = file_remove_durably(c, path);
	} else {
		e = file_replace(c, path, buf_str(&b), 0755);
	}
	if (!e)
		call_stored(c, STORED_PART);
	return e;
}

/* --- the folder --- */

static bool git_hooks_within(struct call *c, struct str dir, struct str real)
{
	struct str root = path_real(&c->mem, dir);

	return root.p && path_within(root, real) && !place_is_reserved(c, root, real);
}

/*
 * Checks the path with all links followed: a hook may be a link, but not to an arbitrary file of
 * the user. In the Git directory only the folder of the hooks is allowed, or one that the user's
 * configuration names: a link that came with a commit must not lead to other files there.
 */
static bool git_hooks_inside(struct call *c, const struct repository *repo, struct str path)
{
	struct str real = path_real_part(&c->mem, path), common = path_real(&c->mem, repo->common);
	struct str hooks = path_join(&c->mem, common, STR("hooks"));

	if (path_within(common, real))
		return path_within(hooks, real) || str_eq(real, path);
	return git_hooks_within(c, repo->tree, real) || git_hooks_within(c, repo->main, real);
}

static enum err git_hooks_check_links(struct call *c, const struct repository *repo, struct str dir,
				      const char *const *names)
{
	for (; *names; names++) {
		struct str hook = path_join(&c->mem, dir, str_of(*names));

		if (!path_is_link(&c->mem, hook) ||
		    (path_real(&c->mem, hook).p && git_hooks_inside(c, repo, hook)))
			continue;
		call_fail(c, ERR_UNSAFE_PATH,
			  "'" STR_FMT
			  "' is a link that leads out of this repository, or to nothing",
			  STR_ARG(hook));
		return call_step(c, "This shows where it leads: ls -l " STR_FMT,
				 STR_ARG(spawn_word(&c->mem, hook)));
	}
	return ERR_OK;
}

/* A hooks folder outside of the repository serves all of the user's repositories. */
enum err git_hooks_find(struct call *c, struct str dir, const struct git_section *section,
			const char *const *names, struct str *out, struct str *main)
{
	struct repository repo;
	enum err e = place_repository(c, dir, &repo);

	*main = repo.main;
	if (e)
		return e;
	if (!repo.tree.p)
		return call_fail(c, ERR_NOT_A_REPOSITORY,
				 "'" STR_FMT "' is not in a Git repository", STR_ARG(dir));
	if ((e = git_hooks_dir(c, repo.tree, out)))
		return e;
	if (git_hooks_inside(c, &repo, *out))
		return git_hooks_check_links(c, &repo, *out, names);
	call_fail(c, ERR_INVALID_INPUT,
		  "the hooks are in '" STR_FMT "', outside of this repository", STR_ARG(*out));
	return call_step(c, "%s", section->by_hand_there);
}
