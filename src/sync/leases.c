#include "sync/leases.h"

#include "agents/reservation_book.h"
#include "base/id.h"
#include "base/moment.h"
#include "base/system/lock.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/config.h"
#include "machines/identity.h"
#include "machines/lease_notes.h"
#include "machines/share.h"
#include "store/repo/repo_logs.h"
#include "sync/sync.h"

enum {
	FETCH_MOST = 4 << 20, /* bytes */
	BROKEN_MOST = 3,      /* pushes that fail in a row before the command gives up */
	SETTLE_MS = 10000,    /* maximum time to remove leases */
};

/* The file at the remote, and the way to it. */
struct lease_file {
	struct call *c;
	struct str home, gitdir, objects;
	struct repo *logs;
	struct remote remote;
	struct machine_self self;
	struct machine_row *rows;
	struct str there; /* the commit of the ref; absent: there is no ref */
	struct leases now;
	int64_t started_ms, timeout_ms;
	int attempts;
	bool pushed; /* a push may have succeeded */
};

/* --- the remote --- */

static enum err lease_open(struct lease_file *f)
{
	struct call *c = f->c;
	struct machine_db db = { 0 };
	struct str name;
	enum err e;

	f->objects = share_file(c, f->home, "lease-objects");
	f->started_ms = moment_ticks();
	if (!(e = machine_db_open(c, share_file(c, f->home, "machines.db"), false, &db)) &&
	    !(e = machine_self_find(c, &db, &f->self)))
		e = machine_row_each(c, &db, &f->rows);
	machine_db_close(&db);
	if (e || (e = config_get(c, path_parent(f->home), CONFIG_SYNC_REMOTE, &name)) ||
	    (e = logs_open(c, f->gitdir, f->objects, &f->logs)) ||
	    (e = remote_open(c, f->logs, name, &f->remote)))
		return e;
	if (f->remote.url.p)
		return ERR_OK;
	return remote_missing(
		c, &f->remote,
		"Nothing was reserved. Reserve without --exclusive, or add the remote");
}

static void lease_close(struct lease_file *f)
{
	struct call before = call_save(f->c);
	bool tidied;

	if (f->logs && f->there.p)
		logs_tidy(f->c, f->logs, f->objects, &f->there, 1, &tidied);
	if (f->logs)
		repo_close(f->logs);
	call_restore(f->c, &before);
}

static void lease_wants_head(void *arg, struct log_head *head)
{
	struct lease_file *f = arg;

	if (!str_is(head->ref, LEASES_REF))
		return;
	f->there = head->commit;
	head->wanted = true;
}

/* Fetches the file once. `failed`: the ref is listed, but its commit did not arrive. */
static enum err lease_fetch(struct lease_file *f, struct str *text, bool *failed)
{
	struct call *c = f->c;
	struct log_fetch fetch = { .prefix = STR(LEASES_REF),
				   .most = 16,
				   .bytes_most = FETCH_MOST,
				   .wants = lease_wants_head,
				   .arg = f };
	enum err e;

	*text = f->there = STR_NONE;
	*failed = false;
	e = logs_fetch(c, &f->remote, &fetch);
	for (size_t i = 0; !e && i < fetch.count; i++)
		*failed = *failed || (fetch.head[i].wanted && fetch.head[i].failed);
	if (!e && f->there.p && !*failed)
		e = logs_read(c, fetch.there ? fetch.there : f->logs, f->there, LEASES_FILE,
			      LEASES_BYTES, text);
	if (!e && f->there.p && !*failed && !text->p)
		*text = STR(""); /* not there, or too large: refused as damaged */
	logs_fetch_end(&fetch);
	return e;
}

/*
 * Reads the file as it is now. A server does not send a commit that no ref leads to any more, so a
 * file that another machine replaces in the middle of a fetch is fetched again.
 */
static enum err lease_read(struct lease_file *f)
{
	struct str text, before = { 0 };
	int same = 0;
	bool failed;
	enum err e;

	while (!(e = lease_fetch(f, &text, &failed)) && failed && same < BROKEN_MOST &&
	       moment_ticks() - f->started_ms < f->timeout_ms) {
		same = str_eq(before, f->there) ? same + 1 : 0;
		before = f->there;
	}
	if (!e && failed)
		return call_fail(f->c, ERR_SYNC_FAILED,
				 "cannot fetch '" LEASES_REF "' (%.10s…) from '" STR_FMT "'",
				 f->there.p, STR_ARG(f->remote.name));
	if (e || !(e = leases_parse(f->c, text, &f->now)))
		return e;
	return call_step(f->c,
			 "Ask for a newer version of Abacus, or delete them all, if nobody works "
			 "with them; the command stops if the server reports that the ref is "
			 "symbolic: " STR_FMT,
			 STR_ARG(remote_delete_command(f->c, &f->remote, STR(LEASES_REF))));
}

