#ifndef SURFACE_DOCS_DOCS_H
#define SURFACE_DOCS_DOCS_H

#include "op/op.h"

/*
 * Generated from the tables of commands and operations: shell completion, manual pages, and the
 * reference in doc/commands.md.
 */
extern const struct op op_completion, op_man, op_docs;

int completion_start(struct call *c, const struct request *r);
int man_start(struct call *c, const struct request *r);
int docs_start(struct call *c, const struct request *r);

#endif
