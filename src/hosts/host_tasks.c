#include "hosts/host_tasks.h"

#include "base/hash.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "beads/autosync.h"
#include "beads/claim.h"
#include "beads/config.h"
#include "beads/draft.h"
#include "beads/find.h"
#include "beads/model/state.h"
#include "store/db/bead_query.h"

enum { ENTRIES_MOST = 100, KEY = 12 };

enum entry_status { ENTRY_OPEN, ENTRY_STARTED, ENTRY_DONE, ENTRY_DROPPED };

static const struct names entry_statuses =
	NAMES_OF([ENTRY_OPEN] = "pending", [ENTRY_STARTED] = "in_progress",
		 [ENTRY_DONE] = "completed", [ENTRY_DROPPED] = "deleted");

struct host_entry {
	struct str key;         /* the external reference of its bead */
	struct str title, text; /* the title is absent if only the status changes */
	int status;             /* enum entry_status; -1: unchanged */
	bool seen;
	struct host_entry *next;
};

struct host_list {
	struct host_entry *first;
	struct str head; /* of all keys of this list */
	bool whole;      /* an entry that is not in it was dropped */
};

bool host_tasks_about(const struct value *in)
{
	struct str tool = value_str(in, "tool_name");

	return str_is(tool, "TodoWrite") || str_is(tool, "TaskCreate") ||
	       str_is(tool, "TaskUpdate") ||
	       str_is(value_str(in, "hook_event_name"), "TaskCompleted");
}

bool host_tasks_on(struct call *c)
{
	struct beads b;
	struct str on;
	bool is = !beads_home(c, &b) && !config_get(c, b.home, CONFIG_HOSTS_TASKS, &on) &&
		  str_is(on, "true");

	call_forgive(c);
	return is;
}

/* --- the host's words --- */

static struct host_entry *host_list_add(struct call *c, struct host_list *list, const char *kind,
					struct str name, struct str title)
{
	struct host_entry *e = arena_new(&c->mem, struct host_entry), **at = &list->first;

	while (*at)
		at = &(*at)->next;
	*at = e;
	e->key =
		arena_fmt(&c->mem, STR_FMT "%s:" STR_FMT, STR_ARG(list->head), kind, STR_ARG(name));
	e->title = title.p ? utf8_shorten(&c->mem, str_trim(title), TITLE_MOST) : STR_NONE;
	e->status = -1;
	return e;
}

static void host_list_read_todos(struct call *c, const struct value *input, struct host_list *list)
{
	const struct value *todos = value_find(input, "todos");

	list->whole = todos && todos->type == VALUE_ARRAY;
	for (size_t i = 0; list->whole && i < todos->count && i < ENTRIES_MOST; i++) {
		struct str text = value_str(&todos->item[i], "content");
		struct host_entry *e;

		if (!str_trim(text).n)
			continue;
		e = host_list_add(c, list, "todo", str_head(sha256_hex(&c->mem, text), KEY), text);
		e->status = names_exact(&entry_statuses, value_str(&todos->item[i], "status"));
	}
}

/* {"task":{"id":"3"}}, or the sentence "Task #3 created successfully". */
static struct str host_list_made(struct call *c, const struct value *in)
{
	const struct value *result = value_find(in, "tool_response");
	struct str id = value_str(value_find(result, "task"), "id"), said = value_text(result);
	const char *at = said.p ? str_find(said, STR("#")) : NULL;
	size_t n = 0;

	if (id.p)
		return id;
	if (!at)
		return STR_NONE;
	said = str_skip(said, (size_t)(at - said.p) + 1);
	while (n < said.n && said.p[n] >= '0' && said.p[n] <= '9')
		n++;
	return n ? arena_copy(&c->mem, str_head(said, n)) : STR_NONE;
}

static void host_list_read(struct call *c, const struct value *in, struct host_list *list)
{
	const struct value *input = value_find(in, "tool_input");
	struct str tool = value_str(in, "tool_name"), id = value_str(input, "taskId"),
		   done = value_str(in, "task_id");
	struct host_entry *e;

	if (str_is(tool, "TodoWrite")) {
		host_list_read_todos(c, input, list);
	} else if (str_is(tool, "TaskCreate")) {
		if (!(id = host_list_made(c, in)).p || !str_trim(value_str(input, "subject")).n)
			return;
		e = host_list_add(c, list, "task", id, value_str(input, "subject"));
		e->text = value_str(input, "description");
		e->status = ENTRY_OPEN;
	} else if (str_is(tool, "TaskUpdate") && id.p) {
		e = host_list_add(c, list, "task", id, value_str(input, "subject"));
		e->status = names_exact(&entry_statuses, value_str(input, "status"));
	} else if (!tool.p && done.p) {
		e = host_list_add(c, list, "task", done, STR_NONE);
		e->status = ENTRY_DONE;
	}
}

