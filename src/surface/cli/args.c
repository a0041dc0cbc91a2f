/*
 * Parses a command line in two passes, because options may come before the command. The first pass
 * finds the words of the command; the second sets options and positional arguments, which are the
 * fields of the command's operation and the global options of the face.
 */
#include "surface/cli/args_parts.h"

#include "base/system/file.h"
#include "base/text/utf8.h"
#include "surface/cli/help.h"

bool args_is_flag(const char *arg)
{
	return arg[0] == '-' && arg[1] && !(arg[1] >= '0' && arg[1] <= '9');
}

/* Splits "--name=value"; the value is absent without "=". */
struct str args_flag_name(const char *arg, struct str *value)
{
	struct str rest = str_of(arg + 2), name;

	str_next(&rest, '=', &name);
	*value = rest;
	return name;
}

static bool args_also(const struct field *f, struct str name)
{
	struct str all = str_of(f->also), one;

	while (str_next(&all, ' ', &one))
		if (str_eq(one, name))
			return true;
	return false;
}

static const struct field *find_long(struct arena *mem, const struct field *fields, struct str name)
{
	for (const struct field *f = fields; f && f->name; f++)
		if (field_on_cli(f) && (!(f->flags & FIELD_PLACE) || f->flag) &&
		    (str_eq(name, field_flag(mem, f)) || args_also(f, name)))
			return f;
	return NULL;
}

static const struct field *find_letter(const struct field *fields, char letter)
{
	for (const struct field *f = fields; f && f->name; f++)
		if (field_on_cli(f) && f->letter == letter)
			return f;
	return NULL;
}

static const struct field *find_flag(struct arena *mem, const struct field *fields, const char *arg)
{
	struct str value;

	return arg[1] == '-' ? find_long(mem, fields, args_flag_name(arg, &value)) :
			       find_letter(fields, arg[1]);
}

/*
 * Whether an option takes the next argument as its value. The command is not known yet, so the
 * options of all commands count.
 */
static bool takes_next(struct args_parser *p, const char *arg)
{
	const struct face *face = p->out->face;
	const struct field *f = find_flag(&p->c->mem, face->globals, arg);
	bool attached = arg[1] == '-' ? strchr(arg, '=') != NULL : arg[2] != '\0';

	for (const struct command *cmd = face->commands; !f && cmd->words; cmd++)
		f = find_flag(&p->c->mem, cmd->op->fields, arg);
	return f && f->kind->arg && !attached;
}

static bool begins_command(const struct face *face, struct str words)
{
	for (const struct command *cmd = face->commands; cmd->words; cmd++) {
		struct str full = str_of(cmd->words);

		if (str_starts(full, words) && (full.n == words.n || full.p[words.n] == ' '))
			return true;
	}
	return false;
}

/* "bb help log" is "bb log --help", and so is "bb agent help send" before a command is complete. */
static bool is_help(struct args_parser *p, const char *word)
{
	struct args *out = p->out;

	if (strcmp(word, "help") || face_command(out->face, out->words))
		return false;
	return out->globals.help = true;
}

void args_find_command(struct args_parser *p)
{
	struct args *out = p->out;

	for (size_t i = 0; p->argv[i]; i++) {
		struct str longer;

		if (!strcmp(p->argv[i], "--")) {
			if (out->words.n)
				break;
			p->used[i] = true;
			continue;
		}
		if (args_is_flag(p->argv[i])) {
			if (takes_next(p, p->argv[i]) && p->argv[i + 1])
				i++;
			continue;
		}
		longer = arena_fmt(&p->c->mem, STR_FMT "%s%s", STR_ARG(out->words),
				   out->words.n ? " " : "", p->argv[i]);
		p->used[i] = is_help(p, p->argv[i]);
		if (p->used[i])
			continue;
		if (!begins_command(out->face, longer))
			break;
		out->words = longer;
		p->used[i] = true;
	}
	out->command = face_command(out->face, out->words);
}

