#include "sync/share.h"

#include "base/map.h"
#include "base/moment.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/system/platform.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "beads/config.h"
#include "machines/log.h"
#include "machines/machines.h"
#include "machines/share.h"
#include "store/repo/repo_logs.h"
#include "sync/leases.h"

static const int64_t MEMORY_MOST = INT64_C(1) << 30; /* bytes, of the whole process */

enum {
	ROUND_WAIT_MS = 30000,
	PROBLEMS_SAID = 10, /* warnings about logs in one round; 'abacus machines' shows all */
};

#define PLACES_TAKEN "places taken"

struct share_rounds {
	struct call *c;
	struct str home, gitdir, objects;
	struct machines m;
	struct repo *logs;
	struct remote remote;
	struct machine_row *rows;
	struct log_fetch fetch;
	struct str own;       /* the own ref */
	struct str there;     /* the commit of the own ref at the remote; or absent */
	struct str died_with; /* the commit during whose download an earlier process died */
	struct map known;     /* the rows whose key is pinned, by id */
	int64_t present;      /* how many of these have a log at the remote */
	int64_t taken;        /* the same number in an earlier round: these places are taken */
	int64_t strangers;    /* other logs that are followed */
	int64_t unheard;      /* logs for which there was no place */
	size_t problems;      /* warnings about logs */
	int64_t received, applied, sent;
	bool pushed;
	struct json warnings;
};

static void share_warn(struct share_rounds *s, struct str text)
{
	json_str(&s->warnings, text);
}

static struct machine_row *share_row(struct share_rounds *s, struct str id)
{
	struct machine_row **at = &s->rows;

	while (*at && str_cmp((*at)->id, id) < 0)
		at = &(*at)->next;
	if (!*at || !str_eq((*at)->id, id)) {
		struct machine_row *row = arena_new(&s->c->mem, struct machine_row);

		*row = (struct machine_row){ .id = id, .next = *at };
		*at = row;
	}
	return *at;
}

/* --- the remote --- */

static enum err share_open_remote(struct share_rounds *s)
{
	struct call *c = s->c;
	struct str name;
	enum err e;

	s->objects = share_file(c, s->home, "objects");
	if ((e = config_get(c, path_parent(s->home), CONFIG_SYNC_REMOTE, &name)) ||
	    (e = logs_open(c, s->gitdir, s->objects, &s->logs)) ||
	    (e = remote_open(c, s->logs, name, &s->remote)))
		return e;
	platform_limit_memory(MEMORY_MOST);
	if (s->remote.url.p)
		return ERR_OK;
	return remote_missing(c, &s->remote, "Machines share through the Git remote. Add it");
}

/*
 * Anybody can make refs. Those of machines whose key is pinned are always read; the others get the
 * places that are left. A machine whose ref was deleted takes no place, but that is known only when
 * all refs are listed, so the next round makes use of it.
 */
static bool share_has_place(struct share_rounds *s, struct str id)
{
	if (map_find(&s->known, id)) {
		s->present++;
		return true;
	}
	if (s->taken + s->strangers >= LOG_MACHINES_MOST) {
		s->unheard++;
		return false;
	}
	s->strangers++;
	return true;
}

/* Which logs have changed since they were read? */
static void share_wants_head(void *arg, struct log_head *head)
{
	struct share_rounds *s = arg;
	struct str id = str_skip(head->ref, sizeof LOG_REFS - 1);
	struct machine_row *row;

	head->left_out =
		!log_id_valid(id) || (!str_eq(head->ref, s->own) && !share_has_place(s, id));
	if (head->left_out)
		return;
	if (str_eq(head->ref, s->own)) {
		s->there = head->commit;
		head->wanted = !str_has(s->m.me.self.commit.p ? s->m.me.self.commit : STR(""),
					head->commit);
		return;
	}
	row = share_row(s, id);
	head->wanted = !str_eq(row->commit, head->commit) && !str_eq(row->bad, head->commit) &&
		       !str_eq(s->died_with, head->commit);
}

