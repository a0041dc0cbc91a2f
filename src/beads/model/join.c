#include "beads/model/join.h"

#include "base/text/json.h"
#include "beads/model/note.h"

/* The value of a register as one text, to order two writes with the same mark. */
static struct str reg_value(struct arena *mem, const struct bead *b, enum reg reg)
{
	struct json j = json_new(mem);

	/* as join_extra() does, which joins the same member where the program does not know it */
	if (reg_is_extension(reg)) {
		struct str value = bead_member(b, (enum member)(reg - CORE_REGS + CORE_MEMBERS));

		return value.p ? value : STR("null");
	}
	json_object(&j);
	for (int m = 0; m < CORE_MEMBERS; m++)
		if (member_reg((enum member)m) == reg && b->member[m].p)
			json_put_raw(&j, names_word(&bead_members, m), b->member[m]);
	json_end(&j);
	return json_text(&j);
}

static const struct bead *join_later(struct arena *mem, const struct bead *a, const struct bead *b,
				     enum reg reg)
{
	int order = mark_cmp(bead_mark(a, reg), bead_mark(b, reg));

	if (!order)
		order = str_cmp(reg_value(mem, a, reg), reg_value(mem, b, reg));
	return order < 0 ? b : a;
}

static void join_regs(struct arena *mem, const struct bead *a, const struct bead *b,
		      struct bead *out)
{
	const struct bead *from[CORE_REGS];

	for (int i = 0; i < CORE_REGS; i++) {
		from[i] = join_later(mem, a, b, (enum reg)i);
		out->mark[i] = from[i]->mark[i];
	}
	for (int m = 0; m < CORE_MEMBERS; m++)
		out->member[m] = from[member_reg((enum member)m)]->member[m];
	if (!a->extension && !b->extension)
		return;
	out->extension = arena_array(mem, EXTENSIONS, sizeof *out->extension);
	for (int i = 0; i < EXTENSIONS; i++) {
		const struct bead *later = join_later(mem, a, b, (enum reg)(CORE_REGS + i));

		if (later->extension)
			out->extension[i] = later->extension[i];
	}
}

static struct extra join_extra(struct extra a, struct extra b)
{
	int order = mark_cmp(a.mark, b.mark);

	if (!order)
		order = str_cmp(a.value, b.value);
	return order < 0 ? b : a;
}

/* Counts the members of both; `out`, if not NULL, has room for them. */
static size_t join_extra_lists(const struct bead *a, const struct bead *b, struct extra *out)
{
	size_t i = 0, k = 0, count = 0;

	while (i < a->extras || k < b->extras) {
		int order = i == a->extras ? 1 :
			    k == b->extras ? -1 :
					     json_key_cmp(a->extra[i].key, b->extra[k].key);

		if (out)
			out[count] = order < 0 ? a->extra[i] :
				     order > 0 ? b->extra[k] :
						 join_extra(a->extra[i], b->extra[k]);
		count++;
		i += order <= 0;
		k += order >= 0;
	}
	return count;
}

static void join_extras(struct arena *mem, const struct bead *a, const struct bead *b,
			struct bead *out)
{
	out->extras = join_extra_lists(a, b, NULL);
	out->extra = arena_array(mem, out->extras + 1, sizeof *out->extra);
	join_extra_lists(a, b, out->extra);
}

static void join_notes(struct arena *mem, const struct bead *a, const struct bead *b,
		       struct bead *out)
{
	size_t i = 0, k = 0;
	bool differ = false;

	out->note = arena_array(mem, a->notes + b->notes + 1, sizeof *out->note);
	while (i < a->notes || k < b->notes) {
		int order = i == a->notes ? 1 :
			    k == b->notes ? -1 :
					    str_cmp(a->note[i].id, b->note[k].id);

		if (!order && !note_same(&a->note[i], &b->note[k])) {
			differ = true;
			out->note[out->notes++] = a->note[i++];
			continue;
		}
		out->note[out->notes++] = order < 0 ? a->note[i] : b->note[k];
		i += order <= 0;
		k += order >= 0;
	}
	if (differ)
		out->notes = notes_normalize(mem, out->note, out->notes);
}

static const struct bead *join_deletion(const struct bead *a, const struct bead *b)
{
	int order = mark_cmp(a->deleted, b->deleted);

	if (!order)
		order = str_cmp(a->reason, b->reason);
	return order < 0 ? b : a;
}

void bead_join(struct arena *mem, const struct bead *a, const struct bead *b, struct bead *out)
{
	const struct bead *deleted = join_deletion(a, b);

	*out = (struct bead){ .id = a->id,
			      .created = a->created,
			      .deleted = deleted->deleted,
			      .reason = deleted->reason };
	join_regs(mem, a, b, out);
	join_extras(mem, a, b, out);
	join_notes(mem, a, b, out);
}
