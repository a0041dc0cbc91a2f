/* Posts, statuses and artifacts: local ones become facts, and facts of others become rows. */
#include "base/hash.h"
#include "base/number.h"
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/text/value.h"
#include "machines/apply.h"
#include "machines/collect.h"
#include "store/board/board_agents.h"
#include "store/board/board_artifacts.h"
#include "store/board/board_db.h"
#include "store/board/board_messages.h"
#include "store/db/shared_rows.h"

enum { CONTENT_MOST = 1 << 20, NAME_MOST = 500, ROUND_MOST = 1000 };

static const char post_kind[] = "post";

/* --- posts --- */

/* The global name of a local post; absent: the post is not shared. */
static enum err post_global(struct collecting *k, struct board *b, int64_t id, struct str *out)
{
	struct str machine, name;
	int64_t number;
	enum err e = shared_row_origin(k->c, b->db, post_kind, id, &machine, &number, &name);

	*out = !id       ? STR_NONE :
	       machine.p ? fact_global(&k->c->mem, machine, number) :
			   fact_global(&k->c->mem, k->m->me.self.id, id);
	return e;
}

static enum err post_is_sent(struct collecting *k, struct str global, bool *out)
{
	struct fact_filter filter = { .kind = str_of(post_kind), .subject = global, .limit = 1 };
	struct fact_row *row;
	enum err e = fact_row_each(k->c, &k->m->db, &filter, &row);

	*out = row;
	return e;
}

/*
 * A reply is sent together with the post that it answers, however old: `since_ms` is 0 for that
 * post.
 */
static enum err collect_post(struct collecting *k, struct board *b, const struct message *m,
			     int64_t since_ms)
{
	struct json j = json_new(&k->c->mem);
	struct str machine, name, reply;
	struct message *parent;
	int64_t number;
	bool sent = true;
	enum err e = shared_row_origin(k->c, b->db, post_kind, m->id, &machine, &number, &name);

	if (e || machine.p || m->created_at < since_ms ||
	    (e = post_global(k, b, m->in_reply_to, &reply)) ||
	    (reply.p && (e = post_is_sent(k, reply, &sent))) ||
	    (!sent && ((e = message_find(k->c, b, m->in_reply_to, &parent)) ||
		       (parent && (e = collect_post(k, b, parent, 0))))))
		return e;
	json_object(&j);
	json_put_int(&j, "id", m->id);
	json_put_str(&j, "agent", m->from_agent);
	json_put_str(&j, "content", m->content);
	json_put_int(&j, "created", m->created_at);
	json_put_word(&j, "priority", &priorities, m->priority);
	json_put_raw(&j, "refs", m->refs);
	json_put_raw(&j, "tags", m->tags);
	json_put_present(&j, "reply", reply);
	json_end(&j);
	collect_add(k, FACT_POST, m->created_at, m->from_agent, &j);
	return ERR_OK;
}

static enum err collect_posts(struct collecting *k, struct board *b)
{
	struct message_filter filter = { .min_priority = -1,
					 .oldest_first = true,
					 .limit = ROUND_MOST };
	struct str source = STR("board/messages");
	struct message *m;
	int64_t from, last;
	enum err e;

	if ((e = collect_place(k, source, &from)))
		return e;
	filter.after = last = from;
	if ((e = message_each(k->c, b, &filter, &m)))
		return e;
	for (; !e && m; m = m->next) {
		e = collect_post(k, b, m, k->since_ms);
		last = m->id;
	}
	return e || last == from ? e : collect_set_place(k, source, last);
}

/* --- registers --- */

static struct str board_digest(struct arena *mem, struct json *j)
{
	return str_head(sha256_hex(mem, json_text(j)), 32);
}

/*
 * Every machine finds out by itself that an agent is offline, so that is not a change of its
 * status.
 */
static struct json status_data(struct call *c, const struct agent *a)
{
	struct json j = json_new(&c->mem);
	enum agent_status otherwise = a->blockers.n ? AGENT_BLOCKED : AGENT_IDLE;

	json_object(&j);
	json_put_str(&j, "agent", a->id);
	json_put_str(&j, "blockers", a->blockers);
	json_put_int(&j, "progress", a->progress);
	json_put_str(&j, "task", a->current_task);
	json_put_int(&j, "updated", a->updated_at);
	json_put_word(&j, "status", &agent_statuses,
		      a->status == AGENT_OFFLINE ? (int)otherwise : a->status);
	json_end(&j);
	return j;
}

static enum err collect_statuses(struct collecting *k, struct board *b)
{
	struct agent *a;
	enum err e = agent_each(k->c, b, &a);

	for (; !e && a; a = a->next) {
		struct json j = status_data(k->c, a);
		bool known;

		e = collect_is_known(k, "status", a->id, board_digest(&k->c->mem, &j), &known);
		if (!e && !known)
			collect_add(k, FACT_STATUS, a->updated_at, a->id, &j);
	}
	return e;
}

