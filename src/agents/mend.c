#include "agents/mend.h"

#include "agents/mailbox.h"
#include "agents/protocol.h"
#include "agents/receipts.h"
#include "agents/registry.h"
#include "agents/reservation_book.h"
#include "base/map.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "beads/repair/salvage.h"
#include "store/agent_pending.h"
#include "store/db/receipt_db.h"

enum { WAIT_MS = 10000, LISTED_MOST = 100 };

struct mend_mending {
	struct call *c; /* its memory is freed after each file */
	struct mend *m;
	struct agent_files f;
	struct map messages; /* from mailbox_snapshots() */
	size_t damaged;      /* files */
};

typedef bool line_valid(struct call *c, struct str line);

/* A record file, and its damage. */
struct mend_record {
	struct str name;
	struct str agent; /* the owner of an inbox; or absent */
	line_valid *valid;
	struct str text;  /* the sound lines */
	struct json lost; /* the damaged lines, as an open list */
	size_t bad, split, restored;
};

/* Frees the memory that the check takes: there may be millions of lines. */
static bool mend_line_valid(struct mend_mending *k, const struct mend_record *r, struct str line)
{
	struct arena before = arena_mark(&k->c->mem);
	bool valid = r->valid(k->c, line);

	arena_rewind(&k->c->mem, before);
	return valid;
}

/* The end of the object that the line begins with; 0: there is none. */
static size_t mend_object_end(struct str line)
{
	bool quoted = false;
	size_t depth = 0;

	for (size_t i = 0; i < line.n; i++) {
		char ch = line.p[i];

		if (quoted && ch == '\\')
			i++;
		else if (ch == '"')
			quoted = !quoted;
		else if (!quoted && ch == '{')
			depth++;
		else if (!quoted && ch == '}' && depth && !--depth)
			return i + 1;
	}
	return 0;
}

/* Whether the line is two lines whose line end was lost or overwritten. */
static bool mend_is_pair(struct mend_mending *k, const struct mend_record *r, struct str line,
			 struct str *head, struct str *rest)
{
	size_t end = mend_object_end(line);

	if (!end || end == line.n)
		return false;
	*head = str_head(line, end);
	*rest = str_skip(line, end + (line.p[end] == '{' ? 0 : 1));
	return mend_line_valid(k, r, *head) && mend_line_valid(k, r, *rest);
}

static void mend_list_lost(struct mend_mending *k, struct mend_record *r, size_t number,
			   struct str line)
{
	enum { LOOKED_AT = 4096 };
	struct arena *mem = &k->c->mem;

	if (++r->bad <= LISTED_MOST)
		json_str(&r->lost,
			 arena_fmt(mem, "line %zu: " STR_FMT, number,
				   STR_ARG(salvage_shown(mem, line.n > LOOKED_AT ?
								      str_head(line, LOOKED_AT) :
								      line))));
}

static void mend_end_lost(struct mend_mending *k, struct mend_record *r)
{
	if (r->bad > LISTED_MOST)
		json_str(&r->lost,
			 arena_fmt(&k->c->mem, "and %zu more lines", r->bad - LISTED_MOST));
	json_end(&r->lost);
}

/* Sound lines are copied only if the text has a damaged line; blank lines are sound. */
static void mend_take_lines(struct mend_mending *k, struct mend_record *r, struct str text)
{
	struct buf good = { .mem = &k->c->mem };
	struct str rest = text, line, one, two;
	const char *from = text.p; /* after the last damaged line */

	for (size_t n = 1; rest.n && str_next(&rest, '\n', &line); n++) {
		if (agent_line_blank(line) || mend_line_valid(k, r, line))
			continue;
		buf_put(&good, (struct str){ from, (size_t)(line.p - from) });
		from = line.p + line.n + 1;
		if (mend_is_pair(k, r, line, &one, &two)) {
			r->split++;
			buf_fmt(&good, STR_FMT "\n" STR_FMT "\n", STR_ARG(one), STR_ARG(two));
		} else {
			mend_list_lost(k, r, n, line);
		}
	}
	r->text = text;
	if (!r->bad && !r->split)
		return;
	buf_put(&good, (struct str){ from, (size_t)(str_end(text) - from) });
	r->text = buf_str(&good);
}

