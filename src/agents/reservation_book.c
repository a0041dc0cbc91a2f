#include "agents/reservation_book.h"

#include "agents/reservation_text.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "store/agent_pending.h"

static const struct str active_file = { "reservations/active.json", 24 };
static const struct str history_file = { "reservations/history.jsonl", 26 };

/* --- rows --- */

/* Where the scope's row is, or belongs. */
static size_t book_place(const struct book *b, struct str key)
{
	size_t low = 0, high = b->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (str_cmp(b->row[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool book_has(const struct book *b, size_t at, struct str key)
{
	return at < b->count && str_eq(b->row[at].key, key);
}

bool book_find(struct call *c, const struct book *b, struct str key, struct reservation *out)
{
	size_t at = book_place(b, key);

	return book_has(b, at, key) && reservation_parse(c, b->row[at].line, key, out);
}

static void book_add_parsed(struct call *c, const struct book_row *row, struct reservation ***tail)
{
	**tail = arena_new(&c->mem, struct reservation);
	if (reservation_parse(c, row->line, row->key, **tail))
		*tail = &(**tail)->next;
}

struct reservation *book_overlapping(struct call *c, const struct book *b, struct str key)
{
	struct reservation *first = NULL, **tail = &first;
	struct str inside = key.n ? arena_fmt(&c->mem, STR_FMT "/", STR_ARG(key)) : key;
	size_t at;

	for (size_t n = 0; n <= key.n; n++) {
		struct str folder = str_head(key, n);

		if (n && n < key.n && key.p[n] != '/')
			continue;
		at = book_place(b, folder);
		if (book_has(b, at, folder))
			book_add_parsed(c, &b->row[at], &tail);
	}
	for (at = book_place(b, inside); at < b->count && str_starts(b->row[at].key, inside); at++)
		if (b->row[at].key.n > key.n)
			book_add_parsed(c, &b->row[at], &tail);
	*tail = NULL;
	return first;
}

struct reservation *book_select(struct call *c, const struct book *b, struct str agent,
				struct str bead, bool over)
{
	struct reservation *first = NULL, **tail = &first;

	for (size_t i = 0; i < b->count; i++) {
		const struct book_row *row = &b->row[i];
		struct reservation *r;

		if (!over && reservation_line_over(c, row->line, row->key))
			continue;
		r = arena_new(&c->mem, struct reservation);
		if (!reservation_parse(c, row->line, row->key, r) ||
		    (agent.p && !str_eq(r->agent, agent)) || (bead.p && !str_eq(r->bead, bead)))
			continue;
		*tail = r;
		tail = &r->next;
	}
	*tail = NULL;
	return first;
}

/* --- reading the record --- */

/* The last active reservation of a scope. */
struct book_holder {
	struct str id, line;
	int64_t epoch;
};

/*
 * The active reservations, collected from the lines of a record. The rows are sorted once at the
 * end, because a record of 128 MB may have half a million scopes in any order.
 */
struct book_draft {
	struct call *c;
	struct map holders; /* by scope: struct book_holder; NULL: ended */
	int64_t epoch;
};

static struct book_draft book_draft(struct call *c)
{
	return (struct book_draft){ .c = c, .holders.mem = &c->mem };
}

static void book_enter(struct book_draft *d, const struct reservation *r)
{
	void **at = map_put(&d->holders, r->key);
	struct book_holder *holder = *at;

	d->epoch = reservation_epoch_raise(d->c, d->epoch, r->epoch, !r->machine.p);
	if (r->state != RESERVATION_ACTIVE) {
		if (holder && str_eq(holder->id, r->id))
			*at = NULL;
		return;
	}
	if (!holder)
		*at = holder = arena_new(&d->c->mem, struct book_holder);
	*holder = (struct book_holder){ r->id, reservation_line(d->c, r), r->epoch };
}

static struct book book_finish(struct book_draft *d)
{
	const struct map_entry **order = map_sorted(&d->holders, &d->c->mem);
	struct book b = { .epoch = d->epoch };

	b.row = arena_array(&d->c->mem, d->holders.count + 1, sizeof *b.row);
	for (size_t i = 0; i < d->holders.count; i++) {
		const struct book_holder *holder = order[i]->value;

		if (holder)
			b.row[b.count++] = (struct book_row){ order[i]->key, holder->line };
	}
	return b;
}

enum err book_read_record(struct call *c, struct agent_files *f, struct str *text)
{
	return agent_file_read(c, f, history_file, text);
}

enum err book_read_record_leniently(struct call *c, struct agent_files *f, struct str *text)
{
	return agent_file_pass_over(c, f, history_file, book_read_record(c, f, text));
}

static enum err book_read_history(struct book_draft *d, struct agent_files *f, bool lenient,
				  struct str *text)
{
	struct agent_skips skips = { 0 };
	struct call *c = d->c;
	struct str rest, line;
	enum err e = book_read_record(c, f, text);

	for (rest = *text; !e && agent_line_next(&rest, &line);) {
		struct reservation r;

		if (reservation_parse(c, line, STR_NONE, &r))
			book_enter(d, &r);
		else if (lenient)
			agent_skips_add(&skips, line.p - text->p);
		else
			e = agent_file_damaged(c, f, history_file, line.p - text->p);
	}
	agent_skips_warn(c, f, history_file, &skips);
	return e;
}

/* --- reading the snapshot --- */

/*
 * The snapshot is one JSON object, with each reservation on a line of its own. The first line has
 * a checksum of the others, so that they can be trusted without being parsed.
 */
static const struct str last_line = { "]}\n", 3 };

static bool book_read_active(struct call *c, struct str text, int64_t *known, struct book *b)
{
	struct str head, line;
	const struct value *v;
	int64_t crc;

	if (!str_next(&text, '\n', &head) || !str_ends(text, last_line))
		return false;
	v = agent_line_parse(&c->mem, arena_fmt(&c->mem, STR_FMT "]}", STR_ARG(head)));
	if (!value_int(v, "history", known) || !value_int(v, "epoch", &b->epoch) ||
	    !reservation_epoch_valid(b->epoch) || !value_int(v, "crc", &crc) ||
	    crc != crc32c(0, text))
		return false;
	text.n -= last_line.n;
	while (text.n && str_next(&text, '\n', &line)) {
		struct book_row *row;

		if (str_ends(line, STR(",")))
			line.n--;
		b->row = arena_room(&c->mem, b->row, b->count, sizeof *b->row);
		row = &b->row[b->count++];
		row->line = line;
		if (!reservation_line_key(c, line, &row->key))
			return false;
	}
	return true;
}

/* The snapshot of a program that keeps no record: a list of reservations, without epochs. */
static bool book_read_foreign(struct call *c, const struct agent_files *f, struct str text,
			      struct book *out)
{
	const struct value *v = agent_snapshot_parse(&c->mem, text), *list = v;
	struct book_draft d = book_draft(c);

	if (v && v->type == VALUE_OBJECT && !value_find(v, "crc"))
		list = value_find(v, "reservations");
	if (!list || list->type != VALUE_ARRAY)
		return false;
	VALUE_EACH(one, list) {
		struct reservation r;

		if (!reservation_decode(c, f->root, one, &r))
			return false;
		r.epoch = r.epoch ? r.epoch : d.epoch + 1;
		book_enter(&d, &r);
	}
	*out = book_finish(&d);
	return true;
}

/* The ids of all reservations of a record. */
static struct map book_ids(struct call *c, struct str record)
{
	struct map ids = { .mem = &c->mem };
	struct reservation r;
	struct str line;

	while (agent_line_next(&record, &line))
		if (reservation_parse(c, line, STR("/"), &r))
			map_put(&ids, r.id);
	return ids;
}

/* Enters the rows of a snapshot that the record does not know; their lines are `adopted`. */
static struct str book_adopt_rows(struct book_draft *d, struct str record,
				  const struct book *snapshot)
{
	struct call *c = d->c;
	struct buf lines = { .mem = &c->mem };
	struct map known = book_ids(c, snapshot->count ? record : STR_NONE);

	for (size_t i = 0; i < snapshot->count; i++) {
		const struct book_row *row = &snapshot->row[i];
		void **at = map_find(&d->holders, row->key);
		const struct book_holder *holder = at ? *at : NULL;
		struct reservation r;

		if (!reservation_parse(c, row->line, row->key, &r) || map_find(&known, r.id) ||
		    (holder && holder->epoch >= r.epoch))
			continue;
		book_enter(d, &r);
		buf_put(&lines, row->line);
		buf_char(&lines, '\n');
	}
	return buf_str(&lines);
}

/* --- opening --- */

/* Makes the book from the record and the rows of a foreign snapshot. A record that is too large to
 * be read leaves a lenient reader with the book that it has. */
static enum err book_open_record(struct call *c, struct agent_files *f, bool lenient,
				 const struct book *foreign, struct book *b)
{
	struct book_draft d = book_draft(c);
	struct str text, adopted;
	enum err e = book_read_history(&d, f, lenient, &text);

	if (e)
		return lenient ? agent_file_pass_over(c, f, history_file, e) : e;
	adopted = book_adopt_rows(&d, text, foreign);
	*b = book_finish(&d);
	b->adopted = adopted;
	return ERR_OK;
}

enum err book_open(struct call *c, struct agent_files *f, bool lenient, struct book *out)
{
	struct book foreign = { 0 };
	int64_t known = -1, size;
	struct str text;
	enum err e = agent_file_read(c, f, active_file, &text);

	*out = (struct book){ 0 };
	if (e)
		return e;
	if (text.p && !book_read_active(c, text, &known, out)) {
		known = -1;
		if (!book_read_foreign(c, f, text, &foreign))
			c->warning = arena_fmt(
				&c->mem,
				"'" STR_FMT
				"' is damaged; the reservations were read from '" STR_FMT "'",
				STR_ARG(active_file), STR_ARG(history_file));
	}
	if ((e = agent_file_size(c, f, history_file, &size)))
		return e;
	if (known > size && !lenient)
		return agent_file_shortened(c, history_file, active_file);
	if (known > size)
		agent_file_warn_shortened(c, history_file);
	if (known >= size)
		return ERR_OK;
	if (known < 0)
		*out = foreign;
	return book_open_record(c, f, lenient, &foreign, out);
}

/* --- writing --- */

/* Most of a new snapshot is unchanged text of the old one: it is written as runs of that text with
 * the changed lines between them. */
struct book_pieces {
	struct arena *mem;
	struct str *piece;
	size_t count;
};

/* Text that follows the last piece in memory extends that piece. */
static void book_add_piece(struct book_pieces *p, struct str text)
{
	struct str *last = p->count ? &p->piece[p->count - 1] : NULL;

	if (last && last->p + last->n == text.p) {
		last->n += text.n;
		return;
	}
	p->piece = arena_room(p->mem, p->piece, p->count, sizeof *p->piece);
	p->piece[p->count++] = text;
}

/* Two neighbours in the old snapshot have ",\n" between them in memory. Other lines may lie two
 * bytes apart by chance. */
static void book_add_row(struct book_pieces *p, const struct book_row *row,
			 const struct book_row *next)
{
	struct str line = row->line, end = { line.p + line.n, 2 }, between = STR(",\n");

	book_add_piece(p, line);
	if (!next)
		book_add_piece(p, STR("\n"));
	else
		book_add_piece(p,
			       next->line.p == end.p + 2 && str_eq(end, between) ? end : between);
}

static enum err book_write_active(struct call *c, struct agent_files *f, const struct book *b)
{
	struct json head = json_new(&c->mem);
	struct book_pieces p = { .mem = &c->mem };
	uint32_t crc = 0;
	int64_t size;
	enum err e = agent_file_size(c, f, history_file, &size);

	if (e)
		return e;
	book_add_piece(&p, STR("")); /* the head, which has the checksum of the rest */
	for (size_t i = 0; i < b->count; i++)
		book_add_row(&p, &b->row[i], i + 1 < b->count ? &b->row[i + 1] : NULL);
	book_add_piece(&p, last_line);
	for (size_t i = 1; i < p.count; i++)
		crc = crc32c(crc, p.piece[i]);
	json_object(&head);
	json_put_int(&head, "history", size); /* bytes */
	json_put_int(&head, "epoch", b->epoch);
	json_put_int(&head, "crc", crc);
	json_put_array(&head, "reservations");
	buf_char(&head.out, '\n');
	p.piece[0] = buf_str(&head.out);
	return agent_file_swap_pieces(c, f, active_file, p.piece, p.count);
}

static void book_add_line(struct call *c, struct buf *lines, const struct reservation *r)
{
	buf_put(lines, reservation_line(c, r));
	buf_char(lines, '\n');
}

/* Ends the reservations whose time is over, except those of the scopes in `but`. */
static void book_sweep(struct call *c, struct book *b, const struct map *but, struct buf *lines)
{
	struct reservation r;
	size_t kept = 0;

	for (size_t i = 0; i < b->count; i++) {
		const struct book_row *row = &b->row[i];

		if (!reservation_line_over(c, row->line, row->key) || map_find(but, row->key) ||
		    !reservation_parse(c, row->line, row->key, &r)) {
			b->row[kept++] = *row;
			continue;
		}
		reservation_expire(&r);
		book_add_line(c, lines, &r);
	}
	b->count = kept;
}

static void book_raise_epoch(struct call *c, struct book *b, const struct reservation *r)
{
	b->epoch = reservation_epoch_raise(c, b->epoch, r->epoch, !r->machine.p);
}

static bool book_row_is(struct call *c, const struct book_row *row, struct str id)
{
	struct reservation r;

	return reservation_parse(c, row->line, row->key, &r) && str_eq(r.id, id);
}

static void book_put(struct call *c, struct book *b, const struct reservation *r)
{
	size_t at = book_place(b, r->key);
	bool found = book_has(b, at, r->key);

	book_raise_epoch(c, b, r);
	if (r->state != RESERVATION_ACTIVE) {
		if (found && book_row_is(c, &b->row[at], r->id))
			memmove(&b->row[at], &b->row[at + 1], (--b->count - at) * sizeof *b->row);
		return;
	}
	if (!found) {
		b->row = arena_room(&c->mem, b->row, b->count, sizeof *b->row);
		memmove(&b->row[at + 1], &b->row[at], (b->count++ - at) * sizeof *b->row);
	}
	b->row[at] = (struct book_row){ r->key, reservation_line(c, r) };
}

enum err book_commit(struct call *c, struct agent_files *f, struct book *b,
		     const struct book_change *change, size_t count,
		     const struct agent_append *events)
{
	struct buf lines = { .mem = &c->mem };
	struct map changed = { .mem = &c->mem };
	struct agent_append all[2];
	enum err e;

	buf_put(&lines, b->adopted);
	b->adopted = STR_NONE;
	for (size_t i = 0; i < count; i++)
		map_put(&changed, change[i].now->key);
	book_sweep(c, b, &changed, &lines);
	for (size_t i = 0; i < count; i++) {
		if (change[i].before) {
			book_add_line(c, &lines, change[i].before);
			book_raise_epoch(c, b, change[i].before);
		}
		book_add_line(c, &lines, change[i].now);
		book_put(c, b, change[i].now);
	}
	all[0] = (struct agent_append){ .name = history_file, .lines = buf_str(&lines) };
	if (events)
		all[1] = *events;
	e = agent_files_append_all(c, f, all, events ? 2 : 1);
	/* While lines are pending, the snapshot must not know more than the record. */
	return e || f->pending_count ? e : agent_file_later(c, book_write_active(c, f, b));
}

/* --- repairs --- */

bool book_line_valid(struct call *c, struct str line)
{
	struct reservation r;

	return reservation_parse(c, line, STR_NONE, &r);
}

enum err book_missing(struct call *c, struct agent_files *f, struct str record, struct str *lines,
		      size_t *count)
{
	struct book snapshot = { 0 };
	struct book_draft d = book_draft(c);
	struct reservation r;
	struct str text, line;
	int64_t known;
	enum err e = agent_file_read(c, f, active_file, &text);

	*count = 0;
	*lines = STR_NONE;
	for (struct str rest = record; rest.n && str_next(&rest, '\n', &line);)
		if (reservation_parse(c, line, STR_NONE, &r))
			book_enter(&d, &r);
	if (!e && text.p && book_read_active(c, text, &known, &snapshot))
		*lines = book_adopt_rows(&d, record, &snapshot);
	for (struct str rest = *lines; rest.n && str_next(&rest, '\n', &line);)
		++*count;
	return e;
}

enum err book_renew_snapshot(struct call *c, struct agent_files *f)
{
	struct book foreign, old = { 0 }, b;
	struct book_draft d = book_draft(c);
	struct str text;
	int64_t known;
	enum err e = agent_file_read(c, f, active_file, &text);

	if (e || (text.p && book_read_foreign(c, f, text, &foreign)))
		return e; /* it is not made from the record */
	if (!text.p || !book_read_active(c, text, &known, &old))
		return agent_file_remove(c, f, active_file);
	if ((e = book_read_history(&d, f, true, &text)))
		return e;
	b = book_finish(&d);
	b.epoch = reservation_epoch_raise(c, b.epoch, old.epoch, true);
	return book_write_active(c, f, &b);
}
