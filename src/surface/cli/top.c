/*
 * A loop draws the overview, or the conversation about the bead that was opened, then sleeps until
 * a store changes, a key is pressed, a signal arrives, or a second has passed.
 */
#include "surface/cli/top.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/system/watch.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "live/feed.h"
#include "ops/ops.h"
#include "store/db/db.h"
#include "surface/cli/out.h"
#include "surface/cli/screen.h"
#include "surface/cli/stopping.h"
#include "surface/view/session_view.h"
#include "surface/view/status_view.h"
#include "surface/view/view.h"

enum {
	LOOK_MS = 1000, /* redraw at least this often, because ages change */
	PAUSE_MS = 150, /* wait for further changes, to draw them together */
};

static struct termios before; /* the terminal's settings at the start */

/*
 * Switches to the alternate screen, which keeps the old content; hides the cursor; turns line
 * wrapping off, because the terminal may count a character as wider than we do; and reads keys
 * without waiting for a newline.
 */
static void take_terminal(void)
{
	struct termios raw;

	tcgetattr(STDIN_FILENO, &before);
	raw = before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	out_screen(STR("\033[?1049h\033[?25l\033[?7l"));
}

static void give_terminal_back(void)
{
	out_screen(STR("\033[?7h\033[?25h\033[?1049l"));
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

/* What is on the screen: the overview, or one bead. */
struct screen {
	size_t rows, columns;
	size_t first;     /* index of the first line shown */
	size_t line;      /* index of the chosen line; NO_LINE: none */
	size_t lines;     /* of the last picture */
	size_t choice;    /* index of the chosen line among those that are about a bead */
	char chosen[256]; /* the bead that it is about; empty: none yet */
	char opened[256]; /* the bead that is shown alone; empty: none */
	char filter[64];  /* only entries with this text; empty: all */
	bool typing;      /* keys are added to the filter */
	bool move;        /* scroll to the chosen line */
};

static const size_t NO_LINE = SIZE_MAX;

static struct screen top_measure(struct screen s)
{
	struct winsize size = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	s.rows = size.ws_row ? size.ws_row : 24;
	s.columns = size.ws_col ? size.ws_col : 80;
	return s;
}

static void top_keep(char *out, size_t size, struct str text)
{
	snprintf(out, size, STR_FMT, STR_ARG(str_head(text, size - 1)));
}

/* --- the filter --- */

static bool top_text_has(struct str text, struct str part)
{
	for (size_t at = 0; part.n <= text.n && at <= text.n - part.n; at++)
		if (!strncasecmp(text.p + at, part.p, part.n))
			return true;
	return false;
}

static bool top_value_has(const struct value *v, struct str part)
{
	if (v->type == VALUE_STRING && top_text_has(v->text, part))
		return true;
	VALUE_EACH(one, v)
		if (top_value_has(one, part))
			return true;
	return false;
}

/* The lists of the reply without the entries that lack the text. */
static const struct value *top_filtered(struct arena *mem, const struct value *data,
					struct str part)
{
	struct value *copy = arena_new(mem, struct value);

	*copy = *data;
	copy->item = arena_array(mem, data->count + 1, sizeof *copy->item);
	for (size_t i = 0; i < data->count; i++) {
		struct value *list = &copy->item[i];

		*list = data->item[i];
		if (list->type != VALUE_ARRAY)
			continue;
		list->item = arena_array(mem, list->count + 1, sizeof *list->item);
		list->count = 0;
		for (size_t k = 0; k < data->item[i].count; k++)
			if (top_value_has(&data->item[i].item[k], part))
				list->item[list->count++] = data->item[i].item[k];
	}
	return copy;
}

/* --- drawing --- */

static struct request top_request(struct call *c, const struct screen *s)
{
	enum { MOST = 200 }; /* entries in each list */
	struct request r = request_new(c, s->opened[0] ? &op_conversation : &op_project_status);

	if (s->opened[0])
		request_set(c, &r, 0, str_of(s->opened));
	else
		request_set_role(c, &r, ROLE_LIMIT, arena_fmt(&c->mem, "%d", MOST));
	return r;
}

static enum err top_render(struct call *c, const struct screen *s, struct view *v)
{
	struct json reply = json_new(&c->mem);
	struct request r = top_request(c, s);
	const struct value *data;
	enum err e;

	if ((e = c->code) || (e = request_check(c, &r)) || (e = request_run(c, &r, &reply))) {
		view_line(v, "This cannot be shown: " STR_FMT,
			  STR_ARG(utf8_line(&c->mem, c->message)));
		view_line(v, STR_FMT, STR_ARG(utf8_line(&c->mem, call_next_step(c))));
		return e;
	}
	if (!(data = view_parse(v, json_text(&reply)))) {
		view_line(v, "The stored data is damaged: the reply is not JSON.");
		return ERR_DAMAGED;
	}
	if (s->opened[0])
		view_conversation(v, data);
	else
		view_status(v,
			    s->filter[0] ? top_filtered(&c->mem, data, str_of(s->filter)) : data);
	return ERR_OK;
}

/* Finds the chosen bead again, which may have moved, or the line that has taken its place. */
static void top_choose(struct screen *s, const struct view *v)
{
	size_t best = v->target_count;

	s->line = NO_LINE;
	if (!v->target_count || s->opened[0])
		return;
	for (size_t i = 0; i < v->target_count; i++) {
		size_t far = i > s->choice ? i - s->choice : s->choice - i,
		       known = best > s->choice ? best - s->choice : s->choice - best;

		if (str_is(v->targets[i].id, s->chosen) && (best == v->target_count || far < known))
			best = i;
	}
	s->choice = best < v->target_count      ? best :
		    s->choice < v->target_count ? s->choice :
						  v->target_count - 1;
	top_keep(s->chosen, sizeof s->chosen, v->targets[s->choice].id);
	s->line = str_count((struct str){ v->out.p, v->targets[s->choice].at }, '\n');
}

/* Keeps the first line within the text, and the chosen line on the screen after it was moved. */
static void top_scroll(struct screen *s)
{
	size_t page = s->rows > 1 ? s->rows - 1 : 1;

	if (s->move && s->line != NO_LINE) {
		if (s->line < s->first || !s->choice)
			s->first = s->choice ? s->line : 0;
		else if (s->line >= s->first + page)
			s->first = s->line - page + 1;
	}
	s->move = false;
	if (s->first + 1 > s->lines)
		s->first = s->lines ? s->lines - 1 : 0;
}

static struct str top_foot(struct call *c, const struct screen *s)
{
	struct str time = moment_format(&c->mem, c->now_ms);
	size_t last = s->first + s->rows - 1;

	if (s->typing)
		return arena_fmt(&c->mem, "filter: %s_  enter: keep  esc: clear", s->filter);
	return arena_fmt(&c->mem, "%.*s UTC  lines %zu to %zu of %zu  %s%s%s%s", 8, time.p + 11,
			 s->first + 1, last < s->lines ? last : s->lines, s->lines,
			 s->opened[0] ? "esc: back  " : "j k: move  enter: open  / filter",
			 s->filter[0] ? ": " : "", s->filter,
			 s->opened[0] ? "q: back" : "  q: quit");
}

/*
 * Writes as much of a line as fits, not counting colour sequences, and clears the rest. A full line
 * is not cleared, because that would erase its last character.
 */
static void put_cut(struct buf *out, struct str line, size_t columns)
{
	while (line.n) {
		const char *mark = memchr(line.p, '\033', line.n);
		struct str part = mark ? str_head(line, (size_t)(mark - line.p)) : line;
		struct str seen = utf8_head(part, columns);

		buf_put(out, seen);
		columns = seen.n < part.n ? 0 : columns - utf8_width(seen);
		line = str_skip(line, part.n);
		mark = line.n ? memchr(line.p, 'm', line.n) : NULL;
		part = mark ? str_head(line, (size_t)(mark - line.p) + 1) : line;
		buf_put(out, part);
		line = str_skip(line, part.n);
	}
	buf_put(out, columns ? STR("\033[0m\033[K") : STR("\033[0m"));
}

/* Overwrites each line and clears only its rest, which avoids flicker. */
static void top_show(struct call *c, const struct screen *s, struct str text)
{
	struct buf out = { .mem = &c->mem };
	size_t row = 0;
	struct str line;

	buf_put(&out, STR("\033[H"));
	for (size_t i = 0; text.n && str_next(&text, '\n', &line); i++) {
		if (i < s->first || row + 1 >= s->rows)
			continue;
		if (i == s->line && str_starts(line, STR(" "))) {
			buf_put(&out, STR("\033[1m\xe2\x80\xba\033[0m")); /* › */
			put_cut(&out, str_skip(line, 1), s->columns - 1);
		} else {
			put_cut(&out, line, s->columns);
		}
		buf_char(&out, '\n');
		row++;
	}
	buf_put(&out, STR("\033[J"));
	buf_fmt(&out, "\033[%zu;1H\033[2m", s->rows);
	put_cut(&out, utf8_shorten(&c->mem, utf8_safe(&c->mem, top_foot(c, s)), s->columns),
		s->columns);
	out_screen(buf_str(&out));
}

/* --- keys --- */

enum key {
	KEY_OTHER,
	KEY_UP,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_FIRST,
	KEY_ENTER,
	KEY_ESCAPE,
	KEY_ERASE,
	KEY_FILTER,
	KEY_QUIT,
	KEY_END, /* Ctrl-C, Ctrl-D */
};

/* The length of the escape sequence of a key that we do not know; 0: it is none. */
static size_t top_sequence(struct str keys)
{
	size_t n = 2;

	if (!str_starts(keys, STR("\033[")))
		return 0;
	while (n < keys.n && (keys.p[n] < 0x40 || keys.p[n] > 0x7e))
		n++;
	return n < keys.n ? n + 1 : n;
}

/* A key, and the bytes it was sent as: `text`, which is removed from `keys`. */
static enum key top_key(struct str *keys, struct str *text)
{
	static const struct {
		const char *bytes;
		enum key key;
	} known[] = {
		{ "\033[A", KEY_UP },         { "\033[B", KEY_DOWN }, { "\033[5~", KEY_PAGE_UP },
		{ "\033[6~", KEY_PAGE_DOWN }, { "\033OA", KEY_UP },   { "\033OB", KEY_DOWN },
		{ "\033", KEY_ESCAPE },       { "\r", KEY_ENTER },    { "\n", KEY_ENTER },
		{ "\177", KEY_ERASE },        { "\b", KEY_ERASE },    { "\003", KEY_END },
		{ "\004", KEY_END },          { "k", KEY_UP },        { "j", KEY_DOWN },
		{ " ", KEY_PAGE_DOWN },       { "b", KEY_PAGE_UP },   { "g", KEY_FIRST },
		{ "o", KEY_ENTER },           { "/", KEY_FILTER },    { "q", KEY_QUIT },
	};

	size_t unknown = top_sequence(*keys), n = unknown ? unknown : 1;
	enum key key = KEY_OTHER;

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		bool fits = str_starts(*keys, str_of(known[i].bytes));

		if (fits && (!unknown || strlen(known[i].bytes) == unknown)) {
			n = strlen(known[i].bytes);
			key = known[i].key;
			break;
		}
	}
	*text = str_head(*keys, n);
	*keys = str_skip(*keys, n);
	return key;
}

