/* The log of this machine: stamps, segments, meta.json and its signature. */
#include "machines/log.h"

#include "base/hash.h"
#include "base/map.h"
#include "base/sign.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "machines/identity.h"

bool log_id_valid(struct str id)
{
	for (size_t i = 0; i < id.n; i++)
		if (!((id.p[i] >= '0' && id.p[i] <= '9') || (id.p[i] >= 'a' && id.p[i] <= 'f')))
			return false;
	return id.n == LOG_ID;
}

struct str log_ref(struct call *c, struct str id)
{
	return arena_fmt(&c->mem, LOG_REFS STR_FMT, STR_ARG(id));
}

/* --- adding --- */

static void log_follow(const struct call *c, struct machine_self *self, struct stamp at)
{
	struct stamp clock = { self->clock_ms, self->clock_n };

	if (at.ms > c->now_ms + STAMP_FOLLOWED_MS || stamp_cmp(at, clock) <= 0)
		return;
	self->clock_ms = at.ms;
	self->clock_n = at.n;
}

static struct fact_draft *log_merge(struct fact_draft *a, struct fact_draft *b)
{
	struct fact_draft *first = NULL, **tail = &first;

	while (a && b) {
		struct fact_draft **less = a->act_ms <= b->act_ms ? &a : &b;

		*tail = *less;
		tail = &(*less)->next;
		*less = *tail;
	}
	*tail = a ? a : b;
	return first;
}

/* A stable merge sort by the time of the act. */
static struct fact_draft *log_sort(struct fact_draft *list)
{
	struct fact_draft *slow = list, *fast = list, *rest;

	if (!list || !list->next)
		return list;
	while ((fast = fast->next) && (fast = fast->next))
		slow = slow->next;
	rest = slow->next;
	slow->next = NULL;
	return log_merge(log_sort(list), log_sort(rest));
}

static enum err log_open_bytes(struct call *c, struct machine_db *db,
			       const struct machine_self *self, int64_t *out)
{
	struct segment_row *s;
	enum err e = segment_row_each(c, db, &s);

	*out = 0;
	for (; !e && s; s = s->next)
		if (s->number == self->segment)
			*out = s->bytes;
	return e;
}

/*
 * After a rename, the mail of an agent is read again; and a post may be collected for several
 * replies.
 */
static enum err log_has(struct call *c, struct machine_db *db, const struct fact *f, bool *out)
{
	struct fact_filter same = { .kind = str_of(names_word(&fact_kinds, (int)f->kind)),
				    .subject = f->subject,
				    .machine = f->machine,
				    .limit = 1 };
	struct fact_row *row = NULL;
	bool once = f->kind == FACT_MESSAGE_SENT || f->kind == FACT_MESSAGE_READ ||
		    f->kind == FACT_MESSAGE_ACKED || f->kind == FACT_POST;
	enum err e = once ? fact_row_each(c, db, &same, &row) : ERR_OK;

	*out = row;
	return e;
}

/* What a fact replaces: its latest stamp, and, if that is asked for, each machine's last fact. */
struct log_replaced {
	struct stamp at;
	struct map *last; /* by machine: struct fact_row */
};

static enum err log_add_replaced(struct call *c, struct machine_db *db, enum fact_kind kind,
				 struct str subject, struct log_replaced *out)
{
	bool memory = kind == FACT_MEMORY_SET || kind == FACT_MEMORY_DELETED;
	struct fact_filter same = { .subject = subject, .latest = true, .limit = !out->last };
	struct fact_row *row;
	enum err e;

	if (!memory)
		same.kind = str_of(names_word(&fact_kinds, (int)kind));
	e = fact_row_each(c, db, &same, &row);
	for (; !e && row; row = row->next) {
		struct stamp at = { row->ms, row->n };
		struct fact_row **last;

		if (stamp_cmp(at, out->at) > 0)
			out->at = at;
		if (!out->last)
			continue;
		last = (struct fact_row **)map_put(out->last, row->machine);
		if (!*last || (*last)->seq < row->seq)
			*last = row;
	}
	return e;
}

