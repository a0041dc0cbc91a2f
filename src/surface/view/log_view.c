/* The reply of `abacus log`: a line for each act. */
#include "surface/view/log_view.h"

#include "agents/mail.h"
#include "base/text/utf8.h"
#include "live/activity.h"
#include "surface/view/view.h"

static bool act_is(const struct value *act, enum act_what what)
{
	return names_exact(&act_words, value_str(act, "what")) == (int)what;
}

static bool act_is_kind(const struct value *act, enum act_kind kind)
{
	return names_exact(&act_kinds, value_str(act, "kind")) == (int)kind;
}

/* The words of the page: "Passed to", "Needs input". */
static struct str act_mail_word(const struct value *act)
{
	static const char *const words[] = {
		[CATEGORY_HANDOFF] = "passed to",
		[CATEGORY_BLOCKED] = "needs input",
		[CATEGORY_DECISION] = "decided",
		[CATEGORY_INFO] = "wrote to",
	};
	int category = names_exact(&categories, value_str(act, "category"));

	return str_of(words[category < 0 ? CATEGORY_INFO : category]);
}

struct str view_act_word(const struct value *act)
{
	if (act_is(act, ACT_SENT))
		return act_mail_word(act);
	if (act_is(act, ACT_OVERLAPPED))
		return STR("incursion");
	if (act_is(act, ACT_SET) || act_is(act, ACT_ADDED))
		return value_str(act, "kind");
	return value_str(act, "what");
}

static enum paint act_paint(const struct value *act)
{
	if (act_is(act, ACT_CLOSED) || act_is(act, ACT_ACCEPTED))
		return PAINT_GREEN;
	if (act_is(act, ACT_OVERLAPPED) || act_is(act, ACT_DELETED))
		return PAINT_RED;
	if (act_is(act, ACT_CLAIMED) || act_is(act, ACT_RESERVED))
		return PAINT_YELLOW;
	if (act_is(act, ACT_SENT) &&
	    names_exact(&categories, value_str(act, "category")) == CATEGORY_BLOCKED)
		return PAINT_RED;
	return PAINT_NONE;
}

static struct str act_recipients(struct view *v, const struct value *act)
{
	const struct value *to = value_find(act, "to");

	if (!to || !to->count)
		return STR("");
	if (to->count > 2)
		return arena_fmt(v->out.mem, "%zu agents", to->count);
	return to->count == 1 ? to->item[0].text :
				arena_fmt(v->out.mem, STR_FMT ", " STR_FMT,
					  STR_ARG(to->item[0].text), STR_ARG(to->item[1].text));
}

/* The last column: usually the title of the bead. */
static struct str act_text(struct view *v, const struct value *act)
{
	struct str title = value_str(act, "title"), text = value_str(act, "text");
	struct arena *mem = v->out.mem;

	if (act_is(act, ACT_SENT))
		return arena_fmt(mem, STR_FMT ": " STR_FMT, STR_ARG(act_recipients(v, act)),
				 STR_ARG(text));
	if (act_is(act, ACT_OVERLAPPED))
		return arena_fmt(mem, STR_FMT " of " STR_FMT, STR_ARG(text),
				 STR_ARG(act_recipients(v, act)));
	if (act_is(act, ACT_CHANGED))
		return arena_fmt(mem, STR_FMT " (" STR_FMT ")", STR_ARG(title), STR_ARG(text));
	if (act_is(act, ACT_REGISTERED))
		return arena_fmt(mem, "as " STR_FMT, STR_ARG(text));
	if (act_is_kind(act, ACT_BEAD) && !act_is(act, ACT_COMMENTED) && !act_is(act, ACT_LINKED) &&
	    !act_is(act, ACT_UNLINKED))
		return title.p ? title : STR("");
	return text.p ? text : STR("");
}

static size_t log_wider(size_t width, struct str text, size_t most)
{
	size_t n = utf8_width(text);

	return n > most ? most : n > width ? n : width;
}

void log_columns_fit(struct log_columns *w, const struct value *act)
{
	enum { BY_MOST = 20, WHAT_MOST = 12, BEAD_MOST = 20 };

	w->by = log_wider(w->by, value_str(act, "by"), BY_MOST);
	w->what = log_wider(w->what, view_act_word(act), WHAT_MOST);
	w->bead = log_wider(w->bead, value_str(act, "bead_id"), BEAD_MOST);
}

static struct str act_time(struct view *v, const struct log_columns *w, struct str at)
{
	if (view_wants(v, ROLE_LONG))
		return at;
	if (!w->clock)
		return arena_fmt(v->out.mem, "%8.*s", STR_ARG(view_age(v, at)));
	return at.n > 19 ? str_head(str_skip(at, 11), 8) : at;
}

static void log_cell(struct view *v, enum paint paint, struct str text, size_t width)
{
	struct str fit = utf8_shorten(v->out.mem, text, width);

	view_paint(v, paint, fit);
	buf_pad(&v->out, ' ', width - utf8_width(fit) + 2);
}

void view_act(struct view *v, const struct log_columns *w, const struct value *act)
{
	enum { TEXT_LEAST = 20 };
	struct str time = act_time(v, w, value_str(act, "at")), text = act_text(v, act);
	size_t used = utf8_width(time) + 2 + w->by + 2 + w->what + 2 + (w->bead ? w->bead + 2 : 0),
	       room = v->width > used + TEXT_LEAST ? v->width - used : TEXT_LEAST;

	log_cell(v, PAINT_DIM, time, utf8_width(time));
	log_cell(v, PAINT_BOLD, value_str(act, "by"), w->by);
	log_cell(v, act_paint(act), view_act_word(act), w->what);
	if (w->bead)
		log_cell(v, PAINT_NONE, value_str(act, "bead_id"), w->bead);
	buf_put(&v->out, view_wants(v, ROLE_LONG) ? text : utf8_shorten(v->out.mem, text, room));
	buf_char(&v->out, '\n');
}

void view_activity(struct view *v, const struct value *data)
{
	struct log_columns w = { 0 };

	VALUE_EACH(one, data)
		log_columns_fit(&w, one);
	VALUE_EACH(one, data)
		view_act(v, &w, one);
	if (!data->count)
		view_line(v, "No activity found.");
}