/* The lines that the snapshots have and the record lacks. */
static enum err mend_restore(struct mend_mending *k, struct mend_record *r)
{
	struct str lines = { 0 };
	enum err e = ERR_OK;

	if (r->agent.p)
		e = mailbox_missing(k->c, &k->f, &k->messages, r->agent, r->text, &lines,
				    &r->restored);
	else if (r->valid == book_line_valid)
		e = book_missing(k->c, &k->f, r->text, &lines, &r->restored);
	if (!e && r->restored) {
		struct buf all = { .mem = &k->c->mem };

		buf_put(&all, r->text);
		buf_put(&all, lines);
		r->text = buf_str(&all);
	}
	return e;
}

/* Writes the record first, because a snapshot must have nothing that its record lacks. */
static enum err mend_replace(struct mend_mending *k, const struct mend_record *r)
{
	struct call *c = k->c;
	enum err e = file_own_replace(c, agent_file_path(c, &k->f, r->name), r->text, 0600);

	if (e)
		return e;
	return r->agent.p                  ? mailbox_forget_box(c, &k->f, r->agent) :
	       r->valid == book_line_valid ? book_renew_snapshot(c, &k->f) :
					     ERR_OK;
}

static void mend_say(struct buf *out, size_t count, const char *one, const char *many)
{
	if (count)
		buf_fmt(out, "%s%zu %s", out->n ? "; " : "", count, count == 1 ? one : many);
}

static struct str mend_describe(struct call *c, const struct mend_record *r)
{
	struct buf out = { .mem = &c->mem };

	mend_say(&out, r->bad, "line is damaged", "lines are damaged");
	mend_say(&out, r->split, "line end is missing", "line ends are missing");
	mend_say(&out, r->restored, "entry is missing here but is in another file",
		 "entries are missing here but are in other files");
	return buf_str(&out);
}

static struct mend_finding mend_found(struct mend_mending *k, struct str name)
{
	return (struct mend_finding){ .file = agent_file_path(k->c, &k->f, name),
				      .status = k->m->fix ? "fixed" : "error",
				      .fix = k->m->fix ? STR_NONE : STR("abacus doctor --fix") };
}

static enum err mend_lines(struct mend_mending *k, struct mend_record *r)
{
	struct call *c = k->c;
	struct mend_finding found = mend_found(k, r->name);
	struct str text;
	enum err e = agent_file_read(c, &k->f, r->name, &text);

	if (e)
		return e;
	json_array(&r->lost);
	mend_take_lines(k, r, text);
	mend_end_lost(k, r);
	if ((e = mend_restore(k, r)) || !(r->bad + r->split + r->restored))
		return e;
	k->damaged++;
	found.lost = json_text(&r->lost);
	found.message = mend_describe(c, r);
	if (k->m->fix && ((e = mend_keep(c, found.file, &found.kept)) || (e = mend_replace(k, r))))
		return e;
	mend_tell(k->m, &found);
	return ERR_OK;
}

/* Sets a full record aside. The new record begins with the lines that the snapshots have. */
static enum err mend_full(struct mend_mending *k, struct mend_record *r, int64_t size)
{
	struct call *c = k->c;
	struct mend_finding found = mend_found(k, r->name);
	enum err e = r->valid == registry_line ? registry_lines(c, &k->f, &r->text, &r->restored) :
						 mend_restore(k, r);

	if (e)
		return e;
	k->damaged++;
	found.lost = STR("[\"lines that are in no other file\"]");
	found.message = arena_fmt(
		&c->mem,
		"it is full: it has %lld bytes of at most %d; %s the entries that are "
		"in other files too (%zu %s)",
		(long long)size, AGENT_RECORD_FULL,
		k->m->fix ? "a new file was started with" : "--fix starts a new file with",
		r->restored, r->restored == 1 ? "entry" : "entries");
	if (k->m->fix &&
	    ((e = mend_set_aside(c, found.file, &found.kept)) || (e = mend_replace(k, r))))
		return e;
	mend_tell(k->m, &found);
	return ERR_OK;
}

