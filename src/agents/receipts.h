#ifndef AGENTS_RECEIPTS_H
#define AGENTS_RECEIPTS_H

#include "store/agent_files.h"
#include "store/receipt.h"

/*
 * The receipts of agents' requests, in receipts.db. A receipt is written after the operation has
 * written its records. An operation that must not run twice also leaves its request's mark in the
 * record that it writes: where a crash came between the two, the repeat finds that record.
 */
struct receipts agents_receipts(struct agent_files *f);

/* For repairs: is it a receipt, as earlier versions wrote them to receipts.jsonl? */
bool receipts_line_valid(struct call *c, struct str line);

/* A digest of the request's id, its agent and its arguments; absent if the request has no id. */
struct str receipts_mark(struct call *c, struct str agent);

#endif
