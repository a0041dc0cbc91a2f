#ifndef SURFACE_CLI_PIPE_H
#define SURFACE_CLI_PIPE_H

#include "op/op.h"

/*
 * Operations as lines of JSON, for programs: {"op":…,"params":{…}} is answered with {"data":…} or
 * {"error":{…}}, one line each, in order. The local service runs its operations in such processes.
 */
extern const struct op op_pipe;
int pipe_start(struct call *c, const struct request *r);

/*
 * Whether programs may call the operation. They may be in a sandbox that allows a connection to the
 * service, so an operation that changes more than the stores of the project is not for them: it
 * would let them out.
 */
bool pipe_serves(const struct op *op);

/* Whether writes of this operation become durable together with others that wait already. */
bool pipe_groups(const struct op *op);

/* Finds an operation by name, whose words may be separated by '/', '_' or '-'; or NULL. */
const struct op *pipe_find(struct str name);

#endif
