#ifndef STORE_GIT_CONFIG_H
#define STORE_GIT_CONFIG_H

#include "base/call.h"

/* The user's name as Git knows it; absent: it does not. `common` may be absent. */
enum err git_config_user(struct call *c, struct str common, struct str *out);

#endif