/*
 * Notes a download in a file, so that a process that is killed by what it downloads is followed by
 * one that leaves that log out.
 */
static void share_note_download(void *arg, const struct log_head *head, bool done)
{
	struct share_rounds *s = arg;
	struct call before = call_save(s->c);
	struct str path = share_file(s->c, s->home, "fetching");

	if (done)
		file_remove(s->c, path);
	else
		file_own_replace(s->c, path, head ? head->commit : STR("all\n"), 0600);
	call_restore(s->c, &before);
}

static void share_read_note(struct share_rounds *s)
{
	struct call before = call_save(s->c);
	struct str text;

	if (!file_own_read(s->c, share_file(s->c, s->home, "fetching"), &text) && text.p) {
		s->fetch.singly = true;
		s->died_with = str_trim(text);
	}
	call_restore(s->c, &before);
}

static enum err share_list(struct share_rounds *s)
{
	struct call *c = s->c;
	struct str *haves, taken;
	size_t count = 1;
	enum err e;

	s->known = (struct map){ .mem = &c->mem };
	for (struct machine_row *r = s->rows; r; r = r->next) {
		count++;
		if (r->key.p)
			*map_put(&s->known, r->id) = r;
	}
	if ((e = place_row_find(c, &s->m.db, STR(PLACES_TAKEN), &taken)))
		return e;
	s->taken = (int64_t)s->known.count;
	if (taken.p)
		number_int(taken, &s->taken);
	haves = arena_array(&c->mem, count, sizeof *haves);
	count = 0;
	for (struct machine_row *r = s->rows; r; r = r->next)
		if (r->commit.p && repo_has(s->logs, r->commit))
			haves[count++] = r->commit;
	s->fetch = (struct log_fetch){ .prefix = STR(LOG_REFS),
				       .most = SIZE_MAX,
				       .bytes_most = LOG_MOST,
				       .wants = share_wants_head,
				       .about = share_note_download,
				       .arg = s,
				       .haves = haves,
				       .have_count = count };
	share_read_note(s);
	return logs_fetch(c, &s->remote, &s->fetch);
}

/* --- reading logs --- */

struct share_source {
	struct share_rounds *s;
	struct str commit;
};

static enum err share_read_file(struct call *c, void *arg, const char *path, int64_t most,
				struct str *out)
{
	struct share_source *from = arg;
	struct repo *r = from->s->fetch.there ? from->s->fetch.there : from->s->logs;

	return logs_read(c, r, from->commit, path, most, out);
}

/* A machine's row, in the memory of the round. */
static void share_keep_row(struct call *c, struct machine_row *row)
{
	row->name = arena_copy(&c->mem, row->name);
	row->key = arena_copy(&c->mem, row->key);
	row->problem = arena_copy(&c->mem, row->problem);
}

static enum err share_put_row(struct call *c, struct machines *m, const struct machine_row *row,
			      struct str named)
{
	bool renamed = named.p && !str_eq(named, row->name);
	enum err e = machine_db_begin(c, &m->db);

	if (e || (renamed && (e = identity_reserve(c, &m->db, row, named))) ||
	    (e = machine_row_put(c, &m->db, row)))
		return e;
	return machine_db_commit(c, &m->db);
}

static void share_say_problem(struct share_rounds *s, const struct machine_row *row)
{
	struct call *c = s->c;
	struct str name = identity_shown(c, s->rows, s->m.me.self.name, row),
		   then = STR("it is read again when it has changed");

	if (s->problems++ >= PROBLEMS_SAID)
		return;
	if (log_problem_trustable(row->problem))
		then = arena_fmt(&c->mem,
				 "to accept it as it is now: abacus machines trust " STR_FMT,
				 STR_ARG(row->id));
	share_warn(s, arena_fmt(&c->mem,
				"the log of the machine '" STR_FMT "' is not applied: " STR_FMT
				"; " STR_FMT,
				STR_ARG(name), STR_ARG(row->problem), STR_ARG(then)));
}

