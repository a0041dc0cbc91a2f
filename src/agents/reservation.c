#include "agents/reservation.h"

#include "agents/protocol.h"
#include "agents/receipts.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/map.h"
#include "base/moment.h"
#include "base/number.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "store/agent_pending.h"

static const struct str active_file = { "reservations/active.json", 24 };
static const struct str history_file = { "reservations/history.jsonl", 26 };

static const char *const state_words[] = {
	[RESERVATION_ACTIVE] = "active",
	[RESERVATION_RELEASED] = "released",
	[RESERVATION_EXPIRED] = "expired",
};
const struct names reservation_states = { state_words, RESERVATION_OTHER, NULL };

/* False: there is no word. */
static bool reservation_read_state(struct str word, enum reservation_state *out)
{
	int value = names_exact(&reservation_states, word);

	*out = value < 0 ? RESERVATION_OTHER : (enum reservation_state)value;
	return word.n;
}

/* --- text --- */

static void put_members(struct json *j, const struct reservation *r)
{
	if (r->text.p) {
		json_put_members(j, r->text);
		return;
	}
	json_put_str(j, "reservation_id", r->id);
	json_put_str(j, "scope", r->scope);
	json_put_str(j, "agent_id", r->agent);
	json_put_str(j, "bead_id", r->bead);
	json_put_word(j, "state", &reservation_states, r->state);
	json_put_moment(j, "created_at", r->created_ms);
	json_put_moment(j, "expires_at", r->expires_ms);
	json_put_moment(j, "released_at", r->released_ms);
	json_put_int(j, "epoch", r->epoch);
}

void reservation_put(struct json *j, const struct call *c, const struct reservation *r)
{
	put_members(j, r);
	json_put_bool(j, "expired", r->expires_ms <= c->now_ms || r->state == RESERVATION_EXPIRED);
}

void reservation_encode(struct json *j, const struct call *c, const struct reservation *r)
{
	json_object(j);
	reservation_put(j, c, r);
	json_end(j);
}

static bool reservation_decode(const struct value *v, struct reservation *out)
{
	struct str released = value_str(v, "released_at");

	*out = (struct reservation){ .id = value_str(v, "reservation_id"),
				     .scope = value_str(v, "scope"),
				     .agent = value_str(v, "agent_id"),
				     .bead = value_str(v, "bead_id"),
				     .request = value_str(v, "request") };
	return v && out->id.n && out->agent.n && out->bead.n &&
	       reservation_read_state(value_str(v, "state"), &out->state) &&
	       moment_parse(value_str(v, "created_at"), &out->created_ms) &&
	       moment_parse(value_str(v, "expires_at"), &out->expires_ms) &&
	       (!released.p || moment_parse(released, &out->released_ms)) &&
	       (!value_find(v, "epoch") || value_int(v, "epoch", &out->epoch));
}

/* Text that means itself in a JSON string. Other text has to be parsed, and checked. */
static bool is_plain(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < 0x20 || s.p[i] >= 0x7f || s.p[i] == '\\')
			return false;
	return true;
}

/* The next member, where it is this one, and its value is plain. */
static bool reservation_take(struct str *rest, struct str key, struct str *out)
{
	const char *end;

	if (!str_starts(*rest, key))
		return false;
	*rest = str_skip(*rest, key.n);
	end = memchr(rest->p, '"', rest->n);
	if (!end)
		return false;
	*out = (struct str){ rest->p, (size_t)(end - rest->p) };
	if (!is_plain(*out))
		return false;
	*rest = str_skip(*rest, out->n + 1);
	return true;
}

#define FIRST_KEY STR("{\"reservation_id\":\"")
#define SCOPE_KEY STR(",\"scope\":\"")

/* An active one as put_members() writes it; false: it has to be parsed. */
static bool reservation_scan(struct str line, struct reservation *out)
{
	const struct str tail = STR(",\"released_at\":null,\"epoch\":");
	struct str rest = line, state, created, expires;

	*out = (struct reservation){ 0 };
	return reservation_take(&rest, FIRST_KEY, &out->id) &&
	       reservation_take(&rest, SCOPE_KEY, &out->scope) &&
	       reservation_take(&rest, STR(",\"agent_id\":\""), &out->agent) &&
	       reservation_take(&rest, STR(",\"bead_id\":\""), &out->bead) &&
	       reservation_take(&rest, STR(",\"state\":\""), &state) &&
	       reservation_read_state(state, &out->state) &&
	       reservation_take(&rest, STR(",\"created_at\":\""), &created) &&
	       reservation_take(&rest, STR(",\"expires_at\":\""), &expires) &&
	       str_starts(rest, tail) && str_ends(rest, STR("}")) &&
	       rest.p[tail.n] > '0' && /* JSON has no "+1" and no "01" */
	       number_int((struct str){ rest.p + tail.n, rest.n - tail.n - 1 }, &out->epoch) &&
	       moment_parse(created, &out->created_ms) && moment_parse(expires, &out->expires_ms);
}

