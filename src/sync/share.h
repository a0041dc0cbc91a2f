#ifndef SYNC_SHARE_H
#define SYNC_SHARE_H

#include "base/call.h"

struct json;

/*
 * The exchange of logs with the remote. A round collects local acts, reads the logs of other
 * machines, joins their facts to the local stores, and pushes the own log. Only `abacus-sync` does
 * it, one round at a time; it may be killed at any moment.
 */
struct share_wants {
	bool begin; /* the first round: the machine gets its identity and a free name */
	bool look;  /* only list the machines at the remote; nothing is stored or sent */
};
enum err share_round(struct call *c, const struct share_wants *wants, struct json *reply);

/* Deletes the log of a machine at the remote. */
enum err share_forget(struct call *c, struct str id);

/*
 * The share process: a round after every local change, every 2 s while a command waits, every 15 s
 * while an agent of this machine was active in the last minute. Returns when neither is so.
 */
enum err share_serve(struct call *c);

#endif
