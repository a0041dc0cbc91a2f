#include "hosts/sandbox.h"

#include "base/buf.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/toml.h"
#include "hosts/host.h"
#include "store/home.h"
#include "store/place.h"

static const struct str header = { "sandbox_workspace_write", 23 }, key = { "writable_roots", 14 };

static void roots_put(struct call *c, struct sandbox_roots *out, struct str path, bool ever)
{
	if (path.p && (ever || file_is_dir(&c->mem, path)))
		out->path[out->count++] = path;
}

enum err sandbox_roots(struct call *c, struct str root, bool ever, struct sandbox_roots *out)
{
	struct repository repo;
	bool linked;
	enum err e = place_repository(c, c->dir, &repo);

	*out = (struct sandbox_roots){ 0 };
	if (e || !repo.common.p)
		return e;
	linked = ever || !str_eq(repo.tree, repo.main);
	roots_put(c, out, home_of_git(&c->mem, repo.common), ever);
	if (linked) {
		if (!out->count || ever)
			roots_put(c, out, home_of_workspace(&c->mem, repo.common), ever);
		roots_put(c, out, path_join(&c->mem, root, STR(".bb")), ever);
		roots_put(c, out, path_join(&c->mem, root, STR(".beadboard")), ever);
	}
	return ERR_OK;
}

/* The text after the bracket that opens the array of the section; absent: there is none. */
static struct str roots_array(struct str body)
{
	struct str rest = body, line, name;
	const char *bracket;

	while (rest.n && str_next(&rest, '\n', &line)) {
		struct str after = line;

		if (!str_next(&after, '=', &name) || !str_eq(str_trim(name), key))
			continue;
		bracket = after.n ? memchr(after.p, '[', after.n) : NULL;
		return bracket ? str_skip(body, (size_t)(bracket + 1 - body.p)) : STR_NONE;
	}
	return STR_NONE;
}

static struct str roots_replace(struct call *c, struct str text, const char *at, size_t n,
				struct str with)
{
	struct buf b = { .mem = &c->mem };

	buf_put(&b, str_head(text, (size_t)(at - text.p)));
	buf_put(&b, with);
	buf_put(&b, str_skip(text, (size_t)(at - text.p) + n));
	return buf_str(&b);
}

static struct str roots_add(struct call *c, struct str body, struct str path)
{
	struct str quoted = json_str_text(&c->mem, path), array = roots_array(body);

	if (array.p && str_has(array, quoted))
		return body;
	if (!array.p)
		return arena_fmt(&c->mem, STR_FMT " = [" STR_FMT "]\n" STR_FMT, STR_ARG(key),
				 STR_ARG(quoted), STR_ARG(body.p ? body : STR("")));
	return roots_replace(c, body, array.p, 0,
			     arena_fmt(&c->mem, STR_FMT ", ", STR_ARG(quoted)));
}

static struct str roots_drop(struct call *c, struct str body, struct str path)
{
	struct str quoted = json_str_text(&c->mem, path), array = roots_array(body), after;
	const char *at = array.p ? str_find(array, quoted) : NULL;
	size_t n = quoted.n;

	if (!at)
		return body;
	after = str_skip(array, (size_t)(at + n - array.p));
	if (str_starts(after, STR(", ")))
		n += 2;
	else if (str_starts(after, STR(",")))
		n++;
	return roots_replace(c, body, at, n, STR(""));
}

enum err sandbox_allow(struct call *c, struct str text, const struct sandbox_roots *roots,
		       struct str *out)
{
	struct str body;
	enum err e = toml_find(c, text, header, &body);

	*out = text;
	for (size_t i = roots->count; !e && i-- > 0;)
		body = roots_add(c, body, roots->path[i]);
	return e || !roots->count ? e : toml_put(c, text, header, body, out);
}

enum err sandbox_forbid(struct call *c, struct str text, const struct sandbox_roots *roots,
			struct str *out)
{
	struct str body, before;
	enum err e = text.p ? toml_find(c, text, header, &body) : ERR_OK;

	*out = text;
	if (e || !text.p || !body.p)
		return e;
	before = body;
	for (size_t i = 0; i < roots->count; i++)
		body = roots_drop(c, body, roots->path[i]);
	if (str_eq(before, body))
		return ERR_OK;
	return str_is(str_trim(body), "writable_roots = []") ? toml_remove(c, text, header, out) :
							       toml_put(c, text, header, body, out);
}

bool sandbox_lists(struct call *c, struct str path)
{
	struct call before = call_save(c);
	struct str text = { 0 }, body = { 0 };
	bool yes = !file_read_regular(c, host_file(c, HOST_CODEX, HOST_USER, STR("/")), &text) &&
		   text.p && !toml_find(c, text, header, &body) && body.p &&
		   str_has(roots_array(body), json_str_text(&c->mem, path));

	call_restore(c, &before);
	return yes;
}

struct str sandbox_note(struct call *c)
{
	struct call before = call_save(c);
	struct sandbox_roots roots = { 0 };
	struct str root, note = { 0 };

	if (!place_new(c, STR(".bb"), &root) && !sandbox_roots(c, root, false, &roots))
		for (size_t i = 0; i < roots.count && !note.p; i++)
			if (!sandbox_lists(c, roots.path[i]))
				note = roots.path[i];
	call_restore(c, &before);
	if (!note.p)
		return note;
	/* without the path: a submodule's repository can choose its folder's name */
	return arena_fmt(&c->mem,
			 "In the sandbox of Codex, commands that write to the store of this "
			 "project fail. Use the tools of the MCP server 'abacus' for them if you "
			 "have them; if not, ask the person to run 'abacus %s' outside of the "
			 "sandbox.",
			 str_is(path_name(note), "abacus") && roots.count == 1 ?
				 "move-store workspace" :
				 "install codex --sandbox --user --write");
}
