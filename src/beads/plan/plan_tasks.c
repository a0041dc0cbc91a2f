/*
 * The tasks.md of spec-kit and OpenSpec. A phase ("## Phase 1: Setup", "## 1. Setup") becomes a
 * bead if it has a task that is not done; its tasks are below it. The order is that of the file:
 *
 * - In a phase, a task needs the task before it; tasks marked [P] may run side by side, so they
 *   need the last task before them that is not, and the next one that is not needs all of them.
 * - The first tasks of a phase need the bead of the phase before it, which is closed when the phase
 *   is complete. Phases of user stories ([US1]) may run side by side: they need the last phase
 *   before them that is of no story, and the next one of no story needs all of them.
 */
#include "base/buf.h"
#include "beads/plan/plan_parts.h"

/* Dependencies on phases of stories: a file has few, but they are its stories times its tasks. */
enum { WAITS_MOST = 10000 };

struct plan_tasks {
	struct call *c;
	struct bead_plan *plan;
	struct plan_bead *epic, *phase, *task; /* or NULL */
	struct str heading;                    /* of the phase, until it has a task */
	size_t heading_line;
	struct buf text, criteria;        /* of the task, or of the phase */
	struct buf phase_text;            /* of the phase, while its tasks are read */
	struct plan_bead *barrier, *side; /* the last task that is not [P]; the first [P] since */
	struct plan_bead *base;           /* the last phase of no story */
	struct plan_bead **story;         /* the phases of stories since */
	size_t stories, waits;            /* of all tasks for phases of stories */
	bool commented;
};

/* --- what a line says --- */

static size_t plan_digits(struct str text)
{
	size_t n = 0;

	while (n < text.n && text.p[n] >= '0' && text.p[n] <= '9')
		n++;
	return n;
}

/* The bytes of "T001", "T002a", "1.1", "2.3.1"; 0: it is none of these. */
static size_t plan_number_length(struct str text)
{
	size_t n, more;

	if (text.n && text.p[0] == 'T' && (n = plan_digits(str_skip(text, 1)))) {
		n++;
		return n < text.n && text.p[n] >= 'a' && text.p[n] <= 'z' ? n + 1 : n;
	}
	if (!(n = plan_digits(text)) || n >= text.n || text.p[n] != '.')
		return 0;
	while (n < text.n && text.p[n] == '.' && (more = plan_digits(str_skip(text, n + 1))))
		n += 1 + more;
	return memchr(text.p, '.', n) ? n : 0;
}

/* "T001" of spec-kit, "1.1" of OpenSpec; `text` begins after it. */
static struct str plan_number(struct str *text)
{
	struct str t = *text, number;
	size_t n;

	while (t.n && t.p[0] == '*')
		t = str_skip(t, 1);
	if (!(n = plan_number_length(t)))
		return STR_NONE;
	number = str_head(t, n);
	t = str_skip(t, n);
	while (t.n && memchr("*:.", t.p[0], 3))
		t = str_skip(t, 1);
	if (t.n && t.p[0] != ' ')
		return STR_NONE;
	*text = str_trim(t);
	return number;
}

/* "[P]" or "[US1]" at the beginning. */
static struct str plan_tag(struct str *text)
{
	const char *end = text->n && text->p[0] == '[' ? memchr(text->p, ']', text->n) : NULL;
	struct str tag;

	if (!end || end - text->p > 9)
		return STR_NONE;
	tag = (struct str){ text->p + 1, (size_t)(end - text->p) - 1 };
	*text = str_trim(str_skip(*text, tag.n + 2));
	return tag;
}

bool plan_is_tasks(struct str text)
{
	struct plan_lines l = { .rest = text };
	struct str item;
	bool done;

	while (plan_next_line(&l))
		if (!l.fenced && l.line.n && l.line.p[0] != ' ' &&
		    plan_checkbox(l.line, &item, &done) && plan_number(&item).p)
			return true;
	return false;
}

/* --- tasks and phases --- */

static struct str plan_taken(struct call *c, struct buf *b)
{
	struct str text = str_trim(buf_str(b));

	*b = (struct buf){ .mem = &c->mem };
	return text.n ? text : STR_NONE;
}