static enum err mend_record(struct mend_mending *k, struct str name, struct str agent,
			    line_valid *valid)
{
	struct mend_record r = {
		.name = name, .agent = agent, .valid = valid, .lost = json_new(&k->c->mem)
	};
	int64_t size;
	enum err e = agent_file_size(k->c, &k->f, name, &size);

	if (e)
		return e;
	return size > AGENT_RECORD_FULL ? mend_full(k, &r, size) : mend_lines(k, &r);
}

/* A file that cannot be read is a finding, and the next files are checked all the same. */
static void mend_look_at(struct mend_mending *k, struct str name, struct str agent,
			 line_valid *valid)
{
	struct call *c = k->c, part = call_part(c);

	k->c = &part;
	if (mend_record(k, name, agent, valid)) {
		k->damaged++;
		mend_fail(&part, k->m, agent_file_path(&part, &k->f, name));
	}
	call_release(&part);
	k->c = c;
}

static void mend_inboxes(struct mend_mending *k)
{
	struct call *c = k->c;
	struct str *agents, *ids;
	struct map all = { .mem = &c->mem };
	size_t count;

	if (mailbox_snapshots(c, &k->f, &k->messages)) {
		k->damaged++;
		mend_fail(c, k->m, agent_file_path(c, &k->f, STR("messages/index")));
	}
	if (!mailbox_list(c, &k->f, &agents, &count))
		for (size_t i = 0; i < count; i++)
			map_put(&all, agents[i]);
	if (!agent_files_list(c, &k->f, STR("agents"), STR(".json"), &ids, &count))
		for (size_t i = 0; i < count; i++) /* also agents without an inbox */
			map_put(&all, ids[i]);
	call_forgive(c);
	for (size_t i = 0; i < all.count; i++)
		mend_look_at(k, mailbox_file(c, all.entry[i].key), all.entry[i].key,
			     mailbox_line_valid);
}

/* --- snapshots of agents --- */

static struct str mend_agent_words(enum registry_file file, bool recorded)
{
	if (file == REGISTRY_MISSING)
		return STR("it was missing; the registration was in 'agents/history.jsonl'");
	return recorded ? STR("it is damaged; the registration is in 'agents/history.jsonl'") :
			  STR("it is damaged, and no other file has the registration: the agent "
			      "must register again");
}

/* `recorded` is the agent's registration in the record, or NULL. */
static enum err mend_agent(struct mend_mending *k, struct str id, const struct registered *recorded)
{
	struct call *c = k->c;
	struct mend_finding found =
		mend_found(k, arena_fmt(&c->mem, "agents/" STR_FMT ".json", STR_ARG(id)));
	enum registry_file file;
	enum err e = registry_look_at(c, &k->f, id, &file);

	if (e || file == REGISTRY_SOUND || (file == REGISTRY_MISSING && !k->m->fix))
		return e; /* the next command that looks for the agent makes the file */
	k->damaged++;
	found.message = mend_agent_words(file, recorded);
	if (!recorded)
		found.lost = arena_fmt(&c->mem, "[\"agent " STR_FMT "\"]", STR_ARG(id));
	if (k->m->fix &&
	    ((file == REGISTRY_DAMAGED && (e = mend_set_aside(c, found.file, &found.kept))) ||
	     (recorded && (e = registry_rewrite(c, &k->f, recorded)))))
		return e;
	mend_tell(k->m, &found);
	return ERR_OK;
}

