#include "agents/mend.h"

#include "agents/mailbox.h"
#include "agents/protocol.h"
#include "agents/registry.h"
#include "agents/reservation.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "beads/repair/salvage.h"
#include "store/agent_pending.h"
#include "store/db/receipt_db.h"

enum { WAIT_MS = 10000 };

struct mend_mending {
	struct call *c;
	struct mend *m;
	struct agent_files f;
	size_t damaged; /* files */
};

typedef bool line_valid(struct call *c, struct str line);

/* A record: its lines as they should be, and what is wrong with it. */
struct mend_record {
	struct str name;
	struct str agent; /* whose inbox it is; or absent */
	line_valid *valid;
	struct buf good;
	struct json lost; /* an open list */
	size_t bad, split, restored;
};

/* Two lines that have lost the end between them. */
static bool take_both(struct mend_mending *k, struct mend_record *r, struct str line)
{
	for (size_t i = 1; i + 1 < line.n; i++) {
		struct str head = str_head(line, i),
			   rest = str_skip(line, i + (line.p[i] == '{' ? 0 : 1));

		if (line.p[i - 1] != '}' || !rest.n || rest.p[0] != '{' || !r->valid(k->c, head) ||
		    !r->valid(k->c, rest))
			continue;
		buf_fmt(&r->good, STR_FMT "\n" STR_FMT "\n", STR_ARG(head), STR_ARG(rest));
		return true;
	}
	return false;
}

static void mend_take_lines(struct mend_mending *k, struct mend_record *r, struct str text)
{
	struct str line;

	for (size_t n = 1; text.n && str_next(&text, '\n', &line); n++) {
		if (r->valid(k->c, line)) {
			buf_put(&r->good, line);
			buf_char(&r->good, '\n');
		} else if (take_both(k, r, line)) {
			r->split++;
		} else {
			r->bad++;
			json_str(&r->lost, arena_fmt(&k->c->mem, "line %zu: " STR_FMT, n,
						     STR_ARG(salvage_shown(&k->c->mem, line))));
		}
	}
}

/* What the snapshots know, and the record does not. */
static enum err mend_restore(struct mend_mending *k, struct mend_record *r)
{
	struct str lines = { 0 };
	enum err e = ERR_OK;

	if (r->agent.p)
		e = mailbox_missing(k->c, &k->f, r->agent, buf_str(&r->good), &lines, &r->restored);
	else if (r->valid == reservation_line_valid)
		e = reservation_missing(k->c, &k->f, buf_str(&r->good), &lines, &r->restored);
	buf_put(&r->good, lines);
	return e;
}

/* The record first: a snapshot that knows more than it would be damage. */
static enum err mend_replace(struct mend_mending *k, struct mend_record *r, struct str *kept)
{
	struct call *c = k->c;
	struct str path = agent_file_path(c, &k->f, r->name);
	enum err e;

	if ((e = mend_keep(c, path, kept)) ||
	    (e = file_own_replace(c, path, buf_str(&r->good), 0600)))
		return e;
	return r->agent.p                         ? mailbox_forget_box(c, &k->f, r->agent) :
	       r->valid == reservation_line_valid ? reservation_forget_snapshot(c, &k->f) :
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

static enum err mend_record(struct mend_mending *k, struct str name, struct str agent,
			    line_valid *valid)
{
	struct call *c = k->c;
	struct mend_record r = { .name = name,
				 .agent = agent,
				 .valid = valid,
				 .good.mem = &c->mem,
				 .lost.out.mem = &c->mem };
	struct mend_finding found = { .file = agent_file_path(c, &k->f, name),
				      .status = k->m->fix ? "fixed" : "error",
				      .fix = STR("abacus doctor --fix") };
	struct str text;
	enum err e = agent_file_read(c, &k->f, name, &text);

	if (e)
		return e;
	json_array(&r.lost);
	mend_take_lines(k, &r, text);
	json_end(&r.lost);
	if ((e = mend_restore(k, &r)) || !(r.bad + r.split + r.restored))
		return e;
	k->damaged++;
	found.lost = json_text(&r.lost);
	found.message = mend_describe(c, &r);
	if (k->m->fix) {
		found.fix = STR_NONE;
		if ((e = mend_replace(k, &r, &found.kept)))
			return e;
	}
	mend_tell(k->m, &found);
	return ERR_OK;
}

/* The failure of one file is a finding; the others are looked at all the same. */
static void mend_look_at(struct mend_mending *k, struct str name, struct str agent,
			 line_valid *valid)
{
	if (mend_record(k, name, agent, valid)) {
		k->damaged++;
		mend_fail(k->c, k->m, agent_file_path(k->c, &k->f, name));
	}
}

static void mend_inboxes(struct mend_mending *k)
{
	struct call *c = k->c;
	struct str *agents, *ids;
	struct map all = { .mem = &c->mem };
	size_t count;

	if (!mailbox_list(c, &k->f, &agents, &count))
		for (size_t i = 0; i < count; i++)
			map_put(&all, agents[i]);
	if (!agent_files_list(c, &k->f, STR("agents"), STR(".json"), &ids, &count))
		for (size_t i = 0; i < count; i++) /* whose inbox may be gone */
			map_put(&all, ids[i]);
	c->code = ERR_OK;
	for (size_t i = 0; i < all.count; i++)
		mend_look_at(
			k,
			arena_fmt(&c->mem, "messages/" STR_FMT ".jsonl", STR_ARG(all.entry[i].key)),
			all.entry[i].key, mailbox_line_valid);
}

/* --- snapshots of agents --- */

static enum err mend_agent(struct mend_mending *k, struct str id)
{
	struct call *c = k->c;
	struct str path = agent_file_path(
		c, &k->f, arena_fmt(&c->mem, "agents/" STR_FMT ".json", STR_ARG(id)));
	struct mend_finding found = { .file = path,
				      .status = k->m->fix ? "fixed" : "error",
				      .fix = STR("abacus doctor --fix") };
	bool damaged, restored;
	enum err e = registry_mend(c, &k->f, id, false, &damaged, &restored);

