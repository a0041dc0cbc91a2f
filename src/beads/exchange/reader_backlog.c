/*
 * Backlog.md: one Markdown file per task in backlog/tasks and backlog/completed. Each begins with
 * YAML between two lines "---": scalars, and lists of scalars. Sections follow; some are marked by
 * comments. Sections that an issue has no member for go into its description; other keys are kept
 * under their own names.
 */
#include "base/buf.h"
#include "base/map.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "beads/exchange/readers.h"

/* --- YAML --- */

struct yaml_item {
	struct str text;
	struct yaml_item *next;
};

struct yaml_entry {
	struct str key;
	struct yaml_item *items, *last;
	struct buf block; /* the lines below ">-" or "|" */
	bool list;
	struct yaml_entry *next;
};

/* Removes quotes: in single ones a quote is doubled, in double ones a backslash comes first. */
static struct str yaml_scalar(struct arena *mem, struct str text)
{
	struct buf out = { .mem = mem };
	char quote;

	text = str_trim(text);
	if (text.n < 2 || (text.p[0] != '\'' && text.p[0] != '"') ||
	    text.p[text.n - 1] != text.p[0])
		return text;
	quote = text.p[0];
	for (size_t i = 1; i + 1 < text.n; i++) {
		char ch = text.p[i];

		if (quote == '\'' && ch == '\'' && text.p[i + 1] == '\'' && i + 2 < text.n)
			i++;
		if (quote == '"' && ch == '\\' && i + 2 < text.n) {
			ch = text.p[++i];
			ch = ch == 'n' ? '\n' : ch == 't' ? '\t' : ch;
		}
		buf_char(&out, ch);
	}
	return buf_str(&out);
}

static void yaml_add(struct arena *mem, struct yaml_entry *entry, struct str text)
{
	struct yaml_item *item = arena_new(mem, struct yaml_item);

	item->text = yaml_scalar(mem, text);
	*(entry->last ? &entry->last->next : &entry->items) = item;
	entry->last = item;
}

/* "[a, 'b']" */
static void yaml_add_inline(struct arena *mem, struct yaml_entry *entry, struct str text)
{
	struct str rest = { text.p + 1, text.n - 2 }, one;

	entry->list = true;
	while (rest.n && str_next(&rest, ',', &one))
		if (str_trim(one).n)
			yaml_add(mem, entry, one);
}

/* Lines below ">-" or "|" are one text. */
static void yaml_add_folded(struct arena *mem, struct yaml_entry *entry, struct str line,
			    char between)
{
	if (!entry->items)
		yaml_add(mem, entry, STR(""));
	entry->block.mem = mem;
	if (entry->block.n)
		buf_char(&entry->block, between);
	buf_put(&entry->block, str_trim(line));
	entry->items->text = buf_str(&entry->block);
}

static bool yaml_is_block(struct str value)
{
	return value.n && value.n <= 2 && (value.p[0] == '>' || value.p[0] == '|');
}

static struct yaml_entry *yaml_read(struct arena *mem, struct str text)
{
	struct yaml_entry *first = NULL, **tail = &first, *now = NULL;
	struct str line;
	char block = 0;

	while (text.n && str_next(&text, '\n', &line)) {
		struct str trimmed = str_trim(line), value = line, key;
		bool indented =
			line.n && (line.p[0] == ' ' || line.p[0] == '\t' || line.p[0] == '-');

		if (!trimmed.n || trimmed.p[0] == '#')
			continue;
		if (now && block && indented) {
			yaml_add_folded(mem, now, line, block);
		} else if (now && indented && str_starts(trimmed, STR("- "))) {
			now->list = true;
			yaml_add(mem, now, str_skip(trimmed, 2));
		} else if (!indented && str_next(&value, ':', &key) && value.p) {
			*tail = now = arena_new(mem, struct yaml_entry);
			tail = &now->next;
			now->key = str_trim(key);
			value = str_trim(value);
			block = yaml_is_block(value) ? (value.p[0] == '>' ? ' ' : '\n') : 0;
			if (block)
				continue;
			if (value.n > 1 && value.p[0] == '[' && value.p[value.n - 1] == ']')
				yaml_add_inline(mem, now, value);
			else if (value.n)
				yaml_add(mem, now, value);
		}
	}
	return first;
}