static void mend_agents(struct mend_mending *k)
{
	struct call *c = k->c;
	struct map known = { .mem = &c->mem };
	struct str warning = c->warning;

	if (registry_list_known(c, &k->f, &known))
		mend_fail(c, k->m, agent_file_path(c, &k->f, STR("agents")));
	for (size_t i = 0; i < known.count; i++)
		if (mend_agent(k, known.entry[i].key, known.entry[i].value)) {
			k->damaged++;
			mend_fail(c, k->m, agent_file_path(c, &k->f, STR("agents")));
		}
	c->warning = warning; /* damaged lines of the record were reported as findings */
}

/* --- files that are set aside whole --- */

static void put_away(struct mend_mending *k, const char *name, const char *what, const char *lost)
{
	struct call *c = k->c;
	struct mend_finding found = mend_found(k, str_of(name));

	found.message = str_of(what);
	found.lost = arena_fmt(&c->mem, "[\"%s\"]", lost);
	k->damaged++;
	call_forgive(c);
	if (k->m->fix && mend_set_aside(c, found.file, &found.kept))
		mend_fail(c, k->m, found.file);
	else
		mend_tell(k->m, &found);
}

/* Every writer completes a pending line, unless it is larger than writers read. */
static void mend_large_pending(struct mend_mending *k)
{
	struct mend_finding found = mend_found(k, STR("pending.jsonl"));
	int64_t size;

	if (agent_file_size(k->c, &k->f, STR("pending.jsonl"), &size) || size <= AGENT_RECORD_MOST)
		return;
	k->damaged++;
	found.message = arena_fmt(&k->c->mem,
				  "it has %lld bytes, and writers read at most %d; its lines %s",
				  (long long)size, AGENT_RECORD_MOST,
				  k->m->fix ? "were added to their files" :
					      "are in no file yet, which stops all writes");
	mend_tell(k->m, &found);
}

static void mend_pending(struct mend_mending *k)
{
	enum err e = agent_pending_check(k->c, &k->f);

	if (e) {
		put_away(k, "pending.jsonl", "it is damaged and prevents all writes",
			 "lines that were about to be added to several records");
		return;
	}
	mend_large_pending(k);
	if (k->m->fix && agent_pending_repair(k->c, &k->f))
		mend_fail(k->c, k->m, agent_file_path(k->c, &k->f, STR("pending.jsonl")));
}

static void mend_receipts(struct mend_mending *k)
{
	struct receipt_db db = { 0 };
	struct receipt none = { .actor = STR("doctor"), .id = STR("none") };
	struct str path = agent_file_path(k->c, &k->f, STR("receipts.db"));
	enum err e = receipt_db_open(k->c, path, false, &db);

	if (!e)
		e = receipt_db_find(k->c, &db, &none);
	receipt_db_close(&db);
	if (e == ERR_DAMAGED)
		put_away(k, "receipts.db", "it is damaged",
			 "replies to request ids: repeated requests are not recognised");
	else if (e)
		mend_fail(k->c, k->m, path);
	call_forgive(k->c);
}

enum err agents_mend(struct call *c, struct mend *m)
{
	struct mend_mending k = { .c = c, .m = m };
	AUTO_LOCK lock = LOCK_NONE;
	enum err e = agent_files_open(c, AGENTS_READ, &k.f);

	if (e || !k.f.home.p)
		return e;
	if (m->fix && (e = lock_take(c, path_join(&c->mem, k.f.home, STR("lock")), WAIT_MS, &lock)))
		return e;
	mend_pending(&k);
	mend_look_at(&k, STR("agents/history.jsonl"), STR_NONE, registry_line);
	mend_agents(&k);
	mend_inboxes(&k);
	mend_look_at(&k, STR("reservations/history.jsonl"), STR_NONE, book_line_valid);
	mend_look_at(&k, STR("events.jsonl"), STR_NONE, protocol_line_valid);
	mend_look_at(&k, STR("receipts.jsonl"), STR_NONE, receipts_line_valid);
	mend_receipts(&k);
	if (!k.damaged)
		mend_tell(m, &(struct mend_finding){
				     .file = k.f.home,
				     .status = "ok",
				     .message = STR("every record and every snapshot is intact") });
	return ERR_OK;
}
