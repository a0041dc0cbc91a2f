#ifndef OPS_PLAN_EXTENSION_H
#define OPS_PLAN_EXTENSION_H

#include "ops/bead/bead_ops.h"

/* The extensions of a bead that 'bd create' and 'bd update' set; see members.def. */
struct extension_body {
	int64_t due, defer; /* ms; 0: remove; ABSENT: not given */
	int64_t estimate;   /* minutes; ABSENT: not given */
	struct str metadata, notes, spec_id;
};

/* clang-format off */
#define EXTENSION_FIELDS(body, member) \
	{ "due", &kind_later, offsetof(body, member.due), FIELD_CLI, \
	  .help = "due time: a date, a time, or a duration from now; \"\" removes it" }, \
	{ "defer", &kind_later, offsetof(body, member.defer), FIELD_CLI, \
	  .help = "time before which it is not ready; \"\" removes it" }, \
	{ "estimate", &kind_span, offsetof(body, member.estimate), FIELD_CLI, \
	  .unit = 60 * 1000, .min = 0, .max = 1 << 30, \
	  .help = "estimated work, such as 90m or 2h; a bare number is minutes" }, \
	{ "metadata", &kind_str, offsetof(body, member.metadata), FIELD_CLI, .arg = "JSON", \
	  .max = MAX_TEXT, .help = "JSON object of your own" }, \
	{ "notes", &kind_str, offsetof(body, member.notes), FIELD_CLI, .max = MAX_TEXT, \
	  .help = "working notes, which replace the present ones" }, \
	{ "spec_id", &kind_line, offsetof(body, member.spec_id), FIELD_CLI, .arg = "ID", \
	  .max = MAX_TITLE, .help = "id of the specification it implements" }
/* clang-format on */

/*
 * The extensions that were given, as canonical JSON: "null" removes one, absent leaves it as it is.
 * INVALID_INPUT.
 */
enum err extension_values(struct call *c, const struct extension_body *in, struct str out[MEMBERS]);

/* Sets them. */
enum err extension_edit(struct edit *e, const struct extension_body *in);

#endif
