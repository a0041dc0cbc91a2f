#ifndef OP_RUN_H
#define OP_RUN_H

#include "op/op.h"
#include "store/receipt.h"

/*
 * The parts of request_run(), one for each kind of store: they open the store, answer a repeated
 * request from its receipt or run the operation, store the receipt, and commit.
 */
enum err request_run_board(struct call *c, const struct request *r, struct json *reply);
enum err request_run_beads(struct call *c, const struct request *r, struct json *reply);
enum err request_run_agents(struct call *c, const struct request *r, struct json *reply);
enum err request_run_vybe(struct call *c, const struct request *r, struct json *reply);

/* What the receipt of this request says, except the reply. `args` is a digest. */
struct receipt request_receipt(struct call *c, const struct request *r);

#endif
