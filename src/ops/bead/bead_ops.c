#include "ops/bead/bead_ops.h"

#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/autosync.h"
#include "beads/config.h"
#include "beads/model/record.h"

static const struct prop note_props[] = { { "id content author at:int[]", NULL }, { 0 } };

const struct prop comment_props[] = { { "id issue_id author text created_at", NULL }, { 0 } };

/* The schema type of a look of members.def, what follows it if the member may be null, and the
 * members of its objects. */
#define TYPE_PLAIN  "", "|null", NULL
#define TYPE_NUMBER ":int", "", NULL
#define TYPE_RAW    ":any", "", NULL
#define TYPE_TEXT   "", "", NULL
#define TYPE_LIST   "[]", "", NULL
#define TYPE_NOTES  "[]", "", note_props
#define TYPE_STAMP  "", "|null", NULL
#define TYPE_MOMENT "", "|null", NULL

/* clang-format off */
#define PROP_WITH(key, type, null, of, flags) \
	{ (flags) & REQUIRED ? #key type : (flags) & FULL ? #key type "?" : #key type null "?", of }
/* clang-format on */
#define PROP_ROW(key, flags, ...) PROP_WITH(key, __VA_ARGS__, flags)

enum {
	MEMBER_PROPS = 0
#define MEMBER(NAME, key, place, rule, look, flags)   +1
#define PART(NAME, key, place, rule, look, flags, OF) +1
#define FIXED(key, place, look, flags)                +1
#define ALIAS(key, place, look, flags, from)          +1
#define EXTENSION(NAME, key, type, flags)
#include "beads/model/members.def"
};

const struct prop bead_props[] = {
#define MEMBER(NAME, key, place, rule, look, flags)   [place] = PROP_ROW(key, flags, TYPE_##look),
#define PART(NAME, key, place, rule, look, flags, OF) [place] = PROP_ROW(key, flags, TYPE_##look),
#define FIXED(key, place, look, flags)                [place] = PROP_ROW(key, flags, TYPE_##look),
#define ALIAS(key, place, look, flags, from)          [place] = PROP_ROW(key, flags, TYPE_##look),
#define EXTENSION(NAME, key, type, flags)
#include "beads/model/members.def"
	[MEMBER_PROPS] = { "content_hash?", NULL },
	{ "comments[]?", comment_props },
	{ "dependency_count:int? dependent_count:int? comment_count:int? parent|null? epoch:any?",
	  NULL },
	{ "durability? unchanged:bool?", NULL },
	/* members that only some commands add */
	{ "dependencies:object[]? dependents:object[]? dependency_type? direction?", NULL },
	{ "blocked_by[]? blocked_by_count:int? unblocked:bool? container:bool?", NULL },
	{ "open_children:int? why? left_out:bool? collides_with? score:int?", NULL },
	{ "remap:object[]? commits:object[]? similar:object[]?", NULL },
/* extensions, where they are set */
#define EXTENSION(NAME, key, type, flags) PROP_ROW(key, flags, TYPE_##type),
#include "beads/model/members.def"
	{ 0 },
};
static const struct prop deleted_props[] = {
	{ "id title|null deleted_at|null deleted_by|null reason|null dependent_count:int?", NULL },
	{ "deleted:bool? remap:object[]?", NULL },
	{ 0 },
};
const struct prop deleted_reply = { "beads[]", deleted_props };

const struct prop changed_field_props[] = { { "field old:any new:any", NULL }, { 0 } };

const struct prop changed_edge_props[] = { { "change from to kind", NULL }, { 0 } };

const struct names directions = NAMES_OF("down", "up", "both");

const struct prop bead_reply = { "bead", bead_props };
const struct prop beads_reply = { "beads[]", bead_props };

enum err guard_check(struct call *c, const struct list *ids, const struct guard *guard)
{
	if (ids->n <= 1 || (!guard->if_hash.p && guard->epoch.ms == ABSENT))
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT,
			 "--if-hash and --epoch are for one bead, not for %zu", ids->n);
}

