/* The output of 'gh issue list --json number,title,body,state,…': an array of objects. */
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/exchange/readers.h"

static void github_put_text(struct json *j, const char *key, struct str text)
{
	if (text.n)
		json_put_str(j, key, text);
}

/* A person is an object with a login, or only the login. */
static struct str github_login(const struct value *v)
{
	struct str login = value_str(v, "login");

	return login.p ? login : value_text(v);
}

static const char *github_type(const struct value *labels)
{
	VALUE_EACH(one, labels) {
		struct str name = value_str(one, "name");

		if (str_is(name, "bug"))
			return "bug";
		if (str_is(name, "enhancement") || str_is(name, "feature"))
			return "feature";
		if (str_is(name, "epic"))
			return "epic";
	}
	return "task";
}

static void github_put_labels(struct json *j, const struct value *labels)
{
	if (!labels || labels->type != VALUE_ARRAY || !labels->count)
		return;
	json_put_array(j, "labels");
	VALUE_EACH(one, labels) {
		struct str name = value_str(one, "name");

		name = name.p ? name : value_text(one);
		if (name.n)
			json_str(j, name);
	}
	json_end(j);
}

static void github_put_comments(struct json *j, const struct value *comments, struct str id)
{
	if (!comments || comments->type != VALUE_ARRAY || !comments->count)
		return;
	json_put_array(j, "comments");
	VALUE_EACH(one, comments) {
		json_object(j);
		json_put_str(j, "issue_id", id);
		json_put_str(j, "author", github_login(value_find(one, "author")));
		json_put_str(j, "text", value_str(one, "body"));
		json_put_str(j, "created_at", value_str(one, "createdAt"));
		json_end(j);
	}
	json_end(j);
}

static bool github_is(struct str word, const char *upper, const char *lower)
{
	return str_is(word, upper) || str_is(word, lower);
}

/* Members that have no place in an issue of upstream stay under their own names. */
static const struct names github_members =
	NAMES_OF("assignees", "author", "body", "closedAt", "comments", "createdAt", "id", "labels",
		 "number", "state", "title", "updatedAt", "url");

static void github_put_issue(struct json *j, const struct value *v, struct str id)
{
	const struct value *who = value_find(v, "assignees");
	struct str url = value_str(v, "url"), state = value_str(v, "state");
	bool closed = github_is(state, "CLOSED", "closed");

	json_object(j);
	json_put_str(j, "id", id);
	github_put_text(j, "title", value_str(v, "title"));
	github_put_text(j, "description", value_str(v, "body"));
	json_put_str(j, "status", closed ? STR("closed") : STR("open"));
	json_put_int(j, "priority", 2);
	json_put_str(j, "issue_type", str_of(github_type(value_find(v, "labels"))));
	if (who && who->type == VALUE_ARRAY && who->count)
		github_put_text(j, "assignee", github_login(&who->item[0]));
	github_put_text(j, "created_at", value_str(v, "createdAt"));
	github_put_text(j, "created_by", github_login(value_find(v, "author")));
	github_put_text(j, "updated_at", value_str(v, "updatedAt"));
	if (closed)
		github_put_text(j, "closed_at", value_str(v, "closedAt"));
	json_put_str(j, "external_ref", url.n ? url : id);
	github_put_labels(j, value_find(v, "labels"));
	github_put_comments(j, value_find(v, "comments"), id);
	VALUE_EACH(one, v)
		if (!names_has(&github_members, one->key)) {
			json_key(j, reader_key(j->out.mem, one->key, "github"));
			json_value(j, one);
		}
	json_end(j);
}

enum err reader_github(struct call *c, struct str path, struct issue_source *out)
{
	struct value_error error = { 0 };
	struct reader_lines lines = { .c = c, .text.mem = &c->mem };
	const struct value *list;
	struct str text;
	enum err e = reader_text(c, path, &text);

	if (e)
		return e;
	list = value_parse_bounded(&c->mem, text, READER_VALUES, &error);
	if (!list || list->type != VALUE_ARRAY)
		return reader_refuse(c, path, "an array of issues", list ? NULL : &error);
	lines.file = path.p ? path : STR("-");
	lines.read = text.n;
	for (size_t i = 0; !e && i < list->count; i++) {
		const struct value *one = &list->item[i];
		struct json j = json_new(&c->mem);
		int64_t number;

		if (value_int(one, "number", &number))
			github_put_issue(&j, one, arena_fmt(&c->mem, "gh-%lld", (long long)number));
		else
			json_value(&j, one); /* to be reported */
		e = reader_put(&lines, json_text(&j));
	}
	reader_add(c, out, lines.file, buf_str(&lines.text), false);
	return e;
}