static void plan_end_task(struct plan_tasks *t)
{
	if (!t->task)
		return;
	t->task->draft.text[MEMBER_DESCRIPTION] = plan_taken(t->c, &t->text);
	t->task->draft.text[MEMBER_ACCEPTANCE_CRITERIA] = plan_taken(t->c, &t->criteria);
	t->task = NULL;
}

static bool plan_is_story(const struct plan_bead *phase)
{
	return phase->draft.label_count;
}

static void plan_link(struct plan_tasks *t, struct plan_bead *from, struct plan_bead *to)
{
	if (from && to)
		plan_need(t->c, t->plan, from,
			  (struct plan_need){ .kind = str_of(names_word(&edge_kinds, EDGE_BLOCKS)),
					      .line = from->line,
					      .bead = to });
}

/* The phase is known to be of a story only at its end, by the labels of its tasks. */
static void plan_end_phase(struct plan_tasks *t)
{
	plan_end_task(t);
	if (t->phase) {
		t->phase->draft.text[MEMBER_DESCRIPTION] = plan_taken(t->c, &t->phase_text);
		if (!plan_is_story(t->phase)) {
			t->base = t->phase;
			t->stories = 0;
		} else {
			t->story = arena_room(&t->c->mem, t->story, t->stories, sizeof *t->story);
			t->story[t->stories++] = t->phase;
		}
	}
	t->phase = t->barrier = t->side = NULL;
	t->heading = STR_NONE;
	t->phase_text = (struct buf){ .mem = &t->c->mem };
}

/* A task that comes first in its phase waits for the phases before it. */
static enum err plan_link_phases(struct plan_tasks *t, struct plan_bead *task)
{
	if (task->draft.label_count || !t->stories) {
		plan_link(t, task, t->base);
		return ERR_OK;
	}
	if ((t->waits += t->stories) > WAITS_MOST) {
		call_fail(
			t->c, ERR_INVALID_INPUT,
			"the tasks up to this one would have more than %d dependencies on stories",
			WAITS_MOST);
		call_step(t->c, "Write a task without [P] before those that follow the stories: "
				"then only that task depends on every story.");
		return plan_located(t->c, task->line, t->c->code);
	}
	for (size_t i = 0; i < t->stories; i++)
		plan_link(t, task, t->story[i]);
	return ERR_OK;
}

static enum err plan_link_task(struct plan_tasks *t, struct plan_bead *task, bool beside)
{
	enum err e = ERR_OK;

	if (!t->barrier && (beside || !t->side) && (e = plan_link_phases(t, task)))
		return e;
	if (beside) {
		plan_link(t, task, t->barrier);
		t->side = t->side ? t->side : task;
		return ERR_OK;
	}
	if (t->side)
		for (struct plan_bead *b = t->side; b && b != task; b = b->next)
			plan_link(t, task, b);
	else
		plan_link(t, task, t->barrier);
	t->barrier = task;
	t->side = NULL;
	return ERR_OK;
}

static void plan_begin_phase(struct plan_tasks *t)
{
	if (t->phase || !t->heading.p)
		return;
	t->phase = plan_add(t->c, t->plan, t->heading_line, t->heading);
	t->phase->draft.type = BEAD_EPIC;
	t->phase->parent = t->epic;
}

static void plan_label(struct call *c, struct draft *d, struct str tag)
{
	d->labels = arena_room(&c->mem, d->labels, d->label_count, sizeof *d->labels);
	d->labels[d->label_count++] = plan_lower(c, tag);
}

static enum err plan_read_task(struct plan_tasks *t, struct str text, size_t line, bool done)
{
	struct str ref = plan_number(&text), tag;
	struct draft *phase;
	bool beside = false;
	struct draft tags = { 0 };

