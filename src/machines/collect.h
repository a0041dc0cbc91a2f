#ifndef MACHINES_COLLECT_H
#define MACHINES_COLLECT_H

#include "machines/log.h"
#include "machines/machines.h"

struct agent_files;
struct json;

/* Declarations shared by the files that collect local acts, one for each store. */
struct collecting {
	struct call *c;
	struct machines *m;
	struct fact_draft *first, **tail;
	int64_t since_ms; /* what was settled before this is not exported */
	bool moved;       /* a place has changed */
};

/* Adds a fact; `data` is a finished object. */
void collect_add(struct collecting *k, enum fact_kind kind, int64_t act_ms, struct str by,
		 struct json *data);

/* How far a source was read, as a number. */
enum err collect_place(struct collecting *k, struct str source, int64_t *out);
enum err collect_set_place(struct collecting *k, struct str source, int64_t at);

/* Is this the value of a register that was exported or received last? If not, it is now. */
enum err collect_is_known(struct collecting *k, const char *kind, struct str key, struct str value,
			  bool *out);

enum err collect_agents(struct collecting *k);
enum err collect_seen(struct collecting *k);

#endif
