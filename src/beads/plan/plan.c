#include "beads/plan/plan.h"

#include "base/buf.h"
#include "base/text/utf8.h"
#include "beads/plan/plan_parts.h"

/* --- lines --- */

bool plan_next_line(struct plan_lines *l)
{
	struct str text;
	bool fence;

	if (!str_next(&l->rest, '\n', &l->line))
		return false;
	l->number++;
	text = str_trim(l->line);
	fence = str_starts(text, STR("```")) || str_starts(text, STR("~~~"));
	l->fenced = fence || l->open;
	if (fence)
		l->open = !l->open;
	return true;
}

size_t plan_heading(struct str line, struct str *text)
{
	size_t level = 0;

	while (level < line.n && line.p[level] == '#')
		level++;
	if (!level || (level < line.n && line.p[level] != ' '))
		return 0;
	*text = str_trim(str_skip(line, level));
	return level;
}

bool plan_checkbox(struct str line, struct str *text, bool *done)
{
	struct str t = str_trim(line);

	if (t.n < 5 || !memchr("-*+", t.p[0], 3) || t.p[1] != ' ' || t.p[2] != '[' ||
	    !memchr(" xX", t.p[3], 3) || t.p[4] != ']' || (t.n > 5 && t.p[5] != ' '))
		return false;
	*done = t.p[3] != ' ';
	*text = str_trim(str_skip(t, 5));
	return true;
}

struct plan_bead *plan_add(struct call *c, struct bead_plan *plan, size_t line, struct str title)
{
	struct plan_bead *b = arena_new(&c->mem, struct plan_bead);

	b->line = line;
	b->draft.text[MEMBER_TITLE] = title;
	b->draft.type = BEAD_TASK;
	b->draft.priority = 2;
	b->draft.order = (int64_t)plan->count++;
	*plan->last = b;
	plan->last = &b->next;
	return b;
}

void plan_need(struct call *c, struct bead_plan *plan, struct plan_bead *b, struct plan_need need)
{
	struct plan_need *made = arena_new(&c->mem, struct plan_need);

	*made = need;
	made->next = b->needs;
	b->needs = made;
	plan->needs++;
}

enum err plan_check_size(struct call *c, const struct bead_plan *plan)
{
	bool beads = plan->count > PLAN_BEADS_MOST;

	if (!beads && plan->needs <= PLAN_NEEDS_MOST)
		return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "a plan has at most %d %s, and with this line it has more",
		  beads ? PLAN_BEADS_MOST : PLAN_NEEDS_MOST, beads ? "beads" : "dependencies");
	return call_step(c, "Split the file, and create the beads of each part with 'bd create "
			    "-f'.");
}

enum err plan_located(struct call *c, size_t line, enum err e)
{
	if (e)
		c->message = arena_fmt(&c->mem, STR_FMT ":%zu: " STR_FMT,
				       STR_ARG(c->file.p ? c->file : STR("file")), line,
				       STR_ARG(c->message));
	return e;
}

/* --- fields and sections --- */

enum part {
	PART_DESCRIPTION,
	PART_PRIORITY,
	PART_TYPE,
	PART_ASSIGNEE,
	PART_LABELS,
	PART_DEPENDENCIES,
	PARTS, /* the members with an option of their own follow */
};

/* The bead that is being read. */
struct plan_reader {
	struct call *c;
	struct bead_plan *plan;
	struct plan_bead *bead, *epic; /* or NULL */
	struct buf body, criteria;     /* below the heading */
	struct buf section;            /* below a "###" */
	int part;                      /* of the section; -1: the body */
	size_t line;                   /* of the section or field */
	bool listing;                  /* "needs:" was alone on its line: a list follows */
	bool may_field;                /* the line before ends a paragraph */
	bool tasks;                    /* there was a line that begins with "## " */
};

static bool plan_is_option(struct str head, const char *option)
{
	return option && str_eq(head, str_of(option));
}

