/* Reads the journal of the beads for the feed. */
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/model/record.h"
#include "live/feed_round.h"
#include "live/line_act.h"

static struct journal_place feed_journal_place(const struct source *s)
{
	return (struct journal_place){ .segment = s->at[0],
				       .offset = s->at[1],
				       .last = s->at[2],
				       .crc = s->at[3],
				       .first = s->at[4] };
}

static void feed_set_journal_place(struct source *s, const struct journal_place *p)
{
	*s = (struct source){ { p->segment, p->offset, p->last, p->crc, p->first } };
}

/* The writer of a line, or of the members that the line sets. */
static struct str feed_writer_of(const struct value *line)
{
	const struct value *marks = value_find(line, "_v"), *notes = value_find(line, "notes");
	struct str by = value_str(line, "_by");

	if (!by.p && marks && marks->count && marks->item[0].count == 2)
		by = marks->item[0].item[1].text;
	if (!by.p && notes && notes->count)
		by = value_str(&notes->item[0], "author");
	return by.p ? by : value_str(line, "deleted_by");
}

struct touched {
	struct map ids;
	struct str by;
	struct json acts; /* what was done to each bead, and by whom */
};

static void feed_touch(struct touched *t, struct str id)
{
	if (id.p)
		map_put(&t->ids, id);
}

/* `what` is absent for the line of a bead. */
static void feed_put_act(struct touched *t, const struct value *line, struct str what)
{
	json_object(&t->acts);
	json_put_str(&t->acts, "id", value_str(line, "id"));
	json_put_str(&t->acts, "what", what.p ? what : line_act(line));
	json_put_str(&t->acts, "by", feed_writer_of(line));
	json_end(&t->acts);
}

static void feed_touch_lines(struct touched *t, const struct value *list, struct str what)
{
	for (size_t i = 0; list && list->type == VALUE_ARRAY && i < list->count; i++) {
		const struct value *line = &list->item[i];

		if (i < FEED_IDS_MOST && value_str(line, "id").p)
			feed_put_act(t, line, what);
		feed_touch(t, value_str(line, "id"));
		feed_touch(t, value_str(line, "from"));
		feed_touch(t, value_str(line, "to"));
		if (!t->by.p)
			t->by = feed_writer_of(line);
	}
}

static void feed_put_ids(struct json *j, const struct map *ids, bool all)
{
	json_put_array(j, "ids");
	for (size_t i = 0; i < ids->count && i < FEED_IDS_MOST; i++)
		json_str(j, ids->entry[i].key);
	json_end(j);
	json_put_bool(j, "all", all || ids->count > FEED_IDS_MOST);
}

/* The place after a record is known only when the next record, or the end, is reached. So the event
 * of a record is held until then. */
struct held_record {
	struct feed_round *t;
	const struct journal_place *place;
	struct str data; /* the held event, without its place; or absent */
	int count;
	bool limited; /* only up to `limit`: later records are not in the cache yet */
	struct journal_place limit;
	struct str home;
	int64_t segment; /* the current one */
	int64_t carried; /* the segment repeats records of the one before up to this offset */
};

static void feed_tell_held(struct held_record *p)
{
	struct json j = feed_round_begin(p->t->c);

	if (!p->data.p)
		return;
	feed_set_journal_place(p->t->at, p->place);
	json_put_members(&j, p->data);
	feed_round_end(p->t, "bead", &j);
	p->data = STR_NONE;
}

static struct str feed_describe(struct arena *mem, struct arena *scratch, struct str record)
{
	struct touched t = { .ids.mem = scratch, .acts = json_new(scratch) };
	struct json j = json_new(mem);
	const struct value *v = value_read(scratch, record);
	const struct value *base = value_find(v, "base");

	json_array(&t.acts);
	feed_touch_lines(&t, value_find(v, "beads"), STR_NONE);
	feed_touch_lines(&t, value_find(v, "tombstones"), STR("deleted"));
	feed_touch_lines(&t, value_find(v, "deps"), STR_NONE);
	json_end(&t.acts);
	json_object(&j);
	feed_put_ids(&j, &t.ids, value_find(base, "whole"));
	json_put_raw(&j, "acts", json_text(&t.acts));
	json_put_str(&j, "by", base ? STR_NONE : t.by);
	json_put_str(&j, "op", value_str(value_find(v, "receipt"), "op"));
	json_put_bool(&j, "sync", base);
	json_end(&j);
	return json_text(&j);
}

