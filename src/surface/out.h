#ifndef SURFACE_OUT_H
#define SURFACE_OUT_H

#include "base/str.h"

/* Writes the whole answer to standard output; the status to exit with. */
int out_print(struct str text, int status);

#endif
