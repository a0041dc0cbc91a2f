#include "continuity/memory.h"

#include "base/names.h"
#include "base/system/file.h"
#include "base/system/spawn.h"
#include "base/text/utf8.h"
#include "base/text/value.h"

const struct names memory_scopes = NAMES_OF("global", "project", "task", "agent");
const struct names memory_types = NAMES_OF("string", "number", "boolean", "json", "array");
const struct names memory_kinds = NAMES_OF("fact", "directive", "lesson");

enum { KEY_MOST = 500, VALUE_MOST = 1024 * 1024 };

/* Makes a scope's id the one that resume uses: a project may be given by its folder, a task by a
 * prefix of its id. */
static enum err memory_known_as(struct call *c, struct continuity *k, struct memory_where *where)
{
	struct file_found found;
	enum err e;

	switch (where->scope) {
	case SCOPE_PROJECT:
		if (!str_starts(where->id, STR("/")) || (e = file_look(c, where->id, &found)))
			return c->code;
		return found.kind == FILE_FOLDER ? continuity_project(c, where->id, &where->id) :
						   ERR_OK;
	case SCOPE_TASK:
		return continuity_task_id(c, k, &where->id);
	case SCOPE_AGENT:
		where->id = continuity_agent(c, where->id);
		return ERR_OK;
	default:
		return ERR_OK;
	}
}

enum err memory_where(struct call *c, struct continuity *k, struct memory_where *where)
{
	if (where->scope == SCOPE_GLOBAL && where->id.n)
		return call_fail(c, ERR_INVALID_INPUT,
				 "the scope 'global' has no scope id, not even '" STR_FMT "'",
				 STR_ARG(where->id));
	if (where->scope == SCOPE_AGENT && !where->id.n)
		where->id = c->actor;
	if ((where->scope == SCOPE_TASK || where->scope == SCOPE_AGENT) && !where->id.n) {
		call_fail(c, ERR_INVALID_INPUT, "the scope '%s' needs a scope id",
			  names_word(&memory_scopes, where->scope));
		return call_step(
			c,
			where->scope == SCOPE_TASK ?
				"Pass the task's id as --scope-id, or as \"scope_id\" in a push." :
				"Pass the agent's name as --scope-id or --agent.");
	}
	if (!where->id.p)
		where->id = STR("");
	return memory_known_as(c, k, where);
}

/* The type of a value, if none is given: that of the JSON, or string. */
static int memory_infer_type(struct call *c, struct str value)
{
	static const int inferred[] = {
		[VALUE_NULL] = TYPE_JSON,     [VALUE_BOOL] = TYPE_BOOLEAN,
		[VALUE_NUMBER] = TYPE_NUMBER, [VALUE_STRING] = TYPE_STRING,
		[VALUE_ARRAY] = TYPE_ARRAY,   [VALUE_OBJECT] = TYPE_JSON,
	};
	const struct value *v = value_read(&c->mem, value);

	return v ? inferred[v->type] : TYPE_STRING;
}

static enum err memory_check_value(struct call *c, int type, struct str value)
{
	const struct value *v = type == TYPE_STRING ? NULL : value_read(&c->mem, value);
	bool well = type == TYPE_STRING  ? utf8_valid(value) :
		    !v                   ? false :
		    type == TYPE_NUMBER  ? v->type == VALUE_NUMBER :
		    type == TYPE_BOOLEAN ? v->type == VALUE_BOOL :
		    type == TYPE_ARRAY   ? v->type == VALUE_ARRAY :
					   true;

	if (value.n > VALUE_MOST)
		return call_fail(c, ERR_INVALID_INPUT, "the value is longer than 1 MiB");
	if (well)
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT, "'" STR_FMT "' is not of the type '%s'",
			 STR_ARG(utf8_shorten(&c->mem, value, 60)),
			 names_word(&memory_types, type));
}

static enum err memory_check_key(struct call *c, struct str key)
{
	if (str_trim(key).n && key.n <= KEY_MOST && utf8_valid(key) && !utf8_has_control(key))
		return ERR_OK;
	return call_fail(c, ERR_INVALID_INPUT,
			 "a key must be 1 to %d bytes of text without control characters",
			 KEY_MOST);
}

