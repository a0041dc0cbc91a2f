#include "surface/cli/help.h"

#include <inttypes.h>

#include "base/moment.h"
#include "base/number.h"
#include "base/text/utf8.h"
#include "surface/view/view.h"

enum { INDENT = 2, GAP = 2, OPTION_MOST = 34 };

static const char *arg_of(const struct field *f)
{
	return f->arg ? f->arg : f->kind->arg;
}

struct str help_option(struct arena *mem, const struct field *f)
{
	struct str flag = field_flag(mem, f);
	struct buf b = { .mem = mem };

	if (f->flags & FIELD_PLACE) {
		buf_fmt(&b, "%s", arg_of(f));
		return buf_str(&b);
	}
	if (f->letter)
		buf_fmt(&b, "-%c, ", f->letter);
	buf_fmt(&b, "--" STR_FMT, STR_ARG(flag));
	if (f->kind->arg)
		buf_fmt(&b, " %s", arg_of(f));
	return buf_str(&b);
}

static void list_words(struct buf *b, const struct names *words)
{
	for (int i = 0; i < words->count; i++)
		buf_fmt(b, "%s%s", i ? ", " : "", names_word(words, i));
}

/* The limits and the default of a duration; a limit of more than a year is no help. */
static void help_span(struct buf *b, const struct field *f)
{
	const int64_t year = INT64_C(366) * 24 * 3600 * 1000;
	int64_t preset;

	if (f->max * f->unit <= year)
		buf_fmt(b, "%s to %s", duration_format(b->mem, f->min * f->unit).p,
			duration_format(b->mem, f->max * f->unit).p);
	if (f->preset && number_int(str_of(f->preset), &preset))
		buf_fmt(b, "%sdefault %s", b->n ? "; " : "",
			duration_format(b->mem, preset * f->unit).p);
}

struct str help_limits(struct arena *mem, const struct field *f)
{
	struct buf b = { .mem = mem };

	if (f->words)
		list_words(&b, f->words);
	if (f->kind == &kind_int && f->max)
		buf_fmt(&b, "%" PRId64 " to %" PRId64, f->min, f->max);
	if (f->kind == &kind_span)
		help_span(&b, f);
	else if (f->preset)
		buf_fmt(&b, "%sdefault %s", b.n ? "; " : "", f->preset);
	if (f->flags & FIELD_LIST)
		buf_fmt(&b, "%scan be repeated", b.n ? "; " : "");
	return buf_str(&b);
}

static void usage_field(struct buf *b, const struct field *f)
{
	bool required = field_required_cli(f), list = f->flags & FIELD_LIST;

	buf_put(b, required ? STR(" ") : STR(" ["));
	if (f->flags & FIELD_REST)
		buf_put(b, STR("-- "));
	if (!(f->flags & FIELD_PLACE))
		buf_fmt(b, "--" STR_FMT "%s", STR_ARG(field_flag(b->mem, f)),
			f->kind->arg ? " " : "");
	if (f->kind->arg)
		buf_fmt(b, "%s", arg_of(f));
	buf_put(b, list ? STR("…") : STR(""));
	buf_put(b, required ? STR("") : STR("]"));
}

/* Arguments come first, then options, then a command after "--". */
static int usage_order(const struct field *f)
{
	return f->flags & FIELD_REST ? 2 : !(f->flags & FIELD_PLACE);
}

struct str help_usage(struct arena *mem, const struct face *face, const struct command *cmd)
{
	struct buf b = { .mem = mem };

	buf_fmt(&b, "%s %s", face->name, cmd->words);
	for (int pass = 0; pass < 3; pass++)
		for (const struct field *f = cmd->op->fields; f && f->name; f++)
			if (field_shown(f) && usage_order(f) == pass)
				usage_field(&b, f);
	return buf_str(&b);
}

/* The help of a field with its limits, as one text. */
static struct str help_meaning(struct arena *mem, const struct field *f)
{
	struct str limits = help_limits(mem, f), help = str_of(f->help ? f->help : "");

	if (!limits.n)
		return help;
	return arena_fmt(mem, STR_FMT "%s(" STR_FMT ")", STR_ARG(help), help.n ? " " : "",
			 STR_ARG(limits));
}

