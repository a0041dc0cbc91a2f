#ifndef SURFACE_CLI_SETTINGS_H
#define SURFACE_CLI_SETTINGS_H

#include "base/call.h"

/* Sets the time of the call from the clock, or from ABACUS_NOW. */
enum err settings_now(struct call *c);
/*
 * Reads the settings for autosync, for the age of deletions, and for stale agents from the
 * environment. Invalid numbers are noted in the call, and only commands that depend on them fail.
 */
void settings_read(struct call *c);

#endif