/* "acceptance criteria" is acceptance_criteria. */
static bool plan_same_words(struct str head, struct str key)
{
	for (size_t i = 0; i < head.n && i < key.n; i++)
		if (head.p[i] != (key.p[i] == '_' ? ' ' : key.p[i]))
			return false;
	return head.n == key.n;
}

struct str plan_lower(struct call *c, struct str text)
{
	char *out = arena_text(&c->mem, text.n + 1);

	for (size_t i = 0; i < text.n; i++)
		out[i] =
			text.p[i] >= 'A' && text.p[i] <= 'Z' ? (char)(text.p[i] | 0x20) : text.p[i];
	return (struct str){ out, text.n };
}

static int plan_part(struct call *c, struct str head)
{
	static const char *const words[] = { "description", "priority", "type",
					     "assignee",    "labels",   "dependencies" };
	static const struct synonym more[] = { { "deps", PART_DEPENDENCIES }, { NULL, 0 } };
	static const struct names names = { words, PARTS, more };
	struct str word = plan_lower(c, head);

	for (int i = 0; i < MEMBERS; i++) {
		const struct member_option *m = member_option((enum member)i);

		if (m->section && (plan_is_option(word, m->option) ||
				   plan_same_words(word, str_of(names_word(&bead_members, i)))))
			return PARTS + i;
	}
	return names_value(&names, word);
}

/* The items of a list, separated by commas or lines, with or without bullets. */
static bool plan_next_item(struct str *rest, struct str *item)
{
	while (rest->n) {
		size_t n = 0;

		while (n < rest->n && rest->p[n] != ',' && rest->p[n] != '\n')
			n++;
		*item = str_trim(str_head(*rest, n));
		*rest = str_skip(*rest, n < rest->n ? n + 1 : n);
		if (item->n && (item->p[0] == '-' || item->p[0] == '*'))
			*item = str_trim(str_skip(*item, 1));
		if (item->n)
			return true;
	}
	return false;
}

/* "KIND:ID" or "ID"; also "KIND:Title" or "Title", which may have a colon in it. */
static enum err plan_add_dependency(struct plan_reader *r, struct str text)
{
	struct str rest = text, word, name = text;
	int kind = EDGE_BLOCKS;

	str_next(&rest, ':', &word);
	if (rest.p && names_value(&edge_kinds, word) >= 0) {
		kind = names_value(&edge_kinds, word);
		name = str_trim(rest);
	} else if (rest.p && !memchr(word.p, ' ', word.n)) {
		return call_fail(r->c, ERR_INVALID_INPUT,
				 "'" STR_FMT "' is not a kind of dependency; the kinds are "
				 "blocks, parent, related, discovered_from",
				 STR_ARG(word));
	}
	plan_need(r->c, r->plan, r->bead,
		  (struct plan_need){ .kind = str_of(names_word(&edge_kinds, kind)),
				      .name = name,
				      .line = r->line });
	return plan_check_size(r->c, r->plan);
}

static enum err plan_refuse(struct plan_reader *r, const char *what, struct str value,
			    const char *step)
{
	call_fail(r->c, ERR_INVALID_INPUT, "the %s of '" STR_FMT "' cannot be '" STR_FMT "'", what,
		  STR_ARG(utf8_shorten(&r->c->mem, r->bead->draft.text[MEMBER_TITLE], 60)),
		  STR_ARG(utf8_shorten(&r->c->mem, value, 60)));
	return call_step(r->c, "%s", step);
}

static void plan_add_labels(struct call *c, struct draft *d, struct str text)
{
	struct str item;

	while (plan_next_item(&text, &item)) {
		d->labels = arena_room(&c->mem, d->labels, d->label_count, sizeof *d->labels);
		d->labels[d->label_count++] = item;
	}
}

static enum err plan_set_part(struct plan_reader *r, int part, struct str text)
{
	struct draft *d = &r->bead->draft;
	struct str item;
	enum err e = ERR_OK;

