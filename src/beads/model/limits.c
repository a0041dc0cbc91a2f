#include "beads/model/limits.h"

#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/model/line.h"

enum {
	SMALL_LINE = 16 << 10,   /* bytes; a shorter line cannot reach any limit of counts */
	SMALL_CHANGE = 64 << 10, /* bytes that a change to a few members may add */
};

struct measure {
	size_t bytes, values, notes, members;
};

/* As value_parse_bounded() counts them. */
static size_t measure_values(const struct value *v)
{
	size_t count = v->count;

	VALUE_EACH(one, v)
		count += measure_values(one);
	return count;
}

/* A value takes at least two bytes, so most lines need not be parsed to be counted. */
static struct measure measure_after(struct arena *mem, const struct growth *g)
{
	struct measure out = { .bytes = g->after.n,
			       .notes = g->bead->notes,
			       .members = g->bead->extras };

	if (g->after.n > 2 * (size_t)LIMIT_OWN_VALUES)
		out.values = measure_values(value_read(mem, g->after));
	return out;
}

static struct measure measure_before(struct arena *mem, const struct growth *g)
{
	const struct value *v = g->before.p ? value_read(mem, g->before) : NULL;
	struct bead old;
	struct str why;

	if (g->restored)
		v = value_find(v, "bead");
	if (!v || !line_decode(mem, v, &old, &why))
		return (struct measure){ 0 };
	return (struct measure){ .bytes = g->restored ? json_canonical_text(mem, v).n : g->before.n,
				 .values = measure_values(v),
				 .notes = old.notes,
				 .members = old.extras };
}

static bool excess_found(size_t before, size_t after, size_t own, size_t most, const char *what,
			 struct excess *out)
{
	if (after <= most && (after <= own || after <= before))
		return false;
	*out = (struct excess){ after, own, what };
	return true;
}

bool limits_allow(struct arena *mem, const struct growth *g, struct excess *out)
{
	bool other = g->restored || g->copied, small;
	struct measure old, new;

	if (g->after.n <= SMALL_LINE)
		return true;
	old = measure_before(mem, g);
	new = measure_after(mem, g);
	small = new.notes <= old.notes &&new.bytes < old.bytes + SMALL_CHANGE;
	return !excess_found(old.notes, new.notes, other ? LIMIT_NOTES : LIMIT_OWN_NOTES,
			     LIMIT_NOTES, "comments", out) &&
	       !excess_found(old.members, new.members, other ? LIMIT_MEMBERS : LIMIT_OWN_MEMBERS,
			     LIMIT_MEMBERS, "extra members", out) &&
	       !excess_found(old.values, new.values, other ? LIMIT_VALUES : LIMIT_OWN_VALUES,
			     LIMIT_VALUES, "JSON values", out) &&
	       !excess_found(old.bytes, new.bytes,
			     other ? LIMIT_LINE :
			     small ? LIMIT_OWN_FULL :
				     LIMIT_OWN_LINE,
			     LIMIT_LINE, "bytes", out);
}