/* Epochs count up from 1. One that cannot be counted on from was not given by us. */
static bool epoch_valid(int64_t epoch)
{
	return epoch >= 0 && epoch < INT64_MAX / 2;
}

/* `key` is absent where it is not known. False: it is no reservation; then no memory is taken. */
static bool reservation_parse(struct call *c, struct str line, struct str key,
			      struct reservation *out)
{
	struct arena before = arena_mark(&c->mem);
	bool well;

	line = str_trim(line); /* a hand may have left something around it */
	well = reservation_scan(line, out) ||
	       reservation_decode(agent_line_parse(&c->mem, line), out);
	out->text = line;
	out->key = key;
	if (well && epoch_valid(out->epoch) &&
	    (key.p || scope_parse(&c->mem, STR("/"), out->scope, &out->key) == SCOPE_FINE))
		return true;
	arena_rewind(&c->mem, before);
	return false;
}

static struct str reservation_line_of(struct call *c, const struct reservation *r)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	put_members(&j, r);
	if (r->request.p && !r->text.p)
		json_put_str(&j, "request", r->request);
	json_end(&j);
	return json_text(&j);
}

/* --- what there is --- */

/*
 * The active ones, by scope. Most of them are nobody's business at the moment, so a row is only
 * the text of one and the scope in it.
 */
struct book {
	struct row {
		struct str key, line;
	} * row;
	size_t count;
	int64_t epoch;      /* the last one that was given */
	struct str adopted; /* lines of `row` that the record lacks */
};

/* Where the scope is, or belongs. */
static size_t place_of(const struct book *b, struct str key)
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

static void add_overlapping(struct call *c, const struct row *row, struct reservation ***tail)
{
	**tail = arena_new(&c->mem, struct reservation);
	if (reservation_parse(c, row->line, row->key, **tail))
		*tail = &(**tail)->next;
}

/* The folders around it, itself, and what is in it. */
struct reservation *reservation_overlapping(struct call *c, const struct book *b, struct str key)
{
	struct reservation *first = NULL, **tail = &first;
	struct str inside = key.n ? arena_fmt(&c->mem, STR_FMT "/", STR_ARG(key)) : key;
	size_t at;

	for (size_t n = 0; n <= key.n; n++) {
		struct str folder = str_head(key, n);

		if (n && n < key.n && key.p[n] != '/')
			continue;
		at = place_of(b, folder);
		if (at < b->count && str_eq(b->row[at].key, folder))
			add_overlapping(c, &b->row[at], &tail);
	}
	for (at = place_of(b, inside); at < b->count && str_starts(b->row[at].key, inside); at++)
		if (b->row[at].key.n > key.n)
			add_overlapping(c, &b->row[at], &tail);
	*tail = NULL;
	return first;
}

/* False: nobody has reserved it. */
static bool find_scope(struct call *c, const struct book *b, struct str key,
		       struct reservation *out)
{
	size_t at = place_of(b, key);

	return at < b->count && str_eq(b->row[at].key, key) &&
	       reservation_parse(c, b->row[at].line, key, out);
}

/* Is its time over? A line as put_members() writes it need not be parsed for that. */
static bool row_is_over(struct call *c, const struct row *row)
{
	struct str key = STR(",\"expires_at\":\""), rest = row->line, text;
	const char *at = str_find(rest, key);
	struct reservation r;
	int64_t end;

	if (at) {
		rest = str_skip(rest, (size_t)(at - rest.p) + key.n);
		if (str_next(&rest, '"', &text) && moment_parse(text, &end))
			return end <= c->now_ms;
	}
	return reservation_parse(c, row->line, row->key, &r) && r.expires_ms <= c->now_ms;
}

