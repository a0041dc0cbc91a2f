#ifndef BEADS_PUBLIC_H
#define BEADS_PUBLIC_H

#include "base/call.h"

struct bead_filter;
struct bead_row;
struct cache;
struct json;
struct link;

/* Which members of a bead a reply has. */
struct shape {
	bool brief;               /* only the members that a list needs */
	const struct str *fields; /* only these members, and the id */
	size_t field_count;
};

/* Are the columns of the row enough, so that the line need not be read? */
bool shape_lean(const struct shape *shape);

/* Does the request name this member? */
bool shape_names(const struct shape *shape, const char *key);

/* Writes a bead in the public schema, nulls included, times as RFC 3339, and the aliases that
 * other tools read, as members of the open object. */
void public_put(struct json *j, const struct bead_row *row, const struct shape *shape);
void public_encode(struct json *j, const struct bead_row *row, const struct shape *shape);

/* Marks a bead with open children, which is listed as ready but never handed out. Writes nothing
 * for any other bead. */
void public_put_container(struct json *j, const struct bead_row *row, const struct shape *shape);

/*
 * A list of the beads that a filter finds, and their number. Each is written as it is read, so that
 * a long list needs no memory.
 */
enum err public_encode_all(struct call *c, struct cache *cache, struct bead_filter filter,
			   const struct shape *shape, struct json *reply, int64_t *count);

/* A list of the beads at the ends of edges. */
void public_encode_links(struct json *j, const struct link *links, const struct shape *shape);

/* SHA-256 of a bead's public content, in hexadecimal; from its canonical line. */
struct str public_hash(struct arena *mem, struct str line);

/* The hash of a row, computed if the row does not have it. */
struct str row_hash(struct arena *mem, const struct bead_row *row);

#endif
