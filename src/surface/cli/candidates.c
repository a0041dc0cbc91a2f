#include "surface/cli/candidates.h"

#include "agents/mail.h"
#include "base/buf.h"
#include "beads/beads.h"
#include "beads/model/bead.h"
#include "ops/ops.h"
#include "store/db/bead_query.h"
#include "surface/cli/args_parts.h"
#include "surface/cli/out.h"

/* --- the line --- */

/* Notes the actor and the folder, which decide what is offered. Wrong values are ignored. */
static void end_note(struct args_parser *p, const struct field *f, struct str value)
{
	const struct field *globals = p->out->face->globals;

	if (f->flags & FIELD_ACTOR)
		p->out->globals.actor = value;
	for (const struct field *g = globals; g->name; g++)
		if (g == f && field_from_text(p->c, f, value, &p->out->globals))
			call_forgive(p->c);
}

/* An option before the last word. True: the last word is its value. */
static bool end_skip_option(struct args_parser *p, size_t *i, struct args_end *out)
{
	const char *arg = p->argv[*i];
	const struct field *f = args_known_flag(p, arg);
	struct str value = STR_NONE;

	if (!f || !f->kind->arg)
		return false;
	if (arg[1] == '-')
		args_flag_name(arg, &value);
	else if (arg[2])
		value = str_of(arg + 2);
	if (!value.p && !p->argv[*i + 1]) {
		out->field = f;
		return true;
	}
	end_note(p, f, value.p ? value : str_of(p->argv[++*i]));
	return false;
}

/* The last word itself: an option, "--name=" and a part of its value, or a positional argument. */
static void end_read_word(struct args_parser *p, struct args_end *out)
{
	struct str value = STR_NONE;

	if (p->only_text || !str_starts(out->word, STR("-"))) {
		out->field = args_next_place(p);
		return;
	}
	if (str_starts(out->word, STR("--")))
		args_flag_name(out->word.p, &value);
	out->option = !value.p;
	if (!value.p)
		return;
	out->field = args_known_flag(p, out->word.p);
	out->before = str_head(out->word, out->word.n - value.n);
	out->word = value;
}

/* The words without the last one. bash passes "--name=value" as three words. */
static char **end_split(struct call *c, char **argv, struct args_end *out)
{
	char **words;
	size_t count = 0, kept = 0;

	while (argv[count])
		count++;
	words = arena_array(&c->mem, count + 1, sizeof *words);
	for (size_t i = 0; i + 1 < count; i++)
		if (strcmp(argv[i], "=") != 0)
			words[kept++] = argv[i];
	out->word = count && strcmp(argv[count - 1], "=") != 0 ? str_of(argv[count - 1]) : STR("");
	return words;
}

void candidates_read(struct call *c, const struct face *face, char **argv, struct args_end *out)
{
	struct args_parser p = { .c = c, .out = &out->args };
	size_t count = 0;

	*out = (struct args_end){ .args = { .face = face, .words = STR("") }, .before = STR("") };
	for (const struct field *f = face->globals; f->name; f++)
		field_clear(f, &out->args.globals);
	p.argv = end_split(c, argv, out);
	while (p.argv[count])
		count++;
	p.used = arena_array(&c->mem, count + 1, sizeof *p.used);
	args_find_command(&p);
	for (size_t i = 0; p.argv[i]; i++) {
		if (p.used[i])
			continue;
		if (!p.only_text && !strcmp(p.argv[i], "--"))
			p.only_text = true;
		else if (p.only_text || !args_is_flag(p.argv[i]))
			args_next_place(&p);
		else if (end_skip_option(&p, &i, out))
			return;
	}
	end_read_word(&p, out);
}

/* --- candidates --- */

enum { CANDIDATES_MOST = 200 };

struct candidates {
	struct call *c;
	const struct args_end *end;
	struct buf out;
};