/* What has happened to a reservation. */
static void reservation_enter(struct call *c, struct book *b, const struct reservation *r)
{
	size_t at = place_of(b, r->key);
	struct reservation there;
	bool found = find_scope(c, b, r->key, &there);

	if (b->epoch < r->epoch)
		b->epoch = r->epoch;
	if (r->state != RESERVATION_ACTIVE) {
		if (found && str_eq(there.id, r->id))
			memmove(&b->row[at], &b->row[at + 1], (--b->count - at) * sizeof *b->row);
		return;
	}
	if (!found) {
		b->row = arena_room(&c->mem, b->row, b->count, sizeof *b->row);
		memmove(&b->row[at + 1], &b->row[at], (b->count++ - at) * sizeof *b->row);
	}
	b->row[at] = (struct row){ r->key, reservation_line_of(c, r) };
}

/* `lenient`: for readers that only show them; damaged lines are left out, with a warning. */
static enum err reservation_read_history(struct call *c, struct agent_files *f, bool lenient,
					 struct book *b, struct str *text)
{
	struct agent_skips skips = { 0 };
	struct str rest, line;
	enum err e = agent_file_read(c, f, history_file, text);

	for (rest = *text; !e && agent_line_next(&rest, &line);) {
		struct reservation r;

		if (reservation_parse(c, line, STR_NONE, &r))
			reservation_enter(c, b, &r);
		else if (lenient)
			agent_skips_add(&skips, line.p - text->p);
		else
			e = agent_file_damaged(c, f, history_file, line.p - text->p);
	}
	agent_skips_warn(c, f, history_file, &skips);
	return e;
}

/*
 * The snapshot is one JSON object, with a reservation on each line of it; the first line has a
 * checksum of the others, so that they can be trusted without being parsed.
 */
static const struct str last_line = { "]}\n", 3 };

static bool reservation_read_row(struct call *c, struct str line, struct row *out)
{
	struct str rest = line, id, scope;
	struct reservation r;

	out->line = line;
	if (reservation_take(&rest, FIRST_KEY, &id) && reservation_take(&rest, SCOPE_KEY, &scope))
		return scope_parse(&c->mem, STR("/"), scope, &out->key) == SCOPE_FINE;
	if (!reservation_parse(c, line, STR_NONE, &r))
		return false;
	out->key = r.key;
	return true;
}

static bool read_active(struct call *c, struct str text, int64_t *known, struct book *b)
{
	struct str head, line;
	const struct value *v;
	int64_t crc;

	if (!str_next(&text, '\n', &head) || !str_ends(text, last_line))
		return false;
	v = agent_line_parse(&c->mem, arena_fmt(&c->mem, STR_FMT "]}", STR_ARG(head)));
	if (!value_int(v, "history", known) || !value_int(v, "epoch", &b->epoch) ||
	    !epoch_valid(b->epoch) || !value_int(v, "crc", &crc) || crc != crc32c(0, text))
		return false;
	text.n -= last_line.n;
	while (text.n && str_next(&text, '\n', &line)) {
		if (str_ends(line, STR(",")))
			line.n--;
		b->row = arena_room(&c->mem, b->row, b->count, sizeof *b->row);
		if (!reservation_read_row(c, line, &b->row[b->count++]))
			return false;
	}
	return true;
}

/*
 * The snapshot of a program that keeps no record of what is active: a list of reservations,
 * without epochs. False: it is none.
 */
static bool read_foreign(struct call *c, struct str text, struct book *b)
{
	const struct value *v = agent_snapshot_parse(&c->mem, text), *list = v;

	if (v && v->type == VALUE_OBJECT && !value_find(v, "crc"))
		list = value_find(v, "reservations");
	if (!list || list->type != VALUE_ARRAY)
		return false;
	for (size_t i = 0; i < list->count; i++) {
		struct reservation r;

		if (!reservation_decode(&list->item[i], &r) || !epoch_valid(r.epoch) ||
		    scope_parse(&c->mem, STR("/"), r.scope, &r.key) != SCOPE_FINE)
			return false;
		r.epoch = r.epoch ? r.epoch : b->epoch + 1;
		reservation_enter(c, b, &r);
	}
	return true;
}

/* The ids that a record knows. */
static struct map reservation_ids(struct call *c, struct str record)
{
	struct map ids = { .mem = &c->mem };
	struct reservation r;
	struct str line;

	while (agent_line_next(&record, &line))
		if (reservation_parse(c, line, STR("/"), &r))
			map_put(&ids, r.id);
	return ids;
}

