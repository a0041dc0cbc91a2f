#ifndef OPS_WORK_TOUCHES_H
#define OPS_WORK_TOUCHES_H

#include "ops/bead/bead_ops.h"

/* The scopes that a bead is expected to change, as 'bd create' and 'bd update' set them. */
struct touches_body {
	struct list set, add, remove;
};

enum { MAX_TOUCHES = 200, MAX_SCOPE = 1024 };

/* clang-format off */
#define TOUCHES_FIELD(body, member, more, text) \
	{ "touches", &kind_line, offsetof(body, member.set), \
	  FIELD_LIST | FIELD_COMMAS | (more), .arg = "PATH", .most = MAX_TOUCHES, \
	  .max = MAX_SCOPE, .help = text }

#define TOUCHES_CHANGE_FIELDS(body, member) \
	{ "add_touches", &kind_line, offsetof(body, member.add), \
	  FIELD_LIST | FIELD_COMMAS | FIELD_CLI, .arg = "PATH", .most = MAX_TOUCHES, .min = 1, \
	  .max = MAX_SCOPE, .help = "files and folders to add to those" }, \
	{ "remove_touches", &kind_line, offsetof(body, member.remove), \
	  FIELD_LIST | FIELD_COMMAS | FIELD_CLI, .arg = "PATH", .most = MAX_TOUCHES, .min = 1, \
	  .max = MAX_SCOPE, .help = "files and folders to remove from them" }
/* clang-format on */

/* The canonical JSON of the scopes, normalised; absent if none were given. INVALID_INPUT. */
enum err touches_value(struct call *c, struct beads *b, const struct list *scopes, struct str *out);

/* Sets the scopes that the bead touches, or adds to them and removes from them. INVALID_INPUT. */
enum err touches_edit(struct edit *e, const struct touches_body *in);

#endif