/*
 * The stamps may be too far ahead for the clock to follow: a fact that is written here has to win
 * over those that are known here. A renamed agent has facts under both names.
 */
static enum err log_find_replaced(struct call *c, struct machine_db *db, const struct fact *f,
				  struct log_replaced *out)
{
	bool named = f->kind == FACT_STATUS || f->kind == FACT_AGENT_REGISTERED;
	struct value_row *renamed = NULL;
	enum err e;

	if ((e = log_add_replaced(c, db, f->kind, f->subject, out)) ||
	    (named && (e = value_row_with(c, db, STR("renamed"), f->subject, &renamed))))
		return e;
	for (; !e && renamed; renamed = renamed->next)
		e = log_add_replaced(
			c, db, f->kind,
			str_eq(f->subject, renamed->key) ? renamed->value : renamed->key, out);
	return e;
}

/* Names the facts with later stamps, for a fact that cannot get a later one: see fact_last(). */
static enum err log_name_replaced(struct call *c, struct machine_db *db, struct fact *f)
{
	struct map last = { .mem = &c->mem };
	struct log_replaced replaced = { .last = &last };
	struct json j = json_new(&c->mem);
	enum err e = log_find_replaced(c, db, f, &replaced);

	json_array(&j);
	for (size_t i = 0; i < last.count; i++) {
		const struct fact_row *row = last.entry[i].value;

		if (stamp_cmp((struct stamp){ row->ms, row->n }, f->at) >= 0)
			json_str(&j, fact_digest(&c->mem, row->line));
	}
	json_end(&j);
	f->over = value_read(&c->mem, json_text(&j));
	return e;
}

/*
 * Stamps a fact; its line is absent if there is nothing to add. A renewal has the time of its
 * reservation, which may be in the future if a fast clock made it: such a time counts as now.
 */
static enum err log_make(struct call *c, struct machine_db *db, struct machine_self *self,
			 const struct fact_draft *d, struct fact *out)
{
	int64_t act_ms = d->act_ms < c->now_ms ? d->act_ms : c->now_ms;
	struct stamp clock = stamp_next((struct stamp){ self->clock_ms, self->clock_n }, act_ms);
	struct fact f = { .machine = self->id,
			  .seq = self->count + 1,
			  .at = clock,
			  .by = d->by.p ? d->by : STR(""),
			  .kind = d->kind },
		    made;
	struct log_replaced replaced = { 0 };
	bool there;
	enum err e;

	*out = (struct fact){ 0 };
	f.line = fact_line(&c->mem, &f, d->data);
	if (fact_parse(&c->mem, self->id, f.line, &made) != FACT_KNOWN)
		return ERR_OK; /* others could not read it either */
	f.subject = made.subject;
	if ((e = log_has(c, db, &f, &there)) || there ||
	    (e = log_find_replaced(c, db, &f, &replaced)))
		return e;
	if (stamp_cmp(replaced.at, clock) >= 0) {
		if (stamp_has_later(replaced.at))
			f.at = stamp_next(replaced.at, act_ms);
		else if ((e = log_name_replaced(c, db, &f)))
			return e;
		f.line = fact_line(&c->mem, &f, d->data);
	}
	self->clock_ms = clock.ms;
	self->clock_n = clock.n;
	log_follow(c, self, f.at);
	*out = f;
	return ERR_OK;
}

