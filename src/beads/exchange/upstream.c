#include "beads/exchange/upstream.h"

#include "base/moment.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/edge.h"

int upstream_status(struct str word, bool *exact)
{
	int status = names_exact(&bead_statuses, word);

	*exact = status >= 0;
	if (status < 0)
		status = names_value(&bead_statuses, word);
	if (status < 0)
		status = str_is(word, "done") ? BEAD_CLOSED : BEAD_OPEN;
	return status;
}

int upstream_type(struct str word, bool *exact)
{
	int type = names_exact(&bead_types, word);

	*exact = type >= 0;
	if (type < 0)
		type = names_value(&bead_types, word);
	return type < 0 ? BEAD_TASK : type;
}

static const char *upstream_kind_word(enum edge_kind kind)
{
	static const char *const words[] = {
		[EDGE_BLOCKS] = "blocks",
		[EDGE_PARENT] = "parent-child",
		[EDGE_RELATED] = "related",
		[EDGE_DISCOVERED_FROM] = "discovered-from",
	};

	return words[kind];
}

int upstream_kind(struct str word, bool *exact)
{
	int kind = names_value(&edge_kinds, word);

	if (str_is(word, "parent_child"))
		kind = EDGE_PARENT;
	if (kind < 0)
		kind = EDGE_RELATED;
	*exact = str_is(word, upstream_kind_word((enum edge_kind)kind));
	return kind;
}

struct str upstream_time(struct arena *mem, int64_t ms)
{
	struct str text = moment_format(mem, ms);
	static const struct str whole = { ".000Z", 5 };

	if (!str_ends(text, whole))
		return text;
	return arena_fmt(mem, STR_FMT "Z", STR_ARG(str_head(text, text.n - whole.n)));
}

/* --- the texts of members --- */

static size_t upstream_skip_space(struct str text, size_t i)
{
	while (i < text.n && strchr(" \t\r\n", text.p[i]))
		i++;
	return i;
}

static size_t upstream_skip_string(struct str text, size_t i)
{
	for (i++; i < text.n && text.p[i] != '"'; i++)
		i += text.p[i] == '\\';
	return i + 1;
}

static size_t upstream_skip_value(struct str text, size_t i)
{
	size_t depth = 0;

	do {
		char ch = text.p[i];

		if (ch == '"') {
			i = upstream_skip_string(text, i);
		} else {
			depth += ch == '{' || ch == '[';
			depth -= ch == '}' || ch == ']';
			i++;
		}
		while (!depth && i < text.n && !strchr(",}] \t\r\n", text.p[i]))
			i++;
	} while (depth && i < text.n);
	return i;
}

struct str *upstream_parts(struct arena *mem, struct str text, const struct value *v)
{
	struct str *out = arena_array(mem, v->count + 1, sizeof *out);
	size_t i = upstream_skip_space(text, 0) + 1;

	for (size_t n = 0; n < v->count; n++) {
		size_t begin;

		i = upstream_skip_space(text, i);
		if (v->type == VALUE_OBJECT) {
			i = upstream_skip_space(text, upstream_skip_string(text, i));
			i = upstream_skip_space(text, i + 1); /* the colon */
		}
		begin = i;
		i = upstream_skip_value(text, i);
		out[n] = (struct str){ text.p + begin, i - begin };
		i = upstream_skip_space(text, i) + 1; /* the comma, or the end */
	}
	return out;
}

/* --- dependencies --- */

static struct str upstream_edge_plain(struct arena *mem, const struct edge *e, struct str kind)
{
	struct json j = json_new(mem);
	int known = names_exact(&edge_kinds, e->kind);

	if (!kind.p)
		kind = known < 0 ? e->kind : str_of(upstream_kind_word((enum edge_kind)known));
	json_object(&j);
	json_put_str(&j, "issue_id", e->from);
	json_put_str(&j, "depends_on_id", e->to);
	json_put_str(&j, "type", kind);
	json_put_str(&j, "created_at", upstream_time(mem, e->created.at.ms));
	json_put_str(&j, "created_by", e->created.by);
	json_end(&j);
	return json_text(&j);
}

/* Does the item that was imported name the same two issues? */
static bool upstream_edge_same(const struct value *item, const struct edge *e)
{
	struct str from = value_str(item, "issue_id");

	return (!from.n || str_eq(from, e->from)) &&
	       str_eq(value_str(item, "depends_on_id"), e->to);
}

struct str upstream_edge_text(struct arena *mem, const struct edge *e)
{
	const struct value *more = e->more.p ? value_read(mem, e->more) : NULL;
	struct str text = value_str(more, UPSTREAM_KEPT);
	const struct value *item = text.p ? value_read(mem, text) : NULL;

	if (item && upstream_edge_same(item, e))
		return text;
	return upstream_edge_plain(mem, e, value_str(more, "original_kind"));
}

struct str upstream_edge_more(struct arena *mem, const struct edge *e, struct str original_kind,
			      struct str text)
{
	bool lasting = !str_eq(text, upstream_edge_plain(mem, e, original_kind));
	struct json j = json_new(mem);

	if (!lasting && !original_kind.n)
		return STR_NONE;
	json_object(&j);
	if (lasting)
		json_put_str(&j, UPSTREAM_KEPT, text);
	json_put_filled(&j, "original_kind", original_kind);
	json_end(&j);
	return json_text(&j);
}

/* --- keys --- */

static const struct names upstream_members =
	NAMES_OF("acceptance_criteria", "assignee", "close_reason", "closed_at", "closed_by",
		 "comments", "created_at", "closed_on_branch", "created_by", "created_on_branch",
		 "deleted_at", "deleted_by", "delete_reason", "dependencies", "description",
		 "design", "external_ref", "id", "issue_type", "labels", "notes", "priority",
		 "source_repo", "status", "title", "updated_at", "updated_by");

bool upstream_key_known(struct str key)
{
	return names_has(&upstream_members, key);
}

int upstream_extension(struct str key)
{
	static const enum member list[] = {
		MEMBER_DEFER_UNTIL, MEMBER_DUE_AT,     MEMBER_ESTIMATED_MINUTES,
		MEMBER_METADATA,    MEMBER_OWNER,      MEMBER_PINNED,
		MEMBER_SPEC_ID,     MEMBER_STARTED_AT, MEMBER_TOUCHES
	};

	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (str_is(key, names_word(&bead_members, list[i])))
			return list[i];
	return -1;
}
