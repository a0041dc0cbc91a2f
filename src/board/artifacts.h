#ifndef BOARD_ARTIFACTS_H
#define BOARD_ARTIFACTS_H

#include "store/board/board_artifacts.h"

struct board;
struct json;

/*
 * Artifacts: files that agents made for others to find. There is one entry per path, inside the
 * project.
 */

enum err artifact_register(struct call *c, struct board *b, const struct artifact *draft,
			   struct artifact **out);
enum err artifact_get(struct call *c, struct board *b, struct str path, struct artifact **out);

void artifact_encode(struct json *j, const struct artifact *a);
void artifact_encode_all(struct json *j, const struct artifact *list);

#endif