static enum err lease_no_room(struct lease_file *f, size_t bytes)
{
	call_fail(f->c, ERR_RESERVATION_CONFLICT,
		  "the list of all exclusive reservations would have %zu bytes, which is more than "
		  "other machines read",
		  bytes);
	return call_step(f->c,
			 "Nothing was reserved. Release exclusive reservations that are no longer "
			 "needed, or delete them all, if nobody works with them: " STR_FMT,
			 STR_ARG(remote_delete_command(f->c, &f->remote, STR(LEASES_REF))));
}

static enum err lease_write(struct lease_file *f, bool *moved)
{
	struct logs_file file = { STR(LEASES_FILE), leases_encode(f->c, &f->now) };
	struct str commit;
	enum err e;

	*moved = false;
	if (!leases_fit(f->c, file.text))
		return lease_no_room(f, file.text.n);
	if ((e = logs_write(f->c, f->logs, &file, 1, STR("abacus: exclusive reservations"),
			    &commit)))
		return e;
	e = logs_push(f->c, &f->remote, STR(LEASES_REF), commit, f->there, moved);
	f->pushed = f->pushed || (e ? e != ERR_REMOTE_DAMAGED : *moved);
	return e;
}

/* After a lost race. */
static enum err lease_wait(struct lease_file *f)
{
	if (moment_ticks() - f->started_ms > f->timeout_ms)
		return call_fail(f->c, ERR_SYNC_TIMEOUT,
				 "other machines reserved first, %d times; '" STR_FMT
				 "' is very busy",
				 f->attempts, STR_ARG(f->remote.name));
	sync_wait(f->attempts);
	return ERR_OK;
}

/* --- reserving --- */

struct lease_take {
	struct lease_file f;
	struct lease_ask ask;
	struct agent_files files;
	int64_t minutes;
	struct lease *lease; /* as it was pushed last; NULL: not yet */
	int broken;          /* pushes that failed, so that their result is unknown */
};

static struct str lease_machine_name(void *arg, struct str machine)
{
	struct lease_file *f = arg;

	if (str_eq(machine, f->self.id))
		return f->self.name;
	for (struct machine_row *r = f->rows; r; r = r->next)
		if (str_eq(r->id, machine))
			return identity_shown(f->c, f->rows, f->self.name, r);
	return machine;
}

static enum err lease_decode_ask(struct lease_take *t, struct str request)
{
	struct call *c = t->f.c;
	const struct value *v = value_read(&c->mem, request), *flag;
	struct lease *l = &t->ask.lease;

	*l = (struct lease){ .id = id_mint(&c->mem, "lease", c->now_ms),
			     .agent = value_str(v, "agent"),
			     .machine = t->f.self.id,
			     .bead = value_str(v, "bead"),
			     .scope = value_str(v, "scope") };
	if (!l->agent.p || !l->bead.p || !l->scope.p || !value_int(v, "minutes", &t->minutes) ||
	    !value_int(v, "epoch", &t->ask.epoch))
		return call_fail(c, ERR_USAGE, "the request is incomplete");
	t->ask.takeover = (flag = value_find(v, "takeover")) && flag->yes;
	t->ask.own = (flag = value_find(v, "own")) && flag->yes;
	t->ask.name = lease_machine_name;
	t->ask.arg = &t->f;
	return ERR_OK;
}

/* Is the lease at the remote, as it was pushed? */
static bool lease_has_landed(const struct lease_take *t)
{
	const struct lease *there = t->lease ? leases_find(&t->f.now, t->lease->id) : NULL;

	return there && there->until_ms == t->lease->until_ms &&
	       str_eq(there->machine, t->lease->machine) && str_eq(there->agent, t->lease->agent);
}

/* The lease begins with this attempt, because earlier attempts may have taken long. */
static void lease_begin_now(struct lease_take *t)
{
	struct call *c = t->f.c;

	if (!c->still)
		c->now_ms = moment_now();
	t->ask.lease.at_ms = c->now_ms;
	t->ask.lease.until_ms = c->now_ms + t->minutes * 60000 + LEASE_MARGIN_MS;
}

/* One attempt. It is done once the file at the remote has the lease. */
static enum err lease_attempt(struct lease_take *t, bool *done)
{
	struct lease_file *f = &t->f;
	struct call failed;
	bool moved = false;
	enum err e = lease_read(f);

	f->attempts++;
	*done = !e && lease_has_landed(t);
	if (e || *done)
		return e;
	lease_begin_now(t);
	if ((e = leases_take(f->c, &t->files, &f->now, &t->ask, &t->lease)) ||
	    (e = lease_note_put(f->c, f->home, t->lease)))
		return e;
	e = lease_write(f, &moved);
	if (e == ERR_SYNC_FAILED && ++t->broken < BROKEN_MOST) {
		failed = call_save(f->c);
		if (lease_read(f)) {
			call_restore(f->c, &failed);
			return e;
		}
		*done = lease_has_landed(t);
		return ERR_OK;
	}
	if (e || !moved || (e = lease_read(f)))
		return e;
	*done = lease_has_landed(t); /* it counts only if the remote really has it */
	return *done || ++t->broken < BROKEN_MOST ? ERR_OK : remote_not_kept(f->c, &f->remote);
}