	text = str_trim(text);
	if (part >= PARTS) {
		d->text[part - PARTS] = text;
		return ERR_OK;
	}
	switch ((enum part)part) {
	case PARTS:
		break;
	case PART_DESCRIPTION:
		if (text.n)
			d->text[MEMBER_DESCRIPTION] = text;
		break;
	case PART_ASSIGNEE:
		d->assignee = text;
		break;
	case PART_PRIORITY:
		if (!priority_parse(text, &d->priority))
			e = plan_refuse(r, "priority", text,
					"Write 0 to 4, or P0 to P4; 0 is the most urgent.");
		break;
	case PART_TYPE:
		if ((d->type = names_value(&bead_types, text)) < 0)
			e = plan_refuse(r, "type", text,
					"Write bug, feature, task, epic or chore.");
		break;
	case PART_LABELS:
		plan_add_labels(r->c, d, text);
		break;
	case PART_DEPENDENCIES:
		while (!e && plan_next_item(&text, &item))
			e = plan_add_dependency(r, item);
		break;
	}
	return e;
}

enum { FIELD_NEEDS = PARTS + MEMBERS };

/* The field that a line of the body sets; -1: the line is text. */
static int plan_field(struct call *c, struct str line, struct str *value)
{
	static const struct {
		const char *word;
		int part;
	} field[] = { { "needs", FIELD_NEEDS },      { "need", FIELD_NEEDS },
		      { "depends on", FIELD_NEEDS }, { "labels", PART_LABELS },
		      { "label", PART_LABELS },      { "priority", PART_PRIORITY },
		      { "type", PART_TYPE },         { "assignee", PART_ASSIGNEE } };
	struct str rest = str_trim(line), word;

	str_next(&rest, ':', &word);
	if (!rest.p || word.n > 20)
		return -1;
	word = plan_lower(c, word);
	for (size_t i = 0; i < sizeof field / sizeof *field; i++)
		if (str_is(word, field[i].word)) {
			*value = str_trim(rest);
			return field[i].part;
		}
	return -1;
}

/* --- a plan --- */

/* Sets the section that ends here. */
static enum err plan_end_section(struct plan_reader *r)
{
	enum err e = ERR_OK;

	if (r->bead && r->part >= 0)
		e = plan_located(r->c, r->line, plan_set_part(r, r->part, buf_str(&r->section)));
	r->part = -1;
	r->section = (struct buf){ .mem = &r->c->mem };
	return e;
}

static enum err plan_end_bead(struct plan_reader *r)
{
	enum err e = plan_end_section(r);
	struct str body, criteria, *acceptance;

	if (e || !r->bead)
		return e;
	body = str_trim(buf_str(&r->body));
	criteria = str_trim(buf_str(&r->criteria));
	acceptance = &r->bead->draft.text[MEMBER_ACCEPTANCE_CRITERIA];
	if (body.n && !r->bead->draft.text[MEMBER_DESCRIPTION].n)
		r->bead->draft.text[MEMBER_DESCRIPTION] = body;
	if (criteria.n)
		*acceptance = acceptance->n ? arena_fmt(&r->c->mem, STR_FMT "\n" STR_FMT,
							STR_ARG(*acceptance), STR_ARG(criteria)) :
					      criteria;
	r->body = r->criteria = (struct buf){ .mem = &r->c->mem };
	return ERR_OK;
}

static enum err plan_begin_bead(struct plan_reader *r, size_t level, struct str title, size_t line)
{
	enum err e = plan_end_bead(r);

	if (e)
		return e;
	if (!title.n)
		return plan_located(r->c, line,
				    call_fail(r->c, ERR_INVALID_INPUT,
					      "a line begins with '%s' and has no title",
					      level == 1 ? "#" : "##"));
	r->bead = plan_add(r->c, r->plan, line, title);
	if (level == 1) {
		r->bead->draft.type = BEAD_EPIC;
		r->epic = r->bead;
	} else {
		r->bead->parent = r->epic;
		r->tasks = true;
	}
	r->listing = false;
	r->may_field = true;
	return ERR_OK;
}

