#include "surface/cli/screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"

static size_t screen_columns(bool terminal)
{
	enum { LEAST = 20, MOST = 1000, USUAL = 80 };
	struct winsize size = { 0 };
	int64_t given = 0;

	if (number_int(str_of(getenv("COLUMNS")), &given) && given >= LEAST && given <= MOST)
		return (size_t)given;
	if (!terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return USUAL;
	return size.ws_col;
}

struct view screen_view(struct call *c)
{
	bool terminal = isatty(STDOUT_FILENO);

	return (struct view){
		.out.mem = &c->mem,
		.colour =
			terminal && !getenv("NO_COLOR") && !str_is(str_of(getenv("TERM")), "dumb"),
		.terminal = terminal,
		.width = screen_columns(terminal),
		.now_ms = c->now_ms,
		.total = c->total,
	};
}