static struct json artifact_data(struct call *c, const struct artifact *a)
{
	struct json j = json_new(&c->mem);

	json_object(&j);
	json_put_str(&j, "path", a->path);
	json_put_str(&j, "by", a->produced_by);
	json_put_str(&j, "description", a->description);
	json_put_str(&j, "version", a->version);
	json_put_raw(&j, "refs", a->refs);
	json_put_int(&j, "created", a->created_at);
	json_end(&j);
	return j;
}

static enum err collect_artifacts(struct collecting *k, struct board *b)
{
	struct artifact_filter all = { 0 };
	struct artifact *a;
	enum err e = artifact_each(k->c, b, &all, &a);

	for (; !e && a; a = a->next) {
		struct json j = artifact_data(k->c, a);
		bool known;

		e = collect_is_known(k, "artifact", a->path, board_digest(&k->c->mem, &j), &known);
		if (!e && !known)
			collect_add(k, FACT_ARTIFACT, a->created_at, a->produced_by, &j);
	}
	return e;
}

enum err collect_board(struct collecting *k)
{
	struct board b;
	enum err e;

	if (board_open(k->c, BOARD_READ, &b))
		return call_forgive(k->c); /* there is none, or the next round reads it */
	if (!(e = collect_posts(k, &b)) && !(e = collect_statuses(k, &b)))
		e = collect_artifacts(k, &b);
	board_close(&b);
	return e;
}

/* --- applying --- */

static struct str board_json(struct applying *k, const struct value *list)
{
	struct json j = json_new(&k->c->mem);

	if (!list || list->type != VALUE_ARRAY)
		return STR("[]");
	json_value(&j, list);
	return json_text(&j);
}

static struct str board_agent(struct applying *k, const struct fact *f, const char *key)
{
	return registrations_name(&k->agents, f->machine, value_str(f->data, key));
}

static bool board_name_fits(struct str name)
{
	return str_trim(name).n && name.n <= NAME_MOST && !utf8_has_control(name);
}

/*
 * "<machine>:<number>" of a post, as its id here; 0: it is not here. It may still arrive (`waits`),
 * unless it was deleted here.
 */
static enum err post_find(struct applying *k, struct board *b, struct str global, int64_t *id,
			  bool *waits)
{
	struct str rest = global, machine, other, name;
	int64_t number, theirs;
	struct message *m = NULL;
	enum err e;

	*id = 0;
	*waits = false;
	if (!str_next(&rest, ':', &machine) || !number_int(rest, &number) || number < 1)
		return ERR_OK;
	if (str_eq(machine, k->m->me.self.id)) {
		e = shared_row_origin(k->c, b->db, post_kind, number, &other, &theirs, &name);
		*id = other.p ? 0 : number; /* another machine's post may have that id here */
	} else {
		e = shared_row_find(k->c, b->db, post_kind, machine, number, id);
	}
	*waits = !*id;
	if (e || !*id || (e = message_find(k->c, b, *id, &m)) || m)
		return e;
	*id = 0;
	return ERR_OK;
}

static bool post_read_fact(struct applying *k, const struct fact *f, struct message *m)
{
	int priority = names_exact(&priorities, value_str(f->data, "priority"));

	*m = (struct message){ .from_agent = board_agent(k, f, "agent"),
			       .content = value_str(f->data, "content"),
			       .tags = board_json(k, value_find(f->data, "tags")),
			       .refs = board_json(k, value_find(f->data, "refs")),
			       .priority = priority };
	return priority >= 0 && board_name_fits(m->from_agent) && m->content.n &&
	       m->content.n <= CONTENT_MOST && apply_time(k, f, "created", &m->created_at);
}

/* A reply waits for the post that it answers. */
static enum err apply_post(struct applying *k, struct board *b, const struct fact *f, bool *waits)
{
	struct str reply = value_str(f->data, "reply");
	int64_t number = value_count(f->data, "id"), here;
	struct message m;
	enum err e;

	*waits = false;
	if (!post_read_fact(k, f, &m))
		return ERR_OK;
	if ((e = shared_row_find(k->c, b->db, post_kind, f->machine, number, &here)) || here)
		return e;
	if ((reply.p && (e = post_find(k, b, reply, &m.in_reply_to, waits))) || *waits ||
	    (e = message_put(k->c, b, &m)))
		return e;
	return shared_row_put(k->c, b->db, post_kind, f->machine, number, m.id,
			      apply_machine(k, f->machine));
}

/* The replies have only their machine and number: they are read again when they are ready. */
struct posts {
	struct board *b;
	struct map waiting; /* by the post that is missing: struct fact */
	struct fact *ready; /* they waited for posts that are there now */
};

