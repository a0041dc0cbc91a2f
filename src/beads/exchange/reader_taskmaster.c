/*
 * task-master's tasks.json: an object of tags, each with tasks; older files have the tasks alone.
 * Tasks are numbered within each tag, and subtasks within each task.
 */
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/exchange/readers.h"
#include "beads/exchange/upstream.h"

/* The tasks of a tag while they are written. */
struct taskmaster {
	struct reader_lines lines;
	struct str prefix;           /* of the ids: "tm", or "tm-TAG" */
	struct str created, updated; /* times of the tag; or absent */
};

static struct str taskmaster_number(const struct value *v)
{
	return v && (v->type == VALUE_NUMBER || v->type == VALUE_STRING) ? v->text : STR_NONE;
}

static struct str taskmaster_id(struct taskmaster *t, struct str number)
{
	return arena_fmt(&t->lines.c->mem, STR_FMT "-" STR_FMT, STR_ARG(t->prefix),
			 STR_ARG(number));
}

static const char *taskmaster_status(struct str word)
{
	static const char *const closed[] = { "done", "completed", "cancelled", NULL };

	for (const char *const *w = closed; *w; w++)
		if (str_is(word, *w))
			return "closed";
	return str_is(word, "pending")     ? "open" :
	       str_is(word, "in-progress") ? "in_progress" :
					     NULL; /* kept unchanged */
}

static void taskmaster_put_edge(struct taskmaster *t, struct json *j, struct str from,
				struct str to, const char *kind)
{
	json_object(j);
	json_put_str(j, "issue_id", from);
	json_put_str(j, "depends_on_id", to);
	json_put_str(j, "type", str_of(kind));
	json_put_filled(j, "created_at", t->created);
	json_end(j);
}

/* A subtask names the others of its task by their numbers alone. */
static void taskmaster_put_edges(struct taskmaster *t, struct json *j, const struct value *v,
				 struct str id, struct str parent)
{
	const struct value *list = value_find(v, "dependencies");
	size_t count = list && list->type == VALUE_ARRAY ? list->count : 0;

	if (!count && !parent.p)
		return;
	json_put_array(j, "dependencies");
	if (parent.p)
		taskmaster_put_edge(t, j, id, taskmaster_id(t, parent), "parent-child");
	for (size_t i = 0; i < count && !reader_full(j); i++) {
		struct str number = taskmaster_number(&list->item[i]);
		bool local = parent.p && number.n && !memchr(number.p, '.', number.n);

		taskmaster_put_edge(
			t, j, id,
			taskmaster_id(t, local ? arena_fmt(&t->lines.c->mem, STR_FMT "." STR_FMT,
							   STR_ARG(parent), STR_ARG(number)) :
						 number),
			"blocks");
	}
	json_end(j);
}

static const struct names taskmaster_members =
	NAMES_OF("dependencies", "description", "details", "id", "priority", "status", "subtasks",
		 "testStrategy", "title", "updatedAt");

static void taskmaster_put_texts(struct json *j, const struct value *v)
{
	static const struct {
		const char *from, *to;
	} texts[] = { { "title", "title" },
		      { "description", "description" },
		      { "details", "design" },
		      { "testStrategy", "acceptance_criteria" } };

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (value_str(v, texts[i].from).n)
			json_put_str(j, texts[i].to, value_str(v, texts[i].from));
}

static enum err taskmaster_put_all(struct taskmaster *t, const struct value *tasks,
				   struct str parent);

static enum err taskmaster_put(struct taskmaster *t, const struct value *v, struct str parent)
{
	struct json j = json_new(&t->lines.c->mem);
	struct str own = reader_repeated(taskmaster_number(value_find(v, "id"))),
		   word = value_str(v, "status"),
		   number = parent.p ? arena_fmt(&t->lines.c->mem, STR_FMT "." STR_FMT,
						 STR_ARG(parent), STR_ARG(own)) :
				       own,
		   id = taskmaster_id(t, number), changed = value_str(v, "updatedAt");
	const struct value *subtasks = value_find(v, "subtasks");
	const char *status = taskmaster_status(word);
	enum err e;