/* Takes in the rows of which the record knows nothing. */
static void reservation_adopt_rows(struct call *c, struct book *b, struct str record,
				   const struct book *foreign)
{
	struct buf lines = { .mem = &c->mem };
	struct reservation r, there;
	struct map known = reservation_ids(c, foreign->count ? record : STR_NONE);

	for (size_t i = 0; i < foreign->count; i++) {
		const struct row *row = &foreign->row[i];

		if (!reservation_parse(c, row->line, row->key, &r) || map_find(&known, r.id) ||
		    (find_scope(c, b, r.key, &there) && there.epoch >= r.epoch))
			continue;
		reservation_enter(c, b, &r);
		buf_put(&lines, row->line);
		buf_char(&lines, '\n');
	}
	b->adopted = buf_str(&lines);
}

/* The snapshot, if it knows all of the record; else that has to be read. */
static enum err open_book_as(struct call *c, struct agent_files *f, bool lenient, struct book *b)
{
	struct book foreign = { 0 }, snapshot;
	int64_t known = -1, size;
	struct str text;
	enum err e = agent_file_read(c, f, active_file, &text);

	*b = (struct book){ 0 };
	if (e)
		return e;
	if (text.p && !read_active(c, text, &known, b)) {
		known = -1;
		if (!read_foreign(c, text, &foreign))
			c->warning = arena_fmt(
				&c->mem,
				"'" STR_FMT
				"' is damaged; what is reserved was taken from '" STR_FMT "'",
				STR_ARG(active_file), STR_ARG(history_file));
	}
	if ((e = agent_file_size(c, f, history_file, &size))) /* it only grows */
		return e;
	if (known > size && !lenient)
		return agent_file_shortened(c, history_file, active_file);
	if (known > size) /* the snapshot is what is left */
		agent_file_warn_shortened(c, history_file);
	if (known >= size)
		return ERR_OK;
	snapshot = known < 0 ? foreign : *b;
	*b = (struct book){ 0 };
	if (!(e = reservation_read_history(c, f, lenient, b, &text)))
		reservation_adopt_rows(c, b, text, &foreign);
	else if (lenient && !(e = agent_file_pass_over(c, f, history_file, e)))
		*b = snapshot;
	return e;
}

static enum err open_book(struct call *c, struct agent_files *f, struct book *b)
{
	return open_book_as(c, f, false, b);
}

struct reservation_pieces {
	struct arena *mem;
	struct str *piece;
	size_t count;
};

/* What follows the last piece in memory too is part of it. */
static void reservation_add(struct reservation_pieces *p, struct str text)
{
	struct str *last = p->count ? &p->piece[p->count - 1] : NULL;

	if (last && last->p + last->n == text.p) {
		last->n += text.n;
		return;
	}
	p->piece = arena_room(p->mem, p->piece, p->count, sizeof *p->piece);
	p->piece[p->count++] = text;
}

/* Lines of the old snapshot follow each other as they were; others may do so by chance, with
 * anything between them. */
static void add_row(struct reservation_pieces *p, const struct row *row, const struct row *next)
{
	struct str line = row->line, end = { line.p + line.n, 2 }, between = STR(",\n");

	reservation_add(p, line);
	if (!next)
		reservation_add(p, STR("\n"));
	else
		reservation_add(p,
				next->line.p == end.p + 2 && str_eq(end, between) ? end : between);
}

static enum err write_active(struct call *c, struct agent_files *f, const struct book *b)
{
	struct json head = json_new(&c->mem);
	struct reservation_pieces p = { .mem = &c->mem };
	uint32_t crc = 0;
	int64_t size;
	enum err e = agent_file_size(c, f, history_file, &size);

