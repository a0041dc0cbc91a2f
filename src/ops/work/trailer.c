#include "ops/work/trailer.h"

#include "agents/current.h"
#include "base/buf.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"
#include "store/git/git_hooks.h"
#include "store/output.h"

struct body {
	struct str file, source;
};

static const struct field fields[] = {
	{ "file", &kind_path, offsetof(struct body, file), FIELD_PLACE | FIELD_REQUIRED,
	  .help = "file with the message of the commit" },
	{ "source", &kind_str, offsetof(struct body, source), FIELD_PLACE, .arg = "SOURCE",
	  .help = "where Git got the message from" },
	{ 0 },
};

static const struct prop props[] = { { "bead|null", NULL }, { 0 } };

/* --- the message --- */

/* "Signed-off-by: somebody" */
static bool trailer_is(struct str line)
{
	size_t i = 0;

	while (i < line.n && ((line.p[i] | 0x20) >= 'a' || line.p[i] == '-') && line.p[i] != ':' &&
	       line.p[i] != ' ')
		i++;
	return i && i + 1 < line.n && line.p[i] == ':' && line.p[i + 1] == ' ';
}

/* The text before the comments that Git adds for an editor. */
static struct str trailer_text(struct str message)
{
	for (size_t i = 0; i < message.n; i++)
		if (message.p[i] == '#' && (!i || message.p[i - 1] == '\n'))
			return str_head(message, i);
	return message;
}

/* The message with a line "Bead: ID" among its trailers, above the comments of an editor's
 * template. Absent: it has that line already, or has no text yet. */
static struct str trailer_add(struct arena *mem, struct str message, struct str bead)
{
	struct str text = trailer_text(message), rest, line, wanted, body = str_trim(text);
	struct buf out = { .mem = mem };
	bool together = true; /* the last paragraph has only trailers */
	size_t paragraphs = 0;

	if (!body.n)
		return STR_NONE;
	wanted = arena_fmt(mem, "Bead: " STR_FMT, STR_ARG(bead));
	for (rest = body; str_next(&rest, '\n', &line);) {
		line = str_trim(line);
		if (str_eq(line, wanted))
			return STR_NONE;
		if (!line.n) {
			together = true;
			paragraphs++;
		}
		together = together && (!line.n || trailer_is(line));
	}
	buf_fmt(&out, STR_FMT "\n%s" STR_FMT "\n", STR_ARG(body),
		together && paragraphs ? "" : "\n", STR_ARG(wanted));
	if (text.n < message.n)
		buf_fmt(&out, "\n" STR_FMT, STR_ARG(str_skip(message, text.n)));
	return buf_str(&out);
}

/* --- the bead of a commit --- */

/* The actor's current bead; else the bead whose branch is checked out, because a commit need not
 * say which agent makes it. */
static enum err trailer_bead(struct call *c, const struct beads *b, struct str *out)
{
	struct current mine, *all;
	struct str branch;
	enum err e = current_find(c, b->home, c->actor, &mine);

	*out = mine.bead;
	if (e || mine.bead.p)
		return e;
	if ((e = place_branch(c, &b->repo, &branch)) || (e = current_each(c, b->home, &all)))
		return e;
	for (; all; all = all->next)
		if (branch.p && all->branch.p && str_eq(all->branch, branch))
			*out = all->bead;
	return ERR_OK;
}

/*
 * A link in the Git directory is the user's, because no commit can bring one; so is a link ".git".
 */
static unsigned trailer_rule(const struct beads *b, struct str path)
{
	return b->repo.gitdir.n && path_within(b->repo.gitdir, path) ? OUTPUT_OWNERS : OUTPUT_LINKS;
}

static enum err trailer_write(struct call *c, const struct beads *b, struct str path,
			      struct str bead)
{
	struct str text, changed = { 0 };
	AUTO_OUTPUT out;
	struct buf all;
	enum err e = output_open(c, path, trailer_rule(b, path), &out);

	if (!e && !(e = output_read(c, &out, &text)) && text.p)
		changed = trailer_add(&c->mem, text, bead);
	if (e || !changed.p)
		return e;
	all = buf_of(changed);
	return output_put(c, &out, &all, 0600);
}

static enum err project_work_trailer_run(struct call *c, struct stores *s, const void *body,
					 struct json *reply)
{
	const struct body *in = body;
	struct str bead = { 0 };
	struct beads b;
	enum err e = beads_home(c, &b);

	(void)s;
	if (!e && !str_is(in->source, "merge"))
		e = trailer_bead(c, &b, &bead);
	if (!e && bead.p)
		e = trailer_write(c, &b, path_resolve(&c->mem, c->dir, in->file), bead);
	json_object(reply);
	json_put_str(reply, "bead", bead);
	json_end(reply);
	return e;
}

const struct op op_project_work_trailer = {
	.name = "project work trailer",
	.help = "Add the line 'Bead: ID' to the message of a commit",
	.more = "Git's hook prepare-commit-msg runs it, after 'bd config set commit.trailer true'.",
	.flags = OP_WRITE | OP_ACTOR | OP_HOST | OP_IDEMPOTENT,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "trailer", props },
	.run = project_work_trailer_run,
};

/* --- the hook --- */

static const struct git_section section = {
	.begin = "# >>> abacus trailer >>> ('bd config set commit.trailer false' removes this)\n",
	.end = "# <<< abacus trailer <<<\n",
	.by_hand = "Call 'abacus work trailer \"$1\" \"$2\"' in the hook prepare-commit-msg.",
	.by_hand_there = "Unset core.hooksPath for this repository, or call 'abacus work trailer "
			 "\"$1\" \"$2\"' in the hook prepare-commit-msg there.",
};

enum err trailer_hook_set(struct call *c, const struct beads *b, bool on)
{
	static const char *const names[] = { "prepare-commit-msg", NULL };
	struct git_hook hook = { .name = names[0] };
	struct str dir, main, self;
	enum hook_change change;
	enum err e = spawn_need_self(c, &self);

	if (e || (e = git_hooks_find(c, b->repo.tree, &section, names, &dir, &main)))
		return e;
	if (!on)
		return git_hook_remove(c, &section, dir, &hook, &change);
	self = spawn_quoted(&c->mem, self);
	hook.script = arena_fmt(&c->mem,
				"if [ -x " STR_FMT " ]; then\n"
				"\t" STR_FMT " work trailer \"$1\" \"$2\" >/dev/null 2>&1 || :\n"
				"fi\n",
				STR_ARG(self), STR_ARG(self));
	e = git_hook_check(c, &section, dir, &hook);
	return e ? e : git_hook_add(c, &section, dir, &hook, &change);
}
