#ifndef STORE_DB_BOARD_ARTIFACTS_H
#define STORE_DB_BOARD_ARTIFACTS_H

#include "base/call.h"

struct board;
struct ref;

struct artifact {
	int64_t id;
	struct str path, produced_by, description;
	struct str version; /* may be absent */
	struct str refs;    /* JSON array */
	int64_t created_at; /* the moment of the last registration */
	struct artifact *next;
};

struct artifact_filter {
	struct str produced_by;
	const struct ref *ref;
	struct str mentions; /* text in its description or references; absent: any */
	int64_t since;       /* moment; 0: all */
	int64_t or_after;    /* or artifacts with a higher id than this; 0: no */
	int64_t limit;       /* 0: no limit */
};

/* A linked list, newest first. */
enum err artifact_each(struct call *c, struct board *b, const struct artifact_filter *filter,
		       struct artifact **out);
enum err artifact_find(struct call *c, struct board *b, struct str path, struct artifact **out);

/* A path has one entry; registering the path again replaces everything except the id. */
enum err artifact_put(struct call *c, struct board *b, const struct artifact *a);
enum err artifact_delete_all(struct call *c, struct board *b);

#endif