	plan_end_task(t);
	while ((tag = plan_tag(&text)).p)
		if (str_is(tag, "P"))
			beside = true;
		else
			plan_label(t->c, &tags, tag);
	if (done) {
		t->plan->done++;
		return ERR_OK;
	}
	if (!text.n)
		return plan_located(
			t->c, line,
			call_fail(t->c, ERR_INVALID_INPUT, "a task has no description"));
	plan_begin_phase(t);
	t->task = plan_add(t->c, t->plan, line, text);
	t->task->ref = ref;
	t->task->draft.text[MEMBER_EXTERNAL_REF] = ref;
	t->task->parent = t->phase ? t->phase : t->epic;
	t->task->draft.labels = tags.labels;
	t->task->draft.label_count = tags.label_count;
	phase = t->phase ? &t->phase->draft : NULL;
	if (phase && !phase->label_count) {
		phase->labels = tags.labels;
		phase->label_count = tags.label_count;
	}
	return plan_link_task(t, t->task, beside);
}

/* --- the file --- */

/* "Tasks: Feature" is the list of the feature. */
static struct str plan_list_title(struct str text)
{
	return str_starts(text, STR("Tasks: ")) ? str_trim(str_skip(text, 7)) : text;
}

static enum err plan_read_heading(struct plan_tasks *t, size_t level, struct str text, size_t line)
{
	if (level > 2) { /* a part of its phase */
		plan_end_task(t);
		return ERR_OK;
	}
	plan_end_phase(t);
	if (!text.n)
		return plan_located(t->c, line,
				    call_fail(t->c, ERR_INVALID_INPUT, "a heading has no text"));
	if (level == 2) {
		t->heading = text;
		t->heading_line = line;
		return ERR_OK;
	}
	t->epic = plan_add(t->c, t->plan, line, plan_list_title(text));
	t->epic->draft.type = BEAD_EPIC;
	t->base = NULL;
	t->stories = 0;
	return ERR_OK;
}

/* Indented lines belong to the task above them, other lines to the phase. */
static void plan_read_text(struct plan_tasks *t, const struct plan_lines *l)
{
	struct str text = str_trim(l->line), item;
	bool indented = l->line.n && (l->line.p[0] == ' ' || l->line.p[0] == '\t'), done;
	struct buf *out = &t->phase_text;

	if (t->task && (indented || l->fenced)) {
		out = plan_checkbox(l->line, &item, &done) ? &t->criteria : &t->text;
		buf_put(out, l->fenced ? l->line : text);
		buf_char(out, '\n');
		return;
	}
	if (text.n)
		plan_end_task(t);
	if (!str_is(text, "---") && t->heading.p) {
		buf_put(out, l->line);
		buf_char(out, '\n');
	}
}

/* Is the line part of an HTML comment? The templates explain themselves in comments. */
static bool plan_commented(struct plan_tasks *t, struct str line)
{
	bool was = t->commented, begins = str_starts(str_trim(line), STR("<!--"));

	if (was || begins)
		t->commented = !str_has(line, STR("-->"));
	return was || begins;
}

static enum err plan_read_tasks_line(struct plan_tasks *t, const struct plan_lines *l)
{
	struct str text;
	bool done;
	size_t level;

	if (l->fenced || plan_commented(t, l->line)) {
		if (l->fenced)
			plan_read_text(t, l);
		return ERR_OK;
	}
	if ((level = plan_heading(l->line, &text)))
		return plan_read_heading(t, level, text, l->number);
	if (l->line.n && l->line.p[0] != ' ' && l->line.p[0] != '\t' &&
	    plan_checkbox(l->line, &text, &done))
		return plan_read_task(t, text, l->number, done);
	plan_read_text(t, l);
	return ERR_OK;
}

enum err plan_parse_tasks(struct call *c, struct str text, struct bead_plan *out)
{
	struct plan_tasks t = { .c = c,
				.plan = out,
				.text.mem = &c->mem,
				.criteria.mem = &c->mem,
				.phase_text.mem = &c->mem };
	struct plan_lines l = { .rest = text };
	enum err e = ERR_OK;

	while (!e && plan_next_line(&l))
		if (!(e = plan_read_tasks_line(&t, &l)))
			e = plan_located(c, l.number, plan_check_size(c, out));
	if (e)
		return e;
	plan_end_phase(&t);
	for (const struct plan_bead *b = out->first; b; b = b->next)
		if (b->ref.p || b->draft.type != BEAD_EPIC)
			return ERR_OK;
	call_fail(c, ERR_INVALID_INPUT, "every task of the file is done");
	return call_step(c, "Add a task that is not checked, such as '- [ ] T001 Title'.");
}