/* Each log is read with memory of its own, which is freed after it. */
static enum err share_take_one(struct share_rounds *s, const struct log_head *head)
{
	struct machine_row *row = share_row(s, str_skip(head->ref, sizeof LOG_REFS - 1));
	struct share_source from = { s, head->commit };
	struct str told = row->problem, named = row->name;
	struct call part = call_part(s->c);
	int64_t taken = 0;
	enum err e = ERR_OK;

	if (head->failed) {
		row->problem = STR("it could not be fetched, or is too large");
	} else {
		row->commit = head->commit;
		row->seen_ms = s->c->now_ms;
		e = log_take(&part, &s->m.db, &s->m.me.self, row, share_read_file, &from, &taken);
		if (!e && !row->problem.p)
			e = identity_claim(&part, &s->m.db, s->rows, row, row->name, &row->name);
	}
	share_keep_row(s->c, row);
	row->bad = row->problem.p ? head->commit : STR_NONE;
	row->forgotten = false; /* it has sent its log again, or somebody else has */
	if (row->problem.p)
		row->commit = STR_NONE;
	e = call_part_end(s->c, &part, e);
	s->received += taken;
	if (!e)
		e = share_put_row(s->c, &s->m, row, named);
	if (!e && row->problem.p && !str_eq(row->problem, told))
		share_say_problem(s, row);
	return e;
}

static enum err share_take_all(struct share_rounds *s)
{
	enum err e = ERR_OK;

	for (size_t i = 0; !e && i < s->fetch.count; i++) {
		struct log_head *head = &s->fetch.head[i];
		bool died = s->died_with.n && str_eq(head->commit, s->died_with);

		head->failed = head->failed || died;
		if ((head->wanted || died) && !str_eq(head->ref, s->own))
			e = share_take_one(s, head);
	}
	return e;
}

/* Stores how many places are taken, once there were too few. */
static enum err share_count_places(struct share_rounds *s)
{
	struct call *c = s->c;
	bool kept = s->taken != (int64_t)s->known.count;
	enum err e;

	if (s->present == s->taken || (!kept && !s->unheard))
		return ERR_OK;
	if ((e = machine_db_begin(c, &s->m.db)) ||
	    (e = place_row_put(c, &s->m.db, STR(PLACES_TAKEN),
			       arena_fmt(&c->mem, "%lld", (long long)s->present))))
		return e;
	return machine_db_commit(c, &s->m.db);
}

/* Said when the number changes. */
static enum err share_say_unheard(struct share_rounds *s)
{
	struct call *c = s->c;
	struct str source = STR("unheard"), told,
		   now = arena_fmt(&c->mem, "%lld", (long long)s->unheard);
	enum err e = place_row_find(c, &s->m.db, source, &told);

	if (s->problems > PROBLEMS_SAID)
		share_warn(s, arena_fmt(&c->mem, "%zu more logs are not applied: abacus machines",
					s->problems - PROBLEMS_SAID));
	if (e || str_eq(told.p ? told : STR("0"), now))
		return e;
	if (s->unheard)
		share_warn(s, arena_fmt(&c->mem,
					"%lld logs at the remote are not read, because a clone "
					"follows at most %d machines. Delete those that are not of "
					"your team, with 'git push --delete'. To list all: git "
					"ls-remote " STR_FMT " '" LOG_REFS "*'",
					(long long)s->unheard, LOG_MACHINES_MOST,
					STR_ARG(spawn_word(&c->mem, s->remote.name))));
	if ((e = machine_db_begin(c, &s->m.db)) || (e = place_row_put(c, &s->m.db, source, now)))
		return e;
	return machine_db_commit(c, &s->m.db);
}

/* --- the own log --- */

