/*
 * Generates shell completion from the tables of commands and fields. bash gets a function with one
 * case per command; zsh loads the same function through bashcompinit; fish gets one line per
 * command and option.
 */
#include "base/buf.h"
#include "surface/cli/face.h"
#include "surface/cli/out.h"
#include "surface/docs/docs.h"

enum shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH };

static const char *const shell_words[] = {
	[SHELL_BASH] = "bash",
	[SHELL_ZSH] = "zsh",
	[SHELL_FISH] = "fish",
};
static const struct names shells = { shell_words, SHELL_FISH + 1, NULL };

static const char *const program_words[] = { "abacus", "bb", "bd", "vybe" };
static const struct names programs = { program_words, sizeof program_words / sizeof *program_words,
				       NULL };

struct body {
	int shell, program;
};

static const struct field fields[] = {
	{ "shell", &kind_word, offsetof(struct body, shell), FIELD_REQUIRED | FIELD_PLACE,
	  .arg = "SHELL", .words = &shells, .help = "shell" },
	{ "program", &kind_word, offsetof(struct body, program), FIELD_PLACE, .arg = "PROGRAM",
	  .words = &programs, .preset = "abacus", .help = "program" },
	{ 0 },
};

static const char *const examples[] = {
	"abacus completion bash bb > ~/.local/share/bash-completion/completions/bb",
	NULL,
};

static void complete_word(struct buf *b, struct str w)
{
	if (b->n && b->p[b->n - 1] != '"' && b->p[b->n - 1] != '\n')
		buf_char(b, ' ');
	buf_put(b, w);
}

/* Adds the words that may come next: the next word of every longer command. */
static void next_words(struct buf *b, const struct face *face, struct str words)
{
	struct str last = { 0 };

	for (const struct command *cmd = face->commands; cmd->words; cmd++) {
		struct str rest = str_of(cmd->words), next;

		if (cmd->flags & COMMAND_HABIT)
			continue;
		if (words.n) {
			if (!str_starts(rest, words) || rest.n == words.n || rest.p[words.n] != ' ')
				continue;
			rest = str_skip(rest, words.n + 1);
		}
		str_next(&rest, ' ', &next);
		if (!str_eq(next, last))
			complete_word(b, next);
		last = next;
	}
}

static void set_words(struct buf *b, const struct names *words)
{
	for (int i = 0; i < words->count; i++)
		complete_word(b, str_of(names_word(words, i)));
}

static bool has_flag(struct arena *mem, const struct field *fields_of, struct str flag)
{
	for (const struct field *f = fields_of; f && f->name; f++)
		if (field_shown(f) && str_eq(field_flag(mem, f), flag))
			return true;
	return false;
}

/* Adds the options and the words of positional arguments, except options that `others` has too. */
static void own_words(struct buf *b, const struct field *fields_of, const struct field *others)
{
	for (const struct field *f = fields_of; f && f->name; f++) {
		struct str flag = field_flag(b->mem, f);

		if (!field_shown(f) || has_flag(b->mem, others, flag))
			continue;
		if (!(f->flags & FIELD_PLACE))
			complete_word(b, arena_fmt(b->mem, "--" STR_FMT, STR_ARG(flag)));
		else if (f->words)
			set_words(b, f->words);
	}
}

/* Whether this is the first command of a group, such as "agent"; `group` is that first word. */
static bool leads_group(const struct face *face, const struct command *cmd, struct str *group)
{
	struct str rest = str_of(cmd->words);

	str_next(&rest, ' ', group);
	for (const struct command *other = face->commands; other < cmd; other++)
		if (str_starts(str_of(other->words), *group) &&
		    (other->words[group->n] == ' ' || !other->words[group->n]))
			return false;
	return true;
}

/* Adds a case for every command and group, with the words that may follow. */
static void bash_commands(struct buf *b, const struct face *face)
{
	for (const struct command *cmd = face->commands; cmd->words; cmd++) {
		struct str group;

		if (leads_group(face, cmd, &group) && !face_command(face, group)) {
			buf_fmt(b, "\t\"" STR_FMT "\") words=\"", STR_ARG(group));
			next_words(b, face, group);
			buf_put(b, STR("\" ;;\n"));
		}
		buf_fmt(b, "\t\"%s\") words=\"", cmd->words);
		next_words(b, face, str_of(cmd->words));
		own_words(b, cmd->op->fields, NULL);
		own_words(b, face->globals, cmd->op->fields);
		buf_put(b, STR("\" ;;\n"));
	}
	buf_put(b, STR("\t\"\") words=\""));
	next_words(b, face, STR_NONE);
	own_words(b, face->globals, NULL);
	buf_put(b, STR("\" ;;\n"));
}

static void flag_pattern(struct buf *b, const struct field *f)
{
	buf_fmt(b, "--" STR_FMT, STR_ARG(field_flag(b->mem, f)));
	if (f->letter)
		buf_fmt(b, "|-%c", f->letter);
}

/* Adds the options that take a value, so that the value is not taken for a word of the command. */
static void bash_options(struct buf *b, const struct field *fields_of)
{
	for (const struct field *f = fields_of; f && f->name; f++)
		if (field_shown(f) && f->kind->arg && !(f->flags & FIELD_PLACE)) {
			buf_put(b, STR("|"));
			flag_pattern(b, f);
		}
}

