#ifndef SURFACE_CLI_SCREEN_H
#define SURFACE_CLI_SCREEN_H

#include "base/call.h"
#include "surface/view/view.h"

/*
 * A view for standard output. Its width is that of COLUMNS, else of the terminal, else 80. It has
 * colours on a terminal, unless NO_COLOR is set or the terminal has none.
 */
struct view screen_view(struct call *c);

#endif