static void post_wait(struct posts *p, struct str reply, const struct fact *f)
{
	struct arena *mem = p->waiting.mem;
	struct fact *left = arena_new(mem, struct fact);
	void **at = map_find(&p->waiting, reply);

	if (!at)
		at = map_put(&p->waiting, arena_copy(mem, reply));
	*left = (struct fact){ .machine = arena_copy(mem, f->machine), .seq = f->seq, .next = *at };
	*at = left;
}

/* Joins a post, and makes the replies that have waited for it ready. */
static enum err post_join(struct applying *k, void *arg, const struct fact *f)
{
	struct posts *p = arg;
	struct fact *reply;
	bool waits;
	void **at;
	enum err e = apply_post(k, p->b, f, &waits);

	if (e)
		return e;
	if (waits) {
		post_wait(p, value_str(f->data, "reply"), f);
		return ERR_OK;
	}
	apply_done(k, f);
	at = map_find(&p->waiting, f->subject);
	while (at && (reply = *at)) {
		*at = reply->next;
		reply->next = p->ready;
		p->ready = reply;
	}
	return ERR_OK;
}

/* Joins a post, and the replies that have waited for it. */
static enum err apply_thread(struct applying *k, void *arg, const struct fact *f)
{
	struct posts *p = arg;
	enum err e = post_join(k, p, f);

	while (!e && p->ready) {
		const struct fact *one = p->ready;

		p->ready = one->next;
		e = apply_again(k, one, post_join, p);
	}
	return e;
}

/* A reply may arrive before its post. Each post is read at most twice. */
static enum err apply_posts(struct applying *k, struct board *b)
{
	struct posts p = { .b = b, .waiting.mem = &k->c->mem };
	struct fact_filter open = { .kind = STR("post"), .open = true };

	return apply_each(k, &open, apply_thread, &p);
}

static bool status_read_fact(struct applying *k, const struct fact *f, struct agent *a)
{
	struct str task = value_str(f->data, "task");
	int status = names_exact(&agent_active_statuses, value_str(f->data, "status"));

	*a = (struct agent){ .id = board_agent(k, f, "agent"),
			     .current_task = task.p ? task : STR(""),
			     .blockers = value_str(f->data, "blockers"),
			     .status = status };
	return status >= 0 && board_name_fits(a->id) && task.n <= CONTENT_MOST &&
	       a->blockers.n <= CONTENT_MOST && value_int(f->data, "progress", &a->progress) &&
	       a->progress >= 0 && a->progress <= 100 &&
	       apply_time(k, f, "updated", &a->updated_at);
}

/* Is it a status of this agent? */
static bool status_fact_fits(struct applying *k, void *name, const struct fact *f)
{
	struct agent a;

	return status_read_fact(k, f, &a) && str_eq(a.id, *(struct str *)name);
}

static enum err apply_status(struct applying *k, void *arg, const struct fact *f)
{
	struct board *b = arg;
	struct agent a, *here;
	struct json now, before;
	enum err e;

	status_read_fact(k, f, &a);
	if ((e = agent_find(k->c, b, a.id, &here)))
		return e;
	a.last_seen = here && here->last_seen > a.updated_at ? here->last_seen : a.updated_at;
	now = status_data(k->c, &a);
	if (here)
		before = status_data(k->c, here);
	e = apply_know(k, "status", a.id, here ? board_digest(&k->c->mem, &before) : STR_NONE,
		       board_digest(&k->c->mem, &now));
	return e || k->postponed ? e : agent_put(k->c, b, &a);
}

static bool artifact_read_fact(struct applying *k, const struct fact *f, struct artifact *a)
{
	struct str description = value_str(f->data, "description");

	*a = (struct artifact){ .path = f->subject,
				.produced_by = board_agent(k, f, "by"),
				.description = description.p ? description : STR(""),
				.version = value_str(f->data, "version"),
				.refs = board_json(k, value_find(f->data, "refs")) };
	return a->path.n <= 4096 && !utf8_has_control(a->path) && a->path.p[0] != '/' &&
	       !str_has(a->path, STR("..")) && board_name_fits(a->produced_by) &&
	       description.n <= CONTENT_MOST && a->version.n <= NAME_MOST &&
	       apply_time(k, f, "created", &a->created_at);
}

static bool artifact_fact_fits(struct applying *k, void *arg, const struct fact *f)
{
	(void)arg;
	return artifact_read_fact(k, f, &(struct artifact){ 0 });
}

static enum err apply_artifact(struct applying *k, void *arg, const struct fact *f)
{
	struct board *b = arg;
	struct artifact a, *here;
	struct json now, before;
	enum err e;

	artifact_read_fact(k, f, &a);
	if ((e = artifact_find(k->c, b, a.path, &here)))
		return e;
	now = artifact_data(k->c, &a);
	if (here)
		before = artifact_data(k->c, here);
	e = apply_know(k, "artifact", a.path, here ? board_digest(&k->c->mem, &before) : STR_NONE,
		       board_digest(&k->c->mem, &now));
	return e || k->postponed ? e : artifact_put(k->c, b, &a);
}