static void value_options(struct buf *b, const struct face *face)
{
	bash_options(b, face->globals);
	for (const struct command *cmd = face->commands; cmd->words; cmd++)
		bash_options(b, cmd->op->fields);
}

static void bash_values(struct buf *b, const struct field *fields_of)
{
	for (const struct field *f = fields_of; f && f->name; f++) {
		if (!field_shown(f) || !f->words || (f->flags & FIELD_PLACE))
			continue;
		buf_put(b, STR("\t"));
		flag_pattern(b, f);
		buf_put(b, STR(") words=\""));
		set_words(b, f->words);
		buf_put(b, STR("\" ;;\n"));
	}
}

static void complete_bash(struct buf *b, const struct face *face)
{
	buf_fmt(b,
		"_%s() {\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
		"\tlocal i next command= words=\n"
		"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		"\t\tcase ${COMP_WORDS[i]} in\n"
		"\t\t--",
		face->name);
	value_options(b, face);
	buf_put(b, STR(") ((i++)); continue ;;\n"
		       "\t\t-*) continue ;;\n"
		       "\t\tesac\n"
		       "\t\tnext=\"${command:+$command }${COMP_WORDS[i]}\"\n"
		       "\t\tcase \"$next\" in\n\t\t"));
	for (const struct command *cmd = face->commands; cmd->words; cmd++) {
		struct str group;

		if (leads_group(face, cmd, &group) && !face_command(face, group))
			buf_fmt(b, "\"" STR_FMT "\" | ", STR_ARG(group));
		buf_fmt(b, "\"%s\"%s", cmd->words, cmd[1].words ? " | " : "");
	}
	buf_put(b, STR(") command=$next ;;\n\t\tesac\n\tdone\n\tcase \"$command\" in\n"));
	bash_commands(b, face);
	buf_put(b, STR("\tesac\n\tcase $prev in\n\t--"));
	value_options(b, face);
	buf_put(b, STR(") words= ;;\n\tesac\n\tcase $prev in\n"));
	for (const struct command *cmd = face->commands; cmd->words; cmd++)
		bash_values(b, cmd->op->fields);
	buf_fmt(b,
		"\tesac\n"
		"\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
		"}\n"
		"complete -o default -F _%s %s\n",
		face->name, face->name);
}

/* zsh loads the bash function, so that there is only one list of cases. */
static void complete_zsh(struct buf *b, const struct face *face)
{
	buf_fmt(b, "#compdef %s\nautoload -U +X bashcompinit && bashcompinit\n", face->name);
	buf_put(b, STR("mapfile() { COMPREPLY=(\"${(@f)$(cat)}\"); }\n"));
	complete_bash(b, face);
}

static void complete_quoted(struct buf *b, const char *text)
{
	buf_char(b, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_char(b, '\\');
		buf_char(b, *text);
	}
	buf_char(b, '\'');
}

static void fish_flag(struct buf *b, const struct face *face, const char *words,
		      const struct field *f)
{
	buf_fmt(b, "complete -c %s", face->name);
	if (words)
		buf_fmt(b, " -n '__fish_seen_subcommand_from %.*s'", (int)strcspn(words, " "),
			words);
	buf_fmt(b, " -l " STR_FMT, STR_ARG(field_flag(b->mem, f)));
	if (f->letter)
		buf_fmt(b, " -s %c", f->letter);
	if (f->kind->arg)
		buf_put(b, STR(" -r"));
	if (f->words) {
		buf_put(b, STR(" -f -a '"));
		for (int i = 0; i < f->words->count; i++)
			buf_fmt(b, "%s%s", i ? " " : "", names_word(f->words, i));
		buf_put(b, STR("'"));
	}
	buf_put(b, STR(" -d "));
	complete_quoted(b, f->help ? f->help : "");
	buf_char(b, '\n');
}

static void complete_fish(struct buf *b, const struct face *face)
{
	for (const struct command *cmd = face->commands; cmd->words; cmd++) {
		struct str rest = str_of(cmd->words), first;

		str_next(&rest, ' ', &first);
		if (rest.p)
			buf_fmt(b,
				"complete -c %s -f -n '__fish_seen_subcommand_from " STR_FMT
				"' -a " STR_FMT " -d ",
				face->name, STR_ARG(first), STR_ARG(rest));
		else
			buf_fmt(b, "complete -c %s -f -n __fish_use_subcommand -a %s -d ",
				face->name, cmd->words);
		complete_quoted(b, cmd->op->help);
		buf_char(b, '\n');
		for (const struct field *f = cmd->op->fields; f && f->name; f++)
			if (field_shown(f) && !(f->flags & FIELD_PLACE))
				fish_flag(b, face, cmd->words, f);
	}
	for (const struct field *f = face->globals; f->name; f++)
		fish_flag(b, face, NULL, f);
}

int completion_start(struct call *c, const struct request *r)
{
	static void (*const write[])(struct buf *, const struct face *) = {
		[SHELL_BASH] = complete_bash,
		[SHELL_ZSH] = complete_zsh,
		[SHELL_FISH] = complete_fish,
	};
	const struct body *in = r->body;
	struct buf b = { .mem = &c->mem };

	write[in->shell](&b, face_find(str_of(names_word(&programs, in->program))));
	return out_text(&c->mem, buf_str(&b), 0);
}

const struct op op_completion = {
	.name = "completion",
	.help = "Print a completion script",
	.examples = examples,
	.body_size = sizeof(struct body),
	.fields = fields,
};
