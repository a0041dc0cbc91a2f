#include "live/roster.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/text/json.h"
#include "board/status.h"

static struct roster_agent *roster_put(struct call *c, struct map *all, struct str id)
{
	void **at = map_put(all, id);

	if (!*at) {
		struct roster_agent *one = *at = arena_new(&c->mem, struct roster_agent);

		one->shown = (struct agent){ .id = id, .current_task = STR("") };
	}
	return *at;
}

static enum err roster_add_board(struct call *c, struct board *b, struct map *all)
{
	struct agent *a;
	enum err e = agent_each(c, b, &a);

	for (; !e && a; a = a->next) {
		struct roster_agent *one = roster_put(c, all, a->id);

		one->shown = *a;
		one->on_board = true;
	}
	return e;
}

static enum err roster_add_registered(struct call *c, struct agent_files *f, struct map *all)
{
	struct registered *a;
	enum err e = registry_each(c, f, STR_NONE, STR_NONE, &a);

	for (; !e && a; a = a->next) {
		struct roster_agent *one = roster_put(c, all, a->id);

		one->registered = a;
		if (a->seen_ms > one->shown.last_seen)
			one->shown.last_seen = a->seen_ms;
		if (!one->on_board)
			one->shown.updated_at =
				a->created_ms < a->seen_ms ? a->created_ms : a->seen_ms;
	}
	return e;
}

static int roster_order(const void *a, const void *b)
{
	const struct agent *x = &(*(struct roster_agent *const *)a)->shown,
			   *y = &(*(struct roster_agent *const *)b)->shown;

	if (x->last_seen != y->last_seen)
		return x->last_seen > y->last_seen ? -1 : 1;
	return str_cmp(x->id, y->id);
}

static struct roster_agent *roster_sorted(struct call *c, const struct map *all)
{
	struct roster_agent **order = arena_array(&c->mem, all->count + 1, sizeof *order);
	struct roster_agent *list = NULL;

	for (size_t i = 0; i < all->count; i++)
		order[i] = all->entry[i].value;
	if (all->count)
		qsort(order, all->count, sizeof *order, roster_order);
	for (size_t i = all->count; i-- > 0;) {
		order[i]->next = list;
		list = order[i];
	}
	return list;
}

enum err roster_read(struct call *c, struct agent_files *f, struct board *b,
		     struct roster_agent **out)
{
	struct map all = { .mem = &c->mem };
	bool news = false;
	enum err e;

	*out = NULL;
	if ((b && (e = roster_add_board(c, b, &all))) || (e = roster_add_registered(c, f, &all)))
		return e;
	*out = roster_sorted(c, &all);
	for (struct roster_agent *one = *out; one; one = one->next)
		if (status_derive(&one->shown, c->now_ms) && one->on_board)
			news = true;
	if (b && news)
		agent_note_offline(c, b, status_offline_before(c->now_ms));
	return ERR_OK;
}

enum err roster_of_board(struct call *c, struct board *b, struct roster_agent **out)
{
	struct agent_files files;

	if (agent_files_open(c, AGENTS_READ, &files)) {
		struct str why = c->message;

		call_forgive(c);
		call_warn(c, "registered agents are not shown: " STR_FMT, STR_ARG(why));
		files = (struct agent_files){ 0 };
	}
	return roster_read(c, &files, b, out);
}

void roster_encode(struct json *j, const struct call *c, const struct roster_agent *a,
		   const struct unread *unread)
{
	json_object(j);
	agent_put_members(j, c, &a->shown, unread);
	if (a->registered) {
		json_put_bool(j, "registered", true);
		json_put_str(j, "role", a->registered->role);
	}
	json_end(j);
}
