#include "agents/current.h"
#include "agents/liveness.h"
#include "agents/mend.h"
#include "base/system/file.h"
#include "base/system/path.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/beads.h"
#include "beads/repair/repair.h"
#include "continuity/continuity.h"
#include "machines/share.h"
#include "op/op.h"
#include "ops/ops.h"
#include "store/board/board_config.h"
#include "store/board/board_db.h"
#include "store/commit_db.h"
#include "store/db/machine_db.h"
#include "store/db/receipt_db.h"

/*
 * abacus doctor: checks whether every store can be read, and says how to repair those that cannot.
 */

struct body {
	bool fix;
};

static const struct field fields[] = {
	{ "fix", &kind_bool, offsetof(struct body, fix), FIELD_WRITES,
	  .help = "repair the damage; a copy of each damaged file is kept" },
	{ 0 },
};

static const struct prop check_props[] = {
	{ "store file|null status message fix|null kept|null lost[]", NULL },
	{ 0 },
};

static const struct prop props[] = {
	{ "ok:bool", NULL },
	{ "checks[]", check_props },
	{ 0 },
};

/* --- beads --- */

static bool no_store(enum err e)
{
	return e == ERR_NOT_A_REPOSITORY || e == ERR_NOT_INITIALIZED;
}

/* The records in a repair's report that could not be saved. */
static struct str lost_records(struct call *c, struct str report)
{
	struct json j = json_new(&c->mem);

	json_array(&j);
	VALUE_EACH(one, value_read(&c->mem, report)) {
		struct str file = value_str(one, "file"), action = value_str(one, "action"),
			   text = value_str(one, "text");
		int64_t offset = 0;

		if (str_is(action, "kept") || str_is(action, "published"))
			continue;
		value_int(one, "offset", &offset);
		if (!file.p)
			json_str(&j, value_str(one, "why"));
		else
			json_str(&j,
				 arena_fmt(&c->mem, STR_FMT ", byte %lld: " STR_FMT "%s" STR_FMT,
					   STR_ARG(file), (long long)offset, STR_ARG(action),
					   text.n ? ": " : "", STR_ARG(text)));
	}
	json_end(&j);
	return json_text(&j);
}

static void tell_journal(struct call *c, struct mend *m, struct str home,
			 const struct journal_repair *r)
{
	struct mend_finding found = { .file = path_join(&c->mem, home, STR("journal.*")),
				      .status = r->applied ? "fixed" :
						r->damaged ? "error" :
							     "ok",
				      .message = STR("every record is intact") };

	if (r->damaged) {
		found.message = arena_fmt(
			&c->mem, "the journal is damaged: %lld records are readable, %lld are lost",
			(long long)r->salvaged, (long long)r->lost);
		found.lost = lost_records(c, r->report);
	}
	if (r->damaged && !r->applied)
		found.fix = STR("abacus doctor --fix");
	if (r->suffix.p)
		found.kept = arena_fmt(&c->mem, STR_FMT "/journal.*." STR_FMT, STR_ARG(home),
				       STR_ARG(r->suffix));
	mend_tell(m, &found);
}

static void tell_receipts(struct call *c, struct mend *m, struct str home)
{
	struct str path = path_join(&c->mem, home, STR("receipts.db"));
	struct receipt none = { .actor = STR("doctor"), .id = STR("none") };
	struct receipt_db db = { 0 };
	struct mend_finding found = {
		.file = path,
		.status = m->fix ? "fixed" : "error",
		.message = STR("it is damaged"),
		.lost = STR("[\"replies to request ids: repeated requests are not recognised\"]")
	};
	enum err e = receipt_db_open(c, path, false, &db);

	if (!e)
		e = receipt_db_find(c, &db, &none);
	receipt_db_close(&db);
	call_forgive(c);
	if (!e)
		return;
	if (!m->fix)
		found.fix = STR("abacus doctor --fix");
	else if (mend_keep(c, path, &found.kept) || file_remove(c, path)) {
		mend_fail(c, m, path);
		return;
	}
	mend_tell(m, &found);
}

/* Checks a ref from which the store would be set up. */
static void look_at_ref(struct call *c, struct mend *m, struct beads *b)
{
	enum err e = beads_open(c, BEADS_READ, b);

	if (!e)
		beads_close(b);
	if (e == ERR_DAMAGED || e == ERR_REMOTE_DAMAGED)
		mend_tell(m, &(struct mend_finding){ .status = "error",
						     .message = c->message,
						     .fix = STR("bd repair --apply") });
	call_forgive(c);
}

/* Checks the journal, and what belongs to it. A store whose journal was lost still has its cache. */
static enum err look_at_journal(struct call *c, struct mend *m, const struct beads *b, bool *lost)
{
	enum { WAIT_MS = 30000 };
	bool there = journal_exists(c, b->home);
	struct journal_repair r;
	enum err e;

