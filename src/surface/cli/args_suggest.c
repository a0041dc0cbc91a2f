/* Unknown commands and options: the errors, with the most similar right command line. */
#include "base/buf.h"
#include "base/names.h"
#include "base/system/spawn.h"
#include "surface/cli/args_parts.h"

struct nearest {
	struct str word, best;
	size_t edits;
};

static void args_consider(struct nearest *n, struct str candidate)
{
	size_t edits = str_starts(candidate, n->word) && n->word.n > 1 ?
			       1 :
			       names_edits(n->word, candidate);

	if (candidate.p && edits < n->edits) {
		n->edits = edits;
		n->best = candidate;
	}
}

/*
 * Suggests a word only within one edit for short words and two for longer ones; beyond that, the
 * user probably meant something else. A single letter is similar to nothing: '-s' is not '--as',
 * which would run the command as another agent.
 */
static struct nearest nearest_to(struct str word)
{
	return (struct nearest){ .word = word, .edits = word.n > 7 ? 3 : word.n > 1 ? 2 : 1 };
}

/*
 * Does not suggest a writing command that the word only starts with: "claims" probably asks for a
 * list, not to claim.
 */
static bool args_may_mean(struct str word, const struct command *cmd)
{
	return !op_may_write(cmd->op) || !str_starts(word, str_of(cmd->words));
}

/* As many words of the command as were typed: "agent" for "agnet"; the whole command if it has no
 * more. */
static struct str args_group(struct str typed, const struct command *cmd)
{
	struct str rest = str_of(cmd->words), all = rest, word, part;

	while (str_next(&typed, ' ', &part) && rest.p)
		str_next(&rest, ' ', &word);
	return rest.p ? str_head(all, (size_t)(rest.p - all.p) - 1) : STR_NONE;
}

/* The command line again, with `right` in place of the words of a command up to the wrong one. */
static struct str args_right_command(struct args_parser *p, const char *wrong, struct str right)
{
	struct buf b = { .mem = &p->c->mem };
	bool put = false;

	buf_put(&b, str_of(p->out->face->name));
	for (size_t i = 0; p->argv[i]; i++) {
		if (!p->used[i] && p->argv[i] != wrong) {
			buf_fmt(&b, " " STR_FMT,
				STR_ARG(spawn_word(&p->c->mem, str_of(p->argv[i]))));
		} else if (!put) {
			buf_fmt(&b, " " STR_FMT, STR_ARG(right));
			put = true;
		}
	}
	return buf_str(&b);
}

/* The command line again, with the option `right` in place of the wrong one. */
static struct str args_right_option(struct args_parser *p, const char *wrong, struct str right)
{
	struct buf b = { .mem = &p->c->mem };
	struct str value = STR_NONE;

	if (wrong[1] == '-')
		args_flag_name(wrong, &value);
	buf_put(&b, str_of(p->out->face->name));
	for (size_t i = 0; p->argv[i]; i++) {
		struct str word = str_of(p->argv[i]);

		if (p->argv[i] == wrong)
			word = arena_fmt(b.mem, "--" STR_FMT "%s" STR_FMT, STR_ARG(right),
					 value.p ? "=" : "", STR_ARG(value));
		buf_fmt(&b, " " STR_FMT, STR_ARG(spawn_word(b.mem, word)));
	}
	return buf_str(&b);
}

enum err args_unknown_command(struct args_parser *p, const char *word)
{
	struct call *c = p->c;
	const char *program = p->out->face->name;
	struct str words = arena_fmt(&c->mem, STR_FMT "%s%s", STR_ARG(p->out->words),
				     p->out->words.n ? " " : "", word);
	struct nearest near = nearest_to(words);

	near.edits = nearest_to(str_of(word)).edits; /* the words before it are right */
	for (const struct command *cmd = p->out->face->commands; cmd->words; cmd++) {
		args_consider(&near, args_group(words, cmd));
		if (args_may_mean(words, cmd))
			args_consider(&near, str_of(cmd->words));
	}
	call_fail(c, ERR_USAGE, "'" STR_FMT "' is not a command of %s", STR_ARG(words), program);
	if (near.best.p && !face_command(p->out->face, near.best))
		return call_step(c, "Did you mean '%s " STR_FMT " --help'?", program,
				 STR_ARG(near.best));
	if (near.best.p)
		return call_step(c, "Run '%s --help' to see the commands. Did you mean: " STR_FMT,
				 program, STR_ARG(args_right_command(p, word, near.best)));
	return call_step(c, "Run '%s%s" STR_FMT " --help' to see %s commands.", program,
			 p->out->words.n ? " " : "", STR_ARG(p->out->words),
			 p->out->words.n ? "its" : "the");
}

enum err args_unknown_flag(struct args_parser *p, const char *arg)
{
	struct call *c = p->c;
	const struct args *out = p->out;
	const struct field *const sets[] = { out->command ? out->command->op->fields : NULL,
					     out->face->globals };
	struct str value, name = arg[1] == '-' ? args_flag_name(arg, &value) : str_of(arg + 1);
	struct nearest near = nearest_to(name);

	for (size_t i = 0; i < 2; i++)
		for (const struct field *f = sets[i]; f && f->name; f++)
			if (field_shown(f) && (!(f->flags & FIELD_PLACE) || f->flag))
				args_consider(&near, field_flag(&c->mem, f));
	call_fail(c, ERR_USAGE, "%s%s" STR_FMT " has no option '%s'", out->face->name,
		  out->words.n ? " " : "", STR_ARG(out->words), arg);
	if (near.best.p)
		return call_step(c, "Did you mean: " STR_FMT,
				 STR_ARG(args_right_option(p, arg, near.best)));
	return call_step(c, "Run '%s%s" STR_FMT " --help' to see its options.", out->face->name,
			 out->words.n ? " " : "", STR_ARG(out->words));
}
