#include "live/feed_round.h"

struct json feed_round_begin(struct call *c)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	return j;
}

void feed_round_end(struct feed_round *t, const char *type, struct json *j)
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

void feed_round_choose(struct feed_round *t, struct str name)
{
	t->name = name;
	t->at = source_of(t->s, name);
}

void feed_round_reset(struct feed_round *t)
{
	struct json j = feed_round_begin(t->c);

	feed_round_end(t, "reset", &j);
}

void feed_round_gone(struct feed_round *t, const char *const *heads)
{
	static const struct source nowhere;
	bool lost = false;

	for (; *heads; heads++)
		for (size_t i = 0; i < t->s->known.count; i++) {
			const struct map_entry *one = &t->s->known.entry[i];

			if (!str_starts(one->key, str_of(*heads)) ||
			    !memcmp(one->value, &nowhere, sizeof nowhere))
				continue;
			feed_round_choose(t, one->key);
			*t->at = nowhere;
			lost = true;
		}
	if (lost)
		feed_round_reset(t);
}

bool feed_round_has_changed(struct map *map, struct arena *mem, struct str key, struct str now)
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
