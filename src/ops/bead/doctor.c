/*
 * bd doctor: a list of checks. Each one adds rows to the reply, with a status and the command that
 * repairs the problem.
 */
#include <sys/stat.h>

#include "base/moment.h"
#include "base/system/path.h"
#include "base/system/spawn.h"
#include "base/text/json.h"
#include "base/text/value.h"
#include "beads/apply.h"
#include "beads/exchange/mention.h"
#include "beads/exchange/mirror.h"
#include "beads/git_process.h"
#include "beads/repair/inspect.h"
#include "beads/repair/restamp.h"
#include "beads/sync_state.h"
#include "ops/bead/bead_ops.h"
#include "ops/ops.h"

static const struct prop check_props[] = { { "code status message fix|null", NULL }, { 0 } };

static const struct prop props[] = {
	{ "ok:bool", NULL },
	{ "checks[]", check_props },
	{ 0 },
};

struct doctor {
	struct call *c;
	struct json *j;
	bool ok;
	bool behind;  /* the journal does not reach the published commit */
	bool damaged; /* a sync cannot read the published commit */
};

static void bead_doctor_tell(struct doctor *d, const char *code, const char *status,
			     struct str message, const char *fix)
{
	json_object(d->j);
	json_put_str(d->j, "code", str_of(code));
	json_put_str(d->j, "status", str_of(status));
	json_put_str(d->j, "message", message);
	json_put_str(d->j, "fix", str_of(fix));
	json_end(d->j);
	d->ok = d->ok && strcmp(status, "error") != 0;
}

/* Checks that only the owner can read the store. */
static void check_mode(struct doctor *d, struct beads *b)
{
	struct stat st;

	if (stat(arena_cstr(&d->c->mem, b->home), &st) || !(st.st_mode & 077))
		return;
	bead_doctor_tell(
		d, "permissions", "warning",
		arena_fmt(&d->c->mem, "others may look into '" STR_FMT "'", STR_ARG(b->home)),
		arena_fmt(&d->c->mem, "chmod 700 " STR_FMT,
			  STR_ARG(spawn_word(&d->c->mem, b->home)))
			.p);
}

static bool check_journal(struct doctor *d, struct beads *b, struct inspection *i)
{
	int64_t bytes, files;

	if (inspect_open(d->c, b, i) || inspect_journal(d->c, b, i) ||
	    journal_size(d->c, b->home, &bytes, &files)) {
		bead_doctor_tell(d, "journal", "error", d->c->message, call_next_step(d->c).p);
		call_forgive(d->c);
		return false;
	}
	if (d->c->warning.p) {
		d->behind = true;
		bead_doctor_tell(d, "journal", "warning", d->c->warning, "bd sync");
		d->c->warning = STR_NONE;
		return true;
	}
	bead_doctor_tell(
		d, "journal", "ok",
		arena_fmt(&d->c->mem, "every record is intact (%lld bytes)", (long long)bytes),
		NULL);
	return true;
}

/* The findings are only counted; their memory is released before the next check. */
static enum err count_findings(struct call *c, const struct beads *b, const struct inspection *i,
			       size_t *errors, size_t *warnings)
{
	struct call part = call_part(c);
	struct finding *found = NULL;
	enum err e = inspect_store(&part, b, i, &found);

	*errors = *warnings = 0;
	for (const struct finding *f = e ? NULL : found; f; f = f->next)
		*(f->severity == SEVERITY_ERROR ? errors : warnings) += 1;
	return call_part_end(c, &part, e);
}

/* A sync reads past some errors: only those that it cannot read stop it. */
static void check_published(struct doctor *d, const struct inspection *i)
{
	struct call part = call_part(d->c);
	enum err e = ERR_OK;

	if (i->tip.commit.p && !i->foreign)
		e = validate_usable(&part, &i->tip, state_new(&part.mem));
	if (!call_part_end(d->c, &part, e))
		return;
	d->damaged = true;
	bead_doctor_tell(d, "sync", "error", d->c->message, "bd repair");
	call_forgive(d->c);
}

static void check_contents(struct doctor *d, const struct beads *b, const struct inspection *i)
{
	size_t errors, warnings;

	if (count_findings(d->c, b, i, &errors, &warnings)) {
		bead_doctor_tell(d, "contents", "error", d->c->message, call_next_step(d->c).p);
		call_forgive(d->c);
		return;
	}
	if (errors || warnings)
		bead_doctor_tell(d, "contents", errors ? "error" : "warning",
				 arena_fmt(&d->c->mem, "%zu error%s and %zu warning%s", errors,
					   errors == 1 ? "" : "s", warnings,
					   warnings == 1 ? "" : "s"),
				 "bd validate");
	else
		bead_doctor_tell(d, "contents", "ok",
				 STR("every bead and every dependency is "
				     "valid"),
				 NULL);
	if (errors)
		check_published(d, i);
}

