#ifndef BEADS_SNAPSHOT_H
#define BEADS_SNAPSHOT_H

#include "base/arena.h"

struct state;

/* A state as the canonical files that are published: one line a record, sorted. */
enum snapshot_file { FILE_STATE, FILE_TOMBSTONES, FILE_DEPS, FILE_META, SNAPSHOT_FILES };

struct snapshot {
	struct str file[SNAPSHOT_FILES];
};

enum { FORMAT_VERSION = 1 };

const char *snapshot_name(enum snapshot_file file); /* "state.jsonl" */
struct snapshot snapshot_encode(struct arena *mem, const struct state *s);

#endif
