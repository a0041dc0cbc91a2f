#ifndef BEADS_PUBLIC_H
#define BEADS_PUBLIC_H

#include "base/arena.h"

struct bead_row;
struct json;
struct link;

/* Which members of a bead a reply has. */
struct shape {
	bool brief;               /* only those that a list needs */
	const struct str *fields; /* only these, and the id */
	size_t field_count;
};

/* Does it ask only for what a row has without its line? */
bool shape_lean(const struct shape *shape);

/*
 * The bead as everybody else sees it: all fields of the public schema, nulls too, times as RFC
 * 3339, then what other tools have come to read. As members of the open object.
 */
void public_put(struct json *j, const struct bead_row *row, const struct shape *shape);
void public_encode(struct json *j, const struct bead_row *row, const struct shape *shape);

/*
 * Marks a bead with open children: the work is in those, so it is listed as ready but never
 * handed out. Nothing for any other bead.
 */
void public_put_container(struct json *j, const struct bead_row *row, const struct shape *shape);

/* One of many in a list: encoding it takes more memory than it has, which the next one reuses. */
void public_add(struct json *j, struct arena *scratch, const struct bead_row *row,
		const struct shape *shape);

/* A chain of rows, or the beads at the ends of links, as a list. */
void public_encode_all(struct json *j, const struct bead_row *rows, const struct shape *shape);
void public_encode_links(struct json *j, const struct link *links, const struct shape *shape);

/* SHA-256 of a bead's public content, in hexadecimal; from its canonical line. */
struct str public_hash(struct arena *mem, struct str line);

/* The same of a row, which may know it. */
struct str row_hash(struct arena *mem, const struct bead_row *row);

#endif