/*
 * Another clone writes to our ref: this one was copied from it, or it from this one. One of them
 * takes a new id.
 */
static enum err share_check_own(struct share_rounds *s)
{
	struct share_source from = { s, s->there };
	struct machine_self *self = &s->m.me.self;
	struct call *c = s->c;
	enum err e;

	if (!s->there.p || (self->commit.p && str_has(self->commit, s->there)) ||
	    !log_is_of_copy(c, &s->m.db, self, share_read_file, &from))
		return ERR_OK;
	if ((e = identity_renew(c, s->home, &s->m.db, &s->m.me)))
		return e;
	s->own = log_ref(c, self->id);
	s->there = STR_NONE;
	share_warn(s, arena_fmt(&c->mem,
				"another clone uses the id of this machine, so this one has a new "
				"id: " STR_FMT,
				STR_ARG(self->id)));
	return ERR_OK;
}

/* In the first round: a name that no other machine has. */
static void share_choose_name(struct share_rounds *s)
{
	struct str host = s->m.me.self.name, name = host;
	bool taken = true;

	for (int n = 2; taken; n++) {
		taken = false;
		for (struct machine_row *r = s->rows; r && !taken; r = r->next)
			taken = str_eq(r->name, name);
		if (taken)
			name = arena_fmt(&s->c->mem, STR_FMT "-%d", STR_ARG(host), n);
	}
	s->m.me.self.name = name;
	s->m.me.self.dirty = true;
}

static enum err share_write_log(struct share_rounds *s, struct str *commit)
{
	struct call *c = s->c;
	struct log_file *files;
	struct logs_file *list = NULL;
	size_t count = 0;
	enum err e = log_files(c, &s->m.db, &s->m.me.self, s->m.me.secret, &files);

	for (; !e && files; files = files->next) {
		list = arena_room(&c->mem, list, count, sizeof *list);
		list[count++] = (struct logs_file){ files->path, files->text };
	}
	return e ? e : logs_write(c, s->logs, list, count, STR("abacus: log of a machine"), commit);
}

static enum err share_put_self(struct share_rounds *s)
{
	struct call *c = s->c;
	enum err e = machine_db_begin(c, &s->m.db);

	if (e || (e = machine_self_put(c, &s->m.db, &s->m.me.self)))
		return e;
	return machine_db_commit(c, &s->m.db);
}

/* `commit` of the machine names the pushed commit and, until that is certain, the one before. */
static enum err share_push(struct share_rounds *s)
{
	struct machine_self *self = &s->m.me.self;
	struct call *c = s->c;
	int64_t count = self->count;
	struct str commit;
	bool moved = false;
	enum err e;

	if (s->there.p && self->commit.p && str_eq(s->there, self->commit) && self->sent == count &&
	    !self->dirty)
		return ERR_OK;
	if (!count && !s->there.p && !self->dirty)
		return ERR_OK;
	if ((e = share_write_log(s, &commit)))
		return e;
	self->commit = self->commit.p ? arena_fmt(&c->mem, STR_FMT " " STR_FMT, STR_ARG(commit),
						  STR_ARG(str_head(self->commit, commit.n))) :
					commit;
	if ((e = share_put_self(s)) ||
	    (e = logs_push(c, &s->remote, s->own, commit, s->there, &moved)))
		return e;
	if (!moved)
		return ERR_OK; /* a copy of this clone has moved it: the next round finds it */
	s->sent = count - self->sent;
	s->pushed = true;
	self->commit = commit;
	self->sent = count;
	self->dirty = false;
	self->pushed_ms = moment_now();
	return share_put_self(s);
}

