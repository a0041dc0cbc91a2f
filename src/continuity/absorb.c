#include "base/map.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "continuity/continuity.h"
#include "continuity/tasks.h"
#include "store/db/bead_query.h"

/*
 * Turns changes that `bd`, the page and other clones made to beads into events. The records after
 * the last known place of the journal name the beads to compare with their known state. If the
 * journal no longer has that place, all beads are compared.
 */

/* An edge that was added or removed. */
struct seen_edge {
	struct str from, to, by;
	bool blocks, gone;
};

struct looking {
	struct call *c;
	struct map ids; /* beads that may have changed; a value marks changes of this request */
	bool all;       /* any bead may have changed */
	struct seen_edge *edges;
	size_t edge_count;
};

static void absorb_look_at(struct looking *l, struct str id, bool mine)
{
	void **at = id.p ? map_put(&l->ids, arena_copy(&l->c->mem, id)) : NULL;

	if (at && mine)
		*at = l;
}

static void absorb_look_at_list(struct looking *l, const struct value *list, bool mine)
{
	for (size_t i = 0; list && list->type == VALUE_ARRAY && i < list->count; i++)
		absorb_look_at(l, value_str(&list->item[i], "id"), mine);
}

/* Is the record from an earlier attempt of this request, which died before it noted its events?
 * They are noted by the repeat. */
static bool absorb_is_this_request(struct call *c, const struct value *receipt)
{
	return c->request_id.p && str_eq(value_str(receipt, "actor"), c->actor) &&
	       str_eq(value_str(receipt, "id"), task_request_id(c));
}

/* A command of vybe notes its own events. */
static bool absorb_is_vybes(const struct value *receipt)
{
	return str_starts(value_str(receipt, "id"), STR("vybe:"));
}

/* Copies the edges, because the record is freed when the next one is read. */
static void absorb_keep_edges(struct looking *l, const struct value *list)
{
	struct arena *mem = &l->c->mem;

	for (size_t i = 0; list && list->type == VALUE_ARRAY && i < list->count; i++) {
		const struct value *edge = &list->item[i];
		struct str by = value_str(edge, "_by");

		if (!value_str(edge, "from").p || !value_str(edge, "to").p)
			continue;
		l->edges = arena_room(mem, l->edges, l->edge_count, sizeof *l->edges);
		l->edges[l->edge_count++] = (struct seen_edge){
			.from = arena_copy(mem, value_str(edge, "from")),
			.to = arena_copy(mem, value_str(edge, "to")),
			.by = by.n ? arena_copy(mem, by) : STR("somebody"),
			.blocks = str_is(value_str(edge, "kind"), "blocks"),
			.gone = value_find(edge, "deleted_at"),
		};
	}
}

static enum err absorb_see_record(struct call *c, const struct journal_record *r, void *arg)
{
	struct looking *l = arg;
	const struct value *v = value_read(&c->mem, r->json);
	bool mine = absorb_is_this_request(c, value_find(v, "receipt"));

	if (value_find(value_find(v, "base"), "whole"))
		l->all = true;
	absorb_look_at_list(l, value_find(v, "beads"), mine);
	absorb_look_at_list(l, value_find(v, "tombstones"), mine);
	if (!absorb_is_vybes(value_find(v, "receipt")))
		absorb_keep_edges(l, value_find(v, "deps"));
	return ERR_OK;
}

/* The status in the words of continuity. */
static const char *absorb_status(int bead)
{
	return names_word(&task_statuses, bead == BEAD_CLOSED      ? TASK_COMPLETED :
					  bead == BEAD_IN_PROGRESS ? TASK_IN_PROGRESS :
								     TASK_PENDING);
}