	if (e)
		return e;
	reservation_add(&p, STR(""));
	for (size_t i = 0; i < b->count; i++)
		add_row(&p, &b->row[i], i + 1 < b->count ? &b->row[i + 1] : NULL);
	reservation_add(&p, last_line);
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

static void reservation_add_line(struct call *c, struct buf *lines, const struct reservation *r)
{
	buf_put(lines, reservation_line_of(c, r));
	buf_char(lines, '\n');
}

static void reservation_expire(struct reservation *r)
{
	r->text = STR_NONE;
	r->state = RESERVATION_EXPIRED;
}

/* Archives those whose time is over, but for the scope that is being written. */
static void reservation_sweep(struct call *c, struct book *b, struct str but, struct buf *lines)
{
	struct reservation r;
	size_t kept = 0;

	for (size_t i = 0; i < b->count; i++) {
		const struct row *row = &b->row[i];

		if (str_eq(row->key, but) || !row_is_over(c, row) ||
		    !reservation_parse(c, row->line, row->key, &r)) {
			b->row[kept++] = *row;
			continue;
		}
		reservation_expire(&r);
		reservation_add_line(c, lines, &r);
	}
	b->count = kept;
}

/* The record first, together with its events (may be absent); then the snapshot. */
static enum err reservation_note(struct call *c, struct agent_files *f, struct book *b,
				 const struct reservation *before, const struct reservation *now,
				 const struct agent_append *events)
{
	struct buf lines = { .mem = &c->mem };
	struct agent_append all[2];
	enum err e;

	buf_put(&lines, b->adopted);
	b->adopted = STR_NONE;
	reservation_sweep(c, b, now->key, &lines);
	if (before) {
		reservation_enter(c, b, before);
		reservation_add_line(c, &lines, before);
	}
	reservation_enter(c, b, now);
	reservation_add_line(c, &lines, now);
	all[0] = (struct agent_append){ .name = history_file, .lines = buf_str(&lines) };
	if (events)
		all[1] = *events;
	e = agent_files_append_all(c, f, all, events ? 2 : 1);
	/* while something is pending, the snapshot may not know more than the record */
	return e || f->pending_count ? e : agent_file_later(c, write_active(c, f, b));
}

/* --- reserving --- */

enum liveness reservation_owner(struct call *c, struct agent_files *f, const struct reservation *r)
{
	struct registered *a;

	if (!registry_find(c, f, r->agent, &a))
		return liveness_of(a->seen_ms, c->now_ms, c->stale_minutes);
	c->code = ERR_OK;
	return LIVENESS_EVICTED; /* an agent that is not registered is not there */
}

static enum err reservation_taken(struct call *c, enum err code, const struct reservation *r,
				  const char *how)
{
	struct json j = json_new(&c->mem);

	call_fail(c, code, "'" STR_FMT "' is reserved by '" STR_FMT "' %s %s", STR_ARG(r->scope),
		  STR_ARG(r->agent), how, moment_format(&c->mem, r->expires_ms).p);
	json_object(&j);
	json_put_str(&j, "agent_id", r->agent);
	json_put_str(&j, "scope", r->scope);
	json_put_str(&j, "bead_id", r->bead);
	json_put_str(&j, "expires_at", moment_format(&c->mem, r->expires_ms));
	json_put_int(&j, "epoch", r->epoch);
	json_end(&j);
	return call_detail(c, json_text(&j));
}

/*
 * An agent whose clock was once far ahead counts as active until that time comes. Nobody else can
 * tell whether it is at work, so the error names the command that lets go of what it holds.
 */
static enum err reservation_held(struct call *c, struct agent_files *f, const struct reservation *r)
{
	enum { DAY_MS = 86400000 };
	struct registered *a;
	enum err e = registry_find(c, f, r->agent, &a);

	if (e)
		return e;
	e = reservation_taken(c, ERR_RESERVATION_CONFLICT, r, "until");
	if (a->seen_ms - c->now_ms < DAY_MS)
		return e;
	return call_step(c,
			 "Its clock was wrong: it was last seen in the future, at %s. If it is not "
			 "at work any more, run: bb agent release --agent " STR_FMT
			 " --scope " STR_FMT,
			 moment_format(&c->mem, a->seen_ms).p, STR_ARG(r->agent),
			 STR_ARG(spawn_quoted(&c->mem, r->scope)));
}

/* May the reservation of another of the very same scope be taken? */
static enum err may_take(struct call *c, struct agent_files *f, const struct reservation *r,
			 bool takeover)
{
	bool over = r->expires_ms <= c->now_ms;

	if (!over && reservation_owner(c, f, r) == LIVENESS_ACTIVE)
		return reservation_held(c, f, r);
	if (takeover)
		return ERR_OK;
	return reservation_taken(c, ERR_RESERVATION_STALE_FOUND, r,
				 over ? "and that ended at" : "who is not there, until");
}

static enum err find_incursions(struct call *c, struct agent_files *f, const struct book *b,
				const struct reserve_ask *ask, struct str key,
				struct incursion **out)
{
	struct reservation *r = reservation_overlapping(c, b, key);

