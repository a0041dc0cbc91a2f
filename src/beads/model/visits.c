#include "beads/model/visits.h"

#include "base/text/json.h"

struct visits visits_new(struct arena *mem)
{
	return (struct visits){ .mem = mem, .known.mem = mem };
}

static struct str visit_key(struct arena *mem, struct str id, const struct mark *created)
{
	struct json j = json_new(mem);

	json_array(&j);
	json_str(&j, id);
	if (created)
		mark_encode(&j, *created);
	json_end(&j);
	return json_text(&j);
}

void visits_add(struct visits *v, struct str id, const struct mark *created)
{
	void **at = map_put(&v->known, visit_key(v->mem, id, created));
	struct visit *one;
	struct mark *copy = NULL;

	if (*at)
		return;
	if (created) { /* the caller's mark may move in memory */
		copy = arena_new(v->mem, struct mark);
		*copy = *created;
	}
	*at = one = arena_new(v->mem, struct visit);
	*one = (struct visit){ .id = id, .created = copy };
	if (v->first)
		*v->last = one;
	else
		v->first = one;
	v->last = &one->next;
}

const struct visit *visits_next(struct visits *v)
{
	const struct visit *one = v->first;

	if (one)
		v->first = one->next;
	return one;
}
