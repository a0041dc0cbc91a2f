#include "unit/beads/states.h"

#include "beads/model/note.h"
#include "beads/model/state.h"

#define COUNT(row) (sizeof(row) / sizeof *(row))

/* splitmix64 */
struct chance {
	uint64_t x;
};

static uint64_t draw(struct chance *c, uint64_t below)
{
	uint64_t z = c->x += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

static struct str pick(struct chance *c, const char *const *words, size_t count)
{
	return str_of(words[draw(c, count)]);
}

#define PICK(c, ...)                                    \
	pick((c), (const char *const[]){ __VA_ARGS__ }, \
	     COUNT(((const char *const[]){ __VA_ARGS__ })))

/* Few stamps and few actors, so that marks are often equal; some far ahead. */
static struct mark any_mark(struct chance *c)
{
	static const int64_t ms[] = { 0, 3, 4, 5, 6, INT64_C(253402300799999) };

	static const int64_t n[] = { 0, 1, 1, INT64_C(9007199254740991) };

	return (struct mark){ { ms[draw(c, COUNT(ms))], n[draw(c, COUNT(n))] }, PICK(c, "x", "y") };
}

static struct mark any_creation(struct chance *c)
{
	return (struct mark){ { 1 + (int64_t)draw(c, 2), 0 }, PICK(c, "x", "y") };
}

/* One of them is where a bead goes that has to leave another of them. */
static struct str any_id(struct chance *c)
{
	return PICK(c, "a-1", "a-1", "a-2", "b", "a-34mki");
}

static void any_register(struct arena *mem, struct chance *c, struct bead *b, enum reg reg)
{
	bead_put_mark(mem, b, reg, any_mark(c));
	for (int m = 0; m < MEMBERS; m++) {
		struct str out;

		if (member_reg((enum member)m) != reg)
			continue;
		if (m == MEMBER_TITLE)
			out = PICK(c, "\"s\"", "\"t\"");
		else if (m == MEMBER_STATUS)
			out = PICK(c, "\"open\"", "\"closed\"");
		else if (m == MEMBER_TYPE)
			out = PICK(c, "\"bug\"", "\"task\"", "\"epic\"");
		else if (m == MEMBER_PRIORITY)
			out = PICK(c, "0", "4");
		else if (draw(c, 2))
			continue;
		else if (m == MEMBER_LABELS)
			out = PICK(c, "[\"k\"]", "[\"k\",\"l\"]");
		else if (m == MEMBER_ASSIGNEE_AT || m == MEMBER_CLOSED_AT)
			out = PICK(c, "[3,0]", "[4,0]");
		else if (m == MEMBER_ASSIGNEE_EXPIRES)
			out = PICK(c, "8", "9");
		else
			out = PICK(c, "\"v\"", "\"w\"");
		bead_put(mem, b, (enum member)m, out);
	}
}

/* Ids that several notes have, and one that looks as if a note had left it to another. */
static void any_notes(struct arena *mem, struct chance *c, struct bead *b)
{
	static const char *const ids[] = { "n1", "n1", "n2",
					   "n1~0123456789abcdef0123456789abcdef" };

	b->note = arena_array(mem, sizeof ids / sizeof *ids, sizeof *b->note);
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
		struct mark mark = any_mark(c);

		if (!draw(c, 4))
			b->note[b->notes++] =
				(struct note){ str_of(ids[i]), mark.by, PICK(c, "", "c"), mark.at };
	}
	b->notes = notes_normalize(mem, b->note, b->notes);
}

static void any_extras(struct arena *mem, struct chance *c, struct bead *b)
{
	b->extra = arena_array(mem, 2, sizeof *b->extra);
	for (int i = 0; i < 2; i++)
		if (!draw(c, 4))
			b->extra[b->extras++] =
				(struct extra){ i ? STR("zeta") : STR("alpha"),
						PICK(c, "null", "1", "{\"k\":\"v\"}"),
						any_mark(c) };
}

/* Whole, a change, or nothing but a lineage; deleted perhaps. */
static void any_bead(struct state *s, struct chance *c)
{
	struct bead b = { .id = any_id(c), .created = any_creation(c) };
	uint64_t much = draw(c, 4);

	for (int i = 0; i < REGS; i++)
		if (much == 3 || (much && !draw(c, 6)))
			any_register(s->mem, c, &b, (enum reg)i);
	if (much) {
		any_notes(s->mem, c, &b);
		any_extras(s->mem, c, &b);
	}
	if (!draw(c, 4)) {
		b.deleted =
			draw(c, 4) ? any_mark(c) : (struct mark){ stamp_end, PICK(c, "x", "y") };
		if (draw(c, 2))
			b.reason = PICK(c, "\"p\"", "\"q\"");
	}
	state_put_bead(s, &b);
}

