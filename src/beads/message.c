#include "beads/message.h"

#include "base/buf.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "beads/model/merge.h"

enum { LISTED = 20, TITLE_COLUMNS = 60 };

enum act { CREATED, CLOSED, REOPENED, DELETED, RESTORED, UPDATED, ACTS };
static const char *const verbs[ACTS] = { "created", "closed",   "reopened",
					 "deleted", "restored", "updated" };

struct message_telling {
	struct arena *mem;
	size_t count[ACTS], edges;
	struct buf list;
	size_t listed;
};

static const struct value *message_parse(struct message_telling *t, struct str line)
{
	return line.p ? value_read(t->mem, line) : NULL;
}

/* The title as one line, shortened. */
static struct str message_title_of(struct message_telling *t, const struct value *bead)
{
	struct str title = value_str(bead, "title");
	struct buf b = { .mem = t->mem };

	for (size_t i = 0; i < title.n;) {
		uint32_t point;
		size_t n = utf8_decode(str_skip(title, i), &point);
		bool plain = n && !utf8_is_unsafe(point);

		if (plain)
			buf_put(&b, (struct str){ title.p + i, n });
		else
			buf_char(&b, ' ');
		i += n ? n : 1;
	}
	return utf8_shorten(t->mem, buf_str(&b), TITLE_COLUMNS);
}

static bool message_is_closed(const struct value *bead)
{
	return str_is(value_str(bead, "status"), "closed");
}

static enum act message_act_of(const struct value *old, const struct value *new, bool was_deleted)
{
	if (!new)
		return DELETED;
	if (!old)
		return was_deleted ? RESTORED : CREATED;
	if (message_is_closed(new) != message_is_closed(old))
		return message_is_closed(new) ? CLOSED : REOPENED;
	return UPDATED;
}

static struct map message_deleted(struct arena *mem, const struct line_change *changes,
				  size_t count)
{
	struct map out = { .mem = mem };

	for (size_t i = 0; i < count; i++)
		if (changes[i].file == FILE_TOMBSTONES && changes[i].old.p)
			map_put(&out, changes[i].key);
	return out;
}

static void message_put_bead(struct message_telling *t, const struct line_change *change,
			     bool was_deleted)
{
	const struct value *old = message_parse(t, change->old),
			   *new = message_parse(t, change->new);
	enum act act = message_act_of(old, new, was_deleted);

	t->count[act]++;
	if (t->listed++ < LISTED)
		buf_fmt(&t->list, "%s " STR_FMT ": " STR_FMT "\n", verbs[act], STR_ARG(change->key),
			STR_ARG(message_title_of(t, new ? new : old)));
}

static void message_add(struct buf *head, size_t count, const char *what)
{
	if (count)
		buf_fmt(head, "%s%zu %s", head->n > 7 ? ", " : "", count, what);
}

struct str message_of(struct arena *mem, const struct line_change *changes, size_t count)
{
	struct message_telling t = { .mem = mem, .list.mem = mem };
	struct map deleted = message_deleted(mem, changes, count);
	struct buf out = { .mem = mem };

	for (size_t i = 0; i < count; i++) {
		if (changes[i].file == FILE_STATE)
			message_put_bead(&t, &changes[i], map_find(&deleted, changes[i].key));
		t.edges += changes[i].file == FILE_DEPS;
	}
	buf_put(&out, STR("beads: "));
	for (int i = 0; i < ACTS; i++)
		message_add(&out, t.count[i], verbs[i]);
	message_add(&out, t.edges, t.edges == 1 ? "dependency" : "dependencies");
	if (out.n == 7)
		buf_put(&out, count ? STR("tidied up") : STR("begun"));
	buf_char(&out, '\n');
	if (t.list.n)
		buf_fmt(&out, "\n" STR_FMT, STR_ARG(buf_str(&t.list)));
	if (t.listed > LISTED)
		buf_fmt(&out, "… and %zu more\n", t.listed - LISTED);
	return buf_str(&out);
}
