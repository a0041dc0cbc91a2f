#include "surface/cli/bead_page.h"

#include "base/buf.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "op/op.h"

static const struct {
	const char *word;   /* on the page */
	const char *member; /* of the reply of 'bd show' */
	const char *field;  /* of 'bd update' */
} rows[] = {
	[PAGE_TITLE] = { "title", "title", "title" },
	[PAGE_STATUS] = { "status", "status", "status" },
	[PAGE_PRIORITY] = { "priority", "priority", "priority" },
	[PAGE_TYPE] = { "type", "type", "type" },
	[PAGE_ASSIGNEE] = { "assignee", "assignee", "assignee" },
	[PAGE_LABELS] = { "labels", "labels", "set_labels" },
	[PAGE_PARENT] = { "parent", "parent", "parent" },
	[PAGE_EXTERNAL_REF] = { "external_ref", "external_ref", "external_ref" },
	[PAGE_DESCRIPTION] = { "description", "description", "description" },
	[PAGE_DESIGN] = { "design", "design", "design" },
	[PAGE_ACCEPTANCE] = { "acceptance", "acceptance_criteria", "acceptance" },
};

const char *page_word(enum page_field f)
{
	return rows[f].word;
}

/* --- writing --- */

/* One line: text that could be read as something else is written as a JSON string. */
static struct str page_quote(struct arena *mem, struct str text)
{
	if (!text.n || (!utf8_has_control(text) && !memchr("\"[#", text.p[0], 3) &&
			str_trim(text).n == text.n))
		return text;
	return json_str_text(mem, text);
}

static bool page_is_simple_label(struct str label)
{
	return label.n && !memchr(label.p, ',', label.n) && !utf8_has_control(label) &&
	       !memchr("\"[#", label.p[0], 3) && str_trim(label).n == label.n;
}

/* "a, b", or a JSON array if a label has a comma in it. */
static struct str page_join_labels(struct arena *mem, const struct value *labels)
{
	struct buf plain = { .mem = mem };
	struct json j = json_new(mem);
	bool simple = true;

	for (size_t i = 0; labels && i < labels->count; i++) {
		simple = simple && page_is_simple_label(labels->item[i].text);
		buf_fmt(&plain, "%s" STR_FMT, i ? ", " : "", STR_ARG(labels->item[i].text));
	}
	if (simple)
		return buf_str(&plain);
	json_value(&j, labels);
	return json_text(&j);
}

static struct str page_member(struct arena *mem, const struct value *bead, enum page_field f)
{
	const struct value *member = value_find(bead, rows[f].member);

	if (f == PAGE_LABELS)
		return page_join_labels(mem, member);
	if (!member || member->type == VALUE_NULL)
		return STR("");
	return f < PAGE_DESCRIPTION ? page_quote(mem, member->text) : member->text;
}

/* A line that no text of the bead contains. */
static struct str page_choose_mark(struct arena *mem, const struct value *bead, enum page_field f)
{
	for (int i = 1;; i++) {
		struct str mark = i == 1 ? arena_fmt(mem, "<!-- %s -->", rows[f].word) :
					   arena_fmt(mem, "<!-- %s %d -->", rows[f].word, i);
		bool used = false;

		for (int k = PAGE_DESCRIPTION; k < PAGE_FIELDS; k++)
			used = used || str_has(page_member(mem, bead, (enum page_field)k), mark);
		if (!used)
			return mark;
	}
}

static void page_put_text(struct buf *out, struct str mark, struct str text)
{
	if (mark.p)
		buf_fmt(out, "\n" STR_FMT "\n", STR_ARG(mark));
	if (text.n)
		buf_fmt(out, "\n" STR_FMT "\n", STR_ARG(text));
}

struct bead_page page_write(struct arena *mem, const struct value *bead)
{
	struct bead_page page = { .id = value_str(bead, "id"),
				  .hash = value_str(bead, "content_hash"),
				  .updated_by = value_str(bead, "updated_by") };
	struct buf out = { .mem = mem };

	buf_fmt(&out,
		"---\n# " STR_FMT ": save and quit to write, quit without a change to cancel.\n"
		"# status: open, in_progress, closed. type: bug, feature, task, epic, chore.\n",
		STR_ARG(page.id));
	for (int i = 0; i < PAGE_DESCRIPTION; i++) {
		struct str value = page_member(mem, bead, (enum page_field)i);

		buf_fmt(&out, "%s:%s" STR_FMT "\n", rows[i].word, value.n ? " " : "",
			STR_ARG(value));
	}
	buf_put(&out, STR("---\n"));
	for (int i = PAGE_DESCRIPTION; i < PAGE_FIELDS; i++) {
		enum page_field f = (enum page_field)i;

		if (f > PAGE_DESCRIPTION)
			page.mark[f] = page_choose_mark(mem, bead, f);
		page_put_text(&out, page.mark[f], page_member(mem, bead, f));
	}
	page.text = buf_str(&out);
	return page;
}

/* --- reading --- */

static int page_field_of(struct str word)
{
	for (int i = 0; i < PAGE_DESCRIPTION; i++)
		if (str_is(word, rows[i].word))
			return i;
	return -1;
}

