#ifndef SURFACE_CLI_BEAD_EDIT_H
#define SURFACE_CLI_BEAD_EDIT_H

#include "op/op.h"

/* 'bd edit ID': a bead as Markdown in the user's editor. See struct command for the reply. */
extern const struct op op_bead_edit;
int bead_edit_start(struct call *c, const struct request *r);

#endif
