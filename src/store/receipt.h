#ifndef STORE_RECEIPT_H
#define STORE_RECEIPT_H

#include "base/call.h"

struct json;

/*
 * The stored reply to an actor's request id, so that a repeated request is not carried out twice. A
 * request is identified by its operation and its arguments.
 */
struct receipt {
	struct str actor, id, op;
	struct str args;  /* a digest of the arguments; see receipt_digest() */
	struct str reply; /* absent: no longer stored */
	struct str about; /* JSON: the id, or the list of ids, of the reply */
	int64_t at;       /* ms, by the clock of the store */
};

/* The receipts of one store. The functions are called only by receipt_find() and receipt_put(). */
struct receipts {
	void *store;
	/*
	 * Looks up `r` by its actor and id, and fills in the rest; `op` stays absent if there is no
	 * receipt.
	 */
	enum err (*find)(struct call *c, void *store, struct receipt *r);
	/* Stores `r`, in the transaction of the operation where the store has transactions. */
	enum err (*put)(struct call *c, void *store, const struct receipt *r);
};

/*
 * Finds the receipt of the request `ask`. `old->op` is absent if the request was not carried out
 * before; a request id of another operation or with other arguments is a REQUEST_MISMATCH.
 */
enum err receipt_find(struct call *c, const struct receipts *in, const struct receipt *ask,
		      struct receipt *old);

/* Stores the receipt of a request that has succeeded: a failed request leaves none. A reply of more
 * than 60 MiB is INVALID_INPUT. */
enum err receipt_put(struct call *c, const struct receipts *in, const struct receipt *ask,
		     struct str reply);

/*
 * Writes the reply of a receipt that was found; REQUEST_MISMATCH if the reply is no longer stored.
 */
enum err receipt_answer(struct call *c, const struct receipt *old, struct json *reply);

/* A digest of the arguments of a request, in 32 characters. Receipts of earlier versions have 64,
 * or the arguments themselves. */
struct str receipt_digest(struct call *c, struct str arguments);

/* A digest of the actor and the request id, in 32 characters. */
struct str receipt_key(struct call *c, struct str actor, struct str id);

/*
 * The part of a reply that is stored permanently: the id of an object, or the ids of a list; or
 * absent.
 */
struct str receipt_about(struct call *c, struct str reply);

#endif