static enum err page_read_line(struct call *c, struct str line, size_t number,
			       struct bead_page *out)
{
	struct str rest = line, word;
	int f;

	str_next(&rest, ':', &word);
	f = rest.p ? page_field_of(str_trim(word)) : -1;
	if (f < 0)
		return call_fail(c, ERR_INVALID_INPUT, "line %zu: '" STR_FMT "' is not a field",
				 number, STR_ARG(utf8_shorten(&c->mem, line, 60)));
	if (out->value[f].p)
		return call_fail(c, ERR_INVALID_INPUT, "line %zu: '%s' is there twice", number,
				 rows[f].word);
	out->value[f] = str_trim(rest);
	return ERR_OK;
}

/* The lines between the first two "---". */
static enum err page_read_front(struct call *c, struct str *text, struct bead_page *out)
{
	struct str line;
	size_t number = 1;
	enum err e = ERR_OK;

	if (!str_next(text, '\n', &line) || !str_is(str_trim(line), "---"))
		return call_fail(c, ERR_INVALID_INPUT, "line 1: the first line has to be '---'");
	while (!e && str_next(text, '\n', &line)) {
		number++;
		line = str_trim(line);
		if (str_is(line, "---"))
			return ERR_OK;
		if (line.n && line.p[0] != '#')
			e = page_read_line(c, line, number, out);
	}
	return e ? e :
		   call_fail(c, ERR_INVALID_INPUT, "the line '---' after the fields is missing");
}

static struct str page_trim(struct str text)
{
	while (text.n && (text.p[0] == '\n' || text.p[0] == '\r'))
		text = str_skip(text, 1);
	while (text.n && memchr("\r\n \t", text.p[text.n - 1], 4))
		text.n--;
	return text.n ? text : STR("");
}

enum err page_read(struct call *c, const struct bead_page *from, struct str text,
		   struct bead_page *out)
{
	const char *begin;
	struct str line;
	int f = PAGE_DESCRIPTION;
	enum err e;

	*out = (struct bead_page){ .text = text, .id = from->id, .hash = from->hash };
	if ((e = page_read_front(c, &text, out)))
		return e;
	begin = text.p ? text.p : "";
	out->value[f] = page_trim(text);
	while (str_next(&text, '\n', &line))
		for (int i = PAGE_DESCRIPTION + 1; i < PAGE_FIELDS; i++) {
			if (!str_eq(str_trim(line), from->mark[i]))
				continue;
			out->value[f] = page_trim((struct str){ begin, (size_t)(line.p - begin) });
			begin = line.p + line.n;
			f = i;
			out->value[f] = page_trim(text);
		}
	for (int i = PAGE_DESCRIPTION + 1; i < PAGE_FIELDS; i++)
		if (!out->value[i].p)
			return call_fail(c, ERR_INVALID_INPUT, "the line '" STR_FMT "' is missing",
					 STR_ARG(from->mark[i]));
	return ERR_OK;
}

bool page_differs(const struct bead_page *a, const struct bead_page *b, enum page_field f)
{
	return b->value[f].p && !str_eq(a->value[f], b->value[f]);
}

/* --- the request --- */

static enum err page_set(struct call *c, struct request *update, enum page_field f, struct str text)
{
	size_t i = 0;

	while (strcmp(update->op->fields[i].name, rows[f].field) != 0)
		i++;
	return request_set(c, update, i, text);
}

static enum err page_not_json(struct call *c, enum page_field f, struct str text)
{
	return call_fail(c, ERR_INVALID_INPUT, "%s: " STR_FMT " is not valid JSON", rows[f].word,
			 STR_ARG(utf8_shorten(&c->mem, text, 60)));
}

static enum err page_put_labels(struct call *c, struct str text, struct request *update)
{
	const struct value *list = text.n && text.p[0] == '[' ? value_read(&c->mem, text) : NULL;
	struct str label;
	enum err e = text.n ? ERR_OK : page_set(c, update, PAGE_LABELS, text);

	if (text.n && text.p[0] == '[' && (!list || list->type != VALUE_ARRAY))
		return page_not_json(c, PAGE_LABELS, text);
	for (size_t i = 0; !e && list && i < list->count; i++)
		e = page_set(c, update, PAGE_LABELS, list->item[i].text);
	while (!e && !list && str_next(&text, ',', &label))
		if (str_trim(label).n)
			e = page_set(c, update, PAGE_LABELS, str_trim(label));
	return e;
}

enum err page_put(struct call *c, const struct bead_page *page, enum page_field f,
		  struct request *update)
{
	struct str text = page->value[f];
	const struct value *quoted;

	if (f == PAGE_LABELS)
		return page_put_labels(c, text, update);
	if (f < PAGE_DESCRIPTION && text.n && text.p[0] == '"') {
		quoted = value_read(&c->mem, text);
		if (!quoted || quoted->type != VALUE_STRING)
			return page_not_json(c, f, text);
		text = quoted->text;
	}
	return page_set(c, update, f, text);
}
