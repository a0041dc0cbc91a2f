#include "base/map.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

/* bd supersede, duplicate, duplicates: beads that another one replaces. */

struct body {
	struct list ids;
	struct guard guard;
	struct str with;
};

#define AT(member) offsetof(struct body, member)

/* clang-format off */
#define REPLACE_FIELDS(name, text) \
	{ IDS_FIELD(struct body, ids), \
	  { name, &kind_bead, AT(with), FIELD_REQUIRED, .help = text }, \
	  FORCE_FIELD(struct body, guard, "close despite open blockers, open children or another agent's claim"), \
	  GUARD_FIELDS(struct body, guard), { 0 } }
/* clang-format on */

static const struct field supersede_fields[] = REPLACE_FIELDS("with", "bead that replaces it");
static const struct field duplicate_fields[] = REPLACE_FIELDS("of", "bead that says the same");

/* Closes a bead with a reason, and relates it to the bead that replaces it. */
struct replacement {
	struct str id;
	const char *reason;
};

static enum err replace_step(struct edit *e, struct state *change, const void *body)
{
	const struct replacement *by = body;
	struct bead_row *to;
	enum err err;

	if ((err = find_bead(e->c, e->b, by->id, &to)) ||
	    (err = edit_depend(e, change, to, str_of(names_word(&edge_kinds, EDGE_RELATED)),
			       true)) ||
	    (err = edit_may_close(e)))
		return err;
	return edit_close(e, arena_fmt(&e->c->mem, "%s " STR_FMT, by->reason, STR_ARG(to->id)));
}

static enum err upstream_supersede_run(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	const struct body *in = body;
	struct replacement by = { in->with, "superseded by" };

	return edit_and_reply(c, s->beads, &in->ids, &in->guard, replace_step, &by, reply);
}

static enum err upstream_duplicate_run(struct call *c, struct stores *s, const void *body,
				       struct json *reply)
{
	const struct body *in = body;
	struct replacement by = { in->with, "duplicate of" };

	return edit_and_reply(c, s->beads, &in->ids, &in->guard, replace_step, &by, reply);
}

const struct op op_upstream_supersede = {
	.name = "upstream supersede",
	.help = "Close a bead that another one replaces",
	.flags = BEAD_WRITE,
	OP_BODY(struct body, supersede_fields),
	.reply = &beads_reply,
	.run = upstream_supersede_run,
};

const struct op op_upstream_duplicate = {
	.name = "upstream duplicate",
	.help = "Close a bead as a duplicate of another one",
	.flags = BEAD_WRITE,
	OP_BODY(struct body, duplicate_fields),
	.reply = &beads_reply,
	.run = upstream_duplicate_run,
};

/* --- finding duplicates --- */

struct twins {
	struct str title, *ids;
	size_t count;
};

struct twin_search {
	struct call *c;
	struct map groups; /* struct twins, by the content of their beads */
};

static bool twins_add(void *arg, const struct bead_row *row)
{
	struct twin_search *search = arg;
	struct arena *mem = &search->c->mem;
	const struct value *line = value_read(mem, row->line);
	struct str what = arena_fmt(mem, STR_FMT "\1" STR_FMT "\1" STR_FMT "\1" STR_FMT "\1%d",
				    STR_ARG(row->title), STR_ARG(value_str(line, "description")),
				    STR_ARG(value_str(line, "design")),
				    STR_ARG(value_str(line, "acceptance_criteria")), row->type);
	void **at = map_put(&search->groups, what);
	struct twins *twins = *at;

	if (!twins) {
		*at = twins = arena_new(mem, struct twins);
		*twins = (struct twins){ .title = arena_copy(mem, row->title) };
	}
	twins->ids = arena_room(mem, twins->ids, twins->count, sizeof *twins->ids);
	twins->ids[twins->count++] = arena_copy(mem, row->id);
	return true;
}

static const struct prop group_props[] = { { "title ids[] command", NULL }, { 0 } };

static const struct prop groups_props[] = {
	{ "duplicate_groups:int", NULL },
	{ "groups[]", group_props },
	{ 0 },
};

static void twins_encode(struct json *j, const struct twins *t)
{
	struct buf command = { .mem = j->out.mem };

	buf_put(&command, STR("bd duplicate"));
	json_object(j);
	json_put_str(j, "title", t->title);
	json_put_array(j, "ids");
	for (size_t i = 0; i < t->count; i++) {
		json_str(j, t->ids[i]);
		if (i)
			buf_fmt(&command, " " STR_FMT, STR_ARG(t->ids[i]));
	}
	json_end(j);
	buf_fmt(&command, " --of " STR_FMT, STR_ARG(t->ids[0]));
	json_put_str(j, "command", buf_str(&command));
	json_end(j);
}

static enum err upstream_duplicates_run(struct call *c, struct stores *s, const void *body,
					struct json *reply)
{
	struct twin_search search = { c, { .mem = &c->mem } };
	struct bead_filter open = { .statuses = 1u << BEAD_OPEN | 1u << BEAD_IN_PROGRESS,
				    .sort = SORT_CREATED,
				    .reverse = true,
				    .twins = true,
				    .visit = twins_add,
				    .arg = &search };
	struct json list = json_new(&c->mem);
	struct bead_row *rows;
	int64_t count = 0;
	enum err e = query_each(c, &s->beads->cache, &open, &rows);

	(void)body;
	json_array(&list);
	for (size_t i = 0; i < search.groups.count; i++) {
		const struct twins *t = search.groups.entry[i].value;

		if (t->count > 1) {
			twins_encode(&list, t);
			count++;
		}
	}
	json_end(&list);
	json_object(reply);
	json_put_int(reply, "duplicate_groups", count);
	json_put_raw(reply, "groups", json_text(&list));
	json_end(reply);
	return e;
}

const struct op op_upstream_duplicates = {
	.name = "upstream duplicates",
	.help = "List open beads with the same content",
	.more = "Compares type, title, description, design and acceptance criteria. The oldest of "
		"each group comes first.",
	.flags = BEAD_READ,
	.reply = &(const struct prop){ "duplicates", groups_props },
	.run = upstream_duplicates_run,
};