/* A journal that was cut begins with the records that no commit has; then comes its base. */
static enum err feed_find_base(struct call *c, const struct journal_record *r, void *arg)
{
	struct held_record *p = arg;
	struct arena scratch = { 0 };
	const struct value *base;
	int64_t segment = 0, offset = 0;

	(void)c;
	if (r->segment != p->segment)
		return JOURNAL_STOP;
	if (!record_is_base(r->json))
		return ERR_OK;
	base = value_find(value_read(&scratch, r->json), "base");
	value_int(base, "segment", &segment);
	value_int(base, "offset", &offset);
	arena_release(&scratch);
	if (segment == p->segment && !offset)
		p->carried = r->offset;
	return JOURNAL_STOP;
}

static void feed_enter_segment(struct call *c, struct held_record *p, int64_t segment)
{
	struct journal_place start = { .segment = segment, .last = -1 };

	p->segment = segment;
	p->carried = 0;
	journal_each(c, p->home, &start, feed_find_base, p);
}

static enum err feed_see_record(struct call *c, const struct journal_record *r, void *arg)
{
	struct held_record *p = arg;
	struct arena scratch = { 0 };

	bool beyond = r->segment > p->limit.segment ||
		      (r->segment == p->limit.segment && r->offset >= p->limit.offset);

	if ((p->limited && beyond) || p->count++ == FEED_RECORDS_MOST)
		return JOURNAL_STOP;
	feed_tell_held(p);
	if (r->segment != p->segment)
		feed_enter_segment(c, p, r->segment);
	if (r->offset < p->carried) /* it was in the segment before */
		return ERR_OK;
	p->data = feed_describe(&p->t->c->mem, &scratch, r->json);
	arena_release(&scratch);
	return ERR_OK;
}

static enum err feed_skip_record(struct call *c, const struct journal_record *r, void *arg)
{
	(void)c, (void)r, (void)arg;
	return ERR_OK;
}

/* Sets the place to the end of the journal; false if the journal cannot be read now. */
static bool feed_learn_journal(struct feed_round *t, struct str home)
{
	struct journal_place end = { .last = -1 };

	if (journal_each(t->c, home, &end, feed_skip_record, NULL))
		return false;
	feed_set_journal_place(t->at, &end);
	return true;
}

/* Reads from a place on, or from the next segment, if the journal was cut there. */
static enum err feed_read_journal(struct call *c, struct beads *b, struct held_record *p,
				  struct journal_place *place)
{
	enum journal_news news;
	enum err e;

	if (place->crc) {
		if ((e = journal_compare(c, p->home, *place, &news)))
			news = JOURNAL_AHEAD;
		if (news == JOURNAL_SAME)
			return ERR_OK;
		if (news >= JOURNAL_AHEAD) /* all records of the old segment were read */
			*place = (struct journal_place){ place->segment + 1, 0, -1, place->crc,
							 place->first };
	}
	/* A client reads a change as soon as it gets the event, and has to find it in the cache. */
	p->limited = beads_being_written(c, b, &p->limit);
	p->segment = place->offset ? place->segment : 0;
	return journal_each(c, p->home, place, feed_see_record, p);
}

void feed_collect_beads(struct feed_round *t)
{
	struct journal_place place, before;
	struct held_record p = { .t = t, .place = &place };
	struct beads b;
	enum err e = beads_home(t->c, &b);

	feed_round_choose(t, STR("journal"));
	if (e)
		return;
	if (!journal_exists(t->c, b.home)) {
		feed_round_gone(t, (const char *const[]){ "journal", NULL });
		return;
	}
	before = place = feed_journal_place(t->at);
	if (!t->tell) {
		feed_learn_journal(t, b.home);
		return;
	}
	p.home = b.home;
	e = feed_read_journal(t->c, &b, &p, &place);
	if (e && !p.count) { /* a sync may have cut the journal after it was compared */
		call_forgive(t->c);
		place = before;
		e = feed_read_journal(t->c, &b, &p, &place);
	}
	feed_tell_held(&p);
	/* The records after the place are gone. */
	if (e && !p.count && feed_learn_journal(t, b.home))
		feed_round_reset(t);
}
