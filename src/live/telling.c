#include "live/telling.h"

struct json telling_begin(struct call *c)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	return j;
}

void telling_end(struct telling *t, const char *type, struct json *j)
{
	json_put_object(j, "from");
	json_put_str(j, "source", t->name);
	json_name(j, STR("to"));
	source_put_place(j, t->at);
	json_end(j);
	json_end(j);
	if (t->tell)
		t->tell(t->arg, type, json_text(j));
}

void telling_choose(struct telling *t, struct str name)
{
	t->name = name;
	t->at = source_of(t->s, name);
}

void telling_reset(struct telling *t)
{
	struct json j = telling_begin(t->c);

	telling_end(t, "reset", &j);
}

void telling_gone(struct telling *t, const char *const *heads)
{
	static const struct source nowhere;
	bool lost = false;

	for (; *heads; heads++)
		for (size_t i = 0; i < t->s->known.count; i++) {
			const struct map_entry *one = &t->s->known.entry[i];

			if (!str_starts(one->key, str_of(*heads)) ||
			    !memcmp(one->value, &nowhere, sizeof nowhere))
				continue;
			telling_choose(t, one->key);
			*t->at = nowhere;
			lost = true;
		}
	if (lost)
		telling_reset(t);
}

bool telling_has_changed(struct map *map, struct arena *mem, struct str key, struct str now)
{
	void **at = map_find(map, key);
	struct str *was;

	if (at && str_eq(*(struct str *)*at, now))
		return false;
	if (!at) {
		map->mem = mem;
		at = map_put(map, arena_copy(mem, key));
		*at = arena_new(mem, struct str);
	}
	was = *at;
	if (was->n == now.n && was->p) /* reuses the memory: the length rarely changes */
		memcpy((char *)was->p, now.p, now.n);
	else
		*was = arena_copy(mem, now);
	return true;
}