void put_epoch(struct json *j, const struct value *line, const struct shape *shape)
{
	const struct value *at = value_find(line, "assignee_at"),
			   *end = value_find(line, "assignee_expires");

	if (!at || at->type != VALUE_ARRAY || !end || end->type != VALUE_NUMBER ||
	    shape->field_count)
		return;
	json_key(j, STR("epoch"));
	json_value(j, at);
}

static void put_claimed(struct json *j, const struct bead_row *row, const struct shape *shape)
{
	public_put(j, row, shape);
	put_epoch(j, value_read(j->out.mem, row->line), shape);
}

void encode_claimed(struct json *j, const struct bead_row *row, const struct shape *shape)
{
	json_object(j);
	put_claimed(j, row, shape);
	json_end(j);
}

enum err edit_each(struct call *c, struct beads *b, const struct list *ids,
		   const struct guard *guard, edit_step *step, const void *body,
		   struct bead_row **rows, bool *changed)
{
	struct state *change = state_new(&c->mem);
	enum err e = find_beads(c, b, ids->item, ids->n, rows);

	if (!e)
		e = guard_check(c, ids, guard);
	for (struct bead_row *row = *rows; !e && row; row = row->next) {
		struct edit edit;

		if ((e = edit_begin(c, b, row, &edit)))
			return e;
		edit.batch = *rows;
		if ((e = edit_guard(&edit, guard)) || (e = step(&edit, change, body)))
			return e;
		edit_end(&edit, change);
	}
	*changed = !record_empty(change);
	return e ? e : beads_put(c, b, change);
}

enum err edit_encode(struct call *c, struct beads *b, const struct bead_row *rows, bool changed,
		     struct json *reply)
{
	struct shape shape = { .brief = c->terse };
	struct bead_row *now;
	enum err e;

	json_array(reply);
	for (; rows; rows = rows->next) {
		if ((e = cache_find_bead(c, &b->cache, rows->id, &now)))
			return e;
		if (!now)
			continue;
		json_object(reply);
		put_claimed(reply, now, &shape);
		if (!changed)
			json_put_bool(reply, "unchanged", true);
		json_end(reply);
	}
	json_end(reply);
	return ERR_OK;
}

enum err edit_and_reply(struct call *c, struct beads *b, const struct list *ids,
			const struct guard *guard, edit_step *step, const void *body,
			struct json *reply)
{
	struct bead_row *rows;
	bool changed;
	enum err e = edit_each(c, b, ids, guard, step, body, &rows, &changed);

	return e ? e : edit_encode(c, b, rows, true, reply);
}

struct shape shape_of(const struct call *c, const struct shape_body *in)
{
	return (struct shape){ .brief = c->terse ? !in->full : in->brief,
			       .fields = in->fields.item,
			       .field_count = in->fields.n };
}

static unsigned bits_of_words(const struct list *list)
{
	const int *word = list->item;
	unsigned bits = 0;

	for (size_t i = 0; i < list->n; i++)
		bits |= 1u << word[i];
	return bits;
}

static unsigned priorities_of(const struct filter_body *in)
{
	const int64_t *one = in->priorities.item;
	unsigned bits = in->priorities.n ? 0 : 31;

	for (size_t i = 0; i < in->priorities.n; i++)
		bits |= 1u << one[i];
	for (int i = 0; i <= 4; i++)
		if ((in->priority_min != ABSENT && i < in->priority_min) ||
		    (in->priority_max != ABSENT && i > in->priority_max))
			bits &= ~(1u << i);
	return bits == 31 ? 0 : bits ? bits : 1u << 7; /* the last row */
}

static struct bound bead_ops_bound(int64_t ms)
{
	return (struct bound){ ms != ABSENT, ms };
}

static enum err whole_ids(struct call *c, struct beads *b, const struct filter_body *in,
			  struct bead_filter *out)
{
	struct str *ids = arena_array(&c->mem, in->ids.n + 1, sizeof *ids);
	struct bead_row *row;
	enum err e = find_beads(c, b, in->ids.item, in->ids.n, &row);

	for (; !e && row; row = row->next)
		ids[out->id_count++] = row->id;
	out->ids = ids;
	if (!e && in->parent.p && !(e = find_bead(c, b, in->parent, &row)))
		out->parent = row->id;
	return e;
}