/* --- incomplete commands --- */

static enum err unfinished_command(struct args_parser *p)
{
	struct call *c = p->c;
	const char *program = p->out->face->name;
	struct str words = p->out->words;

	call_fail(c, ERR_USAGE, "'%s " STR_FMT "' needs one more word", program, STR_ARG(words));
	return call_step(c, "Run '%s " STR_FMT " --help' to see its commands.", program,
			 STR_ARG(words));
}

/* Fails instead of printing help, because a caller that asked for JSON cannot use prose. */
static enum err no_command(struct call *c, const struct face *face)
{
	call_fail(c, ERR_USAGE, "no command was given");
	return call_step(c, "Run '%s --help' to see the commands.", face->name);
}

/* --- values --- */

/* Reads a value from standard input, without the final newline that 'echo' adds. */
static enum err read_value(struct call *c, const struct field *f, struct str *out)
{
	enum err e = file_read_input(c, (size_t)f->max, out);

	if (!e && str_ends(*out, STR("\n")))
		out->n--;
	return e;
}

/* Reads the whole content of a file; "-" is standard input. */
static enum err read_named(struct call *c, const struct field *f, struct str *text)
{
	struct str path = *text;
	enum err e;

	c->file = str_is(path, "-") ? STR("standard input") : path;
	if (str_is(path, "-"))
		return file_read_input(c, (size_t)f->max, text);
	e = file_read(c, path, text);
	if (e || text->p)
		return e;
	call_fail(c, ERR_INVALID_INPUT, "%s: there is no file '" STR_FMT "'", field_label(c, f),
		  STR_ARG(path));
	return call_step(c, "Give the path of a file, or '-' for standard input.");
}

/* Sets the field in the request if it belongs to the operation, otherwise in the global options. */
static enum err args_set(struct args_parser *p, const struct field *f, struct str text)
{
	struct request *r = &p->out->request;
	const struct field *fields = r->op ? r->op->fields : NULL;
	enum err e;

	if ((f->kind == &kind_input || ((f->flags & FIELD_STDIN) && str_is(text, "-"))) &&
	    (e = read_value(p->c, f, &text)))
		return e;
	if ((f->flags & FIELD_FILE) && (e = read_named(p->c, f, &text)))
		return e;
	for (size_t i = 0; fields && fields[i].name; i++)
		if (&fields[i] == f)
			return request_set(p->c, r, i, text);
	return field_from_text(p->c, f, text, &p->out->globals);
}

const struct field *args_known_flag(struct args_parser *p, const char *arg)
{
	const struct command *cmd = p->out->command;
	const struct field *f = cmd ? find_flag(&p->c->mem, cmd->op->fields, arg) : NULL;

	return f ? f : find_flag(&p->c->mem, p->out->face->globals, arg);
}

static enum err needs_value(struct args_parser *p, const struct field *f)
{
	struct str flag = field_flag(&p->c->mem, f);

	call_fail(p->c, ERR_USAGE, "option '--" STR_FMT "' needs a value", STR_ARG(flag));
	return call_step(p->c, "Write '--" STR_FMT " %s'.", STR_ARG(flag),
			 f->arg ? f->arg : f->kind->arg);
}

/* Sets a field from the value attached to its flag, otherwise from the next argument. */
static enum err set_flag(struct args_parser *p, const struct field *f, struct str value, size_t *i)
{
	if (!f->kind->arg)
		return args_set(p, f, value.p ? value : STR("true"));
	if (!value.p && !p->argv[*i + 1])
		return needs_value(p, f);
	return args_set(p, f, value.p ? value : str_of(p->argv[++*i]));
}

/* Does the command ignore unknown options and arguments? */
static bool args_loose(const struct args_parser *p)
{
	return p->out->command && (p->out->command->flags & COMMAND_LOOSE);
}

/*
 * Parses one-letter flags, as in "-q", "-n5", "-n=5", "-qn 5": the first flag that takes a value
 * ends them.
 */
