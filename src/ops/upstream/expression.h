#ifndef OPS_UPSTREAM_EXPRESSION_H
#define OPS_UPSTREAM_EXPRESSION_H

#include "base/call.h"

struct value;

/*
 * Upstream's expressions over the members of a bead:
 *
 *	or   = and { "OR" and }
 *	and  = not { "AND" not }
 *	not  = [ "NOT" ] ( "(" or ")" | member operator value )
 */

/* Why the text is not an expression; NULL: it is one. */
const char *expression_wrong(struct call *c, struct str text);

/* Does the bead, in its public JSON, fit the expression? */
bool expression_fits(struct call *c, struct str text, const struct value *bead);

#endif
