#ifndef OPS_BEAD_BEAD_OPS_H
#define OPS_BEAD_BEAD_OPS_H

#include "beads/beads.h"
#include "beads/draft.h"
#include "beads/edit.h"
#include "beads/find.h"
#include "beads/model/state.h"
#include "beads/public.h"
#include "op/op.h"
#include "store/db/bead_query.h"

struct value;

/* Shared by the operations on beads: flags, field rows, replies. */

#define BEAD_READ  OP_BEADS
#define BEAD_WRITE (OP_BEADS | OP_WRITE | OP_ACTOR | OP_RECEIPT | OP_GROUPED)

#define TWO_PLACES "%s and %s can't be combined"

/* Limits, in bytes. */
enum {
	MAX_TITLE = TITLE_MOST,
	MAX_TEXT = TEXT_MOST,
	MAX_WORD = WORD_MOST,
	MAX_NAME = NAME_MOST,
	MAX_IDS = 1000,
};

extern const struct prop bead_props[], comment_props[];
extern const struct prop bead_reply, beads_reply;
extern const struct prop deleted_reply;                               /* tombstones */
extern const struct prop changed_field_props[], changed_edge_props[]; /* before and after */
extern const struct names directions; /* "down", "up", "both": enum side, and both */

/* --- several beads, by id --- */

/* clang-format off */
#define IDS_FIELD(body, member) \
	{ "ids", &kind_bead, offsetof(body, member), \
	  FIELD_LIST | FIELD_PLACE | FIELD_REQUIRED, .most = MAX_IDS, \
	  .help = "bead ids; a unique prefix is enough" }

#define ID_FIELD(body, member) \
	{ "id", &kind_bead, offsetof(body, member), FIELD_PLACE | FIELD_REQUIRED, \
	  .help = "bead id; a unique prefix is enough" }

#define WHEN_FIELD(body, member) \
	{ "at", &kind_when, offsetof(body, member), FIELD_AT | FIELD_CLI, \
	  .help = "state at a past commit, time or age (2h)" }
/* clang-format on */

/* Repairs what is damaged, as 'bd repair --apply' does. `done` says what was repaired; absent:
 * there was no damage. */
enum err bead_repair_damage(struct call *c, struct str *done);

/* --- conditions under which a change is made --- */

/* clang-format off */
#define GUARD_FIELDS(body, member) \
	{ "if_hash", &kind_str, offsetof(body, member.if_hash), .arg = "HASH", .min = 1, \
	  .help = "expected content_hash; refuse the write if it differs" }, \
	{ "epoch", &kind_stamp, offsetof(body, member.epoch), \
	  .help = "epoch of your claim; refuse the write if it is stale" }

