#include "agents/agent_names.h"

#include "agents/registry.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text/json.h"
#include "base/text/value.h"

static const struct str names_file = { "names.json", 10 };

struct str agent_name_of_machine(struct arena *mem, struct str name, struct str machine_id,
				 size_t digits)
{
	enum { DIGEST = 8 };
	struct str end = str_head(machine_id, digits), head;

	if (!registry_id_valid(name) || name.n + 1 + end.n <= REGISTRY_ID_MOST)
		return arena_fmt(mem, STR_FMT "-" STR_FMT, STR_ARG(name), STR_ARG(end));
	head = str_head(name, REGISTRY_ID_MOST - 1 - DIGEST - 1 - end.n);
	if (head.p[head.n - 1] == '-') /* two dashes in a row are not valid */
		head.n--;
	return arena_fmt(mem, STR_FMT "-" STR_FMT "-" STR_FMT, STR_ARG(head),
			 STR_ARG(str_head(sha256_hex(mem, name), DIGEST)), STR_ARG(end));
}

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
		if (!out->p && str_eq(one->text, name)) /* the first name is the shortest one */
			*out = one->key;
	return ERR_OK;
}

/* Was this agent of another machine registered as `name`, and then renamed? */
static bool agent_name_was(struct call *c, struct str name, const struct registered *a)
{
	static const size_t digits[] = { AGENT_NAME_DIGITS, AGENT_NAME_DIGITS_ALL };
	bool was = false;

	for (size_t i = 0; !was && i < 2; i++)
		was = str_eq(a->id, agent_name_of_machine(&c->mem, name, a->machine_id, digits[i]));
	return was;
}

/* The agent of a machine that is, or was, called `name`; `machine` is absent for this one. */
static enum err agent_names_of(struct call *c, struct agent_files *f, struct str machine,
			       struct str name, struct str *out)
{
	struct registered *a;
	enum err e = registry_each(c, f, STR_NONE, STR_NONE, &a);

	*out = STR_NONE;
	for (; !e && a; a = a->next)
		if (str_eq(a->machine, machine) &&
		    (str_eq(a->id, name) || (!out->p && agent_name_was(c, name, a))))
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
