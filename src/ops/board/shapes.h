#ifndef OPS_BOARD_SHAPES_H
#define OPS_BOARD_SHAPES_H

#include "op/op.h"

/* The board's replies, one row each for op.reply, and the objects in them. */
extern const struct prop agent_reply, roster_reply;
extern const struct prop message_reply, messages_reply;
extern const struct prop artifact_reply, artifacts_reply;

extern const struct prop agent_props[], roster_props[], message_props[], artifact_props[],
	unread_props[];

/* Limits of the specification, in bytes. */
enum {
	MAX_TASK = 256,
	MAX_BLOCKERS = 1024,
	MAX_CONTENT = 65536,
	MAX_PATH = 4096,
	MAX_DESCRIPTION = 1024,
	MAX_VERSION = 64,
	MAX_TAG = 32,
	MAX_TAGS = 10,
	MAX_REFS = 20,
	MAX_PAGE = 100,
};

#endif