/* For the rows of members.def: the body has `struct str text[MEMBERS]`. */
#define TEXT_FIELD(body, NAME, option, other, text_of_help) \
	{ option, &kind_str, offsetof(body, text[MEMBER_##NAME]), .also = other, \
	  .max = MAX_TEXT, .help = text_of_help }
#define LINE_FIELD(body, NAME, option, other, text_of_help) \
	{ option, &kind_line, offsetof(body, text[MEMBER_##NAME]), .also = other, \
	  .max = MAX_TITLE, .help = text_of_help }

/* For operations that claim_permit() may refuse; `text` is the help. */
#define FORCE_FIELD(body, member, text) \
	{ "force", &kind_bool, offsetof(body, member.force), .role = ROLE_FORCE, \
	  .letter = 'f', .help = text }

/* For operations that claim beads. */
#define EXCLUSIVE_FIELDS(body, exclusive, timeout, how) \
	{ "exclusive", &kind_switch, offsetof(body, exclusive), how, .role = ROLE_EXCLUSIVE, \
	  .help = "claim at the Git remote first, so that no other clone can claim it too" }, \
	{ "timeout", &kind_duration, offsetof(body, timeout), FIELD_CLI, .role = ROLE_TIMEOUT, \
	  .min = 1000, .max = 3600000, \
	  .help = "maximum time to wait for the remote, with --exclusive (default: 30s)" }
/* clang-format on */

/* Fails if a guard is given for more than one bead. */
enum err guard_check(struct call *c, const struct list *ids, const struct guard *guard);

/* Edits each bead under the guard. `changed`: at least one value is new. */
typedef enum err edit_step(struct edit *e, struct state *change, const void *body);
enum err edit_each(struct call *c, struct beads *b, const struct list *ids,
		   const struct guard *guard, edit_step *step, const void *body,
		   struct bead_row **rows, bool *changed);

/* Writes the beads as they are now; if `changed` is false, marked as unchanged. */
enum err edit_encode(struct call *c, struct beads *b, const struct bead_row *rows, bool changed,
		     struct json *reply);

/* The same, and reads the beads after the edit. */
enum err edit_and_reply(struct call *c, struct beads *b, const struct list *ids,
			const struct guard *guard, edit_step *step, const void *body,
			struct json *reply);

/* --- how much of each bead a reply has --- */

struct shape_body {
	struct list fields;
	bool brief, full;
};

/* clang-format off */
#define SHAPE_FIELDS(body, member) \
	{ "fields", &kind_str, offsetof(body, member.fields), \
	  FIELD_LIST | FIELD_COMMAS | FIELD_LOOK, .role = ROLE_FIELDS, .arg = "A,B", \
	  .help = "members to include in each bead" }, \
	{ "brief", &kind_bool, offsetof(body, member.brief), FIELD_CLI | FIELD_LOOK, \
	  .help = "include only the members that a list needs" }, \
	{ "full", &kind_bool, offsetof(body, member.full), FIELD_WIRE | FIELD_LOOK, \
	  .help = "include every member" }
/* clang-format on */

struct shape shape_of(const struct call *c, const struct shape_body *in);

/* --- which beads --- */

struct filter_body {
	struct list statuses, types, priorities, labels, any_labels, ids;
	struct str assignee, parent, title_part, description_part;
	int64_t priority_min, priority_max;
	int64_t created_after, created_before, updated_after, updated_before, closed_after,
		closed_before;
	bool all, unassigned;
};

/* An empty filter, for operations that use only part of it. */
#define FILTER_NONE                                                                  \
	.priority_min = ABSENT, .priority_max = ABSENT, .created_after = ABSENT,     \
	.created_before = ABSENT, .updated_after = ABSENT, .updated_before = ABSENT, \
	.closed_after = ABSENT, .closed_before = ABSENT

/* `about` says what --all does: some operations show closed beads without it. */
#define SHOW_CLOSED "show closed beads too"
#define ALL_ALREADY "include every status (default)"
/* clang-format off */
#define FILTER_FIELDS(body, member, about) \
	{ "status", &kind_word, offsetof(body, member.statuses), FIELD_LIST | FIELD_COMMAS, \
	  .letter = 's', .words = &bead_statuses, \
	  .hint = "'bd blocked' lists blocked beads; --all shows beads of every status.", \
	  .help = "statuses to include" }, \
	{ "all", &kind_bool, offsetof(body, member.all), .help = about }, \
	{ "type", &kind_word, offsetof(body, member.types), FIELD_LIST | FIELD_COMMAS, \
	  .letter = 't', .words = &bead_types, .help = "types to include" }, \
	{ "priority", &kind_priority, offsetof(body, member.priorities), \
	  FIELD_LIST | FIELD_COMMAS, .letter = 'p', \
	  .help = "priorities to include: 0 (most urgent) to 4" }, \
	{ "priority_min", &kind_priority, offsetof(body, member.priority_min), FIELD_CLI, \
	  .help = "lowest priority number to include" }, \
	{ "priority_max", &kind_priority, offsetof(body, member.priority_max), FIELD_CLI, \
	  .help = "highest priority number to include" }, \
	{ "assignee", &kind_str, offsetof(body, member.assignee), .letter = 'a', \
	  .arg = "NAME", .help = "assignee" }, \
	{ "no_assignee", &kind_bool, offsetof(body, member.unassigned), .letter = 'u', \
	  .also = "unassigned", .help = "show only unassigned beads" }, \
	{ "labels", &kind_str, offsetof(body, member.labels), FIELD_LIST | FIELD_COMMAS, \
	  .flag = "label", .also = "labels", .letter = 'l', .arg = "LABEL", .most = 100, \
	  .max = MAX_WORD, .help = "labels that a bead must have, all of them" }, \
	{ "any_labels", &kind_str, offsetof(body, member.any_labels), \
	  FIELD_LIST | FIELD_COMMAS | FIELD_CLI, .flag = "label-any", .arg = "LABEL", \
	  .most = 100, .max = MAX_WORD, .help = "labels of which a bead must have one" }, \
	{ "ids", &kind_bead, offsetof(body, member.ids), \
	  FIELD_LIST | FIELD_COMMAS | FIELD_CLI, .flag = "id", .most = MAX_IDS, \
	  .help = "bead ids to include" }, \
	{ "parent", &kind_bead, offsetof(body, member.parent), \
	  .help = "parent whose children to show" }, \
	{ "title_contains", &kind_str, offsetof(body, member.title_part), FIELD_CLI, \
	  .max = MAX_TITLE, .also = "title", .help = "text to find in titles" }, \
	{ "desc_contains", &kind_str, offsetof(body, member.description_part), FIELD_CLI, \
	  .max = MAX_TITLE, .help = "text to find in descriptions" }, \
	{ "created_after", &kind_moment, offsetof(body, member.created_after), FIELD_CLI, \
	  .help = "earliest creation time" }, \
	{ "created_before", &kind_moment, offsetof(body, member.created_before), FIELD_CLI, \
	  .help = "latest creation time" }, \
	{ "updated_after", &kind_moment, offsetof(body, member.updated_after), FIELD_CLI, \
	  .help = "earliest update time" }, \
	{ "updated_before", &kind_moment, offsetof(body, member.updated_before), FIELD_CLI, \
	  .help = "latest update time" }, \
	{ "closed_after", &kind_moment, offsetof(body, member.closed_after), FIELD_CLI, \
	  .help = "earliest closing time" }, \
	{ "closed_before", &kind_moment, offsetof(body, member.closed_before), FIELD_CLI, \
	  .help = "latest closing time" }

#define PAGE_FIELDS(body, limit, sort, reverse) \
	{ "limit", &kind_int, offsetof(body, limit), .role = ROLE_LIMIT, .letter = 'n', \
	  .min = 0, .preset = "50", .help = "maximum number of results; 0 shows all" }, \
	{ "sort", &kind_word, offsetof(body, sort), .words = &bead_sorts, \
	  .preset = "priority", .help = "sort order" }, \
	{ "reverse", &kind_bool, offsetof(body, reverse), FIELD_CLI, .letter = 'r', \
	  .help = "reverse the sort order" }
/* clang-format on */

/* `everything`: closed beads are included by default. */
enum err filter_of(struct call *c, struct beads *b, const struct filter_body *in, bool everything,
		   struct bead_filter *out);

/* If the list may have been cut by its limit, counts all results, for people: for a program, or a
 * list without a limit, nobody wants to know. */
bool count_wanted(const struct call *c, const struct bead_filter *filter);
enum err count_all(struct call *c, struct beads *b, const struct bead_filter *filter,
		   int64_t listed);

/* The duration of a lease: as requested, else as configured, else an hour. */
enum err lease_of(struct call *c, struct beads *b, int64_t asked, int64_t *out);

struct str moment_of(struct call *c, struct stamp s); /* RFC 3339 */

/* The state of autosync and the unpublished changes, as members of the open object. */
extern const struct prop sync_status_props[];
enum err put_sync_status(struct call *c, struct beads *b, struct json *j);

/* Writes the epoch of the claim, if there is one, as a member of the open object. */
void put_epoch(struct json *j, const struct value *line, const struct shape *shape);

/* Writes a bead with the epoch, for the holder of its claim. */
void encode_claimed(struct json *j, const struct bead_row *row, const struct shape *shape);

#endif