static void share_tidy(struct share_rounds *s)
{
	struct call before = call_save(s->c);
	size_t count = 0;
	struct str *commits;
	bool done;

	for (struct machine_row *r = s->rows; r; r = r->next)
		count++;
	commits = arena_array(&s->c->mem, count + 1, sizeof *commits);
	count = 0;
	for (struct machine_row *r = s->rows; r; r = r->next)
		if (r->commit.p)
			commits[count++] = r->commit;
	if (s->m.me.self.commit.p)
		commits[count++] = str_head(s->m.me.self.commit, 40);
	logs_tidy(s->c, s->logs, s->objects, commits, count, &done);
	call_restore(s->c, &before);
}

/* --- a round --- */

static void share_put_reply(struct share_rounds *s, struct json *reply)
{
	int64_t machines = 0;

	json_end(&s->warnings);
	for (size_t i = 0; i < s->fetch.count; i++)
		machines += log_id_valid(str_skip(s->fetch.head[i].ref, sizeof LOG_REFS - 1)) &&
			    !str_eq(s->fetch.head[i].ref, s->own);
	json_object(reply);
	json_put_str(reply, "machine", s->m.me.self.id);
	json_put_str(reply, "name", s->m.me.self.name);
	json_put_str(reply, "remote", s->remote.name);
	json_put_int(reply, "others", machines);
	json_put_int(reply, "received", s->received);
	json_put_int(reply, "applied", s->applied);
	json_put_int(reply, "sent", s->sent);
	json_put_bool(reply, "pushed", s->pushed);
	json_put_int(reply, "waiting", s->m.me.self.count - s->m.me.self.sent);
	json_put_raw(reply, "warnings", json_text(&s->warnings));
	json_end(reply);
}

static enum err share_steps(struct share_rounds *s, const struct share_wants *wants)
{
	struct call *c = s->c;
	enum err e;

	if (wants->look)
		return (e = share_open_remote(s)) ? e : share_list(s);
	if ((e = machines_open(c, s->home, &s->m)))
		return e;
	s->own = log_ref(c, s->m.me.self.id);
	if ((e = machine_row_each(c, &s->m.db, &s->rows)) || (e = machines_collect(c, &s->m)) ||
	    (e = share_open_remote(s)) || (e = share_list(s)) || (e = share_take_all(s)) ||
	    (e = share_say_unheard(s)) || (e = share_count_places(s)) || (e = share_check_own(s)))
		return e;
	if (wants->begin)
		share_choose_name(s);
	if ((e = machines_apply(c, &s->m, &s->applied)) ||
	    (s->m.acted && (e = machines_collect(c, &s->m))))
		return e;
	if (s->m.left_out.p)
		share_warn(s, s->m.left_out);
	if (leases_settle(c, s->home, s->gitdir))
		call_forgive(c); /* the next round tries again; the leases end by themselves */
	s->m.me.self.looked_ms = moment_now();
	if (!(e = share_push(s)))
		share_tidy(s);
	return e;
}

enum err share_round(struct call *c, const struct share_wants *wants, struct json *reply)
{
	struct share_rounds s = { .c = c, .warnings.out.mem = &c->mem };
	AUTO_LOCK alone = LOCK_NONE;
	enum err e = share_home(c, &s.home, &s.gitdir);

	if (e)
		return e;
	json_array(&s.warnings);
	if (!wants->look &&
	    ((e = file_make_folder(c, s.home, 0700)) ||
	     (e = lock_take(c, share_file(c, s.home, "round.lock"), ROUND_WAIT_MS, &alone))))
		return e;
	e = share_steps(&s, wants);
	if (!e)
		share_put_reply(&s, reply);
	logs_fetch_end(&s.fetch);
	if (s.logs)
		repo_close(s.logs);
	machines_close(&s.m);
	return e;
}

enum err share_forget(struct call *c, struct str id)
{
	struct share_rounds s = { .c = c };
	enum err e = share_home(c, &s.home, &s.gitdir);

	if (e)
		return e;
	if (!(e = share_open_remote(&s)))
		e = logs_delete(c, &s.remote, log_ref(c, id));
	if (s.logs)
		repo_close(s.logs);
	return e;
}