/* Prints the option, and its help in a second column that may take several lines. */
static void option_line(struct view *v, const struct field *f, size_t column)
{
	struct str option = help_option(v->out.mem, f), lines;
	struct view beside = *v;
	size_t width = utf8_width(option);

	beside.out = (struct buf){ .mem = v->out.mem };
	view_wrap(&beside, help_meaning(v->out.mem, f), INDENT + column);
	lines = buf_str(&beside.out);
	buf_fmt(&v->out, "%*s" STR_FMT, INDENT, "", STR_ARG(option));
	if (width + GAP > column) {
		buf_char(&v->out, '\n');
	} else if (lines.n > INDENT + column) {
		buf_pad(&v->out, ' ', column - width);
		lines = str_skip(lines, INDENT + column);
	}
	buf_put(&v->out, lines);
}

static size_t option_column(struct arena *mem, const struct field *fields, size_t column)
{
	for (const struct field *f = fields; f && f->name; f++) {
		size_t width = utf8_width(help_option(mem, f)) + GAP;

		if (field_shown(f) && width > column && width <= OPTION_MOST)
			column = width;
	}
	return column;
}

static void help_title(struct view *v, const char *text)
{
	buf_char(&v->out, '\n');
	view_paint(v, PAINT_BOLD, str_of(text));
	buf_char(&v->out, '\n');
}

static void help_options(struct view *v, const char *head, const struct field *fields,
			 size_t column)
{
	bool any = false;

	for (const struct field *f = fields; f && f->name; f++) {
		if (!field_shown(f))
			continue;
		if (!any)
			help_title(v, head);
		any = true;
		option_line(v, f, column);
	}
}

void help_command(struct view *v, const struct face *face, const struct command *cmd)
{
	struct arena *mem = v->out.mem;
	size_t column = option_column(mem, face->globals, option_column(mem, cmd->op->fields, 0));
	struct str examples = str_of(cmd->op->examples), line;

	view_line(v, "%s", cmd->op->help);
	help_title(v, "Usage");
	view_wrap(v, help_usage(mem, face, cmd), INDENT);
	if (cmd->op->more) {
		buf_char(&v->out, '\n');
		view_wrap(v, str_of(cmd->op->more), 0);
	}
	help_options(v, "Parameters", cmd->op->fields, column);
	help_options(v, "Global options", face->globals, column);
	if (cmd->op->examples)
		help_title(v, "Examples");
	while (str_next(&examples, '\n', &line))
		view_line(v, "  " STR_FMT, STR_ARG(line));
}

static bool help_begins(const struct command *cmd, struct str words, bool all)
{
	struct str full = str_of(cmd->words);

	if ((cmd->flags & COMMAND_COMPAT) ? !all : (cmd->flags & COMMAND_ALIAS) != 0)
		return false;
	return !words.n ||
	       (str_starts(full, words) && (full.n == words.n || full.p[words.n] == ' '));
}

/* The commands that begin with `words`, each group under its title. */
static void help_commands(struct view *v, const struct face *face, struct str words, bool all)
{
	const char *title = NULL;
	size_t column = 0;

	for (const struct command *cmd = face->commands; cmd->words; cmd++)
		if (help_begins(cmd, words, all) && strlen(cmd->words) + GAP > column)
			column = strlen(cmd->words) + GAP;
	for (const struct command *cmd = face->commands; cmd->words; cmd++) {
		title = cmd->group ? cmd->group : title;
		if (!help_begins(cmd, words, all))
			continue;
		if (title)
			help_title(v, title);
		title = NULL;
		view_line(v, "  %-*s%s", (int)column, cmd->words, cmd->op->help);
	}
}

/* Has the face commands that only 'help --all' lists? */
static bool help_hides(const struct face *face)
{
	for (const struct command *cmd = face->commands; cmd->words; cmd++)
		if (cmd->flags & COMMAND_COMPAT)
			return true;
	return false;
}

void help_face(struct view *v, const struct face *face, struct str words, bool all)
{
	view_line(v, "%s: %s", face->name, face->about);
	help_title(v, "Usage");
	view_line(v, "  %s COMMAND [ARGUMENTS] [OPTIONS]", face->name);
	help_commands(v, face, words, all);
	help_options(v, "Global options", face->globals,
		     option_column(v->out.mem, face->globals, 0));
	if (face->environment)
		help_title(v, "Environment");
	for (const char *const *e = face->environment; e && *e; e += 2)
		view_line(v, "  %-24s%s", e[0], e[1]);
	buf_char(&v->out, '\n');
	view_line(v, "Run '%s COMMAND --help' for details.", face->name);
	if (!all && help_hides(face))
		view_line(v,
			  "'%s help --all' also lists the commands that users of upstream %s "
			  "know.",
			  face->name, face->name);
}