static struct str memory_scope_word(const struct memory_where *where)
{
	return str_of(names_word(&memory_scopes, where->scope));
}

/* Notes the event, with the task if the scope is one. */
static enum err memory_note(struct call *c, struct continuity *k, const char *kind,
			    const struct memory_where *where, struct str key, int64_t *event)
{
	struct event_note n = { .kind = kind, .message = key };

	if (where->scope == SCOPE_TASK)
		n.task = where->id;
	if (where->scope == SCOPE_PROJECT)
		n.project = where->id;
	return continuity_note(c, k, &n, event);
}

static int memory_type(struct call *c, const struct memory_ask *ask)
{
	return ask->type < 0 ? memory_infer_type(c, ask->value) : ask->type;
}

enum err memory_check(struct call *c, const struct memory_ask *ask)
{
	enum err e = memory_check_key(c, ask->key);

	if (e || (e = memory_check_value(c, memory_type(c, ask), ask->value)))
		return e;
	if (ask->expires_ms && ask->expires_ms <= c->now_ms)
		return call_fail(c, ERR_INVALID_INPUT, "the expiry time is in the past");
	return ERR_OK;
}

enum err memory_set(struct call *c, struct continuity *k, const struct memory_ask *ask,
		    int64_t *event)
{
	int type = memory_type(c, ask);
	struct memory_row row = {
		.scope = memory_scope_word(&ask->where),
		.scope_id = ask->where.id,
		.key = ask->key,
		.value = ask->value,
		.type = str_of(names_word(&memory_types, type)),
		.kind = ask->kind < 0 ? STR_NONE : str_of(names_word(&memory_kinds, ask->kind)),
		.pinned = ask->pinned,
		.expires = ask->expires_ms,
	};
	enum err e = memory_check(c, ask);

	if (e || (e = vybe_memory_put(c, &k->db, &row)))
		return e;
	return memory_note(c, k, "memory_upserted", &ask->where, ask->key, event);
}

static bool memory_expired(const struct call *c, const struct memory_row *m)
{
	return m->expires && m->expires <= c->now_ms;
}

enum err memory_find(struct call *c, struct continuity *k, const struct memory_where *where,
		     struct str key, struct memory_row **out)
{
	enum err e = memory_check_key(c, key);

	if (e || (e = vybe_memory_find(c, &k->db, memory_scope_word(where), where->id, key, out)) ||
	    (*out && !memory_expired(c, *out)))
		return e;
	call_fail(c, ERR_NOT_FOUND, "there is no memory '" STR_FMT "' in the scope '%s'",
		  STR_ARG(key), names_word(&memory_scopes, where->scope));
	return call_step(
		c, "To list the memories of that scope: vybe memory list --scope %s%s" STR_FMT,
		names_word(&memory_scopes, where->scope), where->id.n ? " --scope-id " : "",
		STR_ARG(where->id.n ? spawn_word(&c->mem, where->id) : STR("")));
}

enum err memory_pin(struct call *c, struct continuity *k, const struct memory_where *where,
		    struct str key, bool pinned, int64_t *event)
{
	struct memory_row *m;
	enum err e;

	if ((e = memory_find(c, k, where, key, &m)) ||
	    (e = vybe_memory_pin(c, &k->db, m->id, pinned)))
		return e;
	return memory_note(c, k, pinned ? "memory_pinned" : "memory_unpinned", where, key, event);
}

enum err memory_delete(struct call *c, struct continuity *k, const struct memory_where *where,
		       struct str key, int64_t *event)
{
	struct memory_row *m;
	enum err e;

	if ((e = memory_find(c, k, where, key, &m)) || (e = vybe_memory_drop(c, &k->db, m->id)))
		return e;
	return memory_note(c, k, "memory_delete", where, key, event);
}

enum err memory_each(struct call *c, struct continuity *k, const struct memory_where *where,
		     int64_t limit, struct memory_row **out)
{
	return vybe_memory_each(c, &k->db, memory_scope_word(where), where->id, limit, out);
}
