#ifndef SURFACE_DOCS_DOCS_H
#define SURFACE_DOCS_DOCS_H

#include "op/op.h"

/*
 * What else the tables of commands and operations say: completion for three shells, manual pages,
 * the reference in doc/commands.md.
 */
extern const struct op op_completion, op_man, op_docs;

int completion_start(struct call *c, const struct request *r);
int man_start(struct call *c, const struct request *r);
int docs_start(struct call *c, const struct request *r);

#endif
