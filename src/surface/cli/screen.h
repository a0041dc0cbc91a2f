#ifndef SURFACE_CLI_SCREEN_H
#define SURFACE_CLI_SCREEN_H

#include "base/call.h"
#include "surface/view/view.h"

/*
 * The width of an output: COLUMNS, but not more than the terminal's width; without it, the
 * terminal's width, or 80.
 */
size_t screen_columns(int fd);

/*
 * A view for standard output. It has colours on a terminal, unless NO_COLOR is set or the terminal
 * has none.
 */
struct view screen_view(struct call *c);

#endif