static const struct yaml_entry *yaml_find(const struct yaml_entry *e, const char *key)
{
	while (e && !str_is(e->key, key))
		e = e->next;
	return e;
}

static struct str yaml_text(const struct yaml_entry *e, const char *key)
{
	e = yaml_find(e, key);
	return e && e->items ? e->items->text : STR_NONE;
}

/* --- a task --- */

static const char *const section_keys[] = { "description", "acceptance_criteria", "design",
					    "notes" };

static const struct names section_titles = NAMES_OF("Description", "Acceptance Criteria",
						    "Implementation Plan", "Implementation Notes");

static void backlog_put_texts(struct arena *mem, struct json *j, struct str body)
{
	struct buf part[4];
	struct str line;
	int at = 0;

	for (int i = 0; i < 4; i++)
		part[i] = (struct buf){ .mem = mem };
	while (body.n && str_next(&body, '\n', &line)) {
		struct str trimmed = str_trim(line);
		int section = str_starts(line, STR("## ")) ?
				      names_exact(&section_titles, str_trim(str_skip(line, 3))) :
				      -1;

		if (section >= 0) {
			at = section;
			continue;
		}
		if (str_starts(line, STR("## "))) /* of unknown meaning: stays in the description */
			at = 0;
		if (str_starts(trimmed, STR("<!--")) && str_ends(trimmed, STR("-->")) &&
		    (str_has(trimmed, STR("SECTION:")) || str_has(trimmed, STR("AC:"))))
			continue;
		buf_put(&part[at], line);
		buf_char(&part[at], '\n');
	}
	for (int i = 0; i < 4; i++)
		if (str_trim(buf_str(&part[i])).n)
			json_put_str(j, section_keys[i], str_trim(buf_str(&part[i])));
}

static struct str backlog_status(struct str word)
{
	return !word.n || str_is(word, "To Do") ? STR("open") :
	       str_is(word, "In Progress")      ? STR("in_progress") :
	       str_is(word, "Done")             ? STR("closed") :
						  word;
}

/* "2025-06-07 10:00" and "2025-06-07" are times in UTC. */
static struct str backlog_time(struct arena *mem, struct str text)
{
	if (text.n == 10)
		return arena_fmt(mem, STR_FMT "T00:00:00Z", STR_ARG(text));
	if (text.n == 16)
		return arena_fmt(mem, STR_FMT "T" STR_FMT ":00Z", STR_ARG(str_head(text, 10)),
				 STR_ARG(str_skip(text, 11)));
	return text;
}

static void backlog_put_edges(struct json *j, const struct yaml_entry *head, struct str id,
			      struct str when)
{
	const struct yaml_entry *deps = yaml_find(head, "dependencies");
	struct str parent = yaml_text(head, "parent_task_id");
	struct yaml_item one = { .text = parent, .next = deps ? deps->items : NULL };
	const struct yaml_item *item = parent.n ? &one : one.next;

	if (!item)
		return;
	json_put_array(j, "dependencies");
	for (; item && !reader_full(j); item = item->next) {
		json_object(j);
		json_put_str(j, "issue_id", id);
		json_put_str(j, "depends_on_id", item->text);
		json_put_str(j, "type", item == &one ? STR("parent-child") : STR("blocks"));
		json_put_str(j, "created_at", when);
		json_end(j);
	}
	json_end(j);
}

static void backlog_put_labels(struct json *j, const struct yaml_entry *labels)
{
	if (!labels || !labels->items)
		return;
	json_put_array(j, "labels");
	for (const struct yaml_item *item = labels->items; item; item = item->next)
		json_str(j, item->text);
	json_end(j);
}

static const struct names backlog_members =
	NAMES_OF("assignee", "created_date", "dependencies", "id", "labels", "parent_task_id",
		 "priority", "reporter", "status", "title", "updated_date");

static void backlog_put_others(struct json *j, const struct yaml_entry *e)
{
	struct map seen = { .mem = j->out.mem };

	for (; e; e = e->next) {
		struct str key = reader_key(j->out.mem, e->key, "backlog");

		if (names_has(&backlog_members, e->key) || !key.n || map_find(&seen, key))
			continue;
		map_put(&seen, key);
		json_key(j, key);
		if (e->list)
			json_array(j);
		else if (!e->items)
			json_null(j);
		for (const struct yaml_item *item = e->items; item; item = item->next)
			json_str(j, item->text);
		if (e->list)
			json_end(j);
	}
}