	*lost = false;
	if (!there && !file_exists(&c->mem, path_join(&c->mem, b->home, STR("cache.db"))))
		return ERR_OK;
	if ((e = repair_journal(c, m->fix, WAIT_MS, &r)))
		return e;
	*lost = !there && r.damaged;
	if (!there && !r.damaged)
		return ERR_OK;
	tell_journal(c, m, b->home, &r);
	tell_receipts(c, m, b->home);
	return (e = commit_db_mend(c, b->home, m)) ? e : current_mend(c, b->home, m);
}

static void look_at_beads(struct call *c, struct mend *m)
{
	struct beads b;
	bool lost = false;
	enum err e = beads_home(c, &b);

	m->store = "beads";
	if (!e && !(e = look_at_journal(c, m, &b, &lost)) && !lost && !journal_exists(c, b.home) &&
	    beads_ref_here(c, &b))
		look_at_ref(c, m, &b);
	if (e && !no_store(e))
		mend_fail(c, m, b.home);
	call_forgive(c);
}

/* --- other stores --- */

static void look_at_board(struct call *c, struct mend *m)
{
	struct board_config config;
	struct board b = { 0 };

	m->store = "board";
	if (board_mend(c, m))
		mend_fail(c, m, STR_NONE);
	if (place_find(c, STR(".bb"), &b.root) || !b.root.p || board_check(c, b.root)) {
		call_forgive(c); /* board_mend() has reported a folder that is refused */
		return;
	}
	if (board_config_read(c, &b, &config))
		mend_fail(c, m, path_join(&c->mem, b.root, STR(".bb/config.toml")));
}

static void look_at_vybe(struct call *c, struct mend *m)
{
	struct call before = call_save(c); /* vybe may use another repository */
	struct continuity k;

	m->store = "vybe";
	if (continuity_locate(c, &k) || vybe_db_mend(c, k.path, m))
		mend_fail(c, m, k.path);
	call_restore(c, &before);
}

/* Can what is known of the machines be read? */
static enum err doctor_read_machines(struct call *c, struct str path)
{
	struct machine_self self;
	struct machine_row *rows;
	struct machine_db db;
	enum err e = machine_db_open(c, path, false, &db);

	if (!e && db.db && !(e = machine_self_find(c, &db, &self)))
		e = machine_row_each(c, &db, &rows);
	machine_db_close(&db);
	call_forgive(c);
	return e;
}

/* A damaged machines.db is made anew: the logs of the other machines are at the remote. */
static void look_at_machines(struct call *c, struct mend *m)
{
	struct mend_finding found = {
		.status = m->fix ? "fixed" : "error",
		.message = STR("it is damaged"),
		.lost = STR(
			"[\"the id of this machine: it gets a new one, and reads the logs of the "
			"others again\"]")
	};
	struct str home, gitdir;
	enum err e;

	m->store = "machines";
	if (share_home(c, &home, &gitdir)) {
		call_forgive(c);
		return;
	}
	found.file = share_file(c, home, "machines.db");
	if (doctor_read_machines(c, found.file) != ERR_DAMAGED)
		return;
	if (!m->fix)
		found.fix = STR("abacus doctor --fix");
	else if ((e = mend_set_aside(c, found.file, &found.kept)) ||
		 (e = file_remove(c, share_file(c, home, "machines.db-wal"))) ||
		 (e = file_remove(c, share_file(c, home, "machines.db-shm")))) {
		mend_fail(c, m, found.file);
		return;
	}
	mend_tell(m, &found);
}

static void look_at_settings(struct call *c, struct mend *m)
{
	m->store = "settings";
	if (liveness_check(c))
		mend_fail(c, m, STR_NONE);
}

static enum err project_doctor_run(struct call *c, struct stores *s, const void *body,
				   struct json *reply)
{
	const struct body *in = body;
	struct json checks = json_new(&c->mem);
	struct mend m = { .checks = &checks, .fix = in->fix, .sound = true };

	(void)s;
	json_array(&checks);
	look_at_beads(c, &m);
	m.store = "agents";
	if (agents_mend(c, &m))
		mend_fail(c, &m, STR_NONE);
	look_at_board(c, &m);
	look_at_vybe(c, &m);
	look_at_machines(c, &m);
	look_at_settings(c, &m);
	json_end(&checks);
	c->warning = STR_NONE; /* the reply contains all warnings */
	json_object(reply);
	json_put_bool(reply, "ok", m.sound);
	json_put_raw(reply, "checks", json_text(&checks));
	json_end(reply);
	return ERR_OK;
}

const struct op op_project_doctor = {
	.name = "doctor",
	.help = "Check every store, and with --fix repair the damage",
	.more = "Checks the beads' journal, the agents' files, the board, vybe.db, the record of "
		"machines and the settings. With --fix, everything that is still readable is saved, each damaged "
		"file is kept beside the new one as NAME.damaged_<time>_<random>, and every loss "
		"is listed. 'bd repair' checks published commits. Exits with 1 if any damage is "
		"left.",
	.examples = "abacus doctor\n"
		    "abacus doctor --fix",
	.flags = OP_IDEMPOTENT,
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "doctor", props },
	.run = project_doctor_run,
};
