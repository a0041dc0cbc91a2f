#include "op/field.h"

#include "base/text/json.h"
#include "base/text/value.h"
#include "op/kinds.h"

struct str field_flag(struct arena *mem, const struct field *f)
{
	char *flag;

	if (f->flag)
		return str_of(f->flag);
	flag = arena_alloc(mem, strlen(f->name) + 1);
	for (size_t i = 0; f->name[i]; i++)
		flag[i] = f->name[i] == '_' ? '-' : f->name[i];
	return str_of(flag);
}

bool field_on_wire(const struct field *f)
{
	return !(f->flags & FIELD_CLI) ||
	       (!(f->flags & (FIELD_FILE | FIELD_PLACE)) && f->kind != &kind_input &&
		f->kind != &kind_path && f->kind != &kind_ref);
}

bool field_can_be_handed(const struct field *f)
{
	return field_on_wire(f) || f->kind != &kind_path;
}

const char *field_label(struct call *c, const struct field *f)
{
	if (c->wire)
		return f->name;
	if (f->flags & FIELD_PLACE)
		return f->arg ? f->arg : f->kind->arg;
	return arena_fmt(&c->mem, "--" STR_FMT, STR_ARG(field_flag(&c->mem, f))).p;
}

static void *field_value(const struct field *f, const void *body)
{
	return (char *)body + f->at;
}

static void kind_clear(const struct kind *kind, void *at)
{
	if (kind->none)
		memcpy(at, kind->none, kind->size);
	else
		memset(at, 0, kind->size);
}

/* Appends a cleared item to the field's list. */
static enum err field_append(struct call *c, const struct field *f, struct list *list, void **item)
{
	size_t size = f->kind->size;

	if (f->most && list->n == f->most)
		return call_fail(c, INVALID(f), "%s has more than %zu items", field_label(c, f),
				 f->most);
	list->item = arena_room(&c->mem, list->item, list->n, size);
	*item = (char *)list->item + list->n++ * size;
	kind_clear(f->kind, *item);
	return ERR_OK;
}

static enum err field_target(struct call *c, const struct field *f, void *body, void **at)
{
	*at = field_value(f, body);
	return f->flags & FIELD_LIST ? field_append(c, f, *at, at) : ERR_OK;
}

static enum err field_add_text(struct call *c, const struct field *f, struct str text, void *body)
{
	void *at;
	enum err e = field_target(c, f, body, &at);

	return e ? e : f->kind->from_text(c, f, text, at);
}

enum err field_from_text(struct call *c, const struct field *f, struct str text, void *body)
{
	struct list *list = field_value(f, body);
	struct str item, rest = text;
	enum err e = ERR_OK;

	if (!(f->flags & FIELD_COMMAS) || (f->min && !str_trim(text).n))
		return field_add_text(c, f, text, body);
	if (!list->item)
		list->item = arena_alloc(&c->mem, 1); /* an empty list counts as given */
	while (!e && str_next(&rest, ',', &item))
		if (str_trim(item).n)
			e = field_add_text(c, f, str_trim(item), body);
	return e;
}

static enum err kind_from_json(struct call *c, const struct field *f, const struct value *v,
			       void *at)
{
	if (f->kind->from_json)
		return f->kind->from_json(c, f, v, at);
	if (v->type != VALUE_STRING)
		return kind_fail_type(c, f);
	return f->kind->from_text(c, f, v->text, at);
}

enum err field_from_json(struct call *c, const struct field *f, const struct value *v, void *body)
{
	void *at;
	enum err e;

	if (v->type == VALUE_NULL)
		return ERR_OK; /* null counts as not given */
	if (!(f->flags & FIELD_LIST))
		return kind_from_json(c, f, v, field_value(f, body));
	if (v->type != VALUE_ARRAY)
		return call_fail(c, ERR_USAGE, "%s must be an array", field_label(c, f));
	((struct list *)field_value(f, body))->item = arena_alloc(&c->mem, 1);
	VALUE_EACH(one, v)
		if ((e = field_target(c, f, body, &at)) || (e = kind_from_json(c, f, one, at)))
			return e;
	return ERR_OK;
}

void field_clear(const struct field *f, void *body)
{
	if (f->flags & FIELD_LIST)
		*(struct list *)field_value(f, body) = (struct list){ 0 };
	else
		kind_clear(f->kind, field_value(f, body));
}

void field_to_json(struct json *j, const struct field *f, const void *body)
{
	const struct list *list = field_value(f, body);

	if (!(f->flags & FIELD_LIST)) {
		f->kind->to_json(j, f, list);
		return;
	}
	json_array(j);
	for (size_t i = 0; i < list->n; i++)
		f->kind->to_json(j, f, (char *)list->item + i * f->kind->size);
	json_end(j);
}

static void field_put_type(struct json *j, const struct field *f)
{
	if (f->kind->type)
		json_put_str(j, "type", str_of(f->kind->type));
	if (f->kind->schema)
		f->kind->schema(j, f);
}

void field_schema_members(struct json *j, const struct field *f)
{
	if (f->flags & FIELD_LIST) {
		json_put_str(j, "type", STR("array"));
		json_put_object(j, "items");
		field_put_type(j, f);
		json_end(j);
	} else {
		field_put_type(j, f);
	}
	if (f->help)
		json_put_str(j, "description", str_of(f->help));
}

void field_schema(struct json *j, const struct field *f)
{
	json_object(j);
	field_schema_members(j, f);
	json_end(j);
}