static void candidate_add(struct candidates *k, struct str word, struct str description)
{
	if (!str_starts(word, k->end->word))
		return;
	buf_fmt(&k->out, STR_FMT STR_FMT "\t", STR_ARG(k->end->before), STR_ARG(word));
	for (size_t i = 0; i < description.n; i++) {
		unsigned char ch = (unsigned char)description.p[i];

		buf_char(&k->out, ch < ' ' || ch == 0x7f ? ' ' : (char)ch);
	}
	buf_char(&k->out, '\n');
}

/* --- commands and options --- */

static void candidates_add_commands(struct candidates *k)
{
	const struct face *face = k->end->args.face;
	struct str words = k->end->args.words, last = { 0 };

	for (const struct command *cmd = face->commands; cmd->words; cmd++) {
		struct str rest = str_of(cmd->words), next;

		if (cmd->flags & (COMMAND_ALIAS | COMMAND_COMPAT))
			continue;
		if (words.n) {
			if (!str_starts(rest, words) || rest.n == words.n || rest.p[words.n] != ' ')
				continue;
			rest = str_skip(rest, words.n + 1);
		}
		str_next(&rest, ' ', &next);
		if (!str_eq(next, last))
			candidate_add(k, next, rest.p ? STR_NONE : str_of(cmd->op->help));
		last = next;
	}
	if (face == &face_abacus && !words.n)
		for (const struct face *const *other = faces; *other; other++)
			if (*other != face)
				candidate_add(k, str_of((*other)->name), str_of((*other)->about));
}

static void candidates_add_options(struct candidates *k, const struct field *fields)
{
	for (const struct field *f = fields; f && f->name; f++)
		if (field_shown(f) && !(f->flags & FIELD_PLACE))
			candidate_add(k,
				      arena_fmt(&k->c->mem, "--" STR_FMT,
						STR_ARG(field_flag(&k->c->mem, f))),
				      str_of(f->help));
}

/* --- beads --- */

static struct str candidate_title(struct candidates *k, const struct bead_row *row)
{
	return row->status == BEAD_CLOSED ?
		       arena_fmt(&k->c->mem, "closed: " STR_FMT, STR_ARG(row->title)) :
		       row->title;
}

