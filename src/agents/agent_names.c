#include "agents/agent_names.h"

#include "agents/registry.h"
#include "base/map.h"
#include "base/text/json.h"
#include "base/text/value.h"

static const struct str names_file = { "names.json", 10 };

enum err agent_names_put(struct call *c, struct agent_files *f, struct str machine,
			 const struct map *renamed)
{
	const struct map_entry **order = map_sorted(renamed, &c->mem);
	struct json j = json_new(&c->mem);
	struct str old;
	enum err e = agent_file_read(c, f, names_file, &old);

	json_object(&j);
	json_put_str(&j, "machine", machine);
	json_put_object(&j, "renamed");
	for (size_t i = 0; i < renamed->count; i++) {
		json_key(&j, order[i]->key);
		json_str(&j, *(const struct str *)order[i]->value);
	}
	json_end(&j);
	json_end(&j);
	buf_char(&j.out, '\n');
	return e || str_eq(old, buf_str(&j.out)) ?
		       e :
		       agent_file_swap(c, f, names_file, buf_str(&j.out));
}

enum err agent_names_before(struct call *c, struct agent_files *f, struct str name, struct str *out)
{
	const struct value *renamed;
	struct str text = STR_NONE;
	enum err e = f->home.p ? agent_file_read(c, f, names_file, &text) : ERR_OK;

	*out = STR_NONE;
	if (e || !text.p)
		return e;
	renamed = value_find(agent_snapshot_parse(&c->mem, text), "renamed");
	VALUE_EACH(one, renamed)
		if (str_eq(one->text, name))
			*out = one->key;
	return ERR_OK;
}

/* The agent of a machine that is, or was, called `name`; `machine` is absent for this one. */
static enum err agent_names_of(struct call *c, struct agent_files *f, struct str machine,
			       struct str name, struct str *out)
{
	struct str head = arena_fmt(&c->mem, STR_FMT "-", STR_ARG(name));
	struct registered *a;
	enum err e = registry_each(c, f, STR_NONE, STR_NONE, &a);

	*out = STR_NONE;
	for (; !e && a; a = a->next)
		if (str_eq(a->machine, machine) &&
		    (str_eq(a->id, name) ||
		     (!out->p && str_starts(a->id, head) && a->id.n == head.n + 4 &&
		      str_eq(str_skip(a->id, head.n), str_head(a->machine_id, 4)))))
			*out = a->id;
	return e;
}

enum err agent_names_find(struct call *c, struct agent_files *f, struct str *name, bool *renamed)
{
	const char *at = name->n ? memchr(name->p, '@', name->n) : NULL;
	const struct value *v;
	struct str text, found, machine;
	enum err e;

	if (renamed)
		*renamed = false;
	if (!f->home.p)
		return ERR_OK;
	if ((e = agent_file_read(c, f, names_file, &text)) || !text.p)
		return e;
	v = agent_snapshot_parse(&c->mem, text);
	found = value_text(value_member(value_find(v, "renamed"), *name));
	if (found.p && renamed)
		*renamed = true;
	if (!found.p && at) {
		machine = str_skip(*name, (size_t)(at - name->p) + 1);
		*name = str_head(*name, (size_t)(at - name->p));
		if (str_eq(machine, value_str(v, "machine"))) {
			found = value_text(value_member(value_find(v, "renamed"), *name));
			machine = STR_NONE;
		}
		if (!found.p && (e = agent_names_of(c, f, machine, *name, &found)))
			return e;
		if (!found.p)
			*name = arena_fmt(&c->mem, STR_FMT "@" STR_FMT, STR_ARG(*name),
					  STR_ARG(machine));
	}
	*name = found.p ? found : *name;
	return ERR_OK;
}