	*out = NULL;
	for (; r; r = r->next) {
		bool exact = str_eq(r->key, key);

		if (str_eq(r->agent, ask->agent) || (!exact && r->expires_ms <= c->now_ms))
			continue;
		if (ask->strict && !exact)
			return reservation_taken(c, ERR_RESERVATION_CONFLICT, r, "until");
		*out = arena_new(&c->mem, struct incursion);
		if (exact) /* it is taken over */
			reservation_expire(r);
		**out = (struct incursion){ .with = *r,
					    .kind = exact ? OVERLAP_EXACT : OVERLAP_PARTIAL,
					    .owner = reservation_owner(c, f, r) };
		out = &(*out)->next;
	}
	return ERR_OK;
}

/* The lines of their events; absent if there are none. */
static enum err incursion_lines(struct call *c, struct agent_files *f,
				const struct reservation *mine, const struct incursion *i,
				struct agent_append *out)
{
	struct buf lines = { .mem = &c->mem };
	enum err e = ERR_OK;

	*out = (struct agent_append){ 0 };
	for (; !e && i; i = i->next) {
		struct protocol_event event = {
			.type = EVENT_INCURSION,
			.bead = mine->bead,
			.from = mine->agent,
			.to = i->with.agent,
			.scope = mine->scope,
			.overlap = i->kind,
			.owner = i->owner,
			.action = i->kind == OVERLAP_EXACT ?
					  STR("The scope was taken over; agree with its owner "
					      "before it goes on.") :
					  STR("Both work here; write to each other before you "
					      "change the same file."),
		};

		if (!(e = protocol_line(c, f, &event, out)))
			buf_put(&lines, out->lines);
	}
	if (lines.n)
		out->lines = buf_str(&lines);
	return e;
}

/* The same one with a new end, if it is the agent's own; else one of its own. */
static struct reservation *reservation_renewed(struct call *c, const struct reserve_ask *ask,
					       struct str key, int64_t epoch,
					       const struct reservation *own)
{
	struct reservation *r = arena_new(&c->mem, struct reservation);

	*r = own ? *own :
		   (struct reservation){
			   .id = id_mint(&c->mem, "res", c->now_ms),
			   /* never from the root of the disk: the project may move */
			   .scope = ask->scope.p[0] != '/' ? ask->scope :
				    key.n                  ? key :
							     STR("/"),
			   .agent = ask->agent,
			   .key = key,
			   .created_ms = c->now_ms,
			   .epoch = epoch,
		   };
	r->text = STR_NONE;
	r->state = RESERVATION_ACTIVE;
	r->bead = ask->bead;
	r->expires_ms = c->now_ms + ask->minutes * 60000;
	return r;
}

enum err reservation_make(struct call *c, struct agent_files *f, const struct reserve_ask *ask,
			  struct reservation **out, struct incursion **incursions)
{
	struct registered *a;
	struct reservation there;
	struct agent_append events;
	struct book b;
	struct str key;
	bool found, others, held;
	enum err e;

	if (!str_trim(ask->bead).n)
		return call_fail(c, ERR_MISSING_BEAD_ID,
				 "a reservation has to say for which bead it is");
	if (utf8_has_control(ask->bead))
		return call_fail(c, ERR_INVALID_INPUT,
				 "the id of a bead has no control characters");
	if ((e = scope_normalise(c, f->root.p ? f->root : STR("/"), ask->scope, &key)) ||
	    (e = registry_find(c, f, ask->agent, &a)) || (e = open_book(c, f, &b)))
		return e;
	found = find_scope(c, &b, key, &there);
	others = found && !str_eq(there.agent, ask->agent);
	held = found && !others && there.expires_ms > c->now_ms;
	if ((others && (e = may_take(c, f, &there, ask->takeover))) ||
	    (e = find_incursions(c, f, &b, ask, key, incursions)))
		return e;
	*out = reservation_renewed(c, ask, key, b.epoch + 1, found && !others ? &there : NULL);
	reservation_expire(&there);
	/* what overlaps what is held all along was recorded when it came */
	if ((e = incursion_lines(c, f, *out, held ? NULL : *incursions, &events)) ||
	    (e = reservation_note(c, f, &b, others ? &there : NULL, *out,
				  events.lines.p ? &events : NULL)))
		return e;
	return registry_acted(c, f, a);
}

enum err reservation_adopt(struct call *c, struct agent_files *f, struct str from, struct str to,
			   int64_t minutes, struct reservation **out)
{
	struct reservation *r;
	struct book b;
	enum err e = open_book(c, f, &b);

	if (!e)
		e = reservation_each_held(c, f, from, STR_NONE, out);
	for (r = e ? NULL : *out; !e && r; r = r->next) {
		struct reservation old = *r;
		int64_t end = c->now_ms + minutes * 60000;

		reservation_expire(&old);
		r->text = STR_NONE;
		r->state = RESERVATION_ACTIVE;
		r->id = id_mint(&c->mem, "res", c->now_ms);
		r->agent = to;
		r->created_ms = c->now_ms;
		r->expires_ms = old.expires_ms > end ? old.expires_ms : end;
		r->epoch = b.epoch + 1;
		e = reservation_note(c, f, &b, &old, r, NULL);
	}
	return e;
}

/* --- releasing --- */

/* What this request has released before; NULL: nothing. */
static enum err find_released(struct call *c, struct agent_files *f, struct str mark,
			      struct reservation **out)
{
	struct reservation *r = arena_new(&c->mem, struct reservation);
	struct str text, line;
	enum err e = agent_file_read(c, f, history_file, &text);