/* After a failure. A lease that was pushed may be at the remote. */
static enum err lease_failed(struct lease_take *t, enum err e)
{
	struct call *c = t->f.c;

	if (!err_of_sync(e))
		return e;
	if (t->f.pushed && e != ERR_REMOTE_DAMAGED)
		return call_step(c, "The remote may or may not have the reservation. Run the same "
				    "command again: it finds out.");
	if (t->f.pushed)
		return call_step(c, "The remote may or may not have the reservation. " STR_FMT,
				 STR_ARG(call_next_step(c)));
	return call_step(c, "Nothing was reserved. " STR_FMT, STR_ARG(call_next_step(c)));
}

static enum err lease_reserve_open(struct lease_take *t, struct str request)
{
	struct lease_file *f = &t->f;
	bool done = false;
	enum err e;

	if ((e = lease_open(f)) || (e = lease_decode_ask(t, request)) ||
	    (e = agent_files_open(f->c, AGENTS_READ, &t->files)))
		return e;
	while (!e && !done)
		if (!(e = lease_attempt(t, &done)) && !done)
			e = lease_wait(f);
	agent_files_close(&t->files);
	return e ? lease_failed(t, e) : ERR_OK;
}

enum err leases_reserve(struct call *c, struct str request, int64_t timeout_ms, struct json *reply)
{
	struct lease_take t = { .f = { .c = c, .timeout_ms = timeout_ms } };
	AUTO_LOCK alone = LOCK_NONE;
	enum err e = share_home(c, &t.f.home, &t.f.gitdir);

	if (e ||
	    (e = lock_take(c, share_file(c, t.f.home, "leases.lock"), (int)timeout_ms, &alone)))
		return e;
	e = lease_reserve_open(&t, request);
	if (!e) {
		json_object(reply);
		json_put_int(reply, "epoch", t.lease->epoch);
		json_put_int(reply, "until_ms", t.ask.lease.until_ms - LEASE_MARGIN_MS);
		json_end(reply);
	}
	lease_close(&t.f);
	return e;
}

/* --- removing --- */

/* The agent may have got another name since. A contested reservation becomes active again when the
 * earlier one ends. */
static bool lease_is_reserved(struct call *c, const struct book *b, const struct lease *l)
{
	struct reservation r;

	return book_find(c, b, l->scope, &r) && !r.machine.p && r.epoch == l->epoch &&
	       r.expires_ms > c->now_ms &&
	       (r.state == RESERVATION_ACTIVE || r.state == RESERVATION_CONTESTED);
}

/* The notes of leases whose reservations have ended, or were never made. */
static enum err lease_find_ended(struct call *c, struct str home, struct lease_note **out)
{
	struct lease_note *n;
	struct agent_files files;
	struct book b;
	enum err e = lease_notes_each(c, home, &n);

	*out = NULL;
	if (e || !n)
		return e;
	if ((e = agent_files_open(c, AGENTS_READ, &files)))
		return e;
	e = book_open(c, &files, true, &b);
	for (; !e && n; n = n->next) {
		if (lease_is_reserved(c, &b, &n->lease))
			continue;
		*out = n;
		out = &n->next;
	}
	*out = NULL;
	agent_files_close(&files);
	return e;
}

static enum err lease_remove(struct lease_file *f, const struct lease_note *ended)
{
	bool some, moved = false;
	enum err e = ERR_OK;

	while (!e && !moved) {
		if ((e = lease_read(f)))
			return e;
		some = false;
		for (const struct lease_note *n = ended; n; n = n->next)
			some = leases_remove(&f->now, n->lease.id) || some;
		if (!some)
			return ERR_OK;
		f->attempts++;
		if (!(e = lease_write(f, &moved)) && !moved)
			e = lease_wait(f);
	}
	return e;
}

enum err leases_settle(struct call *c, struct str home, struct str gitdir)
{
	struct lease_file f = { .c = c, .home = home, .gitdir = gitdir, .timeout_ms = SETTLE_MS };
	AUTO_LOCK commands = LOCK_NONE, alone = LOCK_NONE;
	struct lease_note *ended;
	enum err e = lease_notes_each(c, home, &ended);

	if (e || !ended)
		return e;
	/* If a command is killed, its git process continues and still holds the second lock. */
	if (lock_take(c, share_file(c, home, LEASES_COMMAND_LOCK), 0, &commands) ||
	    lock_take(c, share_file(c, home, "leases.lock"), 0, &alone))
		return call_forgive(c); /* the next round does it: a command is about to reserve */
	if ((e = lease_find_ended(c, home, &ended)) || !ended)
		return e;
	if (!(e = lease_open(&f)))
		e = lease_remove(&f, ended);
	for (; !e && ended; ended = ended->next)
		lease_note_drop(c, home, ended->lease.id);
	lease_close(&f);
	return e;
}