/* Between beads that this state knows. */
static void any_edge(struct state *s, struct chance *c)
{
	const struct map *ids = &s->slots;
	const struct slot *from = ids->entry[draw(c, ids->count)].value;
	const struct slot *to = ids->entry[draw(c, ids->count)].value;
	struct edge e = { .from = from->id,
			  .to = to->id,
			  .kind = PICK(c, "blocks", "blocks", "parent", "later_kind"),
			  .created = any_mark(c),
			  .life = any_mark(c),
			  .deleted = draw(c, 2) };

	if (!from->bead || !to->bead)
		return;
	if (!draw(c, 4))
		e.more = PICK(c, "{\"a\":1}", "{\"z\":2}");
	state_put_edge(s, &e);
}

/* As it is read from a tombstone that says nothing of a bead. */
static void any_every(struct state *s, struct chance *c)
{
	struct state *made = state_new(s->mem);
	struct slot *slot = state_slot(made, any_id(c));

	slot->every = any_mark(c);
	slot->reason = draw(c, 2) ? STR_NONE : PICK(c, "\"p\"", "\"q\"");
	state_add(s, made);
}

static struct state *any_small_state(struct arena *mem, struct chance *c)
{
	struct state *s = state_new(mem);

	for (uint64_t n = draw(c, 4); n-- > 0;)
		any_bead(s, c);
	for (uint64_t n = draw(c, 3); s->slots.count && n-- > 0;)
		any_edge(s, c);
	if (!draw(c, 6))
		any_every(s, c);
	if (!draw(c, 4))
		state_put_prefix(s, PICK(c, "p", "q"), any_mark(c));
	return s;
}

struct state *any_state(struct arena *mem, uint64_t number)
{
	struct chance c = { number * UINT64_C(0x2545f4914f6cdd1d) };
	struct state *s = any_small_state(mem, &c);

	if (draw(&c, 2))
		state_add(s, any_small_state(mem, &c));
	return s;
}

/* Beads become epics, and are none any more; they are closed and reopened. */
static void any_family_role(struct arena *mem, struct chance *c, struct bead *b)
{
	bead_put_mark(mem, b, member_reg(MEMBER_TYPE), any_mark(c));
	bead_put(mem, b, MEMBER_TYPE, PICK(c, "\"epic\"", "\"task\""));
	bead_put_mark(mem, b, member_reg(MEMBER_STATUS), any_mark(c));
	bead_put(mem, b, MEMBER_STATUS, PICK(c, "\"open\"", "\"closed\""));
}

struct state *any_family(struct arena *mem, uint64_t number)
{
	enum { BEADS = 7 };
	struct chance chance = { number };
	struct state *s = state_new(mem);
	bool edges = draw(&chance, 2), few = draw(&chance, 2);

	for (uint64_t i = 0; i < BEADS; i++) {
		struct mark at = { { 1 + (int64_t)draw(&chance, 5), 0 }, STR("x") };
		struct bead b = { .id = arena_fmt(mem, "bd-%d", (int)i),
				  .created = { { 0, (int64_t)i }, STR("x") } };

		bead_put_text(mem, &b, MEMBER_TITLE, STR("t"));
		b.mark[member_reg(MEMBER_TITLE)] = at;
		if (!draw(&chance, few ? 12 : 3))
			any_family_role(mem, &chance, &b);
		if (!draw(&chance, few ? 12 : 4))
			b.deleted = (struct mark){ { 1 + (int64_t)draw(&chance, 5), 0 }, STR("x") };
		if (edges || draw(&chance, 2))
			state_put_bead(s, &b);
	}
	for (uint64_t i = 0; edges && i < BEADS; i++) {
		struct mark at = { { 1, (int64_t)draw(&chance, 9) }, STR("y") };
		uint64_t to = draw(&chance, 8) ? i + 1 : draw(&chance, BEADS);
		struct edge e = { .from = arena_fmt(mem, "bd-%d", (int)i),
				  .to = arena_fmt(mem, "bd-%d", (int)(to % BEADS)),
				  .kind = STR("parent"),
				  .created = at,
				  .life = at,
				  .deleted = !draw(&chance, 12) };

		if (!few || !draw(&chance, 5))
			state_put_edge(s, &e);
	}
	return s;
}