	*out = NULL;
	if (e || !str_has(text, mark))
		return e;
	while (text.n && str_next(&text, '\n', &line)) {
		if (!str_has(line, mark) || !reservation_parse(c, line, STR_NONE, r) ||
		    r->state != RESERVATION_RELEASED || !str_eq(r->request, mark))
			continue;
		r->text = STR_NONE;
		*out = r;
		break;
	}
	return ERR_OK;
}

enum err reservation_release(struct call *c, struct agent_files *f, struct str agent,
			     struct str scope, int64_t epoch, struct reservation **out)
{
	struct str key, mark = receipts_mark(c, agent);
	struct registered *a;
	struct reservation there;
	struct book b;
	enum err e;

	if ((e = scope_normalise(c, f->root.p ? f->root : STR("/"), scope, &key)) ||
	    (e = registry_find(c, f, agent, &a)) ||
	    (mark.p && (e = find_released(c, f, mark, out))))
		return e;
	if (mark.p && *out)
		return registry_acted(c, f, a);
	if ((e = open_book(c, f, &b)))
		return e;
	if (!find_scope(c, &b, key, &there))
		return call_fail(c, ERR_RESERVATION_NOT_FOUND, "nobody has reserved '" STR_FMT "'",
				 STR_ARG(scope));
	*out = arena_new(&c->mem, struct reservation);
	**out = there;
	if (!str_eq((*out)->agent, agent))
		return reservation_taken(c, ERR_RELEASE_FORBIDDEN, *out, "until");
	if (epoch && epoch != (*out)->epoch)
		return call_fail(c, ERR_RELEASE_FORBIDDEN,
				 "'" STR_FMT "' was taken since: its epoch is %lld, not %lld",
				 STR_ARG(scope), (long long)(*out)->epoch, (long long)epoch);
	(*out)->text = STR_NONE;
	(*out)->state = RESERVATION_RELEASED;
	(*out)->request = mark;
	(*out)->released_ms = /* not before it was made, whatever the clock says */
		c->now_ms > there.created_ms ? c->now_ms : there.created_ms;
	if ((e = reservation_note(c, f, &b, NULL, *out, NULL)))
		return e;
	return registry_acted(c, f, a);
}

/* --- looking --- */

enum err reservation_open(struct call *c, struct agent_files *f, struct book **out)
{
	*out = arena_new(&c->mem, struct book);
	return open_book(c, f, *out);
}

/* `over`: also those whose time is over. `lenient`: as for open_book_as(). */
static enum err reservation_each_where(struct call *c, struct agent_files *f, struct str agent,
				       struct str bead, bool over, bool lenient,
				       struct reservation **out)
{
	struct reservation **tail = out;
	struct book b;
	enum err e = open_book_as(c, f, lenient, &b);

	*out = NULL;
	for (size_t i = 0; !e && i < b.count; i++) {
		struct reservation *r;

		if (!over && row_is_over(c, &b.row[i]))
			continue;
		r = arena_new(&c->mem, struct reservation);
		if (!reservation_parse(c, b.row[i].line, b.row[i].key, r) ||
		    (agent.p && !str_eq(r->agent, agent)) || (bead.p && !str_eq(r->bead, bead)))
			continue;
		*tail = r;
		tail = &r->next;
	}
	return e;
}

enum err reservation_each(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			  struct reservation **out)
{
	return reservation_each_where(c, f, agent, bead, false, false, out);
}

enum err reservation_each_held(struct call *c, struct agent_files *f, struct str agent,
			       struct str bead, struct reservation **out)
{
	return reservation_each_where(c, f, agent, bead, true, false, out);
}

enum err reservation_shown(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			   bool over, struct reservation **out)
{
	return reservation_each_where(c, f, agent, bead, over, true, out);
}

static struct str member_of(struct call *c, const char *key, struct str value)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, key, value);
	json_end(&j);
	return str_skip(str_head(json_text(&j), json_text(&j).n - 1), 1);
}

