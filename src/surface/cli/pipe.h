#ifndef SURFACE_CLI_PIPE_H
#define SURFACE_CLI_PIPE_H

#include "op/op.h"

/*
 * Operations as lines of JSON, for programs: {"op":…,"params":{…}} is answered with {"data":…} or
 * {"error":{…}}, one line each, in order. The local service answers with what such processes say.
 */
extern const struct op op_pipe;
int pipe_start(struct call *c, const struct request *r);

/* Can a program ask for it? Not for what is a host's or a terminal's. */
bool pipe_serves(const struct op *op);

/* The operation of that name, whose words may be parted by '/', '_' or '-'; or NULL. */
const struct op *pipe_find(struct str name);

#endif
