/*
 * The laws of the join, for states and for files: it is commutative, associative and idempotent,
 * and the files' merge, which decodes only lines that differ, gives what the join of the whole
 * states gives.
 */
#include "beads/model/lines.h"
#include "files.h"

static struct snapshot join(struct call *c, const struct state *a, const struct state *b)
{
	struct state *s = state_new(&c->mem);

	state_add(s, a);
	state_add(s, b);
	return snapshot_encode(&c->mem, s);
}

static struct state *both(struct call *c, const struct state *a, const struct state *b)
{
	struct state *s = state_new(&c->mem);

	state_add(s, a);
	state_add(s, b);
	return s;
}

static struct snapshot merge(struct call *c, const struct snapshot *a, const struct snapshot *b)
{
	struct merge m = { .c = c, .side = { *a, *b }, .sides = 2 };

	rule(!merge_run(&m), "files that are sound can be merged");
	return files_merged(&m);
}

static void check_two(struct call *c, const struct snapshot *a, const struct snapshot *b)
{
	struct state *left = files_state(c, a), *right = files_state(c, b);
	struct snapshot ab = join(c, left, right), ba = join(c, right, left),
			files = merge(c, a, b), back = merge(c, b, a), again;

	rule(files_same(&ab, &ba), "the join is commutative");
	again = join(c, both(c, left, right), right);
	rule(files_same(&ab, &again), "the join is idempotent");
	rule(files_same(&files, &ab), "the merge of files is the join of states");
	rule(files_same(&files, &back), "the merge of files is commutative");
	again = merge(c, &files, b);
	rule(files_same(&files, &again), "a merge that is repeated changes nothing");
}

static void check_three(struct call *c, const struct snapshot *a, const struct snapshot *b,
			const struct snapshot *d)
{
	struct state *x = files_state(c, a), *y = files_state(c, b), *z = files_state(c, d);
	struct snapshot left = join(c, both(c, x, y), z), right = join(c, x, both(c, y, z));

	rule(files_same(&left, &right), "the join is associative");
}

static enum err count_pair(void *arg, const struct line_pair *pair)
{
	rule(pair->key.p && (pair->a.p || pair->b.p), "a pair has a key and a line");
	rule(!pair->a.p || !pair->b.p || !str_eq(pair->a, pair->b),
	     "lines that are the same are not visited");
	++*(size_t *)arg;
	return ERR_OK;
}

static void check_lines(struct call *c, const struct snapshot *a, const struct snapshot *b)
{
	for (int f = 0; f < FILE_META; f++) {
		size_t number, count = 0;
		struct str why;
		enum err e = lines_diff(&c->mem, (enum snapshot_file)f, a->file[f], b->file[f],
					count_pair, &count, &number, &why);

		rule(!e || why.p, "lines are refused with a reason");
		rule(e || (count == 0) == str_eq(a->file[f], b->file[f]),
		     "texts without a difference are the same");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = fuzz_text(data, size);
	struct call c = fuzz_call();
	struct snapshot side[3];
	bool closed[3], sound;

	for (size_t i = 0; i < COUNT(side); i++) {
		side[i] = files_next(&c.mem, &text);
		closed[i] = files_closed(&c, &side[i]);
	}
	sound = files_sound(&c, &side[0]);
	if (sound) {
		struct merge m = { .c = &c, .side = { side[0], side[1] }, .sides = 2 };

		check_lines(&c, &side[0], &side[1]);
		if (merge_run(&m))
			rule(c.details.p, "a merge is refused with the place");
		c.code = ERR_OK;
	}
	if (closed[0] && closed[1])
		check_two(&c, &side[0], &side[1]);
	if (closed[0] && closed[1] && closed[2])
		check_three(&c, &side[0], &side[1], &side[2]);
	call_release(&c);
	return 0;
}