/* The last status of an agent, under its present or an earlier name. */
static enum err status_last(struct applying *k, struct str name, const struct fact **out)
{
	const struct registration *renamed = registrations_renamed(&k->agents, name);
	struct str names[] = { name, renamed ? renamed->name : STR_NONE,
			       renamed ? renamed->alias[0] : STR_NONE };
	struct fact_filter filters[3];
	size_t count = 0;

	for (size_t i = 0; i < 3 && names[i].p; i++)
		if (!i || !str_eq(names[i], name))
			filters[count++] =
				(struct fact_filter){ .kind = STR("status"), .subject = names[i] };
	return apply_last(k, filters, count, status_fact_fits, &name, out);
}

/* The status under this name belongs to an agent that was renamed. */
static enum err status_clear(struct applying *k, struct board *b, struct str name)
{
	struct agent *here, none = { .id = name, .current_task = STR(""), .status = AGENT_IDLE };
	struct json now, before;
	enum err e = agent_find(k->c, b, name, &here);

	if (e || !here)
		return e;
	none.last_seen = here->last_seen;
	none.updated_at = here->updated_at;
	now = status_data(k->c, &none);
	before = status_data(k->c, here);
	e = apply_know(k, "status", name, board_digest(&k->c->mem, &before),
		       board_digest(&k->c->mem, &now));
	return e || k->postponed ? e : agent_put(k->c, b, &none);
}

static enum err status_note_names(struct applying *k, void *arg, struct registration *one)
{
	(void)k;
	map_put(arg, one->name);
	map_put(arg, one->alias[0]);
	map_put(arg, one->shown);
	return ERR_OK;
}

static enum err status_note_open(struct applying *k, void *arg, const struct fact *f)
{
	struct map *names = arg;
	struct agent a;

	if (status_read_fact(k, f, &a) && !map_find(names, a.id))
		map_put(names, arena_copy(names->mem, a.id));
	return ERR_OK;
}

static enum err status_done(struct applying *k, void *names, const struct fact *f)
{
	void **postponed = map_find(names, board_agent(k, f, "agent"));

	if (!postponed || !*postponed)
		apply_done(k, f);
	return ERR_OK;
}

static enum err apply_statuses(struct applying *k, struct board *b)
{
	struct map names = { .mem = &k->c->mem };
	struct fact_filter open = { .kind = STR("status"), .open = true };
	enum err e = ERR_OK;

	if (k->renamed)
		e = apply_each_renamed(k, status_note_names, &names);
	if (!e)
		e = apply_each(k, &open, status_note_open, &names);
	for (size_t i = 0; !e && i < names.count; i++) {
		const struct fact *last;

		k->postponed = false;
		if (!(e = status_last(k, names.entry[i].key, &last)) && last &&
		    (k->renamed || !str_eq(last->machine, k->m->me.self.id)))
			e = apply_again(k, last, apply_status, b);
		else if (!e && !last)
			e = status_clear(k, b, names.entry[i].key);
		names.entry[i].value = k->postponed ? k : NULL;
	}
	return e ? e : apply_each(k, &open, status_done, &names);
}

static enum err board_rename(struct applying *k, void *arg, struct registration *one)
{
	bool here = str_eq(one->machine, k->m->me.self.id);
	struct str machine = here ? STR_NONE : one->machine;
	enum err e = message_rename(k->c, arg, machine, one->name, one->shown);

	if (e || str_eq(one->alias[0], one->shown))
		return e;
	return message_rename(k->c, arg, machine, one->alias[0], one->shown);
}

enum err apply_board(struct applying *k)
{
	static const char *const kinds[] = { "post", "status", "artifact" };
	bool open = k->renamed;
	struct board b;
	const struct apply_register artifacts = {
		.by_kind = true, .fits = artifact_fact_fits, .put = apply_artifact, .arg = &b
	};
	enum err e = ERR_OK;

	for (size_t i = 0; !e && !open && i < 3; i++)
		e = apply_has_open(k, kinds[i], &open);
	if (e || !open)
		return e;
	if ((e = board_open(k->c, BOARD_WRITE, &b)))
		return e == ERR_NOT_INITIALIZED ? call_forgive(k->c) : e;
	if (!(e = shared_rows_begin(k->c, b.db)) && !(e = apply_posts(k, &b)) &&
	    !(e = k->renamed ? apply_each_renamed(k, board_rename, &b) : ERR_OK) &&
	    !(e = apply_statuses(k, &b)) && !(e = apply_registers(k, "artifact", &artifacts)))
		e = board_commit(k->c, &b);
	board_close(&b);
	return e;
}