enum err filter_of(struct call *c, struct beads *b, const struct filter_body *in, bool everything,
		   struct bead_filter *out)
{
	*out = (struct bead_filter){
		.statuses = bits_of_words(&in->statuses),
		.types = bits_of_words(&in->types),
		.priorities = priorities_of(in),
		.assignee = in->assignee,
		.unassigned = in->unassigned,
		.labels = in->labels.item,
		.label_count = in->labels.n,
		.any_labels = in->any_labels.item,
		.any_count = in->any_labels.n,
		.title_part = in->title_part,
		.description_part = in->description_part,
		.created_after = bead_ops_bound(in->created_after),
		.created_before = bead_ops_bound(in->created_before),
		.updated_after = bead_ops_bound(in->updated_after),
		.updated_before = bead_ops_bound(in->updated_before),
		.closed_after = bead_ops_bound(in->closed_after),
		.closed_before = bead_ops_bound(in->closed_before),
		.actor = c->actor,
		.now = c->now_ms,
	};
	if (in->all)
		out->statuses = 0;
	else if (!out->statuses && !everything && !in->ids.n && !out->closed_after.given &&
		 !out->closed_before.given)
		out->statuses = 1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS;
	return whole_ids(c, b, in, out);
}

bool count_wanted(const struct call *c, const struct bead_filter *filter)
{
	return !c->wire && filter->limit;
}

enum err count_all(struct call *c, struct beads *b, const struct bead_filter *filter,
		   int64_t listed)
{
	struct bead_filter some = *filter;

	if (!count_wanted(c, filter) || listed < filter->limit)
		return ERR_OK;
	some.count_most = TOTAL_MOST;
	return query_count(c, &b->cache, &some, &c->total);
}

struct str moment_of(struct call *c, struct stamp s)
{
	return moment_format(&c->mem, s.ms);
}

enum err lease_of(struct call *c, struct beads *b, int64_t asked, int64_t *out)
{
	*out = asked == ABSENT ? b->lease_ms : asked;
	if (*out <= 0)
		return call_fail(c, ERR_INVALID_INPUT, "a lease must be longer than 0");
	if (*out > MOMENT_LAST - c->now_ms)
		return call_fail(c, ERR_INVALID_INPUT, "the lease would end after the year 9999");
	return ERR_OK;
}

const struct prop sync_status_props[] = {
	{ "ref remote auto:bool commit|null published:bool|null pending:int", NULL },
	{ "oldest_pending|null last_sync|null last_try|null failures:int last_error|null", NULL },
	{ "running:bool", NULL },
	{ 0 },
};

/* Null if no remote was ever reached. */
static void put_published(struct json *j, struct str base, struct str seen)
{
	json_key(j, STR("published"));
	if (seen.p)
		json_bool(j, str_eq(base, seen));
	else
		json_null(j);
}

enum err put_sync_status(struct call *c, struct beads *b, struct json *j)
{
	struct sync_state known = sync_state_read(c, b->home);
	struct str ref, remote, by_itself, tracking;
	struct pending pending;
	enum err e;

	if ((e = config_get(c, b->home, CONFIG_SYNC_REF, &ref)) ||
	    (e = config_get(c, b->home, CONFIG_SYNC_REMOTE, &remote)) ||
	    (e = config_get(c, b->home, CONFIG_SYNC_AUTO, &by_itself)) ||
	    (e = beads_pending(c, b, &pending)))
		return e;
	tracking = arena_fmt(&c->mem, SYNC_TRACKING STR_FMT, STR_ARG(remote));
	json_put_str(j, "ref", ref);
	json_put_str(j, "remote", remote);
	json_put_bool(j, "auto", c->autosync && str_is(by_itself, "true"));
	json_put_str(j, "commit", pending.base);
	put_published(j, pending.base, place_ref(c, &b->repo, tracking));
	json_put_int(j, "pending", pending.records);
	json_put_moment(j, "oldest_pending", pending.oldest_ms);
	json_put_moment(j, "last_sync", known.succeeded_ms);
	json_put_moment(j, "last_try", known.tried_ms);
	json_put_int(j, "failures", known.failures);
	json_put_str(j, "last_error", known.message);
	json_put_bool(j, "running", autosync_is_running(c, b));
	return ERR_OK;
}