/* The beads whose ids begin with `head`, of which the first `hidden` bytes are not typed. */
static void candidates_add_matching(struct candidates *k, struct beads *b, struct str head,
				    size_t hidden, bool deleted)
{
	struct bead_row *row;
	struct str *ids;
	size_t count;

	if (query_ids(k->c, &b->cache, head, deleted, CANDIDATES_MOST, &ids, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		row = NULL;
		if (!deleted && cache_find_bead(k->c, &b->cache, ids[i], &row))
			return;
		candidate_add(k, str_skip(ids[i], hidden),
			      row ? candidate_title(k, row) : STR("deleted"));
	}
}

/* Without a typed word, the beads that the command is for: open beads, except for 'bd reopen'. */
static void candidates_add_all_beads(struct candidates *k, struct beads *b, bool closed)
{
	struct bead_filter filter = { .statuses = closed ? 1u << BEAD_CLOSED :
							   1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS,
				      .sort = closed ? SORT_CLOSED : SORT_PRIORITY,
				      .lean = true,
				      .limit = CANDIDATES_MOST };
	struct bead_row *row = NULL;

	if (query_each(k->c, &b->cache, &filter, &row))
		return;
	for (; row; row = row->next)
		candidate_add(k, row->id, row->title);
}

static void candidates_add_beads(struct candidates *k)
{
	const struct op *op = k->end->args.command ? k->end->args.command->op : NULL;
	struct str word = k->end->word, prefix;
	bool deleted = op == &op_bead_undelete;
	struct beads b;
	size_t before = k->out.n;

	if (beads_open(k->c, BEADS_READ, &b))
		return;
	prefix = arena_fmt(&k->c->mem, STR_FMT "-" STR_FMT, STR_ARG(b.about.prefix), STR_ARG(word));
	if (word.n || deleted)
		candidates_add_matching(k, &b, word, 0, deleted);
	else
		candidates_add_all_beads(k, &b, op == &op_bead_reopen);
	if (word.n && k->out.n == before)
		candidates_add_matching(k, &b, prefix, prefix.n - word.n, deleted);
	beads_close(&b);
}

/* --- agents and their messages --- */

static void candidates_add_agents(struct candidates *k)
{
	struct agent_files files;
	struct registered *a = NULL;

	if (agent_files_open(k->c, AGENTS_READ, &files))
		return;
	if (registry_each(k->c, &files, STR_NONE, STR_NONE, &a))
		a = NULL;
	agent_files_close(&files);
	for (; a; a = a->next)
		candidate_add(k, a->id, a->role);
}

static void candidates_add_recipients(struct candidates *k)
{
	candidates_add_agents(k);
	candidate_add(k, STR("broadcast"), STR("all other agents"));
}

/* The end of the id is random, and is accepted instead of the whole id. */
static void candidate_add_message(struct candidates *k, const struct mail *m)
{
	struct str rest = m->id, end = m->id,
		   description = arena_fmt(&k->c->mem, STR_FMT ": " STR_FMT, STR_ARG(m->from),
					   STR_ARG(m->subject));

	if (!str_starts(m->id, k->end->word))
		while (str_next(&rest, '_', &end))
			;
	candidate_add(k, end, description);
}

static void candidates_add_messages(struct candidates *k)
{
	bool acks = k->end->args.command && k->end->args.command->op == &op_agent_ack;
	struct mail_filter filter = { .state = -1, .limit = CANDIDATES_MOST };
	struct agent_files files;
	struct mail *m = NULL;

	if (!call_named(k->c) || agent_files_open(k->c, AGENTS_READ, &files))
		return;
	if (mail_inbox(k->c, &files, k->c->actor, &filter, &m, NULL))
		m = NULL;
	agent_files_close(&files);
	for (; m; m = m->next)
		if (!acks || m->state != MAIL_ACKED)
			candidate_add_message(k, m);
}

/* --- values --- */

/* The placeholder of a value says what the value names. */
static const struct {
	const char *placeholder;
	void (*add)(struct candidates *k);
} candidate_sources[] = {
	{ "BEAD", candidates_add_beads },    { "TASK", candidates_add_beads },
	{ "AGENT", candidates_add_agents },  { "NAME", candidates_add_agents },
	{ "TO", candidates_add_recipients }, { "MESSAGE", candidates_add_messages },
};

static void candidates_add_values(struct candidates *k, const struct field *f)
{
	const char *placeholder = f->arg ? f->arg : f->kind->arg;

	if (f->words) {
		for (int i = 0; i < f->words->count; i++)
			candidate_add(k, str_of(names_word(f->words, i)), STR_NONE);
	} else if (f->kind == &kind_bead) {
		candidates_add_beads(k);
	} else if (f->kind == &kind_path || (f->flags & FIELD_FILE)) {
		buf_put(&k->out, STR(":files\n"));
	} else {
		for (size_t i = 0; i < sizeof candidate_sources / sizeof *candidate_sources; i++)
			if (placeholder && !strcmp(placeholder, candidate_sources[i].placeholder))
				candidate_sources[i].add(k);
	}
}

int candidates_print(struct call *c, const struct args_end *end)
{
	struct candidates k = { .c = c, .end = end, .out.mem = &c->mem };
	const struct args *a = &end->args;

	if (end->option) {
		candidates_add_options(&k, a->command ? a->command->op->fields : NULL);
		candidates_add_options(&k, a->face->globals);
	} else {
		if (!end->field || (end->field->flags & FIELD_PLACE))
			candidates_add_commands(&k);
		if (end->field)
			candidates_add_values(&k, end->field);
	}
	return out_text(&c->mem, buf_str(&k.out), 0);
}