static enum err parse_letters(struct args_parser *p, size_t *i)
{
	const char *arg = p->argv[*i];
	enum err e = ERR_OK;

	for (const char *at = arg + 1; *at && !e; at++) {
		char one[] = { '-', *at, '\0' };
		const struct field *f = args_known_flag(p, one);
		bool value = f && f->kind->arg && at[1];

		if (!f)
			return args_loose(p) ? ERR_OK : args_unknown_flag(p, arg);
		e = set_flag(p, f, value ? str_of(at + 1 + (at[1] == '=')) : STR_NONE, i);
		if (f->kind->arg)
			break;
	}
	return e;
}

static enum err parse_flag(struct args_parser *p, size_t *i)
{
	const char *arg = p->argv[*i];
	const struct field *f = args_known_flag(p, arg);
	struct str value;

	if (arg[1] != '-')
		return parse_letters(p, i);
	if (!f)
		return args_loose(p) ? ERR_OK : args_unknown_flag(p, arg);
	args_flag_name(arg, &value);
	return set_flag(p, f, value, i);
}

/* The field for the next positional argument; a list takes all the remaining ones. */
const struct field *args_next_place(struct args_parser *p)
{
	size_t place = 0;
	const struct command *cmd = p->out->command;

	for (const struct field *f = cmd ? cmd->op->fields : NULL; f && f->name; f++) {
		if (!(f->flags & FIELD_PLACE))
			continue;
		if (place == p->place || (f->flags & FIELD_LIST)) {
			p->place += !(f->flags & FIELD_LIST);
			return f;
		}
		place++;
	}
	return NULL;
}

/* Was the field of the operation set before? */
static bool args_given(const struct args_parser *p, const struct field *f)
{
	const struct request *r = &p->out->request;

	return r->given >> (f - r->op->fields) & 1;
}

/* 'bd q fix the parser' without quotes: adds an argument to the text of the last place. */
static enum err args_join(struct args_parser *p, const char *arg)
{
	const struct request *r = &p->out->request;
	const struct field *last = NULL;

	for (const struct field *f = r->op->fields; f->name; f++)
		if (f->flags & FIELD_PLACE)
			last = f;
	return args_set(p, last,
			arena_fmt(&p->c->mem, STR_FMT " %s",
				  STR_ARG(*(const struct str *)((const char *)r->body + last->at)),
				  arg));
}

/* Is the option of this field anywhere on the command line? */
static bool args_has_flag(struct args_parser *p, const struct field *f)
{
	for (size_t i = 0; p->argv[i] && strcmp(p->argv[i], "--"); i++)
		if (args_is_flag(p->argv[i]) && args_known_flag(p, p->argv[i]) == f)
			return true;
	return false;
}

/*
 * The option that a positional argument stands for: the first required one that is missing. So
 * 'bb agent show amber-otter' needs no '--agent'. Your own name is never meant.
 */
static const struct field *args_next_required(struct args_parser *p)
{
	for (const struct field *f = p->out->command->op->fields; f && f->name; f++)
		if (field_shown(f) && field_required_cli(f) && f->kind->arg &&
		    !(f->flags & (FIELD_PLACE | FIELD_LIST | FIELD_ACTOR)) && !args_given(p, f) &&
		    !args_has_flag(p, f))
			return f;
	return NULL;
}

static enum err parse_place(struct args_parser *p, const char *arg)
{
	const struct field *f;