	json_object(&j);
	if (own.n)
		json_put_str(&j, "id", id);
	taskmaster_put_texts(&j, v);
	json_put_str(&j, "status", status ? str_of(status) : word.n ? word : STR("open"));
	if (str_is(word, "cancelled"))
		json_put_str(&j, "close_reason", word);
	json_put_int(&j, "priority", reader_priority(value_str(v, "priority")));
	json_put_str(&j, "issue_type",
		     subtasks && subtasks->count && !parent.p ? STR("epic") : STR("task"));
	json_put_str(&j, "created_at", t->created);
	json_put_str(&j, "updated_at", changed.n ? changed : t->updated);
	if (status && str_is(str_of(status), "closed"))
		json_put_str(&j, "closed_at", changed.n ? changed : t->updated);
	taskmaster_put_edges(t, &j, v, id, parent);
	VALUE_EACH(one, v)
		if (!names_has(&taskmaster_members, one->key)) {
			json_key(&j, reader_key(&t->lines.c->mem, one->key, "taskmaster"));
			json_value(&j, one);
		}
	json_end(&j);
	e = reader_put(&t->lines, json_text(&j));
	return e || !own.n || parent.p ? e : taskmaster_put_all(t, subtasks, number);
}

/* The subtasks of a task, or the tasks of a tag. */
static enum err taskmaster_put_all(struct taskmaster *t, const struct value *tasks,
				   struct str parent)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && tasks && tasks->type == VALUE_ARRAY && i < tasks->count; i++)
		if (tasks->item[i].type == VALUE_OBJECT)
			e = taskmaster_put(t, &tasks->item[i], parent);
	return e;
}

/* A tag may have any name; an id may not. */
static struct str taskmaster_prefix(struct arena *mem, struct str tag)
{
	struct buf out = { .mem = mem };

	tag = reader_repeated(tag);
	buf_put(&out, STR("tm"));
	if (!tag.n || str_is(tag, "master"))
		return buf_str(&out);
	buf_char(&out, '-');
	for (size_t i = 0; i < tag.n; i++) {
		char lower = (char)(tag.p[i] | 0x20);
		bool plain = (lower >= 'a' && lower <= 'z') || (tag.p[i] >= '0' && tag.p[i] <= '9');

		buf_char(&out, plain ? tag.p[i] : '_');
	}
	return buf_str(&out);
}

static enum err taskmaster_put_tag(struct taskmaster *t, const struct value *tag, struct str name,
				   struct str when)
{
	const struct value *about = value_find(tag, "metadata");

	t->prefix = taskmaster_prefix(&t->lines.c->mem, name);
	t->created = reader_repeated(value_str(about, "created"));
	t->updated = reader_repeated(value_str(about, "updated"));
	t->updated = t->updated.n ? t->updated : when;
	t->created = t->created.n ? t->created : t->updated;
	return taskmaster_put_all(t, value_find(tag, "tasks"), STR_NONE);
}

enum err reader_taskmaster(struct call *c, struct str path, struct issue_source *out)
{
	struct taskmaster t = { .lines = { .c = c, .text.mem = &c->mem } };
	struct value_error error = { 0 };
	int64_t ms;
	const struct value *all, *tasks;
	struct str text, when;
	enum err e;

	if (path.p && file_is_dir(&c->mem, path)) {
		path = path_join(&c->mem, path, STR("tasks.json"));
		if ((e = reader_refuse_link(c, path, path)))
			return e;
	}
	if ((e = reader_text(c, path, &text)))
		return e;
	ms = path.p ? file_changed_ms(&c->mem, path) : c->now_ms;
	when = upstream_time(&c->mem, ms > 0 ? ms : c->now_ms);
	all = value_parse_bounded(&c->mem, text, READER_VALUES, &error);
	if (!all || all->type != VALUE_OBJECT)
		return reader_refuse(c, path, "an object of tags", all ? NULL : &error);
	t.lines.file = path.p ? path_name(path) : STR("-");
	t.lines.read = text.n;
	if ((tasks = value_find(all, "tasks")))
		e = taskmaster_put_tag(&t, all, STR_NONE, when);
	for (size_t i = 0; !e && !tasks && i < all->count; i++)
		e = taskmaster_put_tag(&t, &all->item[i], all->item[i].key, when);
	reader_add(c, out, t.lines.file, buf_str(&t.lines.text), false);
	return e;
}