static enum err log_put(struct call *c, struct machine_db *db, struct machine_self *self,
			const struct fact_draft *d, int64_t *bytes, bool *sealed)
{
	struct fact_row row;
	struct fact f;
	enum err e = log_make(c, db, self, d, &f);

	if (e || !f.line.p)
		return e;
	if (*bytes && *bytes + (int64_t)f.line.n + 1 > LOG_SEGMENT) {
		self->segment++;
		*bytes = 0;
		*sealed = true;
	}
	row = (struct fact_row){ .machine = self->id,
				 .seq = f.seq,
				 .ms = f.at.ms,
				 .n = f.at.n,
				 .by = f.by,
				 .kind = str_of(names_word(&fact_kinds, (int)f.kind)),
				 .subject = f.subject,
				 .line = f.line,
				 .segment = self->segment,
				 .done = true };
	if ((e = fact_row_put(c, db, &row)))
		return e;
	self->count = f.seq;
	*bytes += (int64_t)f.line.n + 1;
	return ERR_OK;
}

enum err log_append(struct call *c, struct machine_db *db, struct machine_self *self,
		    struct fact_draft *drafts)
{
	bool sealed = false;
	int64_t bytes;
	enum err e = log_open_bytes(c, db, self, &bytes);

	for (struct fact_draft *d = log_sort(drafts); !e && d; d = d->next)
		e = log_put(c, db, self, d, &bytes, &sealed);
	if (!e && sealed)
		e = log_compact(c, db, self);
	return e;
}

/* --- settled facts leave --- */

/* The latest facts of each subject and what is known of it, while the log is compacted. */
struct log_subject {
	int64_t last[FACT_KINDS]; /* number of the newest own fact of each kind */
	int64_t made_ms;
	bool read, ended, wants_ack;
	bool listed;   /* the message is in another machine's log */
	bool answered; /* the post has a reply, which would wait for it on a new machine */
};

/* A fact of the own log. */
struct log_entry {
	const struct log_subject *subject;
	int kind;
	int64_t seq, ms, bytes;
	bool left; /* it has left the log */
	struct log_entry *next;
};

struct log_compacting {
	const struct machine_self *self;
	struct map subjects;            /* by log_subject_key(): struct log_subject */
	struct log_entry *list, **tail; /* the oldest facts first */
};

/* Several machines may have registered one name. */
static struct str log_subject_key(struct arena *mem, const struct fact_row *row)
{
	struct fact f;

	if (!str_eq(row->kind, str_of(names_word(&fact_kinds, FACT_AGENT_REGISTERED))) ||
	    fact_parse(mem, row->machine, row->line, &f) != FACT_KNOWN)
		return row->subject;
	return fact_global(mem, row->subject, value_count(f.data, "created"));
}

static struct log_subject *log_subject_named(struct map *subjects, struct str key)
{
	void **at = map_find(subjects, key);

	if (!at) {
		at = map_put(subjects, arena_copy(subjects->mem, key));
		*at = arena_new(subjects->mem, struct log_subject);
	}
	return *at;
}

static void log_note(struct log_compacting *k, struct log_subject *s, const struct fact_row *row,
		     struct arena *scratch)
{
	int kind = names_exact(&fact_kinds, row->kind);
	struct fact f;

	if (kind < 0)
		return;
	if (str_eq(row->machine, k->self->id))
		s->last[kind] = row->seq;
	if (kind == FACT_MESSAGE_SENT || kind == FACT_RESERVATION_MADE)
		s->made_ms = row->ms;
	s->listed = s->listed || (kind == FACT_MESSAGE_SENT && row->segment == FACT_LISTED);
	if (kind == FACT_MESSAGE_SENT &&
	    fact_parse(scratch, row->machine, row->line, &f) == FACT_KNOWN)
		s->wants_ack = value_yes(f.data, "requires_ack");
	if (kind == FACT_POST && fact_parse(scratch, row->machine, row->line, &f) == FACT_KNOWN &&
	    value_str(f.data, "reply").n)
		log_subject_named(&k->subjects, value_str(f.data, "reply"))->answered = true;
	s->read = s->read || kind == FACT_MESSAGE_READ;
	if (kind == FACT_MESSAGE_ACKED || kind == FACT_RESERVATION_RELEASED ||
	    kind == FACT_RESERVATION_EXPIRED)
		s->ended = true;
}