/* Ends with a whole character. */
static void top_erase(char *text)
{
	size_t n = strlen(text);

	while (n > 0 && ((unsigned char)text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n ? n - 1 : 0] = '\0';
}

static void top_type(struct screen *s, enum key key, struct str text)
{
	size_t n = strlen(s->filter);

	if (key == KEY_ENTER && text.p[0] != 'o')
		s->typing = false;
	else if (key == KEY_ESCAPE)
		s->typing = false, s->filter[0] = '\0';
	else if (key == KEY_ERASE)
		top_erase(s->filter);
	else if (key == KEY_END)
		stopping_now();
	else if (text.n == 1 && (unsigned char)text.p[0] >= ' ' && n + 1 < sizeof s->filter)
		s->filter[n] = text.p[0], s->filter[n + 1] = '\0';
	s->first = 0;
}

static void top_back(struct screen *s)
{
	if (!s->opened[0])
		s->filter[0] = '\0';
	s->opened[0] = '\0';
	s->first = 0;
	s->move = true;
}

/* Up and down move the choice; where nothing can be chosen, they scroll. */
static void top_step(struct screen *s, bool down)
{
	if (s->line == NO_LINE) {
		s->first += down ? 1 : s->first ? -1 : 0;
		return;
	}
	s->choice += down ? 1 : s->choice ? -1 : 0;
	s->chosen[0] = '\0';
	s->move = true;
}

static void top_act(struct screen *s, enum key key)
{
	size_t page = s->rows > 2 ? s->rows - 2 : 1;

	if (key == KEY_END || (key == KEY_QUIT && !s->opened[0]))
		stopping_now();
	else if (key == KEY_QUIT || key == KEY_ESCAPE || (key == KEY_ENTER && s->opened[0]))
		top_back(s);
	else if (key == KEY_UP || key == KEY_DOWN)
		top_step(s, key == KEY_DOWN);
	else if (key == KEY_PAGE_DOWN)
		s->first += page;
	else if (key == KEY_PAGE_UP)
		s->first -= s->first > page ? page : s->first;
	else if (key == KEY_FIRST)
		s->first = 0;
	else if (key == KEY_FILTER && !s->opened[0])
		s->typing = true;
	else if (key == KEY_ENTER && s->chosen[0]) {
		memcpy(s->opened, s->chosen, sizeof s->opened);
		s->first = 0;
	}
}

static void top_press(struct screen *s, struct str keys)
{
	while (keys.n) {
		struct str text;
		enum key key = top_key(&keys, &text);

		if (s->typing)
			top_type(s, key, text);
		else
			top_act(s, key);
	}
}

static void top_hear(struct screen *s)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	char keys[64];
	ssize_t got;

	if (poll(&in, 1, 0) < 1) /* a signal ended the sleep */
		return;
	got = read(STDIN_FILENO, keys, sizeof keys);
	if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
		stopping_now(); /* the terminal is gone */
	else if (got > 0)
		top_press(s, (struct str){ keys, (size_t)got });
}

