/* Moves messages to the mailbox of an agent's new name. */
#include "agents/mailbox.h"

#include "base/buf.h"

struct mailbox_moving {
	struct str to;
	const struct map *ids; /* of the messages to move; NULL: all */
	struct buf moved, kept;
	struct mailbox from_box, to_box;
};

static void mailbox_move_line(struct call *c, const struct mail *m, void *arg)
{
	struct mailbox_moving *k = arg;
	bool moves = !k->ids || map_find(k->ids, m->id);
	struct mail now = *m;

	now.to = moves ? k->to : m->to;
	buf_put(moves ? &k->moved : &k->kept,
		mailbox_line(c, moves ? &k->to_box : &k->from_box, &now).lines);
}

/* A move that was interrupted is repeated: a message that is in both boxes then counts once. */
enum err mailbox_move(struct call *c, struct agent_files *f, struct str from, struct str to,
		      const struct map *ids)
{
	struct mailbox_moving k = { .to = to,
				    .ids = ids,
				    .moved.mem = &c->mem,
				    .kept.mem = &c->mem,
				    .from_box.agent = from,
				    .to_box.agent = to };
	struct str stream = mailbox_file(c, from), target = mailbox_file(c, to);
	int64_t at = 0;
	enum err e;

	/* a line of the call's memory: mailbox_each() frees the message after the call */
	if ((e = mailbox_each(c, f, from, &at, STR_NONE, mailbox_move_line, &k)) || !k.moved.n ||
	    (e = agent_file_append(c, f, target, buf_str(&k.moved))) ||
	    (e = agent_file_swap(c, f, stream, buf_str(&k.kept))) ||
	    (e = mailbox_forget_box(c, f, from)) || (e = mailbox_forget_box(c, f, to)) ||
	    (e = mailbox_open(c, f, to, &k.to_box)))
		return e;
	return mailbox_settle(c, f, &k.to_box);
}