static enum err log_see(const struct fact_row *row, struct arena *scratch, void *arg)
{
	struct log_compacting *k = arg;
	struct log_subject *s = log_subject_named(&k->subjects, log_subject_key(scratch, row));
	struct log_entry *one;

	log_note(k, s, row, scratch);
	if (row->segment <= 0)
		return ERR_OK;
	one = arena_new(k->subjects.mem, struct log_entry);
	*one = (struct log_entry){ .subject = s,
				   .kind = names_exact(&fact_kinds, row->kind),
				   .seq = row->seq,
				   .ms = row->ms,
				   .bytes = (int64_t)row->line.n + 1 };
	*k->tail = one;
	k->tail = &one->next;
	return ERR_OK;
}

/*
 * This machine's last value of a register is kept, whatever others have written; a message or a
 * reservation is removed 30 days after it was settled.
 */
static bool log_is_settled(const struct log_entry *f, int64_t before)
{
	const struct log_subject *s = f->subject;
	bool read = s->read && !s->wants_ack;

	switch (f->kind) {
	case FACT_AGENT_REGISTERED:
	case FACT_AGENT_SEEN:
	case FACT_STATUS:
	case FACT_ARTIFACT:
		return f->seq < s->last[f->kind];
	case FACT_MEMORY_SET:
	case FACT_MEMORY_DELETED:
		return f->seq < s->last[FACT_MEMORY_SET] || f->seq < s->last[FACT_MEMORY_DELETED];
	case FACT_MESSAGE_READ:
	case FACT_MESSAGE_ACKED:
		/* kept as long as their message: without them it would be unread again */
		return (s->ended || read) && f->ms < before && s->made_ms < before && !s->listed;
	case FACT_MESSAGE_SENT:
		return (s->ended || read) && f->ms < before && s->made_ms < before;
	case FACT_RESERVATION_MADE:
	case FACT_RESERVATION_RELEASED:
	case FACT_RESERVATION_EXPIRED:
		return s->ended && f->ms < before && s->made_ms < before;
	default:
		return false;
	}
}

/* Posts and events have no end. Other machines already have them, and a new machine can do without
 * the oldest ones. */
static bool log_is_history(const struct log_entry *f)
{
	return (f->kind == FACT_POST && !f->subject->answered) || f->kind == FACT_EVENT ||
	       f->kind == FACT_TASK_EVENT;
}

static enum err log_leave(struct call *c, struct machine_db *db, struct machine_self *self,
			  struct log_entry *f)
{
	f->left = true;
	self->dirty = true;
	return fact_row_unlist(c, db, self->id, f->seq);
}

static enum err log_trim(struct call *c, struct machine_db *db, struct machine_self *self,
			 struct log_entry *list)
{
	int64_t bytes = 0, before = c->now_ms - LOG_CURRENT_DAYS * INT64_C(86400000);
	enum err e = ERR_OK;

	for (const struct log_entry *f = list; f; f = f->next)
		if (!f->left)
			bytes += f->bytes;
	for (struct log_entry *f = list; !e && f && bytes > LOG_HISTORY; f = f->next)
		if (!f->left && (f->ms < before || bytes > LOG_FULL) && log_is_history(f)) {
			bytes -= f->bytes;
			e = log_leave(c, db, self, f);
		}
	return e;
}

enum err log_compact(struct call *c, struct machine_db *db, struct machine_self *self)
{
	int64_t before = c->now_ms - LOG_CURRENT_DAYS * INT64_C(86400000);
	struct log_compacting k = { .self = self, .subjects.mem = &c->mem, .tail = &k.list };
	struct fact_filter any = { 0 };
	enum err e = fact_row_visit_each(c, db, &any, log_see, &k);

	for (struct log_entry *f = k.list; !e && f; f = f->next)
		if (log_is_settled(f, before))
			e = log_leave(c, db, self, f);
	return e ? e : log_trim(c, db, self, k.list);
}