/* Checks the cache against a new one. */
static void check_cache(struct doctor *d, struct beads *b, const struct inspection *i)
{
	struct str file = path_join(&d->c->mem, b->home, STR("cache.db"));
	struct arena mem = { 0 };
	struct state *all = state_new(&mem);
	struct cache fresh;
	bool same = false;
	enum err e = cache_create_private(d->c, &fresh);

	file = spawn_word(&d->c->mem, file);
	if (!e && !(e = beads_join_files(d->c, &i->base, i->since, all)) &&
	    !(e = apply_all(d->c, &fresh, all))) {
		arena_release(&mem);
		if (!(e = cache_install(d->c, &fresh, fresh.path)))
			e = cache_same(d->c, &b->cache, &fresh, &same);
	}
	arena_release(&mem);
	cache_close(&fresh);
	if (e || !same)
		bead_doctor_tell(d, "cache", "error",
				 e ? d->c->message : STR("differs from the journal"),
				 arena_fmt(&d->c->mem, "rm " STR_FMT, STR_ARG(file)).p);
	else
		bead_doctor_tell(d, "cache", "ok", STR("matches the journal"), NULL);
	call_forgive(d->c);
}

/* A timeout of a sync is no problem of the store. */
static bool has_failed(const struct sync_state *last)
{
	return last->failures && !str_is(last->code, "busy") && !str_is(last->code, "sync_timeout");
}

/* Not every unusable commit at the remote can be repaired by 'bd repair': the sync's error says
 * which command helps. */
static const char *sync_fix(struct doctor *d, const struct sync_state *last)
{
	if (!str_is(last->code, "corrupt"))
		return "bd sync";
	return last->step.n ? arena_cstr(&d->c->mem, last->step) : "bd repair";
}

/* Checks what would stop a sync, and whether the last one failed. */
static void check_sync(struct doctor *d, struct beads *b)
{
	struct git_process h = { .words = { "diagnose", arena_cstr(&d->c->mem, b->repo.common) } };
	struct sync_state last = sync_state_read(d->c, b->home);
	const struct value *list;
	struct value_error error;

	if (git_process_run(d->c, &h)) {
		bead_doctor_tell(d, "sync", "error", d->c->message, call_next_step(d->c).p);
		call_forgive(d->c);
		return;
	}
	list = value_parse(&d->c->mem, h.reply, &error);
	VALUE_EACH(item, list)
		bead_doctor_tell(d, arena_cstr(&d->c->mem, value_str(item, "code")),
				 arena_cstr(&d->c->mem, value_str(item, "status")),
				 value_str(item, "message"),
				 arena_cstr(&d->c->mem, value_str(item, "fix")));
	if (d->damaged)
		return;
	if (has_failed(&last))
		bead_doctor_tell(d, "sync", "warning",
				 arena_fmt(&d->c->mem, "the last sync failed: " STR_FMT,
					   STR_ARG(last.message)),
				 sync_fix(d, &last));
	else if (!list || !list->count)
		bead_doctor_tell(d, "sync", "ok", STR("nothing prevents a sync"), NULL);
}

static void check_clock(struct doctor *d, const struct beads *b)
{
	int64_t ahead = b->about.latest_ms - d->c->now_ms;

	if (ahead > 60 * 1000)
		bead_doctor_tell(
			d, "clock", "warning",
			arena_fmt(&d->c->mem,
				  "the last change is dated %s, which is ahead of this machine's "
				  "clock",
				  moment_format(&d->c->mem, b->about.latest_ms).p),
			"check the clocks of the machines that share this store");
}

static void check_stamps(struct doctor *d, struct beads *b)
{
	struct restamped *ahead;

	if (!restamp_all(d->c, b, false, &ahead) && ahead)
		bead_doctor_tell(
			d, "stamps", "warning",
			arena_fmt(&d->c->mem,
				  "'" STR_FMT "' and perhaps others carry stamps more than a day "
				  "ahead of this machine's clock (%s)",
				  STR_ARG(ahead->id), moment_format(&d->c->mem, ahead->at_ms).p),
			"bd repair --stamps");
	call_forgive(d->c);
}