static struct str absorb_described(struct call *c, const struct vybe_task *old,
				   const struct bead_row *row, const char **kind)
{
	*kind = "task_updated";
	if (!row) {
		*kind = "task_deleted";
		return STR("was deleted");
	}
	if (old->status < 0) {
		*kind = "task_created";
		return arena_fmt(&c->mem, "was created: " STR_FMT, STR_ARG(row->title));
	}
	if (old->status != row->status) {
		*kind = row->status == BEAD_CLOSED ? "task_closed" : "task_status";
		return arena_fmt(&c->mem, "is %s, was %s: " STR_FMT, absorb_status(row->status),
				 absorb_status(old->status), STR_ARG(row->title));
	}
	if (!str_eq(old->assignee, row->assignee)) {
		*kind = "task_assigned";
		return arena_fmt(&c->mem, "is assigned to " STR_FMT ": " STR_FMT,
				 STR_ARG(row->assignee.n ? row->assignee : STR("nobody")),
				 STR_ARG(row->title));
	}
	return arena_fmt(&c->mem, "was changed: " STR_FMT, STR_ARG(row->title));
}

/* The actor that wrote to the bead last, and its project, from its line or its tombstone. */
static enum err absorb_find_writer(struct call *c, struct beads *b, const struct bead_row *row,
				   struct event_row *event)
{
	struct str line = row ? row->line : STR_NONE;
	const struct value *v;
	enum err e = row ? ERR_OK : cache_find_tombstone(c, &b->cache, event->task, &line);

	v = !e && line.p ? value_read(&c->mem, line) : NULL;
	event->agent = value_str(v, row ? "_by" : "deleted_by");
	if (!event->agent.n)
		event->agent = STR("somebody");
	event->project = value_str(row ? v : value_find(v, "bead"), "project");
	return e;
}

/* If the bead at the other end cannot be found, the message has only its id. */
static enum err absorb_note_edge(struct call *c, struct continuity *k, struct beads *b,
				 const struct seen_edge *edge)
{
	struct event_row event = { .task = edge->from, .agent = edge->by };
	struct bead_row *row;
	enum err e = cache_find_bead(c, &b->cache, edge->to, &row);

	if (e)
		return e;
	event.kind = !edge->blocks ? STR("task_updated") :
		     edge->gone    ? STR("task_dependency_removed") :
				     STR("task_dependency_added");
	event.message =
		arena_fmt(&c->mem, "%s %s " STR_FMT "%s" STR_FMT, edge->gone ? "no longer" : "now",
			  edge->blocks ? "depends on" : "belongs to", STR_ARG(edge->to),
			  row ? ": " : "", STR_ARG(row ? row->title : STR("")));
	return vybe_event_put(c, &k->db, &event);
}

/* The id to which the bead that was known by this id has moved; absent if it has not. */
static enum err absorb_moved_to(struct call *c, struct beads *b, const struct vybe_task *old,
				struct str *to)
{
	const struct value *list, *at;
	struct str line;
	int64_t ms;
	enum err e = cache_find_tombstone(c, &b->cache, old->id, &line);

	*to = STR_NONE;
	list = !e && line.p ? value_find(value_read(&c->mem, line), "remap") : NULL;
	for (size_t i = 0; list && list->type == VALUE_ARRAY && i < list->count; i++) {
		at = value_find(&list->item[i], "created_at");
		if (at && at->type == VALUE_ARRAY && at->count && value_number(&at->item[0], &ms) &&
		    ms == old->created)
			*to = value_str(&list->item[i], "to");
	}
	return e;
}

static struct vybe_task absorb_known_as(const struct bead_row *row)
{
	return (struct vybe_task){ .id = row->id,
				   .assignee = row->assignee,
				   .status = row->status,
				   .created = row->created,
				   .updated = row->updated };
}

/* Renames the moved bead in all rows of vybe.db. The bead that has the id now is a new one. */
static enum err absorb_follow(struct call *c, struct continuity *k, struct beads *b,
			      struct vybe_task *old)
{
	struct vybe_task there = *old;
	enum err e = absorb_moved_to(c, b, old, &there.id);

	if (e || !there.id.p)
		return e;
	if ((e = vybe_rename_task(c, &k->db, old->id, there.id)) ||
	    (e = vybe_task_put(c, &k->db, &there)))
		return e;
	old->status = -1;
	return vybe_task_put(c, &k->db, old);
}