/* --- publishing --- */

static struct str log_segment_text(struct call *c, struct fact_row *list)
{
	struct buf text = { .mem = &c->mem };

	for (; list; list = list->next) {
		buf_put(&text, list->line);
		buf_char(&text, '\n');
	}
	return buf_str(&text);
}

static void log_put_segment(struct json *j, struct str name, const struct segment_row *s,
			    struct str hash)
{
	json_object(j);
	json_put_int(j, "bytes", s->bytes);
	json_put_int(j, "last", s->last);
	json_put_str(j, "name", name);
	json_put_str(j, "sha256", hash);
	json_end(j);
}

/* The members in the order of RFC 8785. */
static struct str log_meta(struct call *c, const struct machine_self *self, struct str segments,
			   struct str signature)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_key(&j, STR("at"));
	stamp_encode(&j, (struct stamp){ self->clock_ms, self->clock_n });
	json_put_int(&j, "count", self->count);
	json_put_int(&j, "format", LOG_FORMAT);
	json_put_str(&j, "key", self->key);
	json_put_str(&j, "machine", self->id);
	json_put_str(&j, "name", self->name);
	json_put_raw(&j, "segments", segments);
	json_put_present(&j, "signature", signature);
	json_end(&j);
	return json_text(&j);
}

static struct str log_signed_text(struct call *c, struct str id, struct str meta)
{
	return arena_fmt(&c->mem, STR_FMT "\n" STR_FMT, STR_ARG(log_ref(c, id)), STR_ARG(meta));
}

enum err log_files(struct call *c, struct machine_db *db, struct machine_self *self,
		   struct str secret, struct log_file **out)
{
	struct stamp at = stamp_next((struct stamp){ self->clock_ms, self->clock_n }, c->now_ms);
	struct json segments = json_new(&c->mem);
	struct segment_row *s;
	struct log_file *meta = arena_new(&c->mem, struct log_file), **tail = &meta->next;
	struct str signature;
	enum err e = segment_row_each(c, db, &s);

	self->clock_ms = at.ms;
	self->clock_n = at.n;
	json_array(&segments);
	for (; !e && s; s = s->next) {
		struct fact_filter in = { .machine = self->id, .segment = s->number };
		struct log_file *file = arena_new(&c->mem, struct log_file);
		struct str name = arena_fmt(&c->mem, "%06lld", (long long)s->number);
		struct fact_row *facts;

		if ((e = fact_row_each(c, db, &in, &facts)))
			return e;
		file->path = arena_fmt(&c->mem, "log/" STR_FMT ".jsonl", STR_ARG(name));
		file->text = log_segment_text(c, facts);
		log_put_segment(&segments, name, s, sha256_hex(&c->mem, file->text));
		*tail = file;
		tail = &file->next;
	}
	json_end(&segments);
	signature = sign_make(
		&c->mem, secret,
		log_signed_text(c, self->id, log_meta(c, self, json_text(&segments), STR_NONE)));
	if (!e && !signature.p)
		return call_fail(c, ERR_DAMAGED, "the private key of this machine is damaged");
	meta->path = STR("meta.json");
	meta->text = log_meta(c, self, json_text(&segments), signature);
	*out = meta;
	return e;
}

/* --- the log of another machine --- */

static struct str log_without_signature(struct call *c, const struct value *meta)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	VALUE_EACH(one, meta)
		if (!str_is(one->key, "signature"))
			json_put_member(&j, one);
	json_end(&j);
	return json_canonical_text(&c->mem, value_read(&c->mem, json_text(&j)));
}

static const char other_key[] = "it is signed with another key than before";
static const char set_back[] = "it was set back: a later one was read before";

bool log_problem_trustable(struct str problem)
{
	return str_is(problem, other_key) || str_starts(problem, STR("it was set back"));
}