static enum err plan_begin_section(struct plan_reader *r, struct str head, size_t line)
{
	enum err e = plan_end_section(r);

	if (e || !r->bead)
		return e;
	r->line = line;
	r->part = plan_part(r->c, head);
	if (r->part >= 0)
		return ERR_OK;
	return plan_located(r->c, line,
			    plan_refuse(r, "section", head,
					"Sections are Description, Priority, Type, Design, "
					"Acceptance, Assignee, Labels and Dependencies."));
}

static enum err plan_read_field(struct plan_reader *r, int field, struct str value)
{
	enum err e = ERR_OK;

	if (field == FIELD_NEEDS && !value.n)
		r->listing = true;
	else if (field == FIELD_NEEDS)
		plan_need(r->c, r->plan, r->bead,
			  (struct plan_need){ .name = value, .line = r->line });
	else
		e = plan_located(r->c, r->line, plan_set_part(r, field, value));
	return e;
}

/* A line below a heading: a field, a name of a list, a criterion, or text. */
static enum err plan_read_body(struct plan_reader *r, const struct plan_lines *l)
{
	struct str value, text = str_trim(l->line);
	bool done;
	int field;

	r->line = l->number;
	if (!l->fenced && r->listing && text.n > 2 && !plan_checkbox(text, &value, &done) &&
	    memchr("-*+", text.p[0], 3) && text.p[1] == ' ') {
		plan_need(r->c, r->plan, r->bead,
			  (struct plan_need){ .kind = str_of(names_word(&edge_kinds, EDGE_BLOCKS)),
					      .name = str_trim(str_skip(text, 2)),
					      .line = l->number });
		return ERR_OK;
	}
	r->listing = false;
	field = l->fenced || !r->may_field ? -1 : plan_field(r->c, l->line, &value);
	if (field >= 0)
		return plan_read_field(r, field, value);
	r->may_field = !text.n;
	if (!l->fenced && plan_checkbox(l->line, &value, &done)) {
		buf_fmt(&r->criteria, "- [%c] " STR_FMT "\n", done ? 'x' : ' ', STR_ARG(value));
		r->may_field = true;
		return ERR_OK;
	}
	buf_put(&r->body, l->line);
	buf_char(&r->body, '\n');
	return ERR_OK;
}

static enum err plan_read_line(struct plan_reader *r, const struct plan_lines *l)
{
	struct str text;
	size_t level = l->fenced ? 0 : plan_heading(l->line, &text);

	if (level == 1 || level == 2)
		return plan_begin_bead(r, level, text, l->number);
	if (level == 3)
		return plan_begin_section(r, text, l->number);
	if (!r->bead)
		return ERR_OK;
	if (r->part < 0)
		return plan_read_body(r, l);
	buf_put(&r->section, l->line);
	buf_char(&r->section, '\n');
	return ERR_OK;
}

enum err plan_parse(struct call *c, struct str text, struct bead_plan *out)
{
	struct plan_reader r = { .c = c,
				 .plan = out,
				 .part = -1,
				 .body.mem = &c->mem,
				 .criteria.mem = &c->mem,
				 .section.mem = &c->mem };
	struct plan_lines l = { .rest = text };
	enum err e = ERR_OK;

	*out = (struct bead_plan){ 0 };
	out->last = &out->first;
	if (plan_is_tasks(text))
		return plan_parse_tasks(c, text, out);
	while (!e && plan_next_line(&l))
		if (!(e = plan_read_line(&r, &l)))
			e = plan_located(c, l.number, plan_check_size(c, out));
	if (!e)
		e = plan_end_bead(&r);
	if (!e && !r.tasks) {
		call_fail(c, ERR_INVALID_INPUT, "the file has no line that begins with '## '");
		call_step(c, "Write a line '## Title' for each bead. 'bd create --help' describes "
			     "the format.");
		return c->code;
	}
	return e;
}