	if (!p->out->command)
		return args_unknown_command(p, arg);
	f = args_next_place(p);
	if (!f)
		f = args_next_required(p);
	if (f && f->flag && (f->flags & FIELD_PLACE) && !(f->flags & FIELD_LIST) &&
	    args_given(p, f))
		return call_fail(p->c, ERR_USAGE, "%s was given twice: as '%s' and with --%s",
				 f->arg, arg, f->flag);
	if (f)
		return args_set(p, f, str_of(arg));
	if (args_loose(p))
		return ERR_OK;
	if (p->out->command->flags & COMMAND_JOINS)
		return args_join(p, arg);
	if (begins_command(p->out->face, p->out->words) && !p->place && !p->only_text)
		for (const struct command *cmd = p->out->face->commands; cmd->words; cmd++) {
			struct str full = str_of(cmd->words);

			if (full.n > p->out->words.n && str_starts(full, p->out->words))
				return args_unknown_command(p, arg);
		}
	return call_fail(p->c, ERR_USAGE, "unexpected argument '%s' of '%s " STR_FMT "'", arg,
			 p->out->face->name, STR_ARG(p->out->words));
}

static enum err parse_all(struct args_parser *p)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && p->argv[i]; i++) {
		if (p->used[i])
			continue;
		if (!p->only_text && !strcmp(p->argv[i], "--"))
			p->only_text = true;
		else if (!p->only_text && args_is_flag(p->argv[i]))
			e = parse_flag(p, &i);
		else
			e = parse_place(p, p->argv[i]);
	}
	return e;
}

static enum err read_piped(struct args_parser *p)
{
	struct request *r = &p->out->request;
	enum err e;

	for (size_t i = 0; r->op->fields && r->op->fields[i].name; i++)
		if ((r->op->fields[i].flags & FIELD_PIPED) && !(r->given >> i & 1) &&
		    (e = args_set(p, &r->op->fields[i], STR("-"))))
			return e;
	return ERR_OK;
}

static enum err args_check_text(struct call *c, char **argv)
{
	for (size_t i = 0; argv[i]; i++)
		if (!utf8_valid(str_of(argv[i])))
			return call_fail(c, ERR_INVALID_INPUT, "argument %zu is not valid UTF-8",
					 i + 1);
	return ERR_OK;
}

/* A usage of many options is no help on one line. */
static void args_show_usage(struct call *c, const struct args *out)
{
	enum { LINE = 72 };
	struct str usage = help_usage(&c->mem, out->face, out->command);

	if (utf8_width(usage) <= LINE)
		call_step(c, "Usage: " STR_FMT, STR_ARG(usage));
}

enum err args_parse(struct call *c, const struct face *face, char **argv, struct args *out)
{
	struct args_parser p = { .c = c, .out = out, .argv = argv };
	size_t count = 0;
	enum err e;

	*out = (struct args){ .face = face, .words = STR(""), .argv = argv };
	for (const struct field *f = face->globals; f->name; f++)
		field_clear(f, &out->globals);
	/* --json is looked for first, because it decides how errors are printed */
	for (size_t i = 0; argv[i] && strcmp(argv[i], "--"); i++)
		out->globals.json = out->globals.json || !strcmp(argv[i], "--json");
	while (argv[count])
		count++;
	p.used = arena_array(&c->mem, count + 1, sizeof *p.used);
	args_find_command(&p);
	if (out->command && find_long(&c->mem, out->command->op->fields, STR("json")))
		out->globals.json = false; /* this --json is the command's own option */
	/* after args_find_command(), so that an error has the command's envelope */
	if ((e = args_check_text(c, argv)))
		return e;
	if (out->command)
		out->request = request_new(c, out->command->op);
	if ((e = parse_all(&p)))
		return e;
	if (out->globals.all && !out->globals.help)
		return args_unknown_flag(&p, "--all");
	if (out->globals.help || out->globals.version || out->globals.mcp)
		return ERR_OK;
	if (out->command && (e = read_piped(&p)))
		return e;
	if (!out->command && face->index)
		return ERR_OK;
	if (!out->command && out->words.n)
		return unfinished_command(&p);
	if (!out->command)
		return out->globals.json ? no_command(c, face) : ERR_OK;
	if ((e = request_check(c, &out->request)) == ERR_USAGE)
		args_show_usage(c, out);
	return e;
}