const char *log_check_meta(struct call *c, struct str id, struct str pinned, struct str text,
			   struct log_claim *out)
{
	enum { VALUES_MOST = 100000 };
	struct value_error error;
	const struct value *v = value_parse_bounded(&c->mem, text, VALUES_MOST, &error),
			   *at = value_find(v, "at");

	*out = (struct log_claim){ .name = value_str(v, "name"),
				   .key = value_str(v, "key"),
				   .segments = value_find(v, "segments") };
	if (!v || v->type != VALUE_OBJECT)
		return "its meta.json is not JSON";
	if (!value_int(v, "format", &out->format) || out->format != LOG_FORMAT)
		return "its format is not known to this version of the program";
	if (!sign_key_valid(out->key) || !out->segments || out->segments->type != VALUE_ARRAY ||
	    !value_int(v, "count", &out->count) || out->count < 0 ||
	    !str_eq(value_str(v, "machine"), id) || !out->name.n || out->name.n > FACT_NAME_MOST ||
	    (at && !stamp_decode(at, &out->at)))
		return "its meta.json lacks something";
	if (pinned.p && !str_eq(pinned, out->key))
		return other_key;
	if (!sign_verify(out->key, value_str(v, "signature"),
			 log_signed_text(c, id, log_without_signature(c, v))))
		return "its signature is wrong";
	return NULL;
}

/* Has the segment a fact that is not among `ours`? */
static bool log_segment_differs(struct call *c, const struct value *segment, const struct map *ours,
				log_read *read, void *arg)
{
	struct str name = value_str(segment, "name"), text, line;
	int64_t bytes = 0;
	bool differs = false;

	value_int(segment, "bytes", &bytes);
	if (read(c, arg, arena_fmt(&c->mem, "log/" STR_FMT ".jsonl", STR_ARG(name)).p, bytes,
		 &text) ||
	    !text.p || !str_eq(sha256_hex(&c->mem, text), value_str(segment, "sha256"))) {
		call_forgive(c);
		return false; /* altered since it was signed */
	}
	while (!differs && text.n && str_next(&text, '\n', &line))
		differs = !map_find(ours, line);
	return differs;
}

bool log_is_of_copy(struct call *c, struct machine_db *db, struct machine_self *self,
		    log_read *read, void *arg)
{
	struct fact_filter own = { .machine = self->id };
	struct map ours = { .mem = &c->mem };
	struct log_claim claim;
	struct fact_row *f;
	struct str text;
	bool copy;

	if (read(c, arg, "meta.json", LOG_META_MOST, &text) || !text.p ||
	    log_check_meta(c, self->id, self->key, text, &claim) ||
	    fact_row_each(c, db, &own, &f)) {
		call_forgive(c);
		return false;
	}
	log_follow(c, self, claim.at);
	for (; f; f = f->next)
		map_put(&ours, f->line);
	copy = claim.count > self->count;
	for (size_t i = 0; !copy && i < claim.segments->count; i++) {
		struct call part = call_part(c);

		copy = log_segment_differs(&part, &claim.segments->item[i], &ours, read, arg);
		call_part_end(c, &part, ERR_OK);
	}
	return copy;
}

/* Facts of kinds that this version does not know are counted, and left out. */
static const char *log_take_line(struct call *c, struct machine_db *db, struct machine_self *self,
				 struct machine_row *row, struct str line, int64_t most,
				 int64_t *before, int64_t *taken)
{
	struct fact f;
	enum fact_form form = fact_parse(&c->mem, row->id, line, &f);
	struct fact_row made;

	if (form == FACT_MALFORMED || f.seq <= *before || f.seq > most)
		return "a line of it is not a fact";
	*before = f.seq;
	if (form == FACT_UNKNOWN || f.seq <= row->applied)
		return NULL;
	log_follow(c, self, f.at);
	made = (struct fact_row){ .machine = row->id,
				  .seq = f.seq,
				  .ms = f.at.ms,
				  .n = f.at.n,
				  .by = f.by.p ? f.by : STR(""),
				  .kind = str_of(names_word(&fact_kinds, (int)f.kind)),
				  .subject = f.subject,
				  .line = line,
				  .segment = FACT_LISTED };
	if (fact_row_put(c, db, &made))
		return "it could not be stored";
	++*taken;
	return NULL;
}