/* --- running --- */

/*
 * Draws once. The watch starts before the data is read, so that no change is missed during the
 * sleep.
 */
static void top_look(const struct call *start, struct screen *s)
{
	struct call c = call_part(start);
	struct watch_at at[FEED_WATCHED];
	enum watch_end end;
	struct view v;
	struct str text;
	AUTO_WATCH w;

	if (!c.still)
		c.now_ms = moment_now();
	*s = top_measure(*s);
	feed_watched(&c, at);
	watch_open(&w, &c.mem, at, FEED_WATCHED);
	v = screen_view(&c);
	v.width = s->columns;
	top_render(&c, s, &v);
	text = view_text(&v);
	top_choose(s, &v);
	s->lines = str_count(text, '\n');
	top_scroll(s);
	top_show(&c, s, text);
	end = watch_wait(&w, LOOK_MS, STDIN_FILENO);
	if (end == WATCH_CHANGED)
		end = watch_wait(&w, PAUSE_MS, STDIN_FILENO);
	if (end == WATCH_INPUT && !stopping())
		top_hear(s);
	call_release(&c);
}

static int print_once(struct call *c)
{
	struct screen s = { 0 };
	struct view v = screen_view(c);
	enum err e = top_render(c, &s, &v);

	return out_view(&v, e ? 1 : 0);
}

int top_start(struct call *c, const struct request *asked)
{
	struct screen s = { .line = NO_LINE };

	(void)asked;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return print_once(c);
	db_keep();
	stopping_hold();
	take_terminal();
	while (!stopping())
		top_look(c, &s);
	give_terminal_back();
	return 0;
}

const struct op op_top = {
	.name = "top",
	.help = "Show agents and open work live on the terminal",
	.more = "Shows the same as 'abacus status', and keeps it up to date. Keys: j and k, or the arrows, "
		"choose a line; Enter opens the conversation about its bead, and Esc goes back; / "
		"filters the entries; space and b scroll; q quits. If the output is not "
		"a terminal, the overview is printed once.",
	.examples = "abacus top\n"
		    "abacus top | head -20",
};
