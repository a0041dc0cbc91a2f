#ifndef SURFACE_CLI_FOLLOW_H
#define SURFACE_CLI_FOLLOW_H

#include <stdbool.h>

struct call;
struct request;

/* abacus log -f: prints the newest lines, then every new one, until it is interrupted or nobody
 * reads the output any more. Returns the exit status, or -1 if the call failed. */
int follow_log(struct call *c, const struct request *r, bool json);

#endif
