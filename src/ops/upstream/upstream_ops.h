#ifndef OPS_UPSTREAM_UPSTREAM_OPS_H
#define OPS_UPSTREAM_UPSTREAM_OPS_H

/* The operations that exist for users of upstream's bd: its hooks, its settings and its habits. */

/* Set while a chained Git hook runs, to the hook's name, so that it cannot call itself. */
#define UPSTREAM_CHAINED "ABACUS_CHAINED_HOOK"

#endif