	if (e || !damaged)
		return e;
	k->damaged++;
	found.message = restored ? STR("it is damaged; what the agent registered as is in "
				       "'agents/history.jsonl'") :
				   STR("it is damaged, and nothing else says what the agent "
				       "registered as: it has to register again");
	if (!restored)
		found.lost = arena_fmt(&c->mem, "[\"agent " STR_FMT "\"]", STR_ARG(id));
	if (k->m->fix) {
		found.fix = STR_NONE;
		if ((e = mend_keep(c, path, &found.kept)) ||
		    (e = restored ? registry_mend(c, &k->f, id, true, &damaged, &restored) :
				    file_remove(c, path)))
			return e;
	}
	mend_tell(k->m, &found);
	return ERR_OK;
}

static void mend_agents(struct mend_mending *k)
{
	struct call *c = k->c;
	struct str *ids;
	size_t count = 0;

	if (agent_files_list(c, &k->f, STR("agents"), STR(".json"), &ids, &count))
		mend_fail(c, k->m, agent_file_path(c, &k->f, STR("agents")));
	for (size_t i = 0; i < count; i++)
		if (registry_id_valid(ids[i]) && mend_agent(k, ids[i])) {
			k->damaged++;
			mend_fail(c, k->m, agent_file_path(c, &k->f, STR("agents")));
		}
}

/* --- what is put away whole --- */

static void put_away(struct mend_mending *k, const char *name, const char *what, const char *lost)
{
	struct call *c = k->c;
	struct str path = agent_file_path(c, &k->f, str_of(name));
	struct mend_finding found = { .file = path,
				      .status = k->m->fix ? "fixed" : "error",
				      .message = str_of(what),
				      .fix = k->m->fix ? STR_NONE : STR("abacus doctor --fix"),
				      .lost = arena_fmt(&c->mem, "[\"%s\"]", lost) };

	k->damaged++;
	c->code = ERR_OK;
	if (k->m->fix && (mend_keep(c, path, &found.kept) || file_remove(c, path)))
		mend_fail(c, k->m, path);
	else
		mend_tell(k->m, &found);
}

static void mend_pending(struct mend_mending *k)
{
	enum err e = agent_pending_check(k->c, &k->f);

	if (e)
		put_away(k, "pending.jsonl", "it is damaged, and stops all writes",
			 "lines that were being added to several records");
	else if (k->m->fix && agent_pending_complete(k->c, &k->f))
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
			 "answers to request ids: repeats are not recognised");
	else if (e)
		mend_fail(k->c, k->m, path);
	k->c->code = ERR_OK;
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
	mend_look_at(&k, STR("reservations/history.jsonl"), STR_NONE, reservation_line_valid);
	mend_look_at(&k, STR("events.jsonl"), STR_NONE, protocol_line_valid);
	mend_receipts(&k);
	if (!k.damaged)
		mend_tell(m, &(struct mend_finding){
				     .file = k.f.home,
				     .status = "ok",
				     .message = STR("every record and every snapshot is sound") });
	return ERR_OK;
}