/* A parsed line takes many times its size, so its memory is freed before the next one. */
static const char *log_take_lines(struct call *c, struct machine_db *db, struct machine_self *self,
				  struct machine_row *row, struct str text, int64_t most,
				  int64_t *taken)
{
	const char *why = NULL;
	int64_t before = 0;
	struct str line;

	while (!why && text.n && str_next(&text, '\n', &line)) {
		struct arena mark = arena_mark(&c->mem);

		why = log_take_line(c, db, self, row, line, most, &before, taken);
		arena_rewind(&c->mem, mark);
	}
	return why;
}

static const char *log_take_segment(struct call *c, struct machine_db *db,
				    struct machine_self *self, struct machine_row *row,
				    const struct value *segment, const struct log_claim *claim,
				    log_read *read, void *arg, int64_t *total, int64_t *taken)
{
	struct str name = value_str(segment, "name"), text;
	int64_t bytes = 0, last = 0;

	if (!value_int(segment, "bytes", &bytes) || !value_int(segment, "last", &last) || !name.n ||
	    name.n > 12 || memchr(name.p, '/', name.n) || bytes < 0)
		return "its meta.json lacks something";
	if (bytes > FACT_LINE_MOST + LOG_SEGMENT || (*total += bytes) > LOG_MOST)
		return "it is too large";
	if (last <= row->applied)
		return NULL;
	if (read(c, arg, arena_fmt(&c->mem, "log/" STR_FMT ".jsonl", STR_ARG(name)).p, bytes,
		 &text)) {
		call_forgive(c);
		return "it cannot be read";
	}
	if (!text.p || (int64_t)text.n != bytes ||
	    !str_eq(sha256_hex(&c->mem, text), value_str(segment, "sha256")))
		return "a segment of it was altered";
	return log_take_lines(c, db, self, row, text, claim->count, taken);
}

static const char *log_take_all(struct call *c, struct machine_db *db, struct machine_self *self,
				struct machine_row *row, const struct log_claim *claim,
				log_read *read, void *arg, int64_t *taken)
{
	const char *why = NULL;
	int64_t total = 0;

	for (size_t i = 0; !why && i < claim->segments->count; i++)
		why = log_take_segment(c, db, self, row, &claim->segments->item[i], claim, read,
				       arg, &total, taken);
	return why;
}

/*
 * Reads at most the size that meta.json claims for the segment; the sum of those sizes is limited.
 */
static enum err log_list_segment(struct call *c, const struct value *segment, log_read *read,
				 void *arg, struct map *listed)
{
	struct call part = call_part(c);
	struct str name = value_str(segment, "name"), text, line;
	enum err e =
		read(&part, arg, arena_fmt(&part.mem, "log/" STR_FMT ".jsonl", STR_ARG(name)).p,
		     value_count(segment, "bytes"), &text);

	while (!e && text.n && str_next(&text, '\n', &line)) {
		struct arena mark = arena_mark(&part.mem);
		struct fact f;

		if (fact_parse(&part.mem, STR_NONE, line, &f) == FACT_KNOWN)
			map_put(listed, fact_global(&c->mem, STR(""), f.seq));
		arena_rewind(&part.mem, mark);
	}
	return call_part_end(c, &part, e);
}

