#ifndef TEST_FUZZ_FILES_H
#define TEST_FUZZ_FILES_H

#include "base/buf.h"
#include "base/hash.h"
#include "beads/model/merge.h"
#include "beads/repair/validate.h"
#include "fuzz.h"

/* The canonical files of a commit, for the targets that read them. */

/* Beads, tombstones and edges from an input's parts, with a meta.json that fits them: an attacker
 * computes the checksums too. */
static inline struct snapshot files_next(struct arena *mem, struct str *input)
{
	struct snapshot s = { 0 };
	struct str checksum[FILE_META];

	for (int f = 0; f < FILE_META; f++) {
		s.file[f] = fuzz_part(input);
		checksum[f] = sha256_hex(mem, s.file[f]);
	}
	s.file[FILE_META] = snapshot_meta(mem, state_new(mem), checksum);
	return s;
}

/* What a sync refuses before it looks at anything else. */
static inline bool files_sound(struct call *c, const struct snapshot *files)
{
	return !validate_readable(&c->mem, files, c->now_ms, state_new(&c->mem));
}

/* Nothing to remark at all: also no edge without its ends. */
static inline bool files_closed(struct call *c, const struct snapshot *files)
{
	return !validate_snapshot(&c->mem, files, c->now_ms);
}

static inline struct state *files_state(struct call *c, const struct snapshot *files)
{
	struct state *s = state_new(&c->mem);

	rule(!snapshot_read(c, files, s), "files that are sound can be read");
	return s;
}

static inline bool files_same(const struct snapshot *a, const struct snapshot *b)
{
	for (int f = 0; f < SNAPSHOT_FILES; f++)
		if (!str_eq(a->file[f], b->file[f]))
			return false;
	return true;
}

/* The files that a merge would commit. */
static inline struct snapshot files_merged(const struct merge *m)
{
	struct snapshot s = { 0 };
	struct str checksum[FILE_META];

	for (int f = 0; f < FILE_META; f++) {
		struct pieces pieces = merge_file(m, (enum snapshot_file)f);
		struct buf b = { .mem = &m->c->mem };

		for (size_t i = 0; i < pieces.count; i++)
			buf_put(&b, pieces.piece[i]);
		s.file[f] = buf_str(&b);
		checksum[f] = sha256_hex(&m->c->mem, s.file[f]);
	}
	s.file[FILE_META] = snapshot_meta(&m->c->mem, m->joined, checksum);
	return s;
}

#endif
