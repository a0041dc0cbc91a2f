#include "base/buf.h"
#include "surface/cli/face.h"
#include "surface/cli/help.h"
#include "surface/cli/out.h"
#include "surface/docs/docs.h"

struct body {
	struct str program;
};

static const struct field fields[] = {
	{ "program", &kind_str, offsetof(struct body, program), FIELD_PLACE, .arg = "PROGRAM",
	  .preset = "abacus", .help = "program" },
	{ 0 },
};

/* Escapes text so that troff finds no requests or escapes in it. */
static void manual_roff(struct buf *b, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\\' || text.p[i] == '-')
			buf_char(b, '\\');
		else if ((text.p[i] == '.' || text.p[i] == '\'') &&
			 (!b->n || b->p[b->n - 1] == '\n'))
			buf_put(b, STR("\\&"));
		buf_char(b, text.p[i]);
	}
}

static void manual_option(struct buf *b, const struct field *f)
{
	struct str limits = help_limits(b->mem, f);

	buf_put(b, STR(".TP\n"));
	manual_roff(b, help_option(b->mem, f));
	buf_char(b, '\n');
	manual_roff(b, str_of(f->help ? f->help : ""));
	if (limits.n)
		manual_roff(b, arena_fmt(b->mem, " (" STR_FMT ")", STR_ARG(limits)));
	buf_char(b, '\n');
}

static void manual_command(struct buf *b, const struct face *face, const struct command *cmd)
{
	struct str examples = str_of(cmd->op->examples), line;

	buf_put(b, STR(".SS "));
	manual_roff(b, help_usage(b->mem, face, cmd));
	buf_char(b, '\n');
	manual_roff(b, str_of(cmd->op->help));
	buf_put(b, STR(".\n"));
	if (cmd->op->more) {
		manual_roff(b, str_of(cmd->op->more));
		buf_char(b, '\n');
	}
	for (const struct field *f = cmd->op->fields; f && f->name; f++)
		if (field_shown(f))
			manual_option(b, f);
	while (str_next(&examples, '\n', &line)) {
		buf_put(b, STR(".PP\n.RS\n"));
		manual_roff(b, line);
		buf_put(b, STR("\n.RE\n"));
	}
}

static void manual_page(struct buf *b, const struct face *face)
{
	buf_fmt(b, ".TH %s 1 \"\" \"Abacus %s\"\n.SH NAME\n%s \\- ", face->name, ABACUS_VERSION,
		face->name);
	manual_roff(b, str_of(face->about));
	buf_fmt(b, "\n.SH SYNOPSIS\n.B %s\n.I command\n[\n.I arguments\n] [\n.I options\n]\n",
		face->name);
	buf_put(b, STR(".SH DESCRIPTION\n"));
	manual_roff(b, str_of(face->more));
	buf_put(b, STR("\n.SH OPTIONS\n"));
	for (const struct field *f = face->globals; f->name; f++)
		manual_option(b, f);
	buf_put(b, STR(".SH COMMANDS\n"));
	for (const struct command *cmd = face->commands; cmd->words; cmd++)
		if (!(cmd->flags & COMMAND_ALIAS))
			manual_command(b, face, cmd);
	if (face->environment)
		buf_put(b, STR(".SH ENVIRONMENT\n"));
	for (const char *const *e = face->environment; e && *e; e += 2) {
		buf_fmt(b, ".TP\n%s\n", e[0]);
		manual_roff(b, str_of(e[1]));
		buf_char(b, '\n');
	}
}

int man_start(struct call *c, const struct request *r)
{
	const struct body *in = r->body;
	const struct face *face = face_find(in->program);
	struct buf b = { .mem = &c->mem };

	if (!face) {
		call_fail(c, ERR_NOT_FOUND, "there is no manual of '" STR_FMT "'",
			  STR_ARG(in->program));
		call_step(c, "Run 'abacus man PROGRAM', where PROGRAM is abacus, bb, bd or vybe.");
		return -1;
	}
	manual_page(&b, face);
	return out_text(&c->mem, buf_str(&b), 0);
}

const struct op op_man = {
	.name = "man",
	.help = "Print a manual page",
	.examples = "abacus man bb | man -l -",
	OP_BODY(struct body, fields),
};