/* The machine has compacted its log. Finds the facts that were removed. */
static enum err log_unlist(struct call *c, struct machine_db *db, const struct machine_row *row,
			   const struct log_claim *claim, log_read *read, void *arg)
{
	struct fact_filter theirs = { .machine = row->id, .segment = FACT_LISTED };
	struct map listed = { .mem = &c->mem };
	struct fact_row *f;
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < claim->segments->count; i++)
		e = log_list_segment(c, &claim->segments->item[i], read, arg, &listed);
	if (e || (e = fact_row_each(c, db, &theirs, &f)))
		return e;
	for (; !e && f; f = f->next)
		if (!map_find(&listed, fact_global(&c->mem, STR(""), f->seq)))
			e = fact_row_unlist(c, db, f->machine, f->seq);
	return e;
}

/* A log is compacted when a segment is sealed, and so a new one begins. */
static enum err log_note_left(struct call *c, struct machine_db *db, const struct machine_row *row,
			      const struct log_claim *claim, log_read *read, void *arg)
{
	size_t count = claim->segments->count;
	struct str source = arena_fmt(&c->mem, "segment " STR_FMT, STR_ARG(row->id)), known,
		   last = count ? value_str(&claim->segments->item[count - 1], "name") : STR("");
	enum err e = place_row_find(c, db, source, &known);

	if (e || str_eq(known, last))
		return e;
	if (known.p && (e = log_unlist(c, db, row, claim, read, arg)))
		return e;
	return place_row_put(c, db, source, last);
}

static struct str log_place(struct call *c, const struct machine_row *row)
{
	return arena_fmt(&c->mem, "published " STR_FMT, STR_ARG(row->id));
}

/*
 * A log that is published again without a new fact, as after a rename, has a later stamp. Logs of
 * older versions of the program have none. Nothing is compared before a key is pinned.
 */
static enum err log_check_order(struct call *c, struct machine_db *db,
				const struct machine_row *row, const struct log_claim *claim,
				const char **why)
{
	struct stamp before = { 0 };
	struct str place;
	enum err e = place_row_find(c, db, log_place(c, row), &place);

	if (e || !row->key.p)
		return e;
	if (place.p)
		stamp_decode(value_read(&c->mem, place), &before);
	if (claim->count < row->count ||
	    (claim->count == row->count && stamp_cmp(claim->at, before) < 0))
		*why = set_back;
	return ERR_OK;
}

static enum err log_note_order(struct call *c, struct machine_db *db, const struct machine_row *row,
			       const struct log_claim *claim)
{
	struct json j = json_new(&c->mem);

	stamp_encode(&j, claim->at);
	return place_row_put(c, db, log_place(c, row), json_text(&j));
}

enum err log_take(struct call *c, struct machine_db *db, struct machine_self *self,
		  struct machine_row *row, log_read *read, void *arg, int64_t *taken)
{
	struct machine_self before = *self;
	struct log_claim claim;
	const char *why;
	struct str text;
	enum err e;

	*taken = 0;
	if ((e = read(c, arg, "meta.json", LOG_META_MOST, &text)))
		return e;
	why = text.p ? log_check_meta(c, row->id, row->key, text, &claim) :
		       "it has no meta.json of an acceptable size";
	if ((!why && (e = log_check_order(c, db, row, &claim, &why))) ||
	    (e = machine_db_begin(c, db)))
		return e;
	if (!why)
		why = log_take_all(c, db, self, row, &claim, read, arg, taken);
	if (!why &&
	    (log_note_left(c, db, row, &claim, read, arg) || log_note_order(c, db, row, &claim)))
		why = "it could not be stored";
	row->problem = STR_NONE;
	if (why) {
		machine_db_rollback(db);
		*self = before;
		*taken = 0;
		row->problem = str_of(why);
		call_forgive(c);
		if ((e = machine_db_begin(c, db)))
			return e;
	} else {
		row->name = identity_name_valid(claim.name) ? claim.name : STR_NONE;
		row->key = claim.key;
		row->count = row->applied = claim.count;
	}
	if ((e = machine_row_put(c, db, row)) || (e = machine_self_put(c, db, self)))
		return e;
	return machine_db_commit(c, db);
}