static struct str reservation_state_member(struct call *c, enum reservation_state state)
{
	return member_of(c, "state", str_of(names_word(&reservation_states, state)));
}

/* Lines are compared as text: the record may be long, and each of them is as put_members() wrote
 * it. */
enum err reservation_count(struct call *c, struct agent_files *f, struct str agent, struct str bead,
			   struct reservation_counts *out)
{
	struct str released = reservation_state_member(c, RESERVATION_RELEASED),
		   expired = reservation_state_member(c, RESERVATION_EXPIRED);
	struct str of_agent = agent.p ? member_of(c, "agent_id", agent) : STR(""),
		   of_bead = bead.p ? member_of(c, "bead_id", bead) : STR(""), text, line;
	struct reservation *r;
	enum err e;

	*out = (struct reservation_counts){ 0 };
	if ((e = reservation_each_where(c, f, agent, bead, true, true, &r)) ||
	    (e = agent_file_pass_over(c, f, history_file,
				      agent_file_read(c, f, history_file, &text))))
		return e;
	for (; r; r = r->next)
		++*(r->expires_ms > c->now_ms ? &out->active : &out->expired);
	while (text.n && str_next(&text, '\n', &line)) {
		bool ended = str_has(line, expired);

		if ((ended || str_has(line, released)) && str_has(line, of_agent) &&
		    str_has(line, of_bead))
			++*(ended ? &out->expired : &out->released);
	}
	return ERR_OK;
}

/* The last line about a scope tells. */
enum err reservation_each_lapsed(struct call *c, struct agent_files *f, struct reservation **out)
{
	struct map last = { .mem = &c->mem };
	struct str text, line;
	enum err e = agent_file_read(c, f, history_file, &text);

	*out = NULL;
	while (!e && text.n && str_next(&text, '\n', &line)) {
		struct reservation *r = arena_new(&c->mem, struct reservation);

		if (reservation_parse(c, line, STR_NONE, r))
			*map_put(&last, r->key) = r;
	}
	for (size_t i = 0; i < last.count; i++) {
		struct reservation *r = last.entry[i].value;

		if (r->state != RESERVATION_EXPIRED)
			continue;
		*out = r;
		out = &r->next;
		*out = NULL;
	}
	return e;
}

/* --- repairs --- */

bool reservation_line_valid(struct call *c, struct str line)
{
	struct reservation r;

	return reservation_parse(c, line, STR_NONE, &r);
}

/* Of a snapshot that can be read: what is active in it, but not by the record. */
enum err reservation_missing(struct call *c, struct agent_files *f, struct str record,
			     struct str *lines, size_t *count)
{
	struct book snapshot = { 0 }, book = { 0 };
	struct reservation r;
	struct str text, line;
	int64_t known;
	enum err e = agent_file_read(c, f, active_file, &text);

	*count = 0;
	for (struct str rest = record; rest.n && str_next(&rest, '\n', &line);)
		if (reservation_parse(c, line, STR_NONE, &r))
			reservation_enter(c, &book, &r);
	if (!e && text.p && read_active(c, text, &known, &snapshot))
		reservation_adopt_rows(c, &book, record, &snapshot);
	*lines = book.adopted;
	for (struct str rest = *lines; rest.n && str_next(&rest, '\n', &line);)
		++*count;
	return e;
}

enum err reservation_renew_snapshot(struct call *c, struct agent_files *f)
{
	struct book foreign = { 0 }, old = { 0 }, b = { 0 };
	struct str text;
	int64_t known;
	enum err e = agent_file_read(c, f, active_file, &text);

	if (e || (text.p && read_foreign(c, text, &foreign)))
		return e; /* it is not made from the record */
	if (!text.p || !read_active(c, text, &known, &old))
		return agent_file_remove(c, f, active_file);
	if ((e = reservation_read_history(c, f, true, &b, &text)))
		return e;
	if (b.epoch < old.epoch)
		b.epoch = old.epoch;
	return write_active(c, f, &b);
}
