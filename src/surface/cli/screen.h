#ifndef SURFACE_CLI_SCREEN_H
#define SURFACE_CLI_SCREEN_H

#include "base/call.h"
#include "surface/view/view.h"

/*
 * The width of an output: that of COLUMNS, but not more than the terminal has; else that of the
 * terminal, else 80.
 */
size_t screen_columns(int fd);

/*
 * A view for standard output. It has colours on a terminal, unless NO_COLOR is set or the terminal
 * has none.
 */
struct view screen_view(struct call *c);

#endif