static void backlog_put_head(struct arena *mem, struct json *j, const struct yaml_entry *head)
{
	struct str created = backlog_time(mem, yaml_text(head, "created_date")),
		   updated = backlog_time(mem, yaml_text(head, "updated_date")),
		   id = yaml_text(head, "id"), who = yaml_text(head, "assignee"),
		   status = backlog_status(yaml_text(head, "status"));

	updated = updated.n ? updated : created;
	json_put_filled(j, "id", id);
	json_put_str(j, "title", yaml_text(head, "title"));
	json_put_str(j, "status", status);
	json_put_int(j, "priority", reader_priority(yaml_text(head, "priority")));
	json_put_str(j, "assignee", who.n && who.p[0] == '@' ? str_skip(who, 1) : who);
	json_put_str(j, "created_at", created);
	json_put_str(j, "created_by", yaml_text(head, "reporter"));
	json_put_str(j, "updated_at", updated);
	if (str_is(status, "closed"))
		json_put_str(j, "closed_at", updated);
	backlog_put_labels(j, yaml_find(head, "labels"));
	backlog_put_edges(j, head, reader_repeated(id), reader_repeated(created));
	backlog_put_others(j, head);
}

struct str backlog_line(struct arena *mem, struct str text)
{
	struct json j = json_new(mem);
	struct str rest = utf8_clean(mem, text), line = { 0 }, head = { 0 };
	const char *begin;

	if (!str_next(&rest, '\n', &line) || !str_is(str_trim(line), "---") || !rest.p)
		return STR_NONE;
	begin = rest.p;
	while (rest.n && str_next(&rest, '\n', &line))
		if (str_is(str_trim(line), "---")) {
			head = (struct str){ begin, (size_t)(line.p - begin) };
			break;
		}
	if (!head.p)
		return STR_NONE;
	json_object(&j);
	backlog_put_head(mem, &j, yaml_read(mem, head));
	backlog_put_texts(mem, &j, rest.p ? rest : STR(""));
	json_end(&j);
	return json_text(&j);
}

/* --- the folder --- */

static void backlog_see(void *arg, struct str name)
{
	struct map *names = arg;

	if (str_ends(name, STR(".md")))
		map_put(names, arena_copy(names->mem, name));
}

static enum err backlog_read_folder(struct call *c, struct str dir, struct issue_source *out)
{
	struct map names = { .mem = &c->mem };
	const struct map_entry **order;
	enum err e = file_each(c, dir, backlog_see, &names);

	order = map_sorted(&names, &c->mem);
	for (size_t i = 0; !e && i < names.count; i++) {
		struct reader_lines lines = { .c = c, .file = order[i]->key, .text.mem = &c->mem };
		struct str text, line;

		if ((e = file_own_read(c, path_join(&c->mem, dir, order[i]->key), &text)))
			break;
		line = text.p ? backlog_line(&c->mem, text) : STR_NONE;
		lines.read = text.n;
		if (line.p)
			e = reader_put(&lines, line);
		reader_add(c, out, lines.file, buf_str(&lines.text), false);
		if (!line.p)
			out->last->unfit = "the file has no front matter";
	}
	return e;
}

enum err reader_backlog(struct call *c, struct str path, struct issue_source *out)
{
	struct str tasks, done;
	enum err e;

	if (!path.p || !file_is_dir(&c->mem, path))
		return call_fail(c, ERR_INVALID_INPUT,
				 "'" STR_FMT "' is not a folder with the tasks of Backlog.md",
				 STR_ARG(path));
	tasks = path_join(&c->mem, path, STR("tasks"));
	if (file_is_dir(&c->mem, tasks)) {
		if ((e = reader_refuse_link(c, tasks, tasks)))
			return e;
		path = tasks;
	}
	done = path_join(&c->mem, path_parent(path), STR("completed"));
	if ((e = backlog_read_folder(c, path, out)) || !str_is(path_name(path), "tasks") ||
	    (e = reader_refuse_link(c, done, done)))
		return e;
	return backlog_read_folder(c, done, out);
}
