#include "base/buf.h"
#include "surface/cli/face.h"
#include "surface/cli/help.h"
#include "surface/cli/out.h"
#include "surface/docs/docs.h"

/* Text in which Markdown's tables see nothing of their own. */
static void reference_cell(struct buf *b, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '|')
			buf_char(b, '\\');
		buf_char(b, text.p[i]);
	}
}

/* A paragraph, in lines of at most 100 bytes. */
static void reference_text(struct buf *b, struct str text)
{
	enum { COLUMNS = 100 };
	size_t column = 0;
	struct str word;

	while (text.n && str_next(&text, ' ', &word)) {
		bool fits = column + word.n < COLUMNS;

		if (column)
			buf_char(b, fits ? ' ' : '\n');
		buf_put(b, word);
		column = (fits && column ? column + 1 : 0) + word.n;
	}
	buf_char(b, '\n');
}

static void reference_options(struct buf *b, const struct field *fields)
{
	bool any = false;

	for (const struct field *f = fields; f && f->name; f++) {
		struct str limits = help_limits(b->mem, f);

		if (!field_shown(f))
			continue;
		if (!any)
			buf_put(b, STR("\n| parameter | meaning |\n| --- | --- |\n"));
		any = true;
		buf_put(b, STR("| `"));
		reference_cell(b, help_option(b->mem, f));
		buf_put(b, STR("` | "));
		reference_cell(b, str_of(f->help ? f->help : ""));
		if (limits.n) {
			buf_put(b, STR(" ("));
			reference_cell(b, limits);
			buf_put(b, STR(")"));
		}
		buf_put(b, STR(" |\n"));
	}
}

static void reference_reply(struct buf *b, const struct op *op)
{
	struct buf text = { .mem = b->mem };
	const struct prop *p = op->reply;

	if (!p || !p->of)
		return;
	buf_fmt(&text, "Reply: %s with",
		p->flags & PROP_LIST ? "an array of objects" : "an object");
	for (const struct prop *m = p->of; m->name; m++)
		buf_fmt(&text, "%s `%s`%s", m == p->of ? "" : ",", m->name,
			m->flags & PROP_OPTIONAL ? " (optional)" : "");
	buf_char(&text, '.');
	buf_char(b, '\n');
	reference_text(b, buf_str(&text));
}

static void reference_command(struct buf *b, const struct face *face, const struct command *cmd)
{
	buf_fmt(b, "\n### `%s %s`\n\n%s.\n", face->name, cmd->words, cmd->op->help);
	buf_fmt(b, "\n    " STR_FMT "\n", STR_ARG(help_usage(b->mem, face, cmd)));
	if (cmd->op->more) {
		buf_char(b, '\n');
		reference_text(b, str_of(cmd->op->more));
	}
	reference_options(b, cmd->op->fields);
	reference_reply(b, cmd->op);
	for (const char *const *e = cmd->op->examples; e && *e; e++)
		buf_fmt(b, "%s    %s\n", e == cmd->op->examples ? "\nExamples:\n\n" : "", *e);
}

int docs_start(struct call *c, const struct request *r)
{
	struct buf b = { .mem = &c->mem };

	(void)r;
	buf_put(&b, STR("# Commands\n\nMade from the tables of commands and operations by `make "
			"doc`; edit those.\n"));
	for (const struct face *const *face = faces; *face; face++) {
		buf_fmt(&b, "\n## `%s`\n\n", (*face)->name);
		reference_text(
			&b, arena_fmt(&c->mem, "In short: %s. %s", (*face)->about, (*face)->more));
		reference_options(&b, (*face)->globals);
		for (const char *const *e = (*face)->environment; e && *e; e += 2)
			buf_fmt(&b, "%s| `%s` | %s |\n",
				e == (*face)->environment ?
					"\n| environment | meaning |\n| --- | --- |\n" :
					"",
				e[0], e[1]);
		for (const struct command *cmd = (*face)->commands; cmd->words; cmd++)
			if (!(cmd->flags & COMMAND_ALIAS))
				reference_command(&b, *face, cmd);
	}
	return out_text(&c->mem, buf_str(&b), 0);
}

const struct op op_docs = {
	.name = "docs",
	.help = "Print the reference of all commands as Markdown",
};
