#ifndef STORE_DB_BOARD_CONFIG_H
#define STORE_DB_BOARD_CONFIG_H

#include "base/call.h"

struct board;

/* Settings from `.bb/config.toml`; a missing file or key leaves the defaults. */
struct board_config {
	int64_t summary_messages; /* how far back a summary looks, in ms */
	int64_t summary_artifacts;
};

enum err board_config_read(struct call *c, struct board *b, struct board_config *out);

#endif
