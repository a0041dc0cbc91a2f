#ifndef SURFACE_UPSTREAM_DIALECT_H
#define SURFACE_UPSTREAM_DIALECT_H

#include "op/op.h"

/*
 * Upstream's JSON. The specification's shapes are the default; BD_JSON_DIALECT=upstream, or the
 * setting json.dialect of the clone, chooses the shapes that clients of upstream's bd read. The
 * operations are the same: one table says how the reply of each is rendered.
 */
bool dialect_is_upstream(struct call *c);

/* The version shown to upstream's clients, which refuse older ones. */
#define DIALECT_VERSION "1.0.5"

/* The reply in upstream's shape; the same text if it has no other. */
struct str dialect_render(struct call *c, const struct request *r, struct str reply);

#endif
