/*
 * A loop draws the overview, then sleeps until a store changes, a key is pressed, a signal arrives,
 * or a second has passed.
 */
#include "surface/cli/top.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/moment.h"
#include "base/system/file.h"
#include "base/system/watch.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "live/feed.h"
#include "ops/ops.h"
#include "store/db/db.h"
#include "surface/cli/out.h"
#include "surface/cli/stopping.h"
#include "surface/view/session_view.h"
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

struct screen {
	size_t rows, columns;
	size_t first; /* index of the first line shown */
};

static struct screen top_measure(struct screen s)
{
	struct winsize size = { 0 };

	ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	s.rows = size.ws_row ? size.ws_row : 24;
	s.columns = size.ws_col ? size.ws_col : 80;
	return s;
}

/* --- drawing --- */

static enum err top_render(struct call *c, const struct request *r, struct view *v)
{
	struct json reply = json_new(&c->mem);
	const struct value *data;
	enum err e = request_run(c, r, &reply);

	if (e) {
		view_line(v, "error: %s", c->message.p);
		view_line(v, "%s", call_next_step(c).p);
		return e;
	}
	if (!(data = view_parse(v, json_text(&reply)))) {
		view_line(v, "error: the stored data is damaged: the reply is not JSON");
		return ERR_DAMAGED;
	}
	view_sessions(v, data);
	return ERR_OK;
}

static struct str top_foot(struct call *c, const struct screen *s, size_t lines)
{
	struct str time = moment_format(&c->mem, c->now_ms);
	size_t last = s->first + s->rows - 1;

	return arena_fmt(&c->mem, "%.*s UTC   lines %zu to %zu of %zu   j, k: scroll   q: end", 8,
			 time.p + 11, s->first + 1, last < lines ? last : lines, lines);
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
static void top_show(struct call *c, struct screen *s, struct str text)
{
	struct buf out = { .mem = &c->mem };
	size_t lines = str_count(text, '\n'), row = 0;
	struct str line;

	if (s->first + 1 > lines)
		s->first = lines ? lines - 1 : 0;
	buf_put(&out, STR("\033[H"));
	for (size_t i = 0; text.n && str_next(&text, '\n', &line); i++) {
		if (i < s->first || row + 1 >= s->rows)
			continue;
		put_cut(&out, line, s->columns);
		buf_char(&out, '\n');
		row++;
	}
	buf_put(&out, STR("\033[J"));
	buf_fmt(&out, "\033[%zu;1H\033[2m", s->rows);
	put_cut(&out, utf8_shorten(&c->mem, top_foot(c, s, lines), s->columns), s->columns);
	out_screen(buf_str(&out));
}

/* --- keys --- */

static void top_press(struct screen *s, struct str keys)
{
	size_t page = s->rows > 2 ? s->rows - 2 : 1;
	size_t back = 0;

	for (size_t i = 0; i < keys.n; i++) {
		struct str rest = str_skip(keys, i);

		if (rest.p[0] == 'q' || rest.p[0] == 3 || rest.p[0] == 4)
			stopping_now();
		else if (rest.p[0] == 'j' || str_starts(rest, STR("\033[B")))
			s->first++;
		else if (rest.p[0] == 'k' || str_starts(rest, STR("\033[A")))
			back = 1;
		else if (rest.p[0] == ' ' || str_starts(rest, STR("\033[6~")))
			s->first += page;
		else if (rest.p[0] == 'b' || str_starts(rest, STR("\033[5~")))
			back = page;
		else if (rest.p[0] == 'g')
			s->first = 0;
		else
			continue;
		s->first = s->first > back ? s->first - back : 0;
		back = 0;
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

static struct view view_of(struct call *c, size_t columns, bool colour)
{
	return (struct view){ .out.mem = &c->mem,
			      .colour = colour && !getenv("NO_COLOR"),
			      .width = columns,
			      .now_ms = c->now_ms };
}

/*
 * Draws once. The watch starts before the data is read, so that no change is missed during the
 * sleep.
 */
static void top_look(const struct call *start, const struct request *r, struct screen *s)
{
	struct call c = call_part(start);
	struct watch_at at[FEED_WATCHED];
	enum watch_end end;
	struct view v;
	AUTO_WATCH w;

	if (!c.still)
		c.now_ms = moment_now();
	*s = top_measure(*s);
	feed_watched(&c, at);
	watch_open(&w, &c.mem, at, FEED_WATCHED);
	v = view_of(&c, s->columns, true);
	top_render(&c, r, &v);
	top_show(&c, s, view_text(&v));
	end = watch_wait(&w, LOOK_MS, STDIN_FILENO);
	if (end == WATCH_CHANGED)
		end = watch_wait(&w, PAUSE_MS, STDIN_FILENO);
	if (end == WATCH_INPUT && !stopping())
		top_hear(s);
	call_release(&c);
}

static int print_once(struct call *c, const struct request *r)
{
	struct view v = view_of(c, 120, false);

	enum err e = top_render(c, r, &v);

	return out_view(&v, e ? 1 : 0);
}

int top_start(struct call *c, const struct request *asked)
{
	struct screen s = { 0 };
	struct request r = request_new(c, &op_sessions);

	(void)asked;
	if (request_check(c, &r))
		return 1;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return print_once(c, &r);
	db_keep();
	stopping_hold();
	take_terminal();
	while (!stopping())
		top_look(c, &r, &s);
	give_terminal_back();
	return 0;
}

static const char *const examples[] = { "abacus top", "abacus top | head -20", NULL };

const struct op op_top = {
	.name = "top",
	.help = "Show a live overview on the terminal",
	.more = "Keys: j, k, the arrows, space and b scroll; q quits. If the output is not a "
		"terminal, the overview is printed once.",
	.examples = examples,
};
