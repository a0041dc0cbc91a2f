#include "surface/cli/screen.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"

size_t screen_columns(int fd)
{
	enum { LEAST = 20, MOST = 1000, USUAL = 80 };
	struct winsize size = { 0 };
	int64_t given = 0;

	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size))
		size.ws_col = 0;
	if (number_int(str_of(getenv("COLUMNS")), &given) && given >= LEAST && given <= MOST &&
	    (!size.ws_col || given < size.ws_col))
		return (size_t)given;
	return size.ws_col ? size.ws_col : USUAL;
}

struct view screen_view(struct call *c)
{
	bool terminal = isatty(STDOUT_FILENO);

	return (struct view){
		.out.mem = &c->mem,
		.colour =
			terminal && !getenv("NO_COLOR") && !str_is(str_of(getenv("TERM")), "dumb"),
		.terminal = terminal,
		.width = screen_columns(STDOUT_FILENO),
		.now_ms = c->now_ms,
		.total = c->total,
	};
}