/* --- the beads --- */

struct host_work {
	struct call *c;
	struct beads *b;
	struct state *change;
	bool changed;
};

static enum err host_work_create(struct host_work *w, const struct host_entry *e, struct str parent)
{
	struct draft d = { .text = { [MEMBER_TITLE] = e->title,
				     [MEMBER_DESCRIPTION] = e->text,
				     [MEMBER_EXTERNAL_REF] = e->key },
			   .type = BEAD_TASK,
			   .priority = 2 };

	if (!e->title.n || e->status == ENTRY_DONE || e->status == ENTRY_DROPPED)
		return ERR_OK;
	draft_need(w->c, &d, str_of(names_word(&edge_kinds, EDGE_PARENT)), parent);
	w->changed = true;
	return draft_put(w->c, w->b, &d, w->change);
}

/* Brings a bead in line with its entry. A claim of another agent is respected. */
static enum err host_work_edit(struct host_work *w, struct bead_row *row,
			       const struct host_entry *e)
{
	bool closed = row->status == BEAD_CLOSED, over = e->status >= ENTRY_DONE;
	struct edit edit;
	enum err err = edit_begin(w->c, w->b, row, &edit);

	if (err || claim_is_anothers(&edit))
		return err;
	if (e->title.n && !str_eq(e->title, row->title))
		edit_text(&edit, MEMBER_TITLE, e->title);
	if (over && !closed)
		err = edit_close(&edit, e->status == ENTRY_DONE ?
						STR("completed in the host's task list") :
						STR("dropped from the host's task list"));
	else if (e->status >= 0 && !over && closed)
		err = edit_reopen(&edit, BEAD_OPEN);
	else if (e->status == ENTRY_STARTED && row->status == BEAD_OPEN)
		err = claim_take(&edit, w->b->lease_ms);
	else if (!e->title.n || str_eq(e->title, row->title))
		return ERR_OK;
	w->changed = true;
	edit_end(&edit, w->change);
	return err;
}

static struct host_entry *host_list_find(const struct host_list *list, struct str key)
{
	struct host_entry *e = list->first;

	while (e && !str_eq(e->key, key))
		e = e->next;
	return e;
}

static enum err host_work_apply(struct host_work *w, struct host_list *list, struct str parent)
{
	struct bead_filter below = { .parent = parent };
	struct host_entry dropped = { .status = ENTRY_DROPPED };
	struct bead_row *row;
	enum err err = query_each(w->c, &w->b->cache, &below, &row);

	for (; !err && row; row = row->next) {
		struct str key = value_str(value_read(&w->c->mem, row->line), "external_ref");
		struct host_entry *e = key.p ? host_list_find(list, key) : NULL;

		if (e) {
			e->seen = true;
			err = host_work_edit(w, row, e);
		} else if (key.p && list->whole && str_starts(key, list->head) &&
			   row->status != BEAD_CLOSED) {
			err = host_work_edit(w, row, &dropped);
		}
	}
	for (const struct host_entry *e = list->first; !err && e; e = e->next)
		if (!e->seen)
			err = host_work_create(w, e, parent);
	return err;
}

void host_tasks_follow(struct call *c, const struct value *in, struct str bead, struct str session)
{
	struct host_list list = { .head = arena_fmt(&c->mem, STR_FMT ":", STR_ARG(session)) };
	struct host_work w = { .c = c, .change = state_new(&c->mem) };
	struct bead_row *parent;
	struct beads b;
	enum err e;

	host_list_read(c, in, &list);
	if (!bead.n || (!list.first && !list.whole) || beads_open(c, BEADS_WRITE, &b))
		return;
	w.b = &b;
	if (!(e = find_bead(c, &b, bead, &parent)) && parent->status != BEAD_CLOSED &&
	    !(e = host_work_apply(&w, &list, parent->id)) && w.changed &&
	    !(e = beads_put(c, &b, w.change)))
		e = beads_commit(c, &b);
	beads_close(&b);
	if (!e && w.changed)
		autosync_start(c, &b);
	call_forgive(c);
}