static void check_claims(struct doctor *d, struct beads *b)
{
	struct bead_filter filter = { .expired = true, .now = d->c->now_ms };
	int64_t count;

	if (!query_count(d->c, &b->cache, &filter, &count) && count)
		bead_doctor_tell(d, "claims", "warning",
				 arena_fmt(&d->c->mem, "%lld %s expired", (long long)count,
					   count == 1 ? "lease has" : "leases have"),
				 "bd reclaim");
}

static void check_other_trackers(struct doctor *d, struct beads *b)
{
	struct str path = mention_find(d->c, b);

	if (path.p)
		bead_doctor_tell(d, "import", "warning",
				 arena_fmt(&d->c->mem,
					   "the issues in '" STR_FMT "' are not imported",
					   STR_ARG(path)),
				 "bd import");
}

static void check_mirror(struct doctor *d, const struct beads *b)
{
	struct arena *mem = &d->c->mem;
	struct str problem = mirror_problem(d->c, b), path, to;
	const char *fix = "bd import --dry-run";

	if (!problem.p)
		return;
	if ((path = mirror_in_way(d->c, b)).p) {
		to = path_unused(mem, path, "theirs");
		fix = arena_fmt(mem, "mv " STR_FMT " " STR_FMT " && bd sync --flush-only",
				STR_ARG(spawn_word(mem, path)), STR_ARG(spawn_word(mem, to)))
			      .p;
	}
	bead_doctor_tell(
		d, "mirror", "warning",
		arena_fmt(mem, ".beads/issues.jsonl is not up to date: " STR_FMT, STR_ARG(problem)),
		fix);
}

struct body {
	bool fix;
	bool ignored;
	struct str ignored_text;
};

/* Options of upstream's doctor that change nothing here. */
#define IGNORED(name)                                                                       \
	{                                                                                   \
		name, &kind_bool, offsetof(struct body, ignored), FIELD_CLI | FIELD_HIDDEN, \
			.help = "accepted for compatibility"                                \
	}

static const struct field fields[] = {
	{ "fix", &kind_bool, offsetof(struct body, fix), FIELD_CLI | FIELD_WRITES,
	  .help = "repair the damage first, as 'bd repair --apply' does" },
	IGNORED("agent"),
	IGNORED("yes"),
	IGNORED("deep"),
	IGNORED("clean"),
	IGNORED("verbose"),
	{ "check", &kind_str, offsetof(struct body, ignored_text), FIELD_CLI | FIELD_HIDDEN,
	  .help = "accepted for compatibility: all checks are made" },
	{ 0 },
};

static enum err bead_doctor_run(struct call *c, struct stores *s, const void *body,
				struct json *reply)
{
	struct json checks = json_new(&c->mem);
	struct doctor d = { .c = c, .j = &checks, .ok = true };
	struct inspection i;
	struct journal_place known;
	const struct body *in = body;
	struct str repaired = { 0 };
	struct beads b;
	enum err e;

	(void)s;
	if (in->fix && (e = bead_repair_damage(c, &repaired)))
		return e;
	e = beads_open(c, BEADS_READ, &b);
	known = b.about.place;
	if (e && e != ERR_DAMAGED && e != ERR_JOURNAL_LOST && e != ERR_REMOTE_DAMAGED &&
	    e != ERR_INTERNAL_ERROR)
		return e;
	json_array(&checks);
	if (repaired.p)
		bead_doctor_tell(&d, "repair", "fixed", repaired, NULL);
	if (e) {
		bead_doctor_tell(&d, e == ERR_JOURNAL_LOST ? "journal" : "store", "error",
				 c->message, call_next_step(c).p);
		call_forgive(c);
	} else if (check_journal(&d, &b, &i)) {
		check_contents(&d, &b, &i);
		if (!d.behind && b.about.place.offset == known.offset &&
		    b.about.place.segment == known.segment) /* no other process wrote in between */
			check_cache(&d, &b, &i);
		check_clock(&d, &b);
		check_stamps(&d, &b);
		check_claims(&d, &b);
		check_mode(&d, &b);
		check_other_trackers(&d, &b);
		check_mirror(&d, &b);
	}
	if (b.home.p)
		check_sync(&d, &b);
	json_end(&checks);
	beads_close(&b);
	json_object(reply);
	json_put_bool(reply, "ok", d.ok);
	json_put_raw(reply, "checks", json_text(&checks));
	json_end(reply);
	return ERR_OK;
}

const struct op op_bead_doctor = {
	.name = "bead doctor",
	.help = "Check the bead store, and with --fix repair it",
	.more = "Names the repair for each problem, and exits with 1 if there is one.",
	OP_BODY(struct body, fields),
	.reply = &(const struct prop){ "doctor", props },
	.run = bead_doctor_run,
};