static enum err absorb_compare(struct call *c, struct continuity *k, struct beads *b, struct str id)
{
	struct event_row event = { .task = id };
	struct vybe_task old, now = { .id = id, .status = -1 };
	struct bead_row *row;
	const char *kind;
	enum err e;

	if ((e = vybe_task_find(c, &k->db, id, &old)) ||
	    (e = cache_find_bead(c, &b->cache, id, &row)))
		return e;
	if (row)
		now = absorb_known_as(row);
	if (old.status >= 0 && old.created != now.created && (e = absorb_follow(c, k, b, &old)))
		return e;
	if (old.status == now.status && (!row || old.updated == now.updated))
		return ERR_OK;
	event.message = absorb_described(c, &old, row, &kind);
	event.kind = str_of(kind);
	if ((e = absorb_find_writer(c, b, row, &event)) || (e = vybe_event_put(c, &k->db, &event)))
		return e;
	return vybe_task_put(c, &k->db, &now);
}

/* Adds every bead, and every bead that was known before. */
static enum err absorb_name_all(struct call *c, struct continuity *k, struct beads *b,
				struct looking *l)
{
	struct bead_filter any = { .sort = SORT_ID, .lean = true };
	struct bead_row *row;
	struct vybe_task *known;
	size_t count;
	enum err e;

	if ((e = query_each(c, &b->cache, &any, &row)) ||
	    (e = vybe_task_each(c, &k->db, &known, &count)))
		return e;
	for (; row; row = row->next)
		absorb_look_at(l, row->id, false);
	for (size_t i = 0; i < count; i++)
		absorb_look_at(l, known[i].id, false);
	return ERR_OK;
}

/* The first time, the present state is recorded without events. */
static enum err absorb_learn_all(struct call *c, struct continuity *k, struct beads *b)
{
	struct bead_filter any = { .sort = SORT_ID, .lean = true };
	struct bead_row *row;
	enum err e = query_each(c, &b->cache, &any, &row);

	for (; !e && row; row = row->next) {
		struct vybe_task known = absorb_known_as(row);

		e = vybe_task_put(c, &k->db, &known);
	}
	return e;
}

static enum err absorb_read_news(struct call *c, struct continuity *k, struct beads *b,
				 struct journal_place known)
{
	struct looking l = { .c = c, .ids.mem = &c->mem };
	enum journal_news news = JOURNAL_AHEAD;
	enum err e = journal_compare(c, b->home, known, &news);

	if (!e && news == JOURNAL_SAME)
		return ERR_OK;
	if (!e && news == JOURNAL_MORE)
		e = journal_each(c, b->home, &known, absorb_see_record, &l);
	if (e || news >= JOURNAL_AHEAD)
		l.all = true; /* the journal was restarted or is damaged */
	call_forgive(c);
	e = l.all ? absorb_name_all(c, k, b, &l) : ERR_OK;
	for (size_t i = 0; !e && i < l.ids.count; i++)
		if (!l.ids.entry[i].value)
			e = absorb_compare(c, k, b, l.ids.entry[i].key);
	for (size_t i = 0; !e && i < l.edge_count; i++)
		e = absorb_note_edge(c, k, b, &l.edges[i]);
	return e;
}

enum err continuity_know(struct call *c, struct continuity *k, const struct task *t)
{
	struct vybe_task known = { .id = t->id,
				   .assignee = t->assignee,
				   .status = t->bead_status,
				   .created = t->created,
				   .updated = t->updated };

	return vybe_task_put(c, &k->db, &known);
}

enum err continuity_absorb(struct call *c, struct continuity *k)
{
	struct journal_place known;
	struct beads *b;
	enum err e;

	if ((e = vybe_place_find(c, &k->db, &known)) || (e = continuity_tasks(c, k, &b)) || !b)
		return e;
	if (b->damaged) /* beads that are missing because of the damage were not deleted */
		return ERR_OK;
	e = known.crc ? absorb_read_news(c, k, b, known) : absorb_learn_all(c, k, b);
	if (e || (known.crc == b->about.place.crc && known.offset == b->about.place.offset &&
		  known.segment == b->about.place.segment))
		return e;
	return vybe_place_put(c, &k->db, &b->about.place);
}
